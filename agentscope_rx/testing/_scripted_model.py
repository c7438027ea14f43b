"""A model that answers from a script: for tests of agents, for examples, and to try things offline."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast, final

from attrs import field, frozen
from reactivex import Observable, abc
from reactivex.disposable import SerialDisposable
from reactivex.scheduler import CurrentThreadScheduler, NewThreadScheduler

from agentscope_rx._json import dumps
from agentscope_rx.errors import ConfigurationError, ModelError
from agentscope_rx.message import (
    ChatUsage,
    DataBlock,
    Msg,
    MsgRole,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from agentscope_rx.model import ChatResponse, GenerateOptions, ToolCallChunk, ToolSchema

__all__ = ["Pause", "ScriptedCall", "ScriptedModel", "pause", "thinking", "tool_call"]


@final
@frozen
class Pause:
    """A silence in a scripted answer, in seconds."""

    seconds: float


@final
@frozen
class ScriptedCall:
    """What a scripted model was asked."""

    messages: tuple[Msg, ...] = field(converter=tuple)
    tools: tuple[ToolSchema, ...] = field(default=(), converter=tuple)
    options: GenerateOptions = field(factory=GenerateOptions)

    @property
    def text(self) -> str:
        """The text of the newest user message; empty if there is none."""
        return next((msg.text_content for msg in reversed(self.messages) if _by_the_user(msg)), "")

    @property
    def results(self) -> tuple[ToolResultBlock, ...]:
        """The tool results since the newest user message, in order."""
        found: list[ToolResultBlock] = []
        for msg in reversed(self.messages):
            if _by_the_user(msg):
                break
            found[:0] = msg.get_content_blocks(ToolResultBlock)
        return tuple(found)


def _by_the_user(msg: Msg) -> bool:
    """Whether the user has said it; a middleware's reminder is a user message, too."""
    return msg.role is MsgRole.USER and not msg.metadata.get("agentscope_synthetic")


Piece: TypeAlias = (
    str
    | TextBlock
    | ThinkingBlock
    | DataBlock
    | ToolUseBlock
    | ToolCallChunk
    | ChatUsage
    | ChatResponse
    | Pause
    | Exception
)
"""Part of a scripted answer: a string is text, streamed word by word; an exception fails the call there."""

Answer: TypeAlias = Piece | Iterable[Piece]
"""What a model says in one call."""

Step: TypeAlias = Answer | Callable[[ScriptedCall], Answer]
"""One call in a script: the answer, or a function that makes it from what was asked."""


def tool_call(
    name: str, arguments: Mapping[str, Any] | str | None = None, id: str = "", /, **more: Any
) -> ToolUseBlock:
    """Return a tool call for a script: `tool_call("add", a=1, b=2)`.

    Args:
        name: the tool.
        arguments: more arguments, whose names Python does not take as keywords, or their raw text.
        id: the provider's id; left out, the call gets one as from a provider that sends none.
        more: the arguments.
    """
    if isinstance(arguments, str):
        if more:
            raise ConfigurationError(f"tool_call({name!r}) got arguments as text and as keywords {more!r}")
        return ToolUseBlock(id, name, content=arguments)
    values = {**(arguments or {}), **more}
    return ToolUseBlock(id, name, values, dumps(values).decode())


def thinking(text: str, **metadata: Any) -> ThinkingBlock:
    """Return reasoning for a script, streamed word by word: `thinking("Let me see", signature="…")`."""
    return ThinkingBlock(text, metadata or None)


def pause(seconds: float) -> Pause:
    """Return a silence for a script."""
    if seconds < 0:
        raise ConfigurationError(f"pause({seconds!r}) is in the past; give seconds ≥ 0")
    return Pause(seconds)


_WORD: Final = re.compile(r"\s*\S+|\s+")
_FRAGMENT: Final = 12


@final
class ScriptedModel:
    """A chat model that says what a script or a function tells it to.

    ```python
    ScriptedModel("Hello")                                               # one call, then an error
    ScriptedModel([thinking("…"), tool_call("add", a=1, b=2)], "3")      # two calls
    ScriptedModel([ "Hel", pause(0.5), ModelTimeoutError("slow") ], "Hello")   # fails half-way, then works
    ScriptedModel(lambda asked: asked.text.upper())                      # any number of calls
    ```

    1. Each subscription takes the next step of the script. Sessions that share one model share its place
       in the script; a lone function has none, and serves any number of calls.
    2. Text, thinking and tool calls are streamed in pieces, each `delay` seconds after the one before,
       by the scheduler of the subscription: a `TestScheduler` makes time virtual.
    3. A `ChatUsage(input_tokens, output_tokens)` among the pieces is the usage of the call.
    4. An exception, alone or among the pieces, fails the call at that point. Where nothing was said before
       and waiting can help, as after a `ModelTimeoutError`, an agent goes on to the next (`max_retries`).

    Args:
        steps: what to say, call by call; or one function that is asked every time.
        name: the model's name.
        delay: seconds between pieces.
        native_structured_output: whether it says that its answers can be held to a JSON schema; the script is
            said as it is.

    Errors: `ModelError` through `on_error` when the script is over.
    """

    def __init__(
        self,
        *steps: Step,
        name: str = "scripted",
        delay: float = 0.0,
        native_structured_output: bool = False,
    ) -> None:
        if not steps:
            raise ConfigurationError("ScriptedModel has no steps; give what it is to say, or a function")
        if delay < 0:
            raise ConfigurationError(f"delay={delay!r} is in the past; give seconds ≥ 0")
        if not isinstance(native_structured_output, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise ConfigurationError(
                f"native_structured_output is {native_structured_output!r}; give True or False"
            )
        self._steps = tuple(_checked(step) for step in steps)
        self._name = name
        self._delay = delay
        self._native = native_structured_output
        self._taken = itertools.count()
        self._calls: list[ScriptedCall] = []

    @property
    def model_name(self) -> str:
        """The name that was given."""
        return self._name

    @property
    def supports_native_structured_output(self) -> bool:
        """Whether it was told to say so."""
        return self._native

    @property
    def calls(self) -> tuple[ScriptedCall, ...]:
        """What the model was asked so far, in order of subscription."""
        return tuple(self._calls)

    def stream(
        self,
        messages: Sequence[Msg],
        tools: Sequence[ToolSchema] = (),
        options: GenerateOptions | None = None,
    ) -> Observable[ChatResponse]:
        """Say the next step."""

        def subscribe(
            observer: abc.ObserverBase[ChatResponse], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            asked = ScriptedCall(messages, tools, options or GenerateOptions())
            number = next(self._taken)
            self._calls.append(asked)
            return _play(self._pieces(number, asked), self._delay, observer, scheduler)

        return Observable(subscribe)

    def _pieces(self, number: int, asked: ScriptedCall) -> Iterator[ChatResponse | Pause]:
        steps = self._steps
        if len(steps) == 1 and callable(steps[0]):
            step = steps[0]
        elif number < len(steps):
            step = steps[number]
        else:
            raise ModelError(
                f"the script of model {self._name!r} is over: it has {len(steps)} "
                f"{'step' if len(steps) == 1 else 'steps'} and this is call {number + 1}; "
                "add a step, or give one function that answers every call"
            )
        yield from _responses(step(asked) if callable(step) else step)

    def __repr__(self) -> str:
        return f"ScriptedModel(name={self._name!r}, steps={len(self._steps)}, calls={len(self._calls)})"


def _pieces(answer: Any) -> Iterable[Any]:
    if isinstance(answer, Iterable) and not isinstance(answer, str):
        return cast("Iterable[Any]", answer)
    return (answer,)


def _refused(piece: object) -> ConfigurationError:
    return ConfigurationError(
        f"a script cannot say {piece!r}; give text, a block, tool_call(…), thinking(…), pause(…), "
        "ChatUsage, ChatResponse, ToolCallChunk, or an exception (not its class)"
    )


def _checked(step: Step) -> Step:
    """Check what can be checked at the line that is wrong; an iterator is read out, so that it can be."""
    if callable(step) and not isinstance(step, type):
        return step
    pieces = tuple(_pieces(step))
    for piece in pieces:
        if not isinstance(piece, Piece):
            raise _refused(piece)
    return pieces


def _responses(answer: Answer) -> Iterator[ChatResponse | Pause]:
    """Cut an answer into what a provider would send, piece by piece; raise where it fails."""
    called = finished = False
    numbers = itertools.count()
    for piece in _pieces(answer):
        match piece:
            case str() | TextBlock():
                text = piece if isinstance(piece, str) else piece.text
                yield from (ChatResponse((TextBlock(word),)) for word in _WORD.findall(text))
            case ThinkingBlock():
                yield from (ChatResponse((ThinkingBlock(word),)) for word in _WORD.findall(piece.thinking))
                if piece.metadata:
                    yield ChatResponse((ThinkingBlock("", piece.metadata),))
            case ToolUseBlock():
                called = True
                yield from (ChatResponse((chunk,)) for chunk in _fragments(piece, next(numbers)))
            case DataBlock() | ToolCallChunk():
                called = called or isinstance(piece, ToolCallChunk)
                yield ChatResponse((piece,))
            case ChatUsage():
                yield ChatResponse(usage=piece)
            case ChatResponse():
                finished = finished or bool(piece.finish_reason)
                yield piece
            case Pause():
                yield piece
            case Exception():
                raise piece
            case _:
                raise _refused(piece)
    if not finished:
        yield ChatResponse(finish_reason="tool_calls" if called else "stop")


def _fragments(call: ToolUseBlock, index: int) -> Iterator[ToolCallChunk]:
    text = dumps(dict(call.input)).decode() if call.content is None else call.content
    yield ToolCallChunk("", call.id, call.name, index, call.metadata)
    for start in range(0, len(text), _FRAGMENT):
        yield ToolCallChunk(text[start : start + _FRAGMENT], index=index)


def _play(
    pieces: Iterator[ChatResponse | Pause],
    delay: float,
    observer: abc.ObserverBase[ChatResponse],
    scheduler: abc.SchedulerBase | None,
) -> abc.DisposableBase:
    """Send the pieces one by one, each in a turn of its own, so that others get theirs in between."""
    # A thread for each turn, as NewThreadScheduler has it, would be one for each word.
    turns = (
        CurrentThreadScheduler.singleton() if isinstance(scheduler, NewThreadScheduler | None) else scheduler
    )
    next_turn = SerialDisposable()

    def turn(_scheduler: abc.SchedulerBase, _state: Any = None) -> None:
        try:
            piece = next(pieces)
        except StopIteration:
            observer.on_completed()
        except Exception as error:
            observer.on_error(error)
        else:
            if isinstance(piece, Pause):
                next_turn.disposable = turns.schedule_relative(piece.seconds, turn)
                return
            observer.on_next(piece)
            if not next_turn.is_disposed:
                next_turn.disposable = turns.schedule_relative(delay, turn) if delay else turns.schedule(turn)

    next_turn.disposable = turns.schedule_relative(delay, turn) if delay else turns.schedule(turn)
    return next_turn
