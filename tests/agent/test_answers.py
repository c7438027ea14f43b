"""Whether answers fit what was asked, as a table; and which rules they bring."""

from __future__ import annotations

import pytest

from agentscope_rx.agent import ConfirmResults, ExternalResults
from agentscope_rx.agent._answers import accepted_rules, check_answers
from agentscope_rx.errors import AnswerError
from agentscope_rx.event import ConfirmResult
from agentscope_rx.message import ToolCallState, ToolResultBlock, ToolUseBlock
from agentscope_rx.permission import PermissionBehavior, PermissionRule

# Two calls ask, two wait for an outcome (the one was handed out, the other's tool has said so), one runs.
CALLS = (
    ToolUseBlock("a", "write", state=ToolCallState.ASKING),
    ToolUseBlock("b", "write", state=ToolCallState.ASKING),
    ToolUseBlock("x", "pay", state=ToolCallState.SUBMITTED),
    ToolUseBlock("y", "phone", state=ToolCallState.ALLOWED),
    ToolUseBlock("p", "read"),
)
SUSPENDED = {"y"}


def yes(*ids: str, reply_id: str | None = None) -> ConfirmResults:
    return ConfirmResults([ConfirmResult(True, ToolUseBlock(id, "write")) for id in ids], reply_id)


def outcomes(*ids: str, reply_id: str | None = None) -> ExternalResults:
    return ExternalResults([ToolResultBlock(id, "pay", "done") for id in ids], reply_id)


@pytest.mark.parametrize(
    "answers",
    [
        yes("a", "b"),
        yes("b", "a"),
        yes("a", "b", reply_id="r"),
        ConfirmResults([ConfirmResult(False, CALLS[0]), ConfirmResult(True, CALLS[1])]),
        outcomes("x", "y"),
        outcomes("x"),
        outcomes("y", reply_id="r"),
    ],
)
def test_answers_that_name_what_waits_fit(answers: ConfirmResults | ExternalResults) -> None:
    check_answers(answers, "r", CALLS, SUSPENDED)


@pytest.mark.parametrize(
    ("answers", "words", "ids"),
    [
        (yes("a", "b", reply_id="old"), "for reply 'old', but 'r' is the one that waits", ("a", "b")),
        (outcomes("x", reply_id="old"), "for reply 'old', but 'r' is the one that waits", ("x",)),
        (yes(), "there is no answer; what asks: 'a', 'b'", ()),
        (outcomes(), "there is no outcome; what waits for an outcome: 'x', 'y'", ()),
        (ConfirmResults(ConfirmResult(True, None)), "name no tool call", ("",)),
        (yes("", "a", "b"), "1 answer(s) name no tool call", ("", "a", "b")),
        (outcomes(""), "1 outcome(s) name no tool call", ("",)),
        (yes("a", "b", "z"), "no call 'z' asks; what asks: 'a', 'b'", ("z",)),
        (outcomes("z", "x"), "no call 'z' waits for an outcome; what waits for an outcome: 'x', 'y'", ("z",)),
        (yes("a", "b", "p"), "no call 'p' asks", ("p",)),
        (yes("a", "b", "x"), "no call 'x' asks", ("x",)),
        (outcomes("a"), "no call 'a' waits for an outcome", ("a",)),
        (outcomes("p"), "no call 'p' waits for an outcome", ("p",)),
        (yes("a", "a", "b"), "more than one answer for 'a'", ("a",)),
        (outcomes("x", "x"), "more than one outcome for 'x'", ("x",)),
        (yes("b"), "no answer for 'a'; a human answers all questions at once", ("a",)),
    ],
)
def test_answers_that_do_not_fit_are_refused_with_the_calls_and_the_remedy(
    answers: ConfirmResults | ExternalResults, words: str, ids: tuple[str, ...]
) -> None:
    with pytest.raises(AnswerError) as refused:
        check_answers(answers, "r", CALLS, SUSPENDED)

    assert words in str(refused.value)
    assert refused.value.tool_call_ids == ids


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (yes("a"), "no call 'a' asks; nothing asks"),
        (outcomes("x"), "no call 'x' waits for an outcome; nothing waits for an outcome"),
        (yes("a", reply_id="old"), "for reply 'old', but no reply waits for them: they are stale"),
    ],
)
def test_where_nothing_waits_every_answer_is_refused(
    answers: ConfirmResults | ExternalResults, words: str
) -> None:
    done = [ToolUseBlock("a", "write", state=ToolCallState.FINISHED)]
    with pytest.raises(AnswerError) as refused:
        check_answers(answers, "r", done, ())

    assert words in str(refused.value)


ALLOW = PermissionRule("write", "/tmp/**", PermissionBehavior.ALLOW)
DENY = PermissionRule("write", "/etc/**", PermissionBehavior.DENY)
ASK = PermissionRule("write", None, PermissionBehavior.ASK)


@pytest.mark.parametrize(
    ("confirmed", "rules", "accepted"),
    [
        (True, None, ()),
        (True, (), ()),
        (True, (ALLOW, DENY, ASK), (ALLOW, DENY, ASK)),
        (False, (ALLOW, DENY, ASK), (DENY, ASK)),
        (False, (ALLOW,), ()),
    ],
)
def test_the_rules_of_a_denial_allow_nothing(
    confirmed: bool,
    rules: tuple[PermissionRule, ...] | None,
    accepted: tuple[PermissionRule, ...],
) -> None:
    assert accepted_rules([ConfirmResult(confirmed, CALLS[0], rules)]) == accepted
