"""Calls of an agent, each held to the laws."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import operators as ops

from agentscope_rx import event as ev, operators as agent_ops
from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.errors import (
    ConfigurationError,
    ModelConnectionError,
    OpenCallsError,
    RunInsideLoopError,
    SessionBusyError,
)
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    ChatUsage,
    DataBlock,
    GenerateReason,
    Msg,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.middleware import on_acting, on_model_call, on_reasoning
from agentscope_rx.testing import (
    ScriptedModel,
    acheck_call,
    check_call,
    check_disposal,
    pause,
    thinking,
    tool_call,
)
from agentscope_rx.tool import tool


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


class Nameless:
    """A model that does not say its name."""

    def stream(self, *_: Any) -> rx.Observable[Any]:
        return rx.empty()


@tool
async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return f"waited {seconds}"


@tool
def fail() -> str:
    """Fail."""
    raise RuntimeError("kaputt")


def agent(*script: Any, **options: Any) -> ReActAgent:
    options.setdefault("toolkit", [add, wait, fail])
    return ReActAgent("Friday", model=ScriptedModel(*script), **options)


def results(message: Msg | None) -> list[ToolResultBlock]:
    assert message is not None
    return message.get_content_blocks(ToolResultBlock)


def text(result: ToolResultBlock) -> str:
    return "".join(block.text for block in result.output if isinstance(block, TextBlock))


def test_a_text_answer_is_one_model_call_between_start_and_end() -> None:
    record = check_call(agent("Hello there"), "hi")

    assert record.names[:3] == ["AgentStart", "ModelCallStart", "TextBlockStart"]
    assert record.names[-4:] == ["TextBlockEnd", "ModelCallEnd", "AgentResult", "AgentEnd"]
    assert record.message is not None
    assert record.message.text_content == "Hello there"
    assert GenerateReason.MODEL_STOP is record.message.generate_reason
    assert record.message.name == "Friday"


def test_thinking_data_and_usage_reach_the_message() -> None:
    image = DataBlock(Base64Source("image/png", "iVBORw0KGgo="))
    record = check_call(agent([thinking("hm"), "see ", image, "there", ChatUsage(3, 4)]), "hi")

    assert record.message is not None
    kinds = [type(block) for block in record.message.content]
    assert [ThinkingBlock, TextBlock, DataBlock, TextBlock] == kinds
    assert ChatUsage(3, 4) == record.message.usage


def test_a_tool_round_runs_the_tool_and_asks_again() -> None:
    model = ScriptedModel(["Let me see. ", tool_call("add", a=1, b=2)], "It is 3.")
    record = check_call(ReActAgent("Friday", "Be brief.", model=model, toolkit=[add]), "1 + 2?")

    assert record.message is not None
    kinds = [type(block) for block in record.message.content]
    assert [TextBlock, ToolUseBlock, ToolResultBlock, TextBlock] == kinds
    call = record.message.get_content_blocks(ToolUseBlock)[0]
    assert (call.input, call.state) == ({"a": 1, "b": 2}, ToolCallState.FINISHED)
    assert (
        text(results(record.message)[0]),
        results(record.message)[0].state,
    ) == ("3", ToolResultState.SUCCESS)
    assert [SystemMessage, UserMessage] == [type(msg) for msg in model.calls[0].messages]
    assert [SystemMessage, UserMessage, AssistantMessage] == [type(msg) for msg in model.calls[1].messages]
    assert [schema.name for schema in model.calls[1].tools] == ["add"]


def test_usage_is_summed_over_the_model_calls_of_a_reply() -> None:
    friday = agent([tool_call("add", a=1, b=2), ChatUsage(1, 2, 3, 0.5)], ["3", ChatUsage(10, 20)])

    record = check_call(friday, "?")

    assert record.message is not None
    assert ChatUsage(11, 22, 3, 0.5) == record.message.usage


def test_parallel_tools_end_as_they_finish_and_stand_in_the_order_of_their_starts() -> None:
    record = check_call(
        agent([tool_call("wait", seconds=0.05), tool_call("wait", seconds=0.001)], "done"), "go"
    )

    ends = [event.tool_call_id for event in record.events if isinstance(event, ev.ToolResultEndEvent)]
    starts = [event.tool_call_id for event in record.events if isinstance(event, ev.ToolResultStartEvent)]
    assert ends == starts[::-1]
    assert [text(result) for result in results(record.message)] == ["waited 0.05", "waited 0.001"]


def test_an_unsafe_tool_runs_alone() -> None:
    running: list[int] = [0]
    most: list[tuple[str, int]] = []

    def counted(name: str, safe: bool) -> Any:
        async def body() -> str:
            running[0] += 1
            most.append((name, running[0]))
            await asyncio.sleep(0.005)
            running[0] -= 1
            return name

        body.__name__ = name
        return tool(body, description=name, concurrency_safe=safe)

    calls = [tool_call("safe"), tool_call("safe"), tool_call("unsafe"), tool_call("safe")]
    record = check_call(agent(calls, "ok", toolkit=[counted("safe", True), counted("unsafe", False)]), "go")

    assert most == [("safe", 1), ("safe", 2), ("unsafe", 1), ("safe", 1)]
    assert [text(result) for result in results(record.message)] == ["safe", "safe", "unsafe", "safe"]


def test_the_number_of_tools_at_once_can_be_limited() -> None:
    running = 0
    most = 0

    @tool
    async def count() -> str:
        """Count."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.002)
        running -= 1
        return "x"

    check_call(agent([tool_call("count")] * 7, "ok", toolkit=[count], max_concurrent_tools=3), "go")

    assert most == 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (tool_call("nope"), ["nope", "add"]),
        (tool_call("add", a=1), ["b"]),
        (tool_call("add", a="x", b=1), ["$.a"]),
        (tool_call("fail"), ["kaputt"]),
        (ToolUseBlock("c1", "add", content='{"a": 1'), ["JSON"]),
    ],
)
def test_a_failing_tool_is_a_result_that_the_model_can_act_on(call: Any, words: list[str]) -> None:
    record = check_call(agent([call], "I see."), "go")

    assert record.error is None
    assert record.message is not None
    [result] = results(record.message)
    assert ToolResultState.ERROR is result.state
    assert all(word in text(result) for word in words)
    assert record.message.text_content == "I see."


def test_the_limit_of_rounds_asks_for_a_summary_without_tools() -> None:
    model = ScriptedModel(*[[tool_call("add", a=1, b=2)]] * 2, ["So far: 3.", tool_call("add", a=1, b=1)])
    record = check_call(ReActAgent("Friday", model=model, toolkit=[add], max_iters=2), "go")

    assert record.message is not None
    assert GenerateReason.MAX_ITERATIONS is record.message.generate_reason
    assert record.message.text_content == "So far: 3."
    assert 2 == len(results(record.message)) == len(record.message.get_content_blocks(ToolUseBlock))
    [limit] = [event for event in record.events if isinstance(event, ev.ExceedMaxItersEvent)]
    assert (limit.max_iters, limit.current_iter) == (2, 2)
    assert model.calls[-1].tools == ()


def test_a_model_that_fails_in_the_middle_ends_the_reply_well_and_nothing_is_run_twice() -> None:
    boom = ModelConnectionError("the line broke")
    friday = agent(["par", tool_call("add", a=1, b=2), boom], "Sorry: 3.")

    record = check_call(friday, "go")
    assert record.error is boom
    assert isinstance(record.events[-1], ev.AgentEndEvent)
    assert ev.ErrorInfo("ModelConnectionError", "the line broke") == record.events[-1].error
    assert [result.state for result in results(record.message)] == [ToolResultState.ERROR]

    again = check_call(friday)
    assert again.message is not None
    assert record.message is not None
    assert record.message.id == again.message.id
    assert record.message.content == again.message.content[: len(record.message.content)]
    assert again.message.get_content_blocks(TextBlock)[-1].text == "Sorry: 3."


def test_reply_emits_only_the_error_and_the_error_holds_what_had_come() -> None:
    boom = ModelConnectionError("the line broke")
    seen: list[Msg] = []

    with pytest.raises(ModelConnectionError) as caught:
        agent(["par", boom]).reply("go").pipe(ops.do_action(seen.append)).run()

    assert caught.value is boom
    assert seen == []
    assert boom.partial.text_content == "par"


def test_two_subscriptions_are_two_calls() -> None:
    friday = agent("one", "two")
    call = friday.call("hi")

    first = call.pipe(agent_ops.to_msg()).run()
    second = call.pipe(agent_ops.to_msg()).run()

    assert [first.text_content, second.text_content] == ["one", "two"]
    context = friday.get_agent_state().context
    assert [msg.text_content for msg in context] == ["hi", "one", "hi", "two"]
    assert len({msg.id for msg in context}) == 4


def test_a_failed_call_that_is_tried_again_says_its_input_once() -> None:
    friday = agent([ModelConnectionError("no")], "yes", max_retries=0)

    message = friday.call("hi").pipe(ops.retry(2), agent_ops.to_msgs(), ops.last()).run()

    assert message.text_content == "yes"
    assert sum(msg.text_content == "hi" for msg in friday.get_agent_state().context) == 1


@pytest.mark.parametrize("hook", [on_reasoning, on_acting])
def test_a_stop_finishes_the_step_and_none_goes_on_without_running_anything_again(hook: Any) -> None:
    runs: list[int] = []

    @tool
    def once() -> str:
        """Count the runs."""
        runs.append(1)
        return "ran"

    stopping = True

    def stop(events: rx.Observable[ev.AgentEvent]) -> rx.Observable[ev.AgentEvent]:
        request = ev.RequestStopEvent("enough", GenerateReason.REASONING_STOP_REQUESTED)
        return events.pipe(ops.concat(rx.of(request))) if stopping else events

    friday = agent([tool_call("once")], "done", toolkit=[once], middlewares=[hook(stop)])
    record = check_call(friday, "go")
    assert record.message is not None
    assert GenerateReason.REASONING_STOP_REQUESTED is record.message.generate_reason
    assert "RequestStop" in record.names
    before = len(runs)
    assert (0 if hook is on_reasoning else 1) == before

    stopping = False
    again = check_call(friday)
    assert again.message is not None
    assert record.message.id == again.message.id
    assert again.message.text_content == "done"
    assert len(runs) == 1


def test_ordinary_input_while_calls_are_open_is_refused_with_the_ways_on() -> None:
    def stop(events: rx.Observable[ev.AgentEvent]) -> rx.Observable[ev.AgentEvent]:
        return events.pipe(ops.concat(rx.of(ev.RequestStopEvent())))

    friday = agent([ToolUseBlock("c1", "add", content='{"a":1,"b":2}')], middlewares=[on_reasoning(stop)])
    check_call(friday, "go")

    record = check_call(friday, "something else")
    assert isinstance(record.error, OpenCallsError)
    assert record.error.tool_call_ids == ("c1",)
    assert all(word in str(record.error) for word in ("c1", "ConfirmResults", "None", "interrupt"))


def test_calls_of_a_superseded_attempt_get_an_error_and_only_those_of_the_last_one_run() -> None:
    runs: list[str] = []

    @tool
    def note(what: str) -> str:
        """Note something."""
        runs.append(what)
        return what

    boom = ModelConnectionError("the line broke")
    friday = agent(
        ["a", tool_call("note", what="first"), boom],
        ["b", tool_call("note", what="second")],
        "done",
        toolkit=[note],
        middlewares=[on_model_call(ops.retry(2))],
    )
    with pytest.warns(UserWarning, match="retry_before_first_event"):
        record = check_call(friday, "go")

    assert runs == ["second"]
    assert [r.state for r in results(record.message)] == [ToolResultState.ERROR, ToolResultState.SUCCESS]


def test_a_call_that_a_superseded_attempt_made_does_not_keep_an_answer_from_being_one() -> None:
    boom = ModelConnectionError("the line broke")
    model = ScriptedModel([tool_call("add", a=1, b=2), boom], "an answer")
    friday = ReActAgent("Friday", model=model, toolkit=[add], middlewares=[on_model_call(ops.retry(2))])
    with pytest.warns(UserWarning, match="on_model_call"):
        record = check_call(friday, "go")

    assert record.message is not None
    assert GenerateReason.MODEL_STOP is record.message.generate_reason
    assert len(model.calls) == 2


def test_a_call_can_be_disposed_at_any_event() -> None:
    def fresh() -> ReActAgent:
        return agent(
            [thinking("hm"), "Let me see. ", tool_call("wait", seconds=0.01), tool_call("add", a=1, b=2)],
            "It is 3.",
            *["later"] * 3,
        )

    length = len(check_call(fresh(), "go").events)
    for count in range(length):
        friday = fresh()
        check_disposal(friday, "go", after=count)
        assert check_call(friday, None if count else "go").error is None


def test_disposing_cancels_the_tool_and_frees_the_session_only_when_it_is_clean() -> None:
    order: list[str] = []

    @tool
    async def slow() -> str:
        """Take long the first time, and clean up slowly."""
        if order:
            return "quick"
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.02)
            order.append("cleaned up")
        return "never"

    async def main() -> None:
        friday = agent([tool_call("slow")], "done", toolkit=[slow])
        started = asyncio.Event()

        def see(event: ev.AgentEvent) -> None:
            if isinstance(event, ev.ToolResultStartEvent):
                started.set()

        subscription = friday.call("go").subscribe(see)
        await started.wait()
        subscription.dispose()
        waiting = friday.call().pipe(ops.do_action(lambda event: order.append(type(event).__name__)))
        message = await waiting.pipe(agent_ops.to_msg())
        assert message.text_content == "done"

    asyncio.run(main())
    assert order[:2] == ["cleaned up", "AgentStartEvent"]


def test_calls_of_one_session_run_one_after_the_other_in_order() -> None:
    async def main() -> None:
        friday = agent(lambda call: [pause(0.002), f"answer to {call.text}"])
        replies = [friday.reply(f"question {number}") for number in range(20)]

        answers = await asyncio.gather(*[asyncio.ensure_future(_awaited(reply)) for reply in replies])

        assert [f"answer to question {number}" for number in range(20)] == [a.text_content for a in answers]
        texts = [msg.text_content for msg in friday.get_agent_state().context]
        assert [t for n in range(20) for t in (f"question {n}", f"answer to question {n}")] == texts

    asyncio.run(main())


async def _awaited(source: rx.Observable[Any]) -> Any:
    return await source


def test_sessions_run_side_by_side_and_share_nothing() -> None:
    async def main() -> None:
        def script(call: Any) -> Any:
            if call.results:
                return f"{call.text} is {text(call.results[-1])}"
            left, right = call.text.split("+")
            return [pause(0.001), tool_call("add", a=int(left), b=int(right))]

        friday = agent(script)
        contexts = [RuntimeContext(f"s{n}", f"u{n % 3}") for n in range(30)]
        records = await asyncio.gather(
            *[_awaited(friday.reply(f"{n}+{n}", ctx)) for n, ctx in enumerate(contexts)]
        )

        assert [f"{n}+{n} is {2 * n}" for n in range(30)] == [record.text_content for record in records]
        for ctx in contexts:
            assert len(friday.get_agent_state(ctx).context) == 2

    asyncio.run(main())


def test_a_failure_frees_the_session() -> None:
    friday = agent([ModelConnectionError("no")], "yes", max_retries=0)

    assert isinstance(check_call(friday, "a").error, ModelConnectionError)
    assert check_call(friday, "b").error is None


def test_a_tool_that_calls_its_own_session_gets_an_error_and_no_deadlock() -> None:
    holder: list[ReActAgent] = []

    @tool
    async def ask_myself(ctx: RuntimeContext) -> str:
        """Call the agent from inside."""
        return (await holder[0].reply("again", ctx)).text_content

    holder.append(agent([tool_call("ask_myself")], "done", toolkit=[ask_myself]))
    record = check_call(holder[0], "go")

    assert SessionBusyError.__name__ in text(results(record.message)[0]) or "own session" in text(
        results(record.message)[0]
    )


def test_ten_thousand_rounds_work() -> None:
    rounds = 10_000

    @tool
    async def step() -> str:
        """Make a step."""
        return "ok"

    count = 0

    def script(call: Any) -> Any:
        nonlocal count
        count += 1
        return [tool_call("step")] if count <= rounds else "arrived"

    model = ScriptedModel(script)
    friday = ReActAgent("Friday", model=_Forgetful(model), toolkit=[step], max_iters=rounds + 1)
    last: list[ev.AgentEvent] = []
    ends = 0

    def see(event: ev.AgentEvent) -> None:
        nonlocal ends
        ends += isinstance(event, ev.ToolResultEndEvent)
        last[:] = [event]

    friday.call("go").pipe(ops.do_action(see)).run()

    assert rounds == ends
    assert isinstance(last[0], ev.AgentEndEvent)


class _Forgetful:
    """A model that keeps no record of its calls, which would be quadratic here."""

    model_name = "forgetful"

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    def stream(self, messages: Any, tools: Any, options: Any) -> rx.Observable[Any]:
        return self._model.stream((), tools, options)


def test_run_works_in_a_plain_thread_and_is_an_error_inside_a_loop() -> None:
    friday = agent("one", "two", "three")
    assert friday.reply("hi").run().text_content == "one"

    async def main() -> None:
        with pytest.raises(RunInsideLoopError, match="await"):
            friday.reply("hi").run()
        assert (await friday.reply("hi")).text_content in ("two", "three")

    asyncio.run(main())


def test_a_subscriber_that_raises_frees_the_session() -> None:
    async def main() -> None:
        reported: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: reported.append(context["exception"])
        )
        friday = agent("one", "two")
        boom = ValueError("mine")

        def bad(_: ev.AgentEvent) -> None:
            raise boom

        friday.call("hi").subscribe(bad)
        record = await acheck_call(friday, "again")

        assert record.error is None
        assert [boom] == reported

    asyncio.run(main())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ReActAgent("", model=ScriptedModel("x")), ["name", "''"]),
        (lambda: ReActAgent("a", model="gpt"), ["model", "gpt", "ScriptedModel"]),
        (lambda: ReActAgent("a"), ["model", "None", "ScriptedModel"]),
        (lambda: ReActAgent("a", model=ScriptedModel), ["the class ScriptedModel", "an object of it"]),
        (lambda: ReActAgent("a", model=Nameless()), ["Nameless", "model_name"]),
        (lambda: ReActAgent("a", model=ScriptedModel("x"), max_iters=0), ["max_iters", "0"]),
        (
            lambda: ReActAgent("a", model=ScriptedModel("x"), max_concurrent_tools=-1),
            ["max_concurrent_tools"],
        ),
        (lambda: ReActAgent("a", model=ScriptedModel("x"), middlewares=[print]), ["print", "on_reasoning"]),
        (lambda: agent("x", middlewares=on_acting(ops.tap(print))), ["middlewares", "on_acting", "list"]),
        (lambda: agent("x", toolkit=add), ["toolkit", "'add'", "list"]),
        (lambda: agent("x", toolkit="add"), ["toolkit", "'add'", "list"]),
        (lambda: agent("x", options={"seed": 1}), ["options", "seed", "GenerateOptions"]),
        (lambda: ReActAgent("a", ScriptedModel("x")), ["sys_prompt", "ScriptedModel", "model"]),
        (lambda: ReActAgent("a", model="openai:gpt-4o"), ["model", "resolve_model('openai:gpt-4o')"]),
        (lambda: agent("x").call("hi", "monday"), ["ctx", "'monday'", "RuntimeContext(session_id="]),
        (lambda: agent("x").reply("hi", int), ["ctx", "<class 'int'>", "RuntimeContext", "output="]),
        (lambda: agent("x").call(3), ["3", "Msg"]),
        (lambda: agent("x").call([UserMessage("a"), "b"]), ["'b'", "UserMessage"]),
        (lambda: agent("x").call(SystemMessage("a")), ["SYSTEM", "sys_prompt"]),
    ],
)
def test_a_wrong_argument_raises_at_its_line_with_value_and_remedy(
    make: Callable[[], object], words: list[str]
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()

    assert all(word in str(caught.value) for word in words)


def test_the_ids_of_a_call_are_a_run_of_one_prefix() -> None:
    events = check_call(agent("a b c d e"), "hi").events

    prefixes = {event.id.rsplit("-", 1)[0] for event in events}
    assert len(prefixes) == 1


def test_a_message_given_again_after_a_finished_reply_is_said_again() -> None:
    friday = agent("one", "two")
    hello = UserMessage("hi")
    check_call(friday, hello)
    check_call(friday, hello)

    context = friday.get_agent_state().context
    assert [msg.text_content for msg in context] == ["hi", "one", "hi", "two"]
    assert evolve(context[2], id=hello.id, timestamp=hello.timestamp) == hello


def test_a_message_given_twice_in_one_input_is_said_twice_under_two_ids() -> None:
    friday = agent("one")
    hello = UserMessage("hi")
    check_call(friday, [hello, hello])

    context = friday.get_agent_state().context
    assert [msg.text_content for msg in context] == ["hi", "hi", "one"]
    assert len({msg.id for msg in context}) == 3


def test_twenty_threads_may_call_at_once() -> None:
    friday = agent(lambda call: f"answer to {call.text}")
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        reply = friday.reply(f"question {number}", RuntimeContext(f"s{number}")).run()
        answers[number] = reply.text_content

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert {number: f"answer to question {number}" for number in range(20)} == answers
