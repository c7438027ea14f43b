"""Going on: from a message, from a checkpoint, or twice from one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from reprlib import repr as short_repr
from typing import Any, Final, TypeAlias, TypeVar

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import (
    ChatUsage,
    ContentBlock,
    Msg,
    MsgRole,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.operators._fold._call import CallDraft
from agentscope_rx.operators._fold._drafts import DataDraft, Draft, TextDraft, WholeDraft
from agentscope_rx.operators._fold._ids import Ids
from agentscope_rx.operators._fold._reasons import Reasons
from agentscope_rx.operators._fold._result import ResultDraft
from agentscope_rx.operators._fold._state import FoldState, Scope

__all__ = ["Seed", "check_selection", "copy_to", "grow", "save"]

Seed: TypeAlias = Msg | Mapping[str, Any]
"""What a fold goes on from: a paused message, or a checkpoint."""

T = TypeVar("T")
Write: TypeAlias = Callable[[Any], Any]
Read: TypeAlias = Callable[[type[T], Any], T]

VERSION: Final = 1
KINDS: Final[Mapping[str, Callable[..., ContentBlock]]] = {"text": TextBlock, "thinking": ThinkingBlock}
PLAIN: Final = (
    "reply_id",
    "scope",
    "ours",
    "settled",
    "started",
    "model_call",
    "message_id",
    "name",
    "created_at",
)


def check_selection(reply_id: str | None, seed: Seed | None, scope: Scope) -> None:
    """Refuse what does not say which events make a message.

    Errors: `ConfigurationError`.
    """
    if scope not in ("reply", "call"):
        raise ConfigurationError(f"scope={scope!r} is neither 'reply' nor 'call'")
    if reply_id is not None and not isinstance(reply_id, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise ConfigurationError(f"reply_id={reply_id!r} is no id; give a str, or None for the first reply")
    if seed is None:
        return
    state = FoldState(None, scope)
    grow(state, seed)
    if reply_id is not None and reply_id != state.reply_id:
        raise ConfigurationError(
            f"reply_id={reply_id!r}, but the seed is of {state.reply_id!r}; give one of the two, or the same"
        )


def grow(state: FoldState, seed: Seed) -> None:
    """Let a new state be what the seed says."""
    if isinstance(seed, Msg):
        if seed.role is not MsgRole.ASSISTANT:
            raise ConfigurationError(
                f"the seed is a message of role {seed.role}; give the AssistantMessage of a paused reply"
            )
        go_on_from(state, seed)
    else:
        load(state, seed)


def go_on_from(state: FoldState, message: Msg) -> None:
    """Take a message as what has come so far: its blocks are closed, its calls stand where they say."""
    if state.reply_id is None:
        state.reply_id = message.id
    state.ours = True
    state.message_id = message.id
    state.name = message.name
    state.created_at = message.timestamp
    state.usage = message.usage
    state.metadata = message.metadata
    state.output_type = message.output_type
    if message.generate_reason is not None:
        state.settled = True
        state.reasons.end(message.generate_reason, failed=False)
    for block in message.content:
        state.blocks.append(_draft_of(block, state))
    state.asked = dict.fromkeys(_calls_that_wait(state))


def _draft_of(block: ContentBlock, state: FoldState) -> Draft:
    if isinstance(block, ToolUseBlock):
        draft = state.group(block.id).call = CallDraft.of(block)
        return draft
    if isinstance(block, ToolResultBlock):
        group = state.group(block.id)
        draft = group.result = ResultDraft.of(block, group.call)
        return draft
    return WholeDraft(block)


def _calls_that_wait(state: FoldState) -> list[CallDraft]:
    return [draft for draft in state.blocks if isinstance(draft, CallDraft) and draft.waits]


def save(state: FoldState) -> dict[str, Any]:
    """Return the state as a JSON value."""
    from agentscope_rx import wire  # not above: whoever takes no checkpoint does not load cattrs

    return {"version": VERSION, **_dump(state, wire.to_dict), "ids": state.ids.save()}


def load(state: FoldState, saved: Mapping[str, Any]) -> None:
    """Make the state what it was when it was saved."""
    from agentscope_rx import wire

    remedy = "give a message, or what `checkpoint` returned"
    if not isinstance(saved, Mapping) or saved.get("version") != VERSION:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise ConfigurationError(
            f"the seed is no checkpoint of version {VERSION}: {short_repr(saved)}; {remedy}"
        )
    try:
        _restore(state, saved, wire.from_dict)
        state.ids = Ids.load(saved["ids"])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ConfigurationError(f"the seed is a damaged checkpoint, {error!r}; {remedy}") from error


def copy_to(twin: FoldState, state: FoldState) -> None:
    """Make one state what another is, so that they then grow apart."""
    _restore(twin, _dump(state, lambda value: value), lambda _, value: value)
    twin.output_type = state.output_type
    twin.ids = state.ids.copy()


def _dump(state: FoldState, write: Write) -> dict[str, Any]:
    places = {id(draft): place for place, draft in enumerate(state.blocks)}

    def place(draft: Draft | None) -> int | None:
        return None if draft is None else places.get(id(draft))

    return {
        **{name: getattr(state, name) for name in PLAIN},
        "usage": write(state.usage),
        "metadata": write(dict(state.metadata)),
        "reasons": state.reasons.save(),
        "blocks": [_dump_draft(draft, place, write) for draft in state.blocks],
        "text": {key: place(draft) for key, draft in state.text.items()},
        "thinking": {key: place(draft) for key, draft in state.thinking.items()},
        "data": {key: place(draft) for key, draft in state.data.items()},
        "calls": {
            key: [place(group.call), place(group.result), group.fragments is not None]
            for key, group in state.calls.items()
        },
        "ending": [group.id for group in state.ending],
    }


def _restore(state: FoldState, saved: Mapping[str, Any], read: Read[Any]) -> None:
    for name in PLAIN:
        setattr(state, name, saved[name])
    state.usage = None if saved["usage"] is None else read(ChatUsage, saved["usage"])
    state.metadata = saved["metadata"]
    state.reasons = Reasons.load(saved["reasons"])
    blocks: list[Any] = state.blocks
    for draft in saved["blocks"]:
        blocks.append(_restore_draft(draft, blocks, read))
    for name in ("text", "thinking", "data"):
        getattr(state, name).update({key: blocks[place] for key, place in saved[name].items()})
    for key, (call, result, fragments) in saved["calls"].items():
        group = state.group(key)
        group.call = None if call is None else blocks[call]
        group.result = None if result is None else blocks[result]
        if fragments and group.call is not None:
            group.fragments = group.call.chunks
            group.call.sealed = False
    state.ending = [state.group(key) for key in saved["ending"]]
    state.asked = dict.fromkeys(_calls_that_wait(state))


def _dump_draft(draft: Draft, place: Callable[[Draft | None], int | None], write: Write) -> dict[str, Any]:
    match draft:
        case TextDraft():
            return {
                "kind": "thinking" if draft.make is ThinkingBlock else "text",
                "text": draft.text(),
                "metadata": None if draft.metadata is None else write(dict(draft.metadata)),
                "model_call": draft.model_call,
                "open": not draft.final,
            }
        case DataDraft():
            return {
                "kind": "data",
                "id": draft.id,
                "data": draft.text(),
                "media_type": draft.media_type,
                "url": draft.url,
                "metadata": None if draft.metadata is None else write(dict(draft.metadata)),
                "model_call": draft.model_call,
                "open": not draft.final,
            }
        case CallDraft():
            return {
                "kind": "call",
                "block": write(draft.block()),
                "model_call": draft.model_call,
                "open": draft.open,
            }
        case ResultDraft():
            return {
                "kind": "result",
                "id": draft.id,
                "name": draft.name,
                "call": place(draft.call),
                "open": draft.open,
                "state": None if draft.state is None else write(draft.state),
                "metadata": write(dict(draft.metadata)),
                "parts": [_dump_draft(part, place, write) for part in draft.parts],
                "text": draft.text is not None,
                "data": {key: draft.parts.index(part) for key, part in (draft.data or {}).items()},
            }
        case _:
            return {"kind": "whole", "block": write(draft.block())}


def _restore_draft(saved: Mapping[str, Any], blocks: list[Any], read: Read[Any]) -> Draft:
    match saved["kind"]:
        case "text" | "thinking" as kind:
            text = TextDraft(KINDS[kind], saved["model_call"])
            text.chunks.append(saved["text"])
            text.metadata, text.final = saved["metadata"], not saved["open"]
            return text
        case "data":
            data = DataDraft(saved["id"], saved["media_type"], saved["model_call"])
            data.chunks.append(saved["data"])
            data.url, data.metadata, data.final = saved["url"], saved.get("metadata"), not saved["open"]
            return data
        case "call":
            call = CallDraft.of(read(ToolUseBlock, saved["block"]))
            call.model_call, call.open = saved["model_call"], saved["open"]
            return call
        case "result":
            result = ResultDraft(
                saved["id"], saved["name"], None if saved["call"] is None else blocks[saved["call"]]
            )
            result.open = saved["open"]
            result.state = None if saved["state"] is None else read(ToolResultState, saved["state"])
            result.metadata = saved["metadata"]
            parts: list[Any] = [_restore_draft(part, blocks, read) for part in saved["parts"]]
            result.parts = parts
            result.text = parts[-1].chunks if saved["text"] else None
            result.data = {key: parts[place] for key, place in saved["data"].items()}
            return result
        case "whole":
            return WholeDraft(read(ContentBlock, saved["block"]))
        case kind:
            raise ValueError(f"unknown kind {kind!r}")
