"""What a model gets to see: a conversation in which every tool call has its result, and has it behind it.

Providers refuse anything else, and for good: one call without an answer (a crash, another program,
a middleware that cuts) would make every further request of the session fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final

from attrs import evolve

from agentscope_rx.message import (
    ContentBlock,
    HintBlock,
    Msg,
    MsgRole,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)

__all__ = ["NO_RESULT", "PromptCloser", "closed"]

NO_RESULT: Final = "Error: there is no result. The call was interrupted, and may not have run."

_SPOKEN_TO: Final = (MsgRole.USER, MsgRole.SYSTEM, None)


@final
class PromptCloser:
    """`closed`, for the prompts of one call: they grow, and what was whole is not looked at again."""

    def __init__(self) -> None:
        self._whole: dict[str, tuple[ContentBlock, ...]] = {}

    def __call__(self, messages: tuple[Msg, ...]) -> tuple[Msg, ...]:
        return messages if all(map(self._is_whole, messages)) else closed(messages)

    def _is_whole(self, msg: Msg) -> bool:
        if msg.role in _SPOKEN_TO:
            return True
        known, content = self._whole.get(msg.id, ()), msg.content
        new = content[len(known) :] if content[: len(known)] == known else content
        whole = _is_whole(new)
        if whole:
            self._whole[msg.id] = content
        return whole


def _is_whole(content: Sequence[ContentBlock]) -> bool:
    """Whether each round of calls in it is followed by all its results, and there are no others."""
    waiting: set[str] = set()
    answered = False
    for block in content:
        if isinstance(block, ToolUseBlock):
            if block.id in waiting or (answered and waiting):
                return False
            answered = False
            waiting.add(block.id)
        elif isinstance(block, ToolResultBlock):
            if block.id not in waiting or not _is_final(block):
                return False
            answered = True
            waiting.remove(block.id)
        elif waiting and (answered or isinstance(block, HintBlock)):
            return False
    return not waiting


def closed(messages: tuple[Msg, ...]) -> tuple[Msg, ...]:
    """Return the messages with exactly one result for each tool call.

    1. A round is a run of calls with their results behind it; text between calls belongs to it. It ends with
       what comes after results, with a hint, and with the message, unless the next one goes on with results.
    2. A result that stands elsewhere is moved to the end of its call's round. Where an id comes more than
       once, a result is that of the newest call before it which has none.
    3. A call without a result, or with one that is still awaited, gets one there: INTERRUPTED, with a text
       that says so.
    4. Results without a call are left out, and so are messages of which nothing is left.
    """
    answers, owners = _matched(messages)
    rounds = _Rounds(answers, owners)
    contents = [rounds.content(number, msg) for number, msg in enumerate(messages)]
    rounds.close()
    result = tuple(
        msg if (content := tuple(blocks)) == msg.content else evolve(msg, content=content)
        for msg, blocks in zip(messages, contents, strict=True)
        if blocks or not msg.content
    )
    return messages if result == messages else result


_Place = tuple[int, int]
"""A message and a block in it."""


def _is_final(result: ToolResultBlock) -> bool:
    awaited = result.state is ToolResultState.RUNNING and not result.output
    return not awaited and not result.is_suspended


def _places(messages: Sequence[Msg]) -> Iterator[tuple[_Place, ContentBlock]]:
    for number, msg in enumerate(messages):
        if msg.role not in _SPOKEN_TO:
            yield from (((number, index), block) for index, block in enumerate(msg.content))


def _matched(messages: Sequence[Msg]) -> tuple[dict[_Place, ToolResultBlock], dict[_Place, _Place]]:
    """The result of each call that has one, and the call of each result that has one, by place."""
    waiting: dict[str, list[_Place]] = {}
    answers: dict[_Place, ToolResultBlock] = {}
    owners: dict[_Place, _Place] = {}
    for place, block in _places(messages):
        if isinstance(block, ToolUseBlock):
            waiting.setdefault(block.id, []).append(place)
        elif isinstance(block, ToolResultBlock) and _is_final(block) and waiting.get(block.id):
            call = waiting[block.id].pop()
            answers[call] = block
            owners[place] = call
    return answers, owners


class _Rounds:
    """Messages written anew, round by round."""

    def __init__(self, answers: dict[_Place, ToolResultBlock], owners: dict[_Place, _Place]) -> None:
        self._answers = answers
        self._owners = owners
        self._out: list[ContentBlock] = []
        self._waiting: dict[_Place, ToolUseBlock] = {}
        self._answered = False

    def content(self, number: int, msg: Msg) -> list[ContentBlock]:
        """Return the new content of a message; the next one may still add to it."""
        if msg.role in _SPOKEN_TO:
            self.close()
            return list(msg.content)
        if not isinstance(msg.get_first_content_block(), ToolResultBlock):
            self.close()
        self._out = []
        for index, block in enumerate(msg.content):
            self._add((number, index), block)
        return self._out

    def _add(self, place: _Place, block: ContentBlock) -> None:
        match block:
            case ToolResultBlock():
                call = self._owners.get(place)
                if call is None or self._waiting.pop(call, None) is None:
                    return  # nobody's, or it stands behind its call already
                self._answered = True
            case ToolUseBlock():
                if self._answered:
                    self.close()
                self._waiting[place] = block
            case _ if self._answered or isinstance(block, HintBlock):
                self.close()
            case _:
                pass
        self._out.append(block)

    def close(self) -> None:
        """Give the calls of this round that wait for it their result."""
        for place, call in self._waiting.items():
            self._out.append(self._answers.get(place) or _no_result(call))
        self._waiting.clear()
        self._answered = False


def _no_result(call: ToolUseBlock) -> ToolResultBlock:
    return ToolResultBlock(call.id, call.name, NO_RESULT, state=ToolResultState.INTERRUPTED)
