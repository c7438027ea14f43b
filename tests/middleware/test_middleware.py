"""Middleware: what a hook drops, changes or adds is seen alike by subscriber, store and message."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import reactivex as rx
from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx import event as ev, operators as agent_ops
from agentscope_rx.agent import ReActAgent, RuntimeContext
from agentscope_rx.errors import ConfigurationError, MiddlewareProtocolWarning, ModelConnectionError
from agentscope_rx.message import (
    GenerateReason,
    TextBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.middleware import (
    ActingInput,
    AgentInput,
    MiddlewareBase,
    ModelCallInput,
    Phase,
    ReasoningInput,
    on_acting,
    on_agent,
    on_model_call,
    on_reasoning,
)
from agentscope_rx.testing import CallRecord, ScriptedModel, check_call, tool_call
from agentscope_rx.tool import tool

Events = Observable[ev.AgentEvent]


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


def friday(*middlewares: MiddlewareBase, script: Any = None, **options: Any) -> ReActAgent:
    script = script or (["hello ", tool_call("echo", text="secret")], "bye")
    return ReActAgent(
        "Friday", model=ScriptedModel(*script), toolkit=[echo], middlewares=middlewares, **options
    )


def shout(event: ev.TextBlockDeltaEvent) -> ev.TextBlockDeltaEvent:
    return evolve(event, delta=event.delta.upper())


def said(record: CallRecord) -> str:
    assert record.message is not None
    return " ".join(block.text.strip() for block in record.message.get_content_blocks(TextBlock))


def stored(agent: ReActAgent) -> Any:
    return agent.get_agent_state().context[-1]


@pytest.mark.parametrize("hook", [on_reasoning, on_model_call])
def test_a_change_in_an_inner_hook_is_seen_by_subscriber_store_and_message(hook: Any) -> None:
    record = check_call(friday(hook(agent_ops.map_type(ev.TextBlockDeltaEvent, shout))), "hi")

    assert said(record) == "HELLO BYE"


@pytest.mark.parametrize("hook", [on_reasoning, on_model_call])
def test_what_an_inner_hook_drops_is_gone_everywhere(hook: Any) -> None:
    silent = hook(ops.filter(lambda event: not isinstance(event, ev.TextBlockDeltaEvent)))
    record = check_call(friday(silent), "hi")

    assert "TextBlockDelta" not in record.names
    assert said(record).strip() == ""


@pytest.mark.parametrize("hook", [on_reasoning, on_model_call, on_acting])
def test_what_an_inner_hook_adds_is_streamed_and_stored(hook: Any) -> None:
    hint = ev.HintBlockEvent("", "hint-1", "middleware", "remember")

    def add(events: Events) -> Events:
        return events.pipe(ops.concat(rx.of(hint)))

    agent = friday(hook(add))
    record = check_call(agent, "hi")

    assert "HintBlock" in record.names
    assert "hint" in [block.type for block in stored(agent).content]


def test_on_acting_changes_results() -> None:
    @on_acting
    def mask(events: Events) -> Events:
        return events.pipe(
            agent_ops.map_type(
                ev.ToolResultTextDeltaEvent,
                lambda event: evolve(event, delta=event.delta.replace("secret", "***")),
            )
        )

    model = ScriptedModel([tool_call("echo", text="my secret")], "bye")
    record = check_call(ReActAgent("Friday", model=model, toolkit=[echo], middlewares=[mask]), "hi")

    assert record.message is not None
    [result] = record.message.get_content_blocks(ToolResultBlock)
    assert (TextBlock("my ***"),) == result.output
    assert (TextBlock("my ***"),) == model.calls[1].messages[-1].get_content_blocks(ToolResultBlock)[0].output


def test_on_agent_changes_the_view_and_not_what_is_stored() -> None:
    agent = friday(on_agent(agent_ops.map_type(ev.TextBlockDeltaEvent, shout)))
    record = check_call(agent, "hi", outer=True)

    assert said(record) == "HELLO BYE"
    assert "hello" in stored(agent).text_content


def test_the_first_in_the_list_is_outermost_and_order_moves_ports_further_out() -> None:
    trace: list[str] = []

    class Traced(MiddlewareBase):
        def __init__(self, name: str, order: int = 1) -> None:
            self.name, self.order = name, order

        def on_reasoning(
            self, agent: Any, ctx: RuntimeContext, input: ReasoningInput, next: Phase[ReasoningInput]
        ) -> Events:
            trace.append(self.name)
            return next(input)

    check_call(friday(Traced("a"), Traced("b"), Traced("c", 5), script=["x"]), "hi")

    assert trace == ["c", "a", "b"]


def test_every_hook_of_the_class_spelling_gets_agent_context_input_and_next() -> None:
    seen: dict[str, tuple[Any, ...]] = {}

    class Watch(MiddlewareBase):
        def on_agent(self, agent: Any, ctx: Any, input: AgentInput, next: Phase[AgentInput]) -> Events:
            seen["agent"] = (agent, ctx, input)
            return next(input)

        def on_reasoning(
            self, agent: Any, ctx: Any, input: ReasoningInput, next: Phase[ReasoningInput]
        ) -> Events:
            seen["reasoning"] = (agent, ctx, input)
            return next(input)

        def on_acting(self, agent: Any, ctx: Any, input: ActingInput, next: Phase[ActingInput]) -> Events:
            seen["acting"] = (agent, ctx, input)
            return next(input)

        def on_model_call(
            self, agent: Any, ctx: Any, input: ModelCallInput, next: Phase[ModelCallInput]
        ) -> Events:
            seen["model_call"] = (agent, ctx, input)
            return next(input)

        def on_system_prompt(self, agent: Any, ctx: Any, prompt: str) -> str:
            seen["system_prompt"] = (agent, ctx, prompt)
            return prompt

    agent = friday(Watch())
    check_call(agent, "hi", RuntimeContext("s1", "u1", {"k": 1}))

    assert {"agent", "reasoning", "acting", "model_call", "system_prompt"} == set(seen)
    for given, ctx, _ in seen.values():
        assert given is agent
        assert (ctx.session_id, ctx.user_id, ctx.attributes) == ("s1", "u1", {"k": 1})
    assert [msg.text_content for msg in seen["agent"][2].msgs] == ["hi"]
    assert [call.name for call in seen["acting"][2].tool_calls] == ["echo"]
    assert agent.model is seen["model_call"][2].model


def test_a_context_is_bound_even_if_the_caller_gives_none() -> None:
    seen: list[RuntimeContext] = []

    class Watch(MiddlewareBase):
        def on_agent(self, agent: Any, ctx: Any, input: AgentInput, next: Phase[AgentInput]) -> Events:
            seen.append(ctx)
            return next(input)

    check_call(friday(Watch()), "hi")

    assert seen[0].session_id == "Friday"


def test_inputs_are_changed_by_copies_and_the_change_is_not_stored() -> None:
    class Sudo(MiddlewareBase):
        def on_model_call(
            self, agent: Any, ctx: Any, input: ModelCallInput, next: Phase[ModelCallInput]
        ) -> Events:
            return next(evolve(input, messages=[*input.messages, UserMessage("PS: be brief")]))

    model = ScriptedModel("ok")
    agent = ReActAgent("Friday", model=model, middlewares=[Sudo()])
    check_call(agent, "hi")

    assert model.calls[0].messages[-1].text_content == "PS: be brief"
    assert [msg.text_content for msg in agent.get_agent_state().context] == ["hi", "ok"]


def test_a_phase_can_be_replaced_without_next() -> None:
    class Cached(MiddlewareBase):
        def on_model_call(
            self, agent: Any, ctx: Any, input: ModelCallInput, next: Phase[ModelCallInput]
        ) -> Events:
            return rx.of(
                ev.TextBlockStartEvent("", "cached"),
                ev.TextBlockDeltaEvent("", "cached", "from the cache"),
                ev.TextBlockEndEvent("", "cached"),
            )

    model = ScriptedModel("never")
    record = check_call(ReActAgent("Friday", model=model, middlewares=[Cached()]), "hi")

    assert said(record) == "from the cache"
    assert list(model.calls) == []


def test_the_whole_call_can_be_replaced_and_nothing_is_stored() -> None:
    class Cached(MiddlewareBase):
        def on_agent(self, agent: Any, ctx: Any, input: AgentInput, next: Phase[AgentInput]) -> Events:
            return rx.of(
                ev.TextBlockStartEvent("", "cached"),
                ev.TextBlockDeltaEvent("", "cached", "from the cache"),
                ev.TextBlockEndEvent("", "cached"),
            )

    agent = friday(Cached())
    with pytest.warns(MiddlewareProtocolWarning, match="AgentStart"):
        record = check_call(agent, "hi", outer=True)

    assert said(record) == "from the cache"
    assert agent.get_agent_state().context == ()


def test_acting_that_is_skipped_closes_its_calls_with_a_reason() -> None:
    record = check_call(friday(on_acting(lambda _: rx.empty())), "hi")

    assert record.message is not None
    [result] = record.message.get_content_blocks(ToolResultBlock)
    assert ToolResultState.ERROR is result.state
    assert "skipped" in str(result.output)
    assert "bye" in said(record)


def test_on_system_prompt_is_a_pipeline_of_strings_or_streams_outermost_first() -> None:
    class Plus(MiddlewareBase):
        def __init__(self, word: str, later: bool) -> None:
            self.word, self.later = word, later

        def on_system_prompt(self, agent: Any, ctx: Any, prompt: str) -> str | Observable[str]:
            text = f"{prompt} {self.word}"
            return rx.timer(0.001).pipe(ops.map(lambda _: text)) if self.later else text

    model = ScriptedModel([tool_call("echo", text="x")], "ok")
    agent = ReActAgent(
        "Friday", "Base", model=model, toolkit=[echo], middlewares=[Plus("one", False), Plus("two", True)]
    )
    check_call(agent, "hi")

    assert [call.messages[0].text_content for call in model.calls] == ["Base one two"] * 2


@pytest.mark.parametrize(
    ("given", "words"), [(None, "None"), (3, "3"), (rx.empty(), "None"), (rx.of("a", 3), "3")]
)
def test_a_system_prompt_that_is_no_string_is_a_clear_error(given: Any, words: str) -> None:
    class Wrong(MiddlewareBase):
        def on_system_prompt(self, agent: Any, ctx: Any, prompt: str) -> Any:
            return given

    error = check_call(friday(Wrong()), "hi").error

    assert isinstance(error, ConfigurationError)
    assert all(part in str(error) for part in ("on_system_prompt", words, "a string"))


BOOM = ModelConnectionError("boom")


def raising(*_: Any) -> Any:
    raise BOOM


def failing_later(events: Events) -> Events:
    return events.pipe(ops.take(1), ops.concat(rx.throw(BOOM)))


@pytest.mark.parametrize("how", [raising, failing_later])
@pytest.mark.parametrize("hook", [on_agent, on_reasoning, on_acting, on_model_call])
def test_an_exception_in_a_hook_is_a_stream_error_and_frees_the_session(hook: Any, how: Any) -> None:
    agent = friday(hook(how))
    with_warnings = (
        pytest.warns(MiddlewareProtocolWarning) if hook is on_agent or how is failing_later else None
    )
    if with_warnings is None:
        record = check_call(agent, "hi", outer=hook is on_agent)
    else:
        with with_warnings:
            record = check_call(agent, "hi", outer=hook is on_agent)

    assert record.error is BOOM
    end = record.events[-1]
    assert isinstance(end, ev.AgentEndEvent)
    assert ev.ErrorInfo("ModelConnectionError", "boom") == end.error


@pytest.mark.parametrize(("returned", "word"), [(None, "return"), ("text", "Observable"), ([], "Observable")])
def test_a_hook_that_returns_no_stream_is_a_clear_error(returned: Any, word: str) -> None:
    class Wrong(MiddlewareBase):
        def on_reasoning(self, agent: Any, ctx: Any, input: Any, next: Any) -> Any:
            return returned

    error = check_call(friday(Wrong()), "hi").error

    assert isinstance(error, ConfigurationError)
    assert all(part in str(error) for part in ("on_reasoning", "Wrong", word, repr(returned)))


def test_a_function_that_takes_the_stream_for_an_event_is_told() -> None:
    error = check_call(friday(on_acting(lambda event: event.delta)), "hi").error  # type: ignore[attr-defined]

    assert isinstance(error, AttributeError)
    (note,) = error.__notes__
    assert "on_acting(<lambda>) is given a stream, not an event" in note


def test_an_async_hook_is_a_clear_error() -> None:
    class Wrong(MiddlewareBase):
        async def on_reasoning(self, agent: Any, ctx: Any, input: Any, next: Any) -> Any:  # type: ignore[override]
            return next(input)

    error = check_call(friday(Wrong()), "hi").error

    assert isinstance(error, ConfigurationError)
    assert "async" in str(error)


def no_stream(events: Events) -> Any:
    events.pipe(ops.tap(print))


async def no_operator(events: Events) -> Events:
    return events


@pytest.mark.parametrize(
    ("function", "problem"), [(no_stream, "returned None"), (no_operator, "is an async function")]
)
def test_a_function_that_returns_no_stream_is_a_clear_error(function: Any, problem: str) -> None:
    error = check_call(friday(on_reasoning(ops.tap(print), function)), "hi").error

    assert isinstance(error, ConfigurationError)
    assert str(error).startswith(f"on_reasoning({function.__name__}) {problem}; return the stream, as")


def test_what_was_put_right_is_told_with_the_middlewares_that_it_may_be_of() -> None:
    no_ends = on_reasoning(ops.filter(lambda event: not isinstance(event, ev.TextBlockEndEvent)))
    with pytest.warns(MiddlewareProtocolWarning) as caught:
        check_call(friday(no_ends, on_acting(ops.tap(print))), "hi")

    assert {str(warning.message).split("; ")[-1] for warning in caught} == {
        "let the Ends pass, and end what the operator cuts off (in on_reasoning(filter))"
    }


@pytest.mark.parametrize("name", ["onReasoning", "on_resoning", "onreasoning"])
def test_a_hook_that_is_spelled_wrong_is_refused(name: str) -> None:
    wrong = type("Wrong", (MiddlewareBase,), {name: MiddlewareBase.on_reasoning})

    with pytest.raises(ConfigurationError, match=rf"Wrong\.{name} is no hook.*is it on_reasoning\?"):
        friday(wrong())


def test_a_method_that_only_begins_as_a_hook_is_one_of_the_users() -> None:
    class Fine(MiddlewareBase):
        on_reasoning_done = on_tool = MiddlewareBase.on_reasoning

    assert check_call(friday(Fine()), "hi").error is None


def test_a_middleware_prints_what_it_does() -> None:
    class Careful(MiddlewareBase):
        on_acting = MiddlewareBase.on_agent  # type: ignore[assignment]

    functions = on_model_call(ops.timeout(30), agent_ops.text(), no_operator)  # type: ignore[arg-type]

    assert repr(Careful()).endswith("Careful: on_acting>")
    assert repr(functions) == "on_model_call(timeout, text, no_operator)"


@pytest.mark.parametrize("wrong", [(), (3,), ("x",)])
def test_the_function_spelling_refuses_what_is_no_function(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigurationError, match="on_acting"):
        on_acting(*wrong)


def test_a_retry_before_the_first_event_streams_the_answer_once() -> None:
    script = ([BOOM], [BOOM], "here")
    patient = on_model_call(agent_ops.retry_before_first_event(3))
    record = check_call(friday(patient, script=script, max_retries=0), "hi")

    assert record.error is None
    assert said(record) == "here"
    assert record.names.count("ModelCallStart") == 1


@pytest.mark.parametrize("hook", [on_model_call, on_reasoning])
def test_a_plain_retry_in_the_middle_is_seen_alike_and_the_warning_names_hook_and_remedy(hook: Any) -> None:
    script = (["par", BOOM], "whole")
    with pytest.warns(MiddlewareProtocolWarning, match=f"{hook.__name__}: .*retry_before_first_event"):
        record = check_call(friday(hook(ops.retry(2)), script=script), "hi")

    assert said(record) == "par whole"


def test_a_retry_of_the_whole_call_shows_one_call_and_says_the_input_once() -> None:
    agent = friday(on_agent(ops.retry(2)), script=(["par", BOOM], "whole"))
    record = check_call(agent, "hi")

    assert record.error is None
    assert said(record) == "par whole"
    assert 1 == record.names.count("AgentStart") == record.names.count("AgentEnd")
    assert [msg.text_content for msg in agent.get_agent_state().context[:-1]] == ["hi"]


def test_next_called_again_in_acting_gives_the_results_that_are_there() -> None:
    runs: list[str] = []

    @tool
    def count(what: str) -> str:
        """Count."""
        runs.append(what)
        return what

    class Twice(MiddlewareBase):
        def on_acting(self, agent: Any, ctx: Any, input: ActingInput, next: Phase[ActingInput]) -> Events:
            return next(input).pipe(ops.concat(next(input)))

    model = ScriptedModel([tool_call("count", what="a"), tool_call("count", what="b")], "ok")
    record = check_call(ReActAgent("Friday", model=model, toolkit=[count], middlewares=[Twice()]), "hi")

    assert sorted(runs) == ["a", "b"]
    assert record.names.count("ToolResultEnd") == 2


@pytest.mark.parametrize("again", [ops.take(1), ops.take(2), ops.skip(1), ops.filter(lambda _: True)])
def test_results_that_come_again_in_part_leave_the_stream_well_formed(again: Any) -> None:
    class Partly(MiddlewareBase):
        def on_acting(self, agent: Any, ctx: Any, input: ActingInput, next: Phase[ActingInput]) -> Events:
            return next(input).pipe(ops.concat(next(input).pipe(again)))

    record = check_call(friday(Partly()), "hi")

    assert record.message is not None
    [result] = record.message.get_content_blocks(ToolResultBlock)
    assert (result.text_content, result.state) == ("secret", ToolResultState.SUCCESS)


def test_events_of_results_that_an_operator_doubles_pass_once() -> None:
    record = check_call(friday(on_acting(ops.flat_map(lambda event: rx.of(event, event)))), "hi")

    assert record.names.count("ToolResultTextDelta") == 1
    assert record.names.count("ToolResultEnd") == 1


def test_a_hook_may_ask_for_a_rerun() -> None:
    runs: list[int] = []

    @tool
    def count() -> str:
        """Count."""
        runs.append(1)
        return "x"

    class Twice(MiddlewareBase):
        def on_acting(self, agent: Any, ctx: Any, input: ActingInput, next: Phase[ActingInput]) -> Events:
            first = next(input).pipe(ops.ignore_elements())
            return first.pipe(ops.concat(next(evolve(input, rerun=True))))

    model = ScriptedModel([tool_call("count")], "ok")
    record = check_call(ReActAgent("Friday", model=model, toolkit=[count], middlewares=[Twice()]), "hi")

    assert len(runs) == 2
    assert record.error is None


def test_operators_of_time_inside_use_the_loop_of_the_call() -> None:
    import threading

    before = threading.active_count()
    agent = friday(on_reasoning(ops.delay(0.001)), on_model_call(ops.timeout(30)))
    record = check_call(agent, "hi")

    assert said(record) == "hello bye"
    assert before >= threading.active_count()


def test_a_timeout_in_on_acting_interrupts_the_tool_and_ends_its_result() -> None:
    cancelled: list[bool] = []

    @tool
    async def slow() -> str:
        """Take long."""
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return "never"

    model = ScriptedModel([tool_call("slow")], "ok")
    agent = ReActAgent("Friday", model=model, toolkit=[slow], middlewares=[on_acting(ops.timeout(0.02))])
    with pytest.warns(MiddlewareProtocolWarning, match="on_acting"):
        record = check_call(agent, "hi")

    assert record.error is not None
    assert cancelled == [True]
    assert record.message is not None
    assert [r.state for r in record.message.get_content_blocks(ToolResultBlock)] == [ToolResultState.ERROR]


@pytest.mark.parametrize(
    "make",
    [
        lambda: on_reasoning(agent_ops.scan_with(list, lambda seen, e: [*seen, e]), ops.map(lambda s: s[-1])),
        lambda: on_model_call(agent_ops.map_type(ev.TextBlockDeltaEvent, shout)),
        lambda: on_agent(ops.do_action(lambda _: None)),
        lambda: on_acting(ops.timeout(30)),
        lambda: on_model_call(agent_ops.coalesce()),
        lambda: on_model_call(agent_ops.retry_before_first_event(2)),
    ],
)
def test_two_sessions_side_by_side_through_one_middleware_do_not_meet(
    make: Callable[[], MiddlewareBase],
) -> None:
    async def main() -> None:
        def script(call: Any) -> Any:
            return f"for {call.text}" if call.results else ["look ", tool_call("echo", text=call.text)]

        agent = ReActAgent("Friday", model=ScriptedModel(script), toolkit=[echo], middlewares=[make()])

        async def ask(name: str) -> Any:
            return await agent.reply(name, RuntimeContext(name))

        left, right = await asyncio.gather(ask("left"), ask("right"))
        for name, message in (("left", left), ("right", right)):
            assert f"for {name}" in message.text_content.lower()
            [result] = message.get_content_blocks(ToolResultBlock)
            assert (TextBlock(name),) == result.output
            [call] = message.get_content_blocks(ToolUseBlock)
            assert {"text": name} == call.input
            assert GenerateReason.MODEL_STOP is message.generate_reason

    asyncio.run(main())
