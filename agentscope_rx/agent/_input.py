"""What a call is given: words, messages, answers, outcomes, or nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, final

from attrs import evolve, field, frozen

from agentscope_rx import wire
from agentscope_rx._check import a_str_or_none, tuple_of
from agentscope_rx.errors import ConfigurationError, WireError
from agentscope_rx.event import ConfirmResult
from agentscope_rx.message import Msg, MsgRole, ToolResultBlock, UserMessage

__all__ = ["CallInput", "ConfirmResults", "ExternalResults", "Given", "given"]

CONFIRM_RESULTS: Final = "agentscope_confirm_results"
"""The metadata of a message that holds answers, in Java's programs."""


_WRAP: Final[Mapping[Any, str]] = {
    ConfirmResult: "wrap answers in ConfirmResults(…)",
    ToolResultBlock: "wrap outcomes in ExternalResults(…)",
}


def _answers(results: ConfirmResult | Iterable[ConfirmResult]) -> tuple[ConfirmResult, ...]:
    return (results,) if isinstance(results, ConfirmResult) else tuple_of(ConfirmResult, results)


def _outcomes(results: ToolResultBlock | Iterable[ToolResultBlock]) -> tuple[ToolResultBlock, ...]:
    return (results,) if isinstance(results, ToolResultBlock) else tuple_of(ToolResultBlock, results)


@final
@frozen
class ConfirmResults:
    """A human's answers to a `RequireUserConfirmEvent`, one for each call that asks.

        agent.call(ConfirmResults([ConfirmResult(True, call) for call in question.tool_calls]))

    Attributes:
        results: the answers; `tool_call` may be edited, `rules` are accepted for the session, with a denial
            only those that deny or ask.
        reply_id: the reply that asked; needed where several ask, as those of subagents.
    """

    results: tuple[ConfirmResult, ...] = field(converter=_answers)
    reply_id: str | None = field(default=None, validator=a_str_or_none)


@final
@frozen
class ExternalResults:
    """Outcomes for a `RequireExternalExecutionEvent`: all of them, or some, and the rest later.

    Attributes:
        results: one `ToolResultBlock` for each call, by its id.
        reply_id: the reply that asked; needed where several ask.
    """

    results: tuple[ToolResultBlock, ...] = field(converter=_outcomes)
    reply_id: str | None = field(default=None, validator=a_str_or_none)


CallInput: TypeAlias = str | Msg | Sequence[Msg] | ConfirmResults | ExternalResults | None
"""What a call brings: text, messages, answers, outcomes, or None to go on with the last unfinished reply."""


@final
@frozen
class Given:
    """A call's input, sorted.

    Attributes:
        msgs: messages.
        answers: answers to questions, or outcomes of external calls.
    """

    msgs: tuple[Msg, ...] = ()
    answers: ConfirmResults | ExternalResults | None = None


def given(input: CallInput) -> Given:
    """Sort a call's input.

    1. Java's way to answer is understood, too: a message with `agentscope_confirm_results` in its metadata,
       as objects or as JSON, and messages of tool results; what else such messages say stays.
    2. Such a message without any answer is one that lacks them, and not nothing.

    Errors: `ConfigurationError` if it is something else, or both answers and outcomes.
    """
    match input:
        case None:
            return Given()
        case str():
            return Given((UserMessage(input),))
        case ConfirmResults() | ExternalResults():
            return Given(answers=input)
        case Msg():
            return _sorted((input,))
        case Iterable():
            return _sorted(tuple(input))
        case _:  # pyright: ignore[reportUnnecessaryComparison] - callers may be untyped
            remedy = "give a string, a Msg, a sequence of Msg, ConfirmResults, ExternalResults, or None"
            raise ConfigurationError(f"the input is {input!r}; {_WRAP.get(type(input), remedy)}")


def _sorted(msgs: tuple[Msg, ...]) -> Given:
    rest: list[Msg] = []
    kinds: set[type[ConfirmResults | ExternalResults]] = set()
    confirms: list[ConfirmResult] = []
    outcomes: list[ToolResultBlock] = []
    for msg in msgs:
        if not isinstance(msg, Msg):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            remedy = _WRAP.get(type(msg), "wrap text in UserMessage(…)")
            raise ConfigurationError(f"the input holds {msg!r}; {remedy}")
        if msg.role is MsgRole.SYSTEM:
            raise ConfigurationError("the input holds a SYSTEM message; use sys_prompt= or on_system_prompt")
        if CONFIRM_RESULTS in msg.metadata:
            kinds.add(ConfirmResults)
            confirms += _confirm_results(msg)
        if msg.role is MsgRole.TOOL:
            kinds.add(ExternalResults)
            outcomes += msg.get_content_blocks(ToolResultBlock)
        rest += _words(msg)
    if len(kinds) > 1:
        raise ConfigurationError("the input holds both confirm results and tool results; give one at a time")
    if ConfirmResults in kinds:
        return Given(tuple(rest), ConfirmResults(confirms))
    return Given(tuple(rest), ExternalResults(outcomes) if kinds else None)


def _confirm_results(msg: Msg) -> Iterable[ConfirmResult]:
    results: Any = msg.metadata[CONFIRM_RESULTS]
    if isinstance(results, str | Mapping) or not isinstance(results, Iterable):
        raise ConfigurationError(
            f"metadata[{CONFIRM_RESULTS!r}] is {results!r}; give a list of ConfirmResult"
        )
    return [_confirm_result(result) for result in results]  # pyright: ignore[reportUnknownVariableType]


def _confirm_result(result: Any) -> ConfirmResult:
    if isinstance(result, ConfirmResult):
        return result
    try:
        return wire.from_dict(ConfirmResult, result)
    except WireError as error:
        raise ConfigurationError(
            f"metadata[{CONFIRM_RESULTS!r}] holds {result!r}, which is no ConfirmResult: {error}"
        ) from error


def _words(msg: Msg) -> Iterable[Msg]:
    """What a message says beside answers and outcomes."""
    is_answer = CONFIRM_RESULTS in msg.metadata
    if msg.role is not MsgRole.TOOL and not is_answer:
        return (msg,)
    content = tuple(block for block in msg.content if not isinstance(block, ToolResultBlock))
    if not content:
        return ()
    if msg.role is MsgRole.TOOL:
        return (UserMessage(content=content, name=msg.name),)
    metadata = {key: value for key, value in msg.metadata.items() if key != CONFIRM_RESULTS}
    return (evolve(msg, content=content, metadata=metadata),)
