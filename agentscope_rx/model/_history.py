"""A conversation as every provider wants it: turns, each call with its result behind it. Pure.

An agent's reply is one message with all its rounds in it, and results may stand anywhere. Here it becomes
turns, in an order that no provider refuses; how a turn is written is all that a provider adds.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, final

from attrs import evolve, field, frozen

from agentscope_rx._frozen import EMPTY, freeze
from agentscope_rx._json import dumps, loads_object
from agentscope_rx._repr import Brief
from agentscope_rx.message import (
    AudioBlock,
    Base64Source,
    ContentBlock,
    DataBlock,
    HintBlock,
    ImageBlock,
    Msg,
    MsgRole,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    VideoBlock,
)

__all__ = [
    "CACHE_CONTROL",
    "AssistantTurn",
    "Media",
    "Result",
    "SystemTurn",
    "Turn",
    "UserTurn",
    "arguments_of",
    "arguments_text",
    "as_text",
    "history",
    "kept",
    "signature_of",
]

_DATA_URL: Final = re.compile(r"data:([^;,]*)(?:;[^;,]*)*;base64,", re.IGNORECASE)

_KINDS: Final = frozenset({"image", "audio", "video"})

_HINTS: Final = ("min_pixels", "max_pixels", "total_pixels", "fps", "max_frames")

_OTHER_NAMES: Final = frozenset({"thoughtSignature", "reasoning_signature"})
"""Gemini's and DashScope's."""

CACHE_CONTROL: Final = "_cache_control"
"""True in the metadata of a message up to which a provider is to keep the conversation for the next call."""


@final
@frozen
class Media(Brief):
    """An image, a sound, a video or a file, whatever block it came in.

    Attributes:
        kind: `image`, `audio`, `video`, or `file` for all else.
        media_type: the MIME type; guessed from the name behind a URL, and `image/*` where nothing is known.
        data: base64 text; empty if it is behind a URL.
        url: the address; empty if the data is here.
        name: the file's name, if it has one.
        hints: how closely the model is to look, as `min_pixels` and `fps`.
        metadata: what the provider wants back unchanged.
    """

    kind: str
    media_type: str
    data: str = field(default="", repr=False)
    url: str = ""
    name: str | None = None
    hints: Mapping[str, float] = field(default=EMPTY, hash=False)
    metadata: Mapping[str, Any] | None = field(default=None, hash=False, repr=False)

    @property
    def subtype(self) -> str:
        """What follows the slash in the MIME type: `png`."""
        return self.media_type.partition("/")[2]

    @property
    def address(self) -> str:
        """The URL; one with the data in it, if they are here."""
        return self.url or f"data:{self.media_type};base64,{self.data}"

    @property
    def mention(self) -> str:
        """Words for where only text can be: `[image/png: http://x/y.png]`."""
        return f"[{self.media_type}{f': {self.url}' if self.url else ''}]"


@final
@frozen
class SystemTurn:
    """What a system message says; never empty.

    Attributes:
        cached: whether the conversation up to here is to be kept for the next call.
    """

    text: str
    cached: bool = False


@final
@frozen
class UserTurn:
    """What the user says; a hint is one, too.

    Attributes:
        parts: texts that are not empty, and media; at least one.
        name: who speaks, if it is more than `user`.
        cached: whether the conversation up to here is to be kept for the next call.
    """

    parts: tuple[TextBlock | Media, ...]
    name: str | None = None
    cached: bool = False

    @property
    def named_parts(self) -> tuple[TextBlock | Media, ...]:
        """The parts behind the name of who speaks, for APIs that have no place for it."""
        return self.parts if self.name is None else (TextBlock(f"{self.name}:"), *self.parts)


@final
@frozen
class Result:
    """What came of a call: `call` asked for it, `parts` are its texts and media, in order."""

    call: ToolUseBlock
    state: ToolResultState
    parts: tuple[TextBlock | Media, ...]

    @property
    def is_error(self) -> bool:
        """Whether the call did not do what it was to do."""
        return self.state is not ToolResultState.SUCCESS

    @property
    def text(self) -> str:
        """All of it as text, media mentioned; how it ended, if it is a failure that says nothing."""
        texts = as_text(self.parts)
        return self.state.value if not texts and self.is_error else texts

    @property
    def media(self) -> tuple[Media, ...]:
        """The media in it."""
        return tuple(part for part in self.parts if isinstance(part, Media))


@final
@frozen
class AssistantTurn:
    """What the model said in one call of it.

    Attributes:
        parts: thinking, texts, media, and calls, in order of arrival, each with the metadata that its
            provider wants back; a text is empty only if it carries some. Every call has its result; there is
            always more than thinking, and thinking that led to nothing is not at the end.
        results: of the calls, in their order.
        cached: whether the conversation up to here is to be kept for the next call.
    """

    parts: tuple[ThinkingBlock | TextBlock | Media | ToolUseBlock, ...]
    results: tuple[Result, ...] = ()
    cached: bool = False

    @property
    def calls(self) -> tuple[ToolUseBlock, ...]:
        """The calls among the parts."""
        return tuple(result.call for result in self.results)


Turn: TypeAlias = SystemTurn | UserTurn | AssistantTurn


def history(messages: Iterable[Msg]) -> tuple[Turn, ...]:
    """Return a conversation's turns.

    1. Of an assistant's blocks, what comes after results, or after a hint, is a new turn; so is a message.
    2. A result goes to the newest call of its id before it which has none, wherever that stands. It is
       there if it is final: not suspended, and not running without any output.
    3. Calls without a result, and results without a call, are left out.
    4. A hint is a turn of the user behind the results of the turn before it.
    5. Turns with nothing to say are left out: empty texts, media without a source, thinking alone.
    6. Of a message with the mark `_cache_control`, the last turn is `cached`.
    """
    turns: list[SystemTurn | UserTurn | _Round] = []
    waiting: dict[str, list[tuple[_Round, int]]] = {}
    marked: list[range] = []
    for message in messages:
        before = len(turns)
        match message.role:
            case MsgRole.SYSTEM:
                if text := message.text_content:
                    turns.append(SystemTurn(text))
            case MsgRole.USER | None:
                if parts := _parts(message.content):
                    turns.append(UserTurn(parts, _speaker(message.name)))
            case MsgRole.ASSISTANT | MsgRole.TOOL:
                _add_rounds(message.content, turns, waiting)
        if message.metadata.get(CACHE_CONTROL) is True:
            marked.append(range(before, len(turns)))
    done = [turn.close() if isinstance(turn, _Round) else turn for turn in turns]
    for numbers in marked:
        for number in reversed(numbers):
            if (turn := done[number]) is not None:
                done[number] = evolve(turn, cached=True)
                break
    return tuple(turn for turn in done if turn is not None)


def kept(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return turns that are to be kept for the next call: up to the end of the system prompt, and all."""
    marked = list(turns)
    opening = next((n for n, turn in enumerate(turns) if not isinstance(turn, SystemTurn)), len(turns))
    for number in {opening - 1, len(turns) - 1} - {-1}:
        marked[number] = evolve(marked[number], cached=True)
    return tuple(marked)


class _Round:
    """An assistant's turn that is still being written."""

    __slots__ = ("blocks", "results")

    def __init__(self) -> None:
        self.blocks: list[ThinkingBlock | TextBlock | Media | ToolUseBlock] = []
        self.results: dict[int, ToolResultBlock] = {}

    def close(self) -> AssistantTurn | None:
        """Return the turn with the calls that have a result; None if nothing is left of it."""
        parts = [
            block
            for number, block in enumerate(self.blocks)
            if not isinstance(block, ToolUseBlock) or number in self.results
        ]
        while parts and isinstance(parts[-1], ThinkingBlock) and not self.results:
            parts.pop()
        if not any(map(_says_something, parts)):
            return None
        return AssistantTurn(tuple(parts), tuple(map(self._result, sorted(self.results))))

    def _result(self, number: int) -> Result:
        call, result = self.blocks[number], self.results[number]
        assert isinstance(call, ToolUseBlock)
        return Result(call, result.state, _parts(result.output))


def _add_rounds(
    blocks: Iterable[ContentBlock],
    turns: list[SystemTurn | UserTurn | _Round],
    waiting: dict[str, list[tuple[_Round, int]]],
) -> None:
    current: _Round | None = None
    for block in blocks:
        if isinstance(block, ToolResultBlock):
            if _is_final(block) and waiting.get(block.id):
                asking, number = waiting[block.id].pop()
                asking.results[number] = block
            continue
        if isinstance(block, HintBlock):
            if block.hint:
                turns.append(UserTurn((TextBlock(block.hint),)))
            current = None
            continue
        part = _part(block)
        if part is None:
            continue
        if current is None or current.results:
            current = _Round()
            turns.append(current)
        if isinstance(part, ToolUseBlock):
            waiting.setdefault(part.id, []).append((current, len(current.blocks)))
        current.blocks.append(part)


def _says_something(part: ThinkingBlock | TextBlock | Media | ToolUseBlock) -> bool:
    return bool(part.text) if isinstance(part, TextBlock) else not isinstance(part, ThinkingBlock)


def _is_final(result: ToolResultBlock) -> bool:
    awaited = result.state is ToolResultState.RUNNING and not result.output
    return not awaited and not result.is_suspended


def _part(block: ContentBlock) -> ThinkingBlock | TextBlock | Media | ToolUseBlock | None:
    match block:
        case TextBlock():
            return block if block.text or block.metadata else None
        case ThinkingBlock():
            return block if block.thinking or block.metadata else None
        case ToolUseBlock():
            return block
        case _:
            return _media(block)


def _parts(blocks: Sequence[ContentBlock]) -> tuple[TextBlock | Media, ...]:
    parts = (block if isinstance(block, TextBlock) else _media(block) for block in blocks)
    return tuple(part for part in parts if part is not None and (isinstance(part, Media) or part.text))


def _media(block: ContentBlock) -> Media | None:
    if not isinstance(block, DataBlock | ImageBlock | AudioBlock | VideoBlock) or block.source is None:
        return None
    kind, name, metadata = block.type, None, None
    if isinstance(block, DataBlock):
        kind, name, metadata = "", block.name, block.metadata
    source = block.source
    if isinstance(source, Base64Source):
        media_type, data, url = source.media_type, source.data, ""
    elif (head := _DATA_URL.match(source.url)) is not None:
        media_type, data, url = source.media_type or head[1] or "text/plain", source.url[head.end() :], ""
    else:
        guessed = mimetypes.guess_type(source.url)[0] or f"{kind or 'image'}/*"
        media_type, data, url = source.media_type or guessed, "", source.url
    kind = kind or media_type.partition("/")[0]
    return Media(kind if kind in _KINDS else "file", media_type, data, url, name, _hints(block), metadata)


def _hints(block: ContentBlock) -> Mapping[str, float]:
    values = ((name, getattr(block, name, None)) for name in _HINTS)
    return freeze({name: value for name, value in values if value is not None})


def _speaker(name: str | None) -> str | None:
    """A name that tells the speakers of a group apart; ports name every user `user`."""
    return None if name == "user" else name or None


def as_text(parts: Iterable[TextBlock | Media]) -> str:
    """Return texts joined by line ends, and what stands in for media where only text can be."""
    texts = (part.text if isinstance(part, TextBlock) else part.mention for part in parts)
    return "\n".join(text for text in texts if text)


def signature_of(block: ThinkingBlock) -> str | None:
    """Return the signature of thinking, for those who call it so.

    Providers refuse signatures of others: who calls it by another name, too, has it back by that name only.
    """
    metadata = block.metadata or {}
    return None if _OTHER_NAMES & metadata.keys() else metadata.get("signature")


def arguments_text(call: ToolUseBlock) -> str:
    """Return a call's arguments as the model wrote them; always an object, since servers parse them, too.

    What was none goes back as `{"invalid_json": …}`: the model still sees what it wrote.
    """
    text = call.content
    if text is None or not text.strip():
        return dumps(dict(call.input)).decode()
    return text if loads_object(text) is not None else dumps({"invalid_json": text}).decode()


def arguments_of(call: ToolUseBlock) -> dict[str, Any]:
    """Return a call's arguments as an object; what was none, as `arguments_text` has it."""
    text = call.content
    if text is None or not text.strip():
        return dict(call.input)
    parsed = loads_object(text)
    return {"invalid_json": text} if parsed is None else parsed
