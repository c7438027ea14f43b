"""For whom answers are, as a table: the reply itself, its subagents, or nobody."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from agentscope_rx.agent import ConfirmResults, ExternalResults
from agentscope_rx.agent._route import Answers, Routed, route
from agentscope_rx.agent._waiting import Question, Waiting
from agentscope_rx.errors import AnswerError
from agentscope_rx.event import ConfirmResult
from agentscope_rx.message import GenerateReason, ToolCallState, ToolResultBlock, ToolUseBlock

ASKS, WAITS = ToolCallState.ASKING, ToolCallState.SUBMITTED

# The reply itself asks about `own` and has handed `out` out; `self` has suspended itself. For `k1` works a
# subagent that asks about `a` and `b`, above one that asks about `c`; for `k2` one that asks about `a`, too,
# and waits for an outcome of `x`.
CALLS = (
    ToolUseBlock("own", "write", state=ASKS),
    ToolUseBlock("out", "pay", state=WAITS),
    ToolUseBlock("self", "phone"),
    ToolUseBlock("k1", "call_one"),
    ToolUseBlock("k2", "call_two"),
)
SUSPENDED = ("self", "k1", "k2")
ONE = Waiting(
    "s/one/k1",
    GenerateReason.PERMISSION_ASKING,
    (Question("one", ASKS, ("a", "b")), Question("below", ASKS, ("c",))),
)
TWO = Waiting(
    "s/two/k2",
    GenerateReason.PERMISSION_ASKING,
    (Question("two", ASKS, ("a",)), Question("two", WAITS, ("x",))),
)
ALL = {"k1": ONE, "k2": TWO}
OUTSIDE = Waiting(
    "s/one/k1",
    GenerateReason.TOOL_SUSPENDED,
    (Question("one", WAITS, ("x",)), Question("below", WAITS, ("y",))),
)


def yes(*ids: str, reply_id: str | None = None) -> ConfirmResults:
    return ConfirmResults([ConfirmResult(True, ToolUseBlock(id, "write")) for id in ids], reply_id)


def outcomes(*ids: str, reply_id: str | None = None) -> ExternalResults:
    return ExternalResults([ToolResultBlock(id, "pay", "done") for id in ids], reply_id)


@pytest.mark.parametrize(
    ("answers", "waits", "routed"),
    [
        (yes("own"), {}, Routed(yes("own"))),
        (yes("own"), ALL, Routed(yes("own"))),
        (yes("own", reply_id="r"), ALL, Routed(yes("own", reply_id="r"))),
        (yes("a", "b", reply_id="one"), ALL, Routed(None, {"k1": yes("a", "b", reply_id="one")})),
        (yes("c", reply_id="below"), ALL, Routed(None, {"k1": yes("c", reply_id="below")})),
        (yes("c"), ALL, Routed(None, {"k1": yes("c")})),
        (yes("a", reply_id="two"), ALL, Routed(None, {"k2": yes("a", reply_id="two")})),
        (yes("b", "a", "c"), {"k1": ONE}, Routed(None, {"k1": yes("b", "a", "c")})),
        (yes("own", "c"), ALL, Routed(yes("own"), {"k1": yes("c")})),
        (outcomes("out"), ALL, Routed(outcomes("out"))),
        (outcomes("self", "x"), ALL, Routed(outcomes("self"), {"k2": outcomes("x")})),
        (outcomes("y", "x"), {"k1": OUTSIDE}, Routed(None, {"k1": outcomes("x", "y")})),
        (outcomes("x", reply_id="two"), ALL, Routed(None, {"k2": outcomes("x", reply_id="two")})),
    ],
)
def test_answers_go_to_who_has_asked(answers: Answers, waits: Mapping[str, Waiting], routed: Routed) -> None:
    assert route(answers, "r", CALLS, SUSPENDED, waits) == routed


@pytest.mark.parametrize(
    ("answers", "waits", "words", "calls"),
    [
        (yes("a"), ALL, "more than one reply waits for an answer about 'a'", ("a",)),
        (yes("a", "own"), ALL, "say which with reply_id=…, one of 'one', 'two'", ("a",)),
        (yes("b"), {"k1": ONE}, "there is no answer for 'a'; a human answers all questions at once", ("a",)),
        (yes("a", reply_id="one"), ALL, "there is no answer for 'b'", ("b",)),
        (yes("c", "c"), ALL, "there is more than one answer for 'c'; give one", ("c",)),
        (yes("z"), ALL, "no call 'z' asks; what asks: 'own', 'a', 'b', 'c', 'a'", ("z",)),
        (yes("own", "z"), ALL, "no call 'z' asks", ("z",)),
        (yes("own", reply_id="one"), ALL, "no call 'own' asks; what asks: 'a', 'b'", ("own",)),
        (yes("a", "b", reply_id="r"), ALL, "no call 'a', 'b' asks; what asks: 'own'", ("a", "b")),
        (
            yes("a", reply_id="gone"),
            ALL,
            "for reply 'gone', but those that wait are 'r', 'one', 'below', 'two': they are stale",
            ("a",),
        ),
        (yes(), ALL, "there is no answer; what asks: 'own', 'a', 'b', 'c', 'a'", ()),
        (yes(""), ALL, "1 answer(s) name no tool call", ("",)),
        (outcomes("k1"), ALL, "no call 'k1' waits for an outcome", ("k1",)),
        (outcomes("k1"), {"k1": ONE}, "no call 'k1' waits for an outcome", ("k1",)),
        (outcomes("x", "x"), ALL, "there is more than one outcome for 'x'", ("x",)),
    ],
)
def test_answers_that_do_not_fit_are_refused(
    answers: Answers, waits: Mapping[str, Waiting], words: str, calls: tuple[str, ...]
) -> None:
    with pytest.raises(AnswerError) as refused:
        route(answers, "r", CALLS, SUSPENDED, waits)

    assert words in str(refused.value)
    assert refused.value.tool_call_ids == calls


def test_where_only_subagents_ask_their_calls_are_named() -> None:
    with pytest.raises(AnswerError, match="no call 'z' asks; what asks: 'a', 'b', 'c'"):
        route(yes("z"), "r", CALLS[2:], SUSPENDED, {"k1": ONE})
    with pytest.raises(AnswerError, match="those that wait are 'one', 'below'"):
        route(yes("a", reply_id="gone"), "r", CALLS[2:], SUSPENDED, {"k1": ONE})
