"""The model that answers from a script."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
import reactivex
from reactivex import operators as ops
from reactivex.scheduler.eventloop import AsyncIOScheduler
from reactivex.testing import TestScheduler

from agentscope_rx.errors import ConfigurationError, ModelError, ModelTimeoutError
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    ChatUsage,
    DataBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model import ChatModel, ChatResponse, GenerateOptions, ToolCallChunk, ToolSchema
from agentscope_rx.testing import ScriptedCall, ScriptedModel, pause, thinking, tool_call


def ask(model: ScriptedModel, text: str = "hi") -> tuple[list[ChatResponse], Exception | None]:
    responses: list[ChatResponse] = []
    errors: list[Exception] = []
    model.stream([UserMessage(text)]).subscribe(responses.append, errors.append)
    return responses, errors[0] if errors else None


def said(responses: list[ChatResponse]) -> list[Any]:
    """The texts, thoughts and argument fragments, in order."""
    return [
        getattr(part, "text", None)
        or getattr(part, "thinking", None)
        or getattr(part, "arguments", None)
        or part
        for response in responses
        for part in response.content
    ]


def test_it_is_a_chat_model() -> None:
    assert isinstance(ScriptedModel("hi"), ChatModel)
    assert ScriptedModel("hi").model_name == "scripted"
    assert ScriptedModel("hi", name="gpt").model_name == "gpt"


def test_text_comes_word_by_word_and_nothing_of_it_is_lost() -> None:
    text = "  Hello there,\n\nyou   two \n"
    responses, error = ask(ScriptedModel(text))

    assert error is None
    assert "".join(said(responses)) == text
    assert said(responses)[:2] == ["  Hello", " there,"]
    assert [response.finish_reason for response in responses if response.finish_reason] == ["stop"]


def test_steps_answer_call_after_call() -> None:
    model = ScriptedModel("one", ["two", "three"], TextBlock("four"))

    assert [said(ask(model)[0]) for _ in range(3)] == [["one"], ["two", "three"], ["four"]]


def test_an_answer_can_hold_everything_that_a_model_says() -> None:
    image = DataBlock(Base64Source("image/png", "QUJD"))
    raw = ChatResponse((TextBlock("raw"),), id="x")
    responses, _ = ask(
        ScriptedModel(
            [thinking("let me see", signature="s"), "yes", tool_call("add", a=1), image, ChatUsage(3, 4), raw]
        )
    )

    parts = [part for response in responses for part in response.content]
    assert [part.thinking for part in parts if isinstance(part, ThinkingBlock)] == ["let", " me", " see", ""]
    assert [part.metadata for part in parts if isinstance(part, ThinkingBlock)][-1] == {"signature": "s"}
    assert [part for part in parts if isinstance(part, DataBlock)] == [image]
    assert [response.usage for response in responses if response.usage] == [ChatUsage(3, 4)]
    assert raw in responses
    assert responses[-1].finish_reason == "tool_calls"


def test_tool_calls_come_in_fragments_that_share_an_index() -> None:
    responses, _ = ask(
        ScriptedModel([tool_call("f", city="Paris"), tool_call("g", {"id": 1, "name": "x"}, "call_7")])
    )

    chunks = [part for response in responses for part in response.content if isinstance(part, ToolCallChunk)]
    assert [(chunk.id, chunk.name, chunk.index) for chunk in chunks if chunk.name] == [
        ("", "f", 0),
        ("call_7", "g", 1),
    ]
    texts = {n: "".join(chunk.arguments for chunk in chunks if chunk.index == n) for n in (0, 1)}
    assert texts == {0: '{"city":"Paris"}', 1: '{"id":1,"name":"x"}'}
    assert len(chunks) > 4


def test_tool_call_takes_raw_text_for_arguments() -> None:
    assert tool_call("f", '{"a": oops').content == '{"a": oops'
    with pytest.raises(ConfigurationError, match="as text and as keywords"):
        tool_call("f", "{}", a=1)


def test_an_exception_fails_the_call_where_it_stands_and_the_next_step_works() -> None:
    error = ModelTimeoutError("slow")
    model = ScriptedModel(["Hel", error, "lo"], error, "fine")

    assert (said(ask(model)[0]), ask(model)[1], said(ask(model)[0])) == (["Hel"], error, ["fine"])


def test_a_failing_call_can_be_tried_again() -> None:
    model = ScriptedModel(ModelTimeoutError("slow"), "fine")

    responses = model.stream([]).pipe(ops.retry(2), ops.to_list()).run()

    assert said(responses) == ["fine"]


def test_a_script_that_is_over_says_so() -> None:
    model = ScriptedModel("one", name="m")
    ask(model)
    responses, error = ask(model)

    assert responses == []
    assert isinstance(error, ModelError)
    assert "the script of model 'm' is over: it has 1 step and this is call 2" in str(error)


def test_a_lone_function_answers_any_number_of_calls_from_what_was_asked() -> None:
    def answer(asked: ScriptedCall) -> Any:
        return tool_call("add", a=1) if not asked.results else f"got {asked.results[0].id} for {asked.text}"

    model = ScriptedModel(answer)
    history = [
        UserMessage("earlier"),
        UserMessage("sum"),
        AssistantMessage("me", [ToolUseBlock("c", "add")]),
        ToolResultMessage.of("c", "add", "1"),
    ]

    for _ in range(3):
        assert ask(model)[0][-1].finish_reason == "tool_calls"
    assert "".join(said(model.stream(history).pipe(ops.to_list()).run())) == "got c for sum"


def test_a_function_may_be_one_step_and_may_yield_its_pieces() -> None:
    def answer(asked: ScriptedCall) -> Any:
        yield asked.text
        yield ChatUsage(1, 1)

    model = ScriptedModel("first", answer)

    assert said(ask(model, "a")[0]) == ["first"]
    assert said(ask(model, "b")[0]) == ["b"]
    assert isinstance(ask(model, "c")[1], ModelError)


def test_it_remembers_what_it_was_asked() -> None:
    model = ScriptedModel(lambda asked: "ok")
    message, schema, options = UserMessage("hi"), ToolSchema("add"), GenerateOptions(temperature=0.5)

    stream = model.stream([message], [schema], options)
    assert model.calls == ()

    stream.run()
    assert model.calls == (ScriptedCall([message], [schema], options),)
    assert repr(model) == "ScriptedModel(name='scripted', steps=1, calls=1)"


def test_time_is_that_of_the_subscription() -> None:
    scheduler = TestScheduler()
    model = ScriptedModel(["a b", pause(50), "c"], delay=10)

    result = scheduler.start(lambda: model.stream([]), disposed=400)

    times = [
        (record.time, "".join(said([record.value.value])) if record.value.kind == "N" else record.value.kind)
        for record in result.messages
    ]
    assert times == [(210, "a"), (220, " b"), (280, "c"), (290, ""), (300, "C")]


def test_nothing_is_said_after_disposal() -> None:
    scheduler = TestScheduler()

    result = scheduler.start(lambda: ScriptedModel("a b c d", delay=10).stream([]), disposed=225)

    assert [record.time for record in result.messages] == [210, 220]


def test_an_endless_answer_can_be_left() -> None:
    def answer(asked: ScriptedCall) -> Any:
        while True:
            yield "again "

    assert len(ScriptedModel(answer).stream([]).pipe(ops.take(5), ops.to_list()).run()) == 5


def test_words_take_turns_with_others_on_the_loop_and_no_thread_is_used() -> None:
    async def main() -> list[str]:
        scheduler = AsyncIOScheduler(asyncio.get_running_loop())
        done = asyncio.Event()
        seen: list[str] = []
        threads: set[str] = set()

        def note(response: ChatResponse) -> None:
            threads.add(threading.current_thread().name)
            seen.extend(said([response]))

        reactivex.merge(ScriptedModel("a1 a2 a3").stream([]), ScriptedModel("b1 b2 b3").stream([])).subscribe(
            note, on_completed=done.set, scheduler=scheduler
        )
        await done.wait()
        assert threads == {threading.current_thread().name}
        return seen

    assert asyncio.run(main()) == ["a1", "b1", " a2", " b2", " a3", " b3"]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((), "has no steps"),
        ((None,), "cannot say None"),
        ((["a", 3],), "cannot say 3"),
        ((ModelTimeoutError,), "not its class"),
    ],
)
def test_a_script_that_cannot_be_said_is_refused_at_once(steps: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        ScriptedModel(*steps)


def test_a_function_that_answers_nonsense_fails_its_call() -> None:
    error = ask(ScriptedModel(lambda asked: [3]))[1]  # type: ignore[arg-type, list-item]

    assert isinstance(error, ConfigurationError)
    assert "cannot say 3" in str(error)


@pytest.mark.parametrize("make", [lambda: pause(-1), lambda: ScriptedModel("a", delay=-1)])
def test_time_does_not_go_back(make: Any) -> None:
    with pytest.raises(ConfigurationError, match="in the past"):
        make()


def test_a_reminder_of_a_middleware_is_not_what_the_user_said() -> None:
    reminder = UserMessage("system", "Your tasks: …", metadata={"agentscope_synthetic": True})
    reply = AssistantMessage("me", [ToolUseBlock("a", "f"), ToolResultBlock.text("3", id="a", name="f")])
    asked = ScriptedCall([UserMessage("hi"), reply, reminder])

    assert asked.text == "hi"
    assert [result.text_content for result in asked.results] == ["3"]
