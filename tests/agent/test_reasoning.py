"""What a model is asked, and what happens when it fails, or says nothing."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import operators as ops

from agentscope_rx import event as ev
from agentscope_rx.agent import Agent, ReActAgent, RuntimeContext
from agentscope_rx.agent._prompt import NO_RESULT
from agentscope_rx.agent._reasoning import REMINDER
from agentscope_rx.errors import (
    ConfigurationError,
    ModelConnectionError,
    ModelHTTPError,
    RateLimitedError,
)
from agentscope_rx.message import (
    AssistantMessage,
    ChatUsage,
    GenerateReason,
    HintBlock,
    Msg,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.middleware import (
    MiddlewareBase,
    ModelCallInput,
    Phase,
    on_acting,
    on_model_call,
    on_reasoning,
)
from agentscope_rx.testing import CallRecord, ScriptedModel, check_call, check_disposal, thinking, tool_call
from agentscope_rx.tool import ToolGroup, Toolkit, tool

LIMITED = RateLimitedError("slow down", retry_after=0.001)
REFUSED = ModelHTTPError("no such model", status=404)
BROKEN = ModelConnectionError("the line broke")


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def agent(*script: Any, **options: Any) -> ReActAgent:
    options.setdefault("toolkit", [add])
    return ReActAgent("Friday", model=ScriptedModel(*script, name="first"), **options)


def said(record: CallRecord) -> AssistantMessage:
    assert record.message is not None
    return record.message


def models(record: CallRecord) -> list[str | None]:
    return [event.model_name for event in record.events if isinstance(event, ev.ModelCallStartEvent)]


# A failing model


def test_a_model_is_asked_again_when_that_can_help_and_shows_one_model_call() -> None:
    record = check_call(agent(LIMITED, [ChatUsage(7, 1), LIMITED], ["yes", ChatUsage(3, 2)]), "hi")

    assert record.error is None
    assert said(record).text_content == "yes"
    assert record.names == [
        "AgentStart", "ModelCallStart", "TextBlockStart", "TextBlockDelta", "TextBlockEnd", "ModelCallEnd",
        "AgentResult", "AgentEnd",
    ]  # fmt: skip
    assert said(record).usage == ChatUsage(10, 3)


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_a_model_that_goes_on_failing_is_asked_so_many_times_again(retries: int) -> None:
    friday = agent(lambda _: LIMITED, max_retries=retries)
    record = check_call(friday, "hi")

    assert record.error is LIMITED
    assert len(friday.model.calls) == retries + 1  # type: ignore[attr-defined]
    assert record.names == ["AgentStart", "ModelCallStart", "ModelCallEnd", "AgentEnd"]


@pytest.mark.parametrize(
    "error",
    [REFUSED, ConfigurationError("no key"), RateLimitedError("away", retry_after=3600.0), KeyError("bug")],
)
def test_what_cannot_pass_is_not_tried_again(error: Exception) -> None:
    friday = agent(error, "yes")

    assert check_call(friday, "hi").error is error
    assert len(friday.model.calls) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("begun", ["par", thinking("hm"), tool_call("add", a=1, b=2)])
def test_after_the_first_word_a_failure_is_final(begun: Any) -> None:
    record = check_call(agent([begun, LIMITED], "yes", fallback_model=ScriptedModel("other")), "hi")

    assert record.error is LIMITED
    assert models(record) == ["first"]


def test_waiting_for_another_attempt_costs_no_thread_and_ends_with_the_call() -> None:
    threads: set[int] = set()

    async def main() -> None:
        friday = agent(RateLimitedError("slow down", retry_after=30.0), "yes")
        failed = asyncio.Event()

        def see(event: ev.AgentEvent) -> None:
            threads.add(threading.get_ident())
            if isinstance(event, ev.ModelCallStartEvent):
                asyncio.get_running_loop().call_later(0.01, failed.set)

        before = asyncio.all_tasks()
        subscription = friday.call("hi").subscribe(see)
        await failed.wait()
        assert threading.active_count() == running
        subscription.dispose()
        await asyncio.sleep(0.01)
        assert asyncio.all_tasks() == before
        message = await friday.reply()
        assert message.text_content == "yes"

    running = threading.active_count()
    asyncio.run(main())
    assert threads == {threading.get_ident()}


def test_a_call_can_be_disposed_while_it_waits() -> None:
    for count in range(3):
        friday = agent(RateLimitedError("slow down", retry_after=0.05), "yes", "yes")
        check_disposal(friday, "hi", after=min(count, 2))
        assert check_call(friday, None if count else "hi").error is None


def test_an_interrupt_does_not_wait_for_another_attempt() -> None:
    async def main() -> None:
        friday = agent(RateLimitedError("slow down", retry_after=30.0), "never")
        reply = asyncio.ensure_future(_of(friday.reply("hi")))
        await asyncio.sleep(0.01)
        await friday.interrupt()

        assert (await reply).generate_reason is GenerateReason.INTERRUPTED

    asyncio.run(asyncio.wait_for(main(), 5))


async def _of(source: rx.Observable[Any]) -> Any:
    return await source


def test_the_other_model_is_asked_where_the_first_fails_before_a_word() -> None:
    other = ScriptedModel(["yes", ChatUsage(3, 2)], name="second")
    record = check_call(agent([ChatUsage(7, 1), REFUSED], fallback_model=other), "hi")

    assert record.error is None
    assert models(record) == ["first", "second"]
    assert record.names[:5] == [
        "AgentStart", "ModelCallStart", "ModelCallEnd", "ModelCallStart", "TextBlockStart",
    ]  # fmt: skip
    assert said(record).text_content == "yes"
    assert said(record).usage == ChatUsage(10, 3)
    assert [msg.text_content for msg in other.calls[0].messages] == ["hi"]


def test_the_other_model_is_asked_after_all_attempts_and_has_its_own() -> None:
    other = ScriptedModel(LIMITED, "yes", name="second")
    friday = agent(lambda _: LIMITED, max_retries=1, fallback_model=other)
    record = check_call(friday, "hi")

    assert said(record).text_content == "yes"
    assert (len(friday.model.calls), len(other.calls)) == (2, 2)  # type: ignore[attr-defined]
    assert models(record) == ["first", "second"]


def test_if_both_models_fail_the_error_is_of_the_second_and_notes_the_first() -> None:
    gone = ModelHTTPError("gone", status=410)
    record = check_call(agent(REFUSED, fallback_model=ScriptedModel(gone)), "hi")

    assert record.error is gone
    assert any("no such model" in note for note in gone.__notes__)


@pytest.mark.parametrize(
    ("error", "asked"), [(ConfigurationError("no key"), 0), (KeyError("their bug"), 1), (REFUSED, 1)]
)
def test_a_mistake_in_the_configuration_is_not_hidden_by_another_model(error: Exception, asked: int) -> None:
    other = ScriptedModel("yes")
    record = check_call(agent(error, fallback_model=other), "hi")

    assert len(other.calls) == asked
    assert record.error is (None if asked else error)


def test_structured_output_is_asked_for_in_a_way_that_both_models_understand() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    friday = ReActAgent(
        "Friday",
        model=ScriptedModel(REFUSED, native_structured_output=True),
        fallback_model=ScriptedModel(tool_call("generate_response", response={"city": "Oslo"})),
    )
    message = friday.reply("where?", output=schema).run()

    assert message.structured_output == {"city": "Oslo"}


def test_each_model_call_begins_with_the_first_model_also_the_summary() -> None:
    other = ScriptedModel(tool_call("add", a=1, b=2), "so far: 3", name="second")
    friday = agent(REFUSED, REFUSED, fallback_model=other, max_iters=1)
    record = check_call(friday, "hi")

    assert models(record) == ["first", "second", "first", "second"]
    assert said(record).text_content == "so far: 3"
    assert GenerateReason.MAX_ITERATIONS is said(record).generate_reason


def test_a_hook_sees_one_phase_of_all_attempts_and_may_name_another_model() -> None:
    seen: list[str] = []

    class Route(MiddlewareBase):
        def on_model_call(
            self, agent: Agent, ctx: RuntimeContext, input: ModelCallInput, next: Phase[ModelCallInput]
        ) -> rx.Observable[ev.AgentEvent]:
            def note(event: ev.AgentEvent) -> None:
                seen.append(type(event).__name__.removesuffix("Event"))

            return next(evolve(input, model=routed)).pipe(ops.do_action(note))

    routed = ScriptedModel(LIMITED, REFUSED, name="third")
    friday = agent("never", fallback_model=ScriptedModel("yes", name="second"), middlewares=[Route()])
    record = check_call(friday, "hi")

    assert models(record) == ["third", "second"]
    assert seen[:4] == ["ModelCallStart", "ModelCallEnd", "ModelCallStart", "TextBlockStart"]
    assert friday.model.calls == ()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_retries": -1}, ["max_retries", "-1"]),
        ({"max_retries": True}, ["max_retries", "True"]),
        ({"max_retries": None}, ["max_retries", "None"]),
        ({"fallback_model": "openai:gpt-4o"}, ["fallback_model", "resolve_model('openai:gpt-4o')"]),
    ],
)
def test_wrong_ways_on_are_refused_at_their_line(options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        agent("x", **options)

    assert all(word in str(caught.value) for word in words)


# A model that says nothing


def hints(record: CallRecord) -> list[str]:
    return [hint.hint for hint in said(record).get_content_blocks(HintBlock)]


@pytest.mark.parametrize("empty", [[], "  \n", thinking("hm"), ChatUsage(1, 0)])
def test_a_model_that_says_nothing_is_reminded_and_asked_again(empty: Any) -> None:
    friday = agent(empty, "yes")
    record = check_call(friday, "hi")

    assert hints(record) == [REMINDER]
    [event] = [event for event in record.events if isinstance(event, ev.HintBlockEvent)]
    assert (event.hint_source, event.block_id) == ("empty_response", "hint-1")
    assert said(record).content[-1] == TextBlock("yes")
    assert said(record).generate_reason is GenerateReason.MODEL_STOP
    asked = friday.model.calls[1].messages  # type: ignore[attr-defined]
    assert asked[-1].content[-1].hint == REMINDER


def test_a_model_that_still_says_nothing_is_left_in_peace_and_there_is_a_message() -> None:
    friday = agent([], [], "never")
    record = check_call(friday, "hi")

    assert len(models(record)) == 2
    assert record.error is None
    assert said(record).text_content == ""
    assert said(record).generate_reason is GenerateReason.MODEL_STOP

    assert agent([], []).reply("hi").run().text_content == ""


def test_there_is_one_reminder_in_a_reply_whatever_lies_between() -> None:
    friday = agent([], tool_call("add", a=1, b=2), [])
    record = check_call(friday, "hi")

    assert len(hints(record)) == 1
    assert len(models(record)) == 3


def test_each_reply_may_have_its_reminder() -> None:
    friday = agent([], "one", [], "two")

    assert [hints(check_call(friday, text)) for text in ("a", "b")] == [[REMINDER]] * 2


def test_there_is_no_reminder_where_no_round_is_left() -> None:
    record = check_call(agent([], "never", max_iters=1), "hi")

    assert models(record) == ["first"]
    assert said(record).generate_reason is GenerateReason.MODEL_STOP


def test_an_empty_summary_ends_the_reply() -> None:
    record = check_call(agent(tool_call("add", a=1, b=2), [], max_iters=1), "hi")

    assert hints(record) == []
    assert said(record).generate_reason is GenerateReason.MAX_ITERATIONS


def test_what_a_middleware_drops_was_not_said() -> None:
    def mute(events: rx.Observable[ev.AgentEvent]) -> rx.Observable[ev.AgentEvent]:
        return events.pipe(ops.filter(lambda event: not isinstance(event, ev.BlockEvent)))

    friday = agent(lambda _: "secret", middlewares=[on_model_call(mute)])

    assert hints(check_call(friday, "hi")) == [REMINDER]


def test_a_stop_after_the_reminder_does_not_bring_another_one() -> None:
    stopping = True

    def stop(events: rx.Observable[ev.AgentEvent]) -> rx.Observable[ev.AgentEvent]:
        return events.pipe(ops.concat(rx.of(ev.RequestStopEvent()))) if stopping else events

    friday = agent([], [], [], "never", middlewares=[on_reasoning(stop)])
    check_call(friday, "hi")
    stopping = False
    record = check_call(friday)

    assert len(hints(record)) == 1


def test_a_call_can_be_disposed_at_the_reminder() -> None:
    length = len(check_call(agent([], "yes"), "hi").events)
    for count in range(length):
        friday = agent([], "yes", "yes", "yes")
        check_disposal(friday, "hi", after=count)
        again = check_call(friday, None if count else "hi")
        assert again.error is None
        assert len(hints(again)) <= 1


# What a model is shown


def test_a_model_may_be_asked_without_a_word() -> None:
    model = ScriptedModel(lambda asked: f"{len(asked.messages)} messages")
    friday = ReActAgent("Friday", "Be brief.", model=model)

    assert said(check_call(friday)).text_content == "1 messages"
    assert said(check_call(friday, [])).text_content == "2 messages"
    assert said(check_call(ReActAgent("Friday", model=model))).text_content == "0 messages"


def test_the_system_prompt_is_made_for_each_reasoning_step() -> None:
    class Count(MiddlewareBase):
        def on_system_prompt(self, agent: Agent, ctx: RuntimeContext, prompt: str) -> rx.Observable[str]:
            made.append(ctx.session_id)
            return rx.of(f"{prompt} Step {len(made)}.")

    made: list[str | None] = []
    model = ScriptedModel(*[tool_call("add", a=1, b=2)] * 2, "3")
    friday = ReActAgent("Friday", "Be brief.", model=model, toolkit=[add], max_iters=2, middlewares=[Count()])
    record = check_call(friday, "1 + 2?", RuntimeContext("monday"))

    assert [call.messages[0].text_content for call in model.calls] == [
        f"Be brief. Step {number}." for number in (1, 2, 3)
    ]
    assert made == ["monday"] * 3
    assert not any(
        isinstance(msg, SystemMessage) for msg in friday.get_agent_state(RuntimeContext("monday")).context
    )
    assert said(record).generate_reason is GenerateReason.MAX_ITERATIONS


@pytest.mark.parametrize("hook", [on_reasoning, on_acting, on_model_call])
def test_a_hint_of_a_middleware_is_streamed_stored_and_read_by_the_model(hook: Any) -> None:
    given = False

    def hurry(events: rx.Observable[ev.AgentEvent]) -> rx.Observable[ev.AgentEvent]:
        nonlocal given
        if given:
            return events
        given = True
        return events.pipe(ops.start_with(ev.HintBlockEvent("", "hint-a", "clock", "hurry")))

    friday = agent(tool_call("add", a=1, b=2), "3", middlewares=[hook(hurry)])
    record = check_call(friday, "hi")

    [hint] = said(record).get_content_blocks(HintBlock)
    assert (hint.id, hint.hint, hint.source) == ("hint-a", "hurry", "clock")
    assert friday.get_agent_state().context[-1] == record.message
    [*_, reply] = friday.model.calls[1].messages  # type: ignore[attr-defined]
    kinds = [type(block) for block in reply.content]
    # Whatever came first: nothing stands between a call and its result.
    wanted = (
        [ToolUseBlock, ToolResultBlock, HintBlock]
        if hook is on_acting
        else [HintBlock, ToolUseBlock, ToolResultBlock]
    )
    assert kinds == wanted


def call_of(message: Msg) -> list[tuple[str, str]]:
    return [(result.id, result.text_content) for result in message.get_content_blocks(ToolResultBlock)]


def test_a_damaged_conversation_is_whole_when_a_model_sees_it_and_stays_as_it_is() -> None:
    friday = agent("I see.")
    history = (
        UserMessage("go"),
        AssistantMessage("Friday", ToolUseBlock("c1", "add"), ToolUseBlock("c2", "add")),
        ToolResultMessage.of("c2", "add", "3"),
        ToolResultMessage.of("c9", "add", "nobody asked"),
        UserMessage("go on"),
    )
    friday.update_state(lambda state: evolve(state, context=history)).run()
    record = check_call(friday, "well?")

    assert record.error is None
    asked = friday.model.calls[0].messages  # type: ignore[attr-defined]
    assert [(type(msg), call_of(msg)) for msg in asked] == [
        (UserMessage, []),
        (AssistantMessage, []),
        (ToolResultMessage, [("c2", "3")]),
        (ToolResultMessage, [("c1", NO_RESULT)]),
        (UserMessage, []),
        (UserMessage, []),
    ]
    assert friday.get_agent_state().context[:5] == history


def test_a_middleware_cannot_bring_a_dangling_call_before_the_model() -> None:
    class Forget(MiddlewareBase):
        def on_model_call(
            self, agent: Agent, ctx: RuntimeContext, input: ModelCallInput, next: Phase[ModelCallInput]
        ) -> rx.Observable[ev.AgentEvent]:
            cut = tuple(
                evolve(msg, content=tuple(b for b in msg.content if not isinstance(b, ToolResultBlock)))
                for msg in input.messages
            )
            return next(evolve(input, messages=cut))

    friday = agent(tool_call("add", {"a": 1, "b": 2}, "c1"), "3", middlewares=[Forget()])
    check_call(friday, "hi")

    [*_, reply] = friday.model.calls[1].messages  # type: ignore[attr-defined]
    assert call_of(reply) == [("c1", NO_RESULT)]
    assert reply.get_content_blocks(ToolResultBlock)[0].state is ToolResultState.INTERRUPTED


def test_the_calls_of_a_failed_attempt_have_their_result_before_the_model_is_asked_again() -> None:
    friday = agent(
        [tool_call("add", {"a": 1, "b": 2}, "c1"), BROKEN],
        tool_call("add", {"a": 1, "b": 2}, "c2"),
        "3",
        middlewares=[on_model_call(ops.retry(2))],
    )
    with pytest.warns(UserWarning, match="retry_before_first_event"):
        check_call(friday, "hi")

    [*_, reply] = friday.model.calls[2].messages  # type: ignore[attr-defined]
    assert sorted(id for id, _ in call_of(reply)) == ["c1", "c2"]


# The task list


def test_an_agent_keeps_a_task_list_for_each_session_and_is_reminded_of_it() -> None:
    def script(asked: Any) -> Any:
        if asked.results:
            return "noted"
        return tool_call("todo_write", todos=[{"content": asked.text, "status": "in_progress"}])

    friday = ReActAgent("Friday", "Be brief.", model=ScriptedModel(script), enable_task_list=True)
    ann, bob = RuntimeContext("s", "ann"), RuntimeContext("s", "bob")
    check_call(friday, "read", ann)
    check_call(friday, "write", bob)

    subjects = [
        [task.subject for task in friday.get_agent_state(ctx).tasks_context.tasks] for ctx in (ann, bob)
    ]
    assert subjects == [["read"], ["write"]]
    first, second = friday.model.calls[:2]  # type: ignore[attr-defined]
    assert "## Task list" in first.messages[0].text_content
    assert [schema.name for schema in first.tools] == ["todo_write"]
    assert [msg.text_content for msg in first.messages[1:]] == ["read"]
    assert "- [~] read" in second.messages[-1].text_content
    context = friday.get_agent_state(ann).context
    assert not any("system-reminder" in msg.text_content for msg in context)


def test_an_agent_with_a_task_list_can_be_copied_and_has_one() -> None:
    friday = agent("x", enable_task_list=True)
    twin = evolve(friday, name="Saturday")

    assert twin.toolkit.names == friday.toolkit.names == ("add", "todo_write")
    assert len(twin.middlewares) == len(friday.middlewares) == 1
    assert agent("x").toolkit.names == ("add",)


def test_a_task_list_stands_beside_groups_of_tools() -> None:
    toolkit = Toolkit(ToolGroup("maths", "Sums", [add], active=False), meta_tool=True)
    friday = agent(
        tool_call("todo_write", todos=[{"content": "add"}]), "noted", toolkit=toolkit, enable_task_list=True
    )
    record = check_call(friday, "hi")

    assert said(record).text_content == "noted"
    offered = [schema.name for schema in friday.model.calls[0].tools]  # type: ignore[attr-defined]
    assert offered == ["reset_equipped_tools", "todo_write"]
