"""The lifecycle of blocks and calls that a model's answer becomes."""

from __future__ import annotations

from typing import Any

import pytest
import reactivex
from reactivex import Observable, abc
from reactivex.subject import Subject

from agentscope_rx.errors import BadModelOutputError, ConfigurationError, ModelConnectionError
from agentscope_rx.event import AgentEvent, BlockEvent, ModelCallEndEvent, ToolEvent
from agentscope_rx.message import (
    Base64Source,
    ChatUsage,
    DataBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    URLSource,
)
from agentscope_rx.model import ChatResponse, ReplyIds, ResponsePart, ToolCallChunk, to_events


def brief(event: AgentEvent) -> str:
    """`text-1 S`, `text-1 'delta'`, `text-1 E`, `a S`, … and `M` for the model call."""
    kind = event.type.rsplit("_", 1)[1]
    if isinstance(event, BlockEvent):
        name = event.block_id
    elif isinstance(event, ToolEvent):
        name = event.tool_call_id
    else:
        name = "M"
    if kind != "DELTA":
        return f"{name} {kind[0]}"
    content = next(filter(None, (getattr(event, field, None) for field in ("delta", "data", "url"))))
    return f"{name} {content}"


def run(
    source: Observable[ChatResponse], ids: ReplyIds | None = None
) -> tuple[list[AgentEvent], list[Exception | None]]:
    events: list[AgentEvent] = []
    ends: list[Exception | None] = []
    source.pipe(to_events(reply_id="r", model_name="m", ids=ids or ReplyIds())).subscribe(
        events.append, ends.append, lambda: ends.append(None)
    )
    return events, ends


def answer(*parts: ResponsePart) -> list[str]:
    events, ends = run(reactivex.from_iterable([ChatResponse((part,)) for part in parts]))
    assert ends == [None]
    return [brief(event) for event in events]


text, think, data = TextBlock, ThinkingBlock, DataBlock
chunk, use = ToolCallChunk, ToolUseBlock


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param([], "M S, M E", id="nothing"),
        pytest.param(
            [text("a"), text(""), text("b")],
            "M S, text-1 S, text-1 a, text-1 b, text-1 E, M E",
            id="text",
        ),
        pytest.param([text(""), think(""), think("", {})], "M S, M E", id="what is empty opens nothing"),
        pytest.param(
            [think("a"), text("b"), think("c"), text("d")],
            "M S, thinking-1 S, thinking-1 a, thinking-1 E, text-1 S, text-1 b, text-1 E, "
            "thinking-2 S, thinking-2 c, thinking-2 E, text-2 S, text-2 d, text-2 E, M E",
            id="kinds that take turns",
        ),
        pytest.param(
            [text("a"), chunk("{", "c", "f", 0), text("b"), chunk('"x":1}', index=0), text("c")],
            "M S, text-1 S, text-1 a, text-1 E, c S, "
            'text-2 S, text-2 b, c {"x":1}, text-2 c, text-2 E, c E, M E',
            id="only the start of a call ends text",
        ),
        pytest.param(
            [
                chunk("", "a", "f", 0), chunk("", "b", "f", 1), chunk('{"x"', index=1),
                chunk('{"y"', index=0), chunk(":1}", index=1), chunk(":2}", index=0),
            ],
            'M S, a S, b S, b {"x", a {"y", b :1}, a :2}, a E, b E, M E',
            id="calls stay open side by side",
        ),
        pytest.param(
            [chunk("{}", "a", "f", 0), chunk("{}", "b", "f", 1), chunk('{"x":1}', index=0)],
            'M S, a S, b S, a {"x":1}, a E, b {}, b E, M E',
            id="a placeholder is held back until the end",
        ),
        pytest.param(
            [chunk('{"x"', "a", "", 0), chunk(":1", "", "f", 0), chunk("}", index=0)],
            'M S, a S, a {"x":1, a }, a E, M E',
            id="a call starts when its name is known",
        ),
        pytest.param(
            [use("a", "f", {"x": 1}), use("b", "f", content='{"y": 2}'), use("c", "g")],
            'M S, a S, a {"x":1}, b S, b {"y": 2}, c S, a E, b E, c {}, c E, M E',
            id="whole calls",
        ),
        pytest.param(
            [use("a", "f", {"x": 1}), use("a", "f", {"x": 1}), use("a", "f", {"x": 2})],
            'M S, a S, a {"x":1}, a-2 S, a-2 {"x":2}, a E, a-2 E, M E',
            id="whole calls that come again",
        ),
        pytest.param(
            [text("a"), data(Base64Source("image/png", "QUJD")), data(URLSource("http://x/y")), text("b")],
            "M S, text-1 S, text-1 a, text-1 E, data-1 S, data-1 QUJD, data-1 E, "
            "data-2 S, data-2 http://x/y, data-2 E, text-2 S, text-2 b, text-2 E, M E",
            id="data",
        ),
        pytest.param(
            [text("hi \ud83d"), text("\ude00!"), think("\ud83d"), text("\ude00\ud83d")],
            "M S, text-1 S, text-1 hi , text-1 😀!, text-1 E, thinking-1 S, thinking-1 �, thinking-1 E, "
            "text-2 S, text-2 �, text-2 �, text-2 E, M E",
            id="halves of characters",
        ),
    ],
)  # fmt: skip
def test_events_follow_arrival(parts: list[ResponsePart], expected: str) -> None:
    assert answer(*parts) == expected.split(", ")


def test_events_name_their_reply_model_tool_and_media_type() -> None:
    events, _ = run(
        reactivex.of(
            ChatResponse((ToolCallChunk("{}", "a", "f"), DataBlock(URLSource("http://x/y", "image/png"))))
        )
    )

    assert {getattr(event, "reply_id", None) for event in events} == {"r"}
    assert [event.model_name for event in events if event.type == "MODEL_CALL_START"] == ["m"]
    assert {event.tool_call_name for event in events if isinstance(event, ToolEvent)} == {"f"}
    assert [event.media_type for event in events if event.type == "DATA_BLOCK_START"] == ["image/png"]


def test_the_last_usage_counts_and_the_finish_reason_is_kept() -> None:
    events, _ = run(
        reactivex.of(
            ChatResponse(usage=ChatUsage(5, 1)),
            ChatResponse((TextBlock("a"),), usage=ChatUsage(5, 7), finish_reason="length"),
            ChatResponse(),
        )
    )

    end = events[-1]
    assert isinstance(end, ModelCallEndEvent)
    assert end.usage == ChatUsage(5, 7)
    assert end.metadata == {"finishReason": "length"}


def test_what_providers_want_back_travels_in_the_end_of_its_block() -> None:
    events, _ = run(
        reactivex.of(
            ChatResponse(
                (ThinkingBlock("a"), ThinkingBlock("", {"signature": "s"}), TextBlock("b", {"t": 1}))
            ),
            ChatResponse(
                (ThinkingBlock("", {"redacted": "r"}), ToolCallChunk("{}", "c", "f", 0, {"thought": "t"}))
            ),
            ChatResponse((ToolUseBlock("d", "f", metadata={"k": 1}), ToolUseBlock("d", "f"))),
            ChatResponse((DataBlock(URLSource("http://x/y"), metadata={"s": 1}),)),
        )
    )

    ends = {brief(event): event.metadata for event in events if event.type.endswith("_END")}
    assert ends == {
        "thinking-1 E": {"block": {"signature": "s"}},
        "text-1 E": {"block": {"t": 1}},
        "thinking-2 E": {"block": {"redacted": "r"}},
        "c E": {"block": {"thought": "t"}},
        "d E": {"block": {"k": 1}},
        "data-1 E": {"block": {"s": 1}},
        "M E": {},
    }


def test_what_providers_want_back_is_the_last_of_its_block() -> None:
    parts = (
        ThinkingBlock("a"), ThinkingBlock("b", {"signature": "s"}), ThinkingBlock("", {"redacted": "r"}),
        ThinkingBlock("c"), TextBlock("d", {"t": 1}), TextBlock("e"),
    )  # fmt: skip
    events, _ = run(reactivex.of(ChatResponse(parts)))

    assert [brief(event) for event in events if not event.type.startswith("MODEL")] == [
        "thinking-1 S", "thinking-1 a", "thinking-1 b", "thinking-1 E", "thinking-2 S", "thinking-2 E",
        "thinking-3 S", "thinking-3 c", "thinking-3 E", "text-1 S", "text-1 d", "text-1 E", "text-2 S",
        "text-2 e", "text-2 E",
    ]  # fmt: skip
    ends = {
        brief(event): event.metadata for event in events if event.type.endswith("_END") and event.metadata
    }
    assert ends == {
        "thinking-1 E": {"block": {"signature": "s"}},
        "thinking-2 E": {"block": {"redacted": "r"}},
        "text-1 E": {"block": {"t": 1}},
    }


@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded"])
@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        ([chunk("", "a", "f")], "a S, a {, a E"),
        ([chunk("{}", "a", "f")], "a S, a {, a E"),
        ([chunk("{}", "a", "f"), chunk("", "b", "f")], "a S, b S, a {}, a E, b {, b E"),
        ([chunk('{"x":1}', "a", "f")], 'a S, a {"x":1}, a E'),
        ([chunk('{"x":', "a", "f")], 'a S, a {"x":, a E'),
        ([use("a", "f")], "a S, a {}, a E"),
    ],
)
def test_a_call_that_a_limit_cut_off_before_its_arguments_cannot_run(
    parts: list[ResponsePart], lines: str, finish: str
) -> None:
    def told(reason: str) -> list[str]:
        events, _ = run(reactivex.of(ChatResponse(parts), ChatResponse(finish_reason=reason)))
        return [brief(event) for event in events[1:-1]]

    assert told(finish) == lines.split(", ")
    assert "a {" not in told("tool_calls")


def test_ids_go_on_from_call_to_call_of_one_reply() -> None:
    ids = ReplyIds({"text": 4}, ["a"])
    first, _ = run(reactivex.of(ChatResponse((TextBlock("x"), ToolCallChunk("{}", "a", "f")))), ids)
    second, _ = run(reactivex.of(ChatResponse((TextBlock("x"), ToolCallChunk("{}", "a", "f")))), ids)

    assert [brief(event) for event in first if event.type.endswith("_START")] == ["M S", "text-5 S", "a-2 S"]
    assert [brief(event) for event in second if event.type.endswith("_START")] == ["M S", "text-6 S", "a-3 S"]


def test_a_call_without_an_id_gets_one_that_stays() -> None:
    events, _ = run(
        reactivex.of(ChatResponse((ToolCallChunk("{", "", "f", 0), ToolCallChunk("}", "late", "", 0))))
    )

    names = {event.tool_call_id for event in events if isinstance(event, ToolEvent)}
    assert len(names) == 1
    assert names.pop().startswith("call_")


def test_a_failing_source_ends_what_is_open_and_its_own_error_follows() -> None:
    error = ModelConnectionError("gone")
    source: Subject[ChatResponse] = Subject()
    events: list[Any] = []
    source.pipe(to_events(reply_id="r", model_name="m", ids=ReplyIds())).subscribe(
        lambda event: events.append(brief(event)), events.append
    )
    source.on_next(ChatResponse((TextBlock("a\ud83d"),)))
    source.on_next(
        ChatResponse((ToolCallChunk('{"x"', "c", "f"), ToolCallChunk("{}", "d", "f"), ThinkingBlock("b")))
    )
    source.on_error(error)

    assert events[-9:-1] == [
        "d S", "thinking-1 S", "thinking-1 b", "thinking-1 E", "c E", "d {}", "d E", "M E",
    ]  # fmt: skip
    assert events[3] == "text-1 �"
    assert events[-1] is error


def test_a_source_that_fails_at_once_is_a_whole_model_call_all_the_same() -> None:
    error = ModelConnectionError("unreachable")
    events, ends = run(reactivex.throw(error))

    assert [brief(event) for event in events] == ["M S", "M E"]
    assert ends[0] is error


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((TextBlock("a"), "b"), "ChatResponse.content"),
        ((TextBlock("a"), ToolCallChunk('{"x":1}', "c")), "never named"),
    ],
)
def test_an_answer_that_makes_no_sense_fails_the_call_after_its_ends(
    parts: tuple[Any, ...], words: str
) -> None:
    events, ends = run(reactivex.of(ChatResponse(parts)))

    assert [brief(event) for event in events] == ["M S", "text-1 S", "text-1 a", "text-1 E", "M E"]
    assert isinstance(ends[0], BadModelOutputError)
    assert words in str(ends[0])


def test_an_item_that_is_no_piece_of_an_answer_fails_the_call_with_a_remedy() -> None:
    pieces: list[Any] = [ChatResponse([TextBlock("a")]), "b"]
    events, ends = run(reactivex.from_iterable(pieces))

    assert [brief(event) for event in events] == ["M S", "text-1 S", "text-1 a", "text-1 E", "M E"]
    assert isinstance(ends[0], BadModelOutputError)
    assert "sent 'b'; give ChatResponse" in str(ends[0])


def test_a_fragment_that_says_nothing_is_no_call() -> None:
    assert answer(ToolCallChunk("", "", "", 0)) == ["M S", "M E"]


def test_each_subscription_is_a_call_of_its_own_and_disposing_reaches_the_source() -> None:
    subscriptions: list[str] = []

    def subscribe(
        observer: abc.ObserverBase[ChatResponse], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        subscriptions.append("open")
        observer.on_next(ChatResponse((TextBlock("a"),)))
        return reactivex.disposable.Disposable(lambda: subscriptions.append("closed"))

    events = Observable(subscribe).pipe(to_events(reply_id="r", model_name="m", ids=ReplyIds()))
    assert subscriptions == []

    seen: list[str] = []
    first = events.subscribe(lambda event: seen.append(brief(event)))
    second = events.subscribe(lambda event: seen.append(brief(event)))
    assert seen == ["M S", "text-1 S", "text-1 a", "M S", "text-2 S", "text-2 a"]

    first.dispose()
    second.dispose()
    assert subscriptions == ["open", "open", "closed", "closed"]


def test_an_empty_reply_id_is_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match="reply_id is empty"):
        to_events(reply_id="", model_name="m", ids=ReplyIds())
