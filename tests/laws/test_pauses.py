"""Random conversations that pause, are left and gone on with, in another process too: the laws hold."""

from __future__ import annotations

import random
from typing import Any

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import operators as ops

from agentscope_rx import event as ev
from agentscope_rx.agent import CallInput, ConfirmResults
from agentscope_rx.message import (
    GenerateReason,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.middleware import MiddlewareBase, on_acting
from agentscope_rx.permission import PermissionContextState
from agentscope_rx.testing import CallRecord, thinking, tool_call
from tests.agent.asking import (
    Conversation,
    Home,
    allow,
    deny,
    ended,
    every,
    handed_out,
    outcomes,
)

PERMISSIONS = (
    None,
    "default",
    "bypass",
    "dont_ask",
    PermissionContextState(
        allow_rules={"pay": [allow("pay")], "phone": [allow("phone")]},
        deny_rules={"write": [deny("write", "/etc/**")]},
    ),
)


class Twice(MiddlewareBase):
    """Calls `next` twice."""

    def on_acting(self, agent: Any, ctx: Any, input: Any, next: Any) -> Any:
        return rx.concat(next(input), next(input))


def piece(r: random.Random) -> Any:
    n = r.randrange(100)
    return r.choice(
        [
            "words ",
            thinking("hm"),
            tool_call("read", path=f"/r{n}"),
            tool_call("write", path=f"/w{n}"),
            tool_call("write", {"path": f"/s{n}"}, "same"),
            tool_call("write", path="/etc/x"),
            tool_call("shell", command=f"c{n}"),
            tool_call("pay", amount=n),
            tool_call("pay", amount="much"),
            tool_call("phone", number=str(n)),
            tool_call("nowhere"),
        ]
    )


def conversation(r: random.Random) -> Conversation:
    script = [[piece(r) for _ in range(r.randrange(6))] for _ in range(r.randrange(1, 4))]
    hooks = [Twice(), on_acting(ops.delay(0.0005))]
    return Conversation(
        *script,
        *["later"] * 12,
        permission=r.choice(PERMISSIONS),
        middlewares=[hook for hook in hooks if r.random() < 0.3],
        home=Home(r.choice(["one agent", "JSON"]), None),
        max_iters=r.choice([2, 10]),
        max_concurrent_tools=r.choice([None, 1]),
    )


def answers(r: random.Random, record: CallRecord) -> ConfirmResults:
    questions = every(record, ev.RequireUserConfirmEvent)
    calls = {call.id: call for question in questions for call in question.tool_calls}
    return ConfirmResults([answer(r, call) for call in calls.values()])


def answer(r: random.Random, call: ToolUseBlock) -> ev.ConfirmResult:
    rules = [allow(call.name)] if r.random() < 0.2 else None
    if call.name == "write" and r.random() < 0.3:
        call = evolve(call, input={**call.input, "path": "/edited"}, content=None)
    return ev.ConfirmResult(r.random() < 0.6, call, rules)


def next_input(r: random.Random, record: CallRecord) -> CallInput:
    """What goes on with a call; nothing given is always right, if it is not done."""
    if not isinstance(record.events[-1], ev.AgentEndEvent) or r.random() < 0.2:
        return None
    if ended(record) is GenerateReason.PERMISSION_ASKING:
        return answers(r, record)
    calls = handed_out(record)
    return outcomes(*r.sample(calls, r.randrange(1, len(calls) + 1)))


def is_done(record: CallRecord) -> bool:
    last = record.events[-1]
    return isinstance(last, ev.AgentEndEvent) and last.generate_reason in (
        GenerateReason.MODEL_STOP,
        GenerateReason.MAX_ITERATIONS,
    )


@pytest.mark.parametrize("seed", range(150))
def test_a_reply_that_pauses_and_is_left_at_random_ends_with_one_result_for_each_call(seed: int) -> None:
    r = random.Random(seed)
    talk = conversation(r)
    input: CallInput = "go"
    for _ in range(40):
        record = talk.left(input, after=r.randrange(1, 14)) if r.random() < 0.4 else talk.call(input)
        assert record.error is None
        if is_done(record):
            break
        input = next_input(r, record)

    assert is_done(record)
    message = talk.state.context[-1]
    calls, results = message.get_content_blocks(ToolUseBlock), message.get_content_blocks(ToolResultBlock)
    assert sorted(call.id for call in calls) == sorted(result.id for result in results)
    assert {call.state for call in calls} <= {ToolCallState.FINISHED}
    assert ToolResultState.RUNNING not in {result.state for result in results}
    for words in ("wrote", "text of", "ran ", "Permission denied"):
        assert all(result.text_content.count(words) <= 1 for result in results), "nothing is there twice"
