"""A conversation as turns."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx.message import (
    AssistantMessage,
    AudioBlock,
    Base64Source,
    ContentBlock,
    DataBlock,
    HintBlock,
    ImageBlock,
    Msg,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    UserMessage,
    VideoBlock,
)
from agentscope_rx.model._history import (
    CACHE_CONTROL,
    AssistantTurn,
    Media,
    Result,
    SystemTurn,
    UserTurn,
    arguments_of,
    arguments_text,
    history,
    kept,
)

PNG, LINK = Base64Source("image/png", "QUJD"), URLSource("http://x/y.png")
IMAGE = Media("image", "image/png", "QUJD")


def use(id: str, **more: Any) -> ToolUseBlock:
    return ToolUseBlock(id, "f", **more)


def done(id: str, text: str = "ok") -> ToolResultBlock:
    return ToolResultBlock.text(text, id=id, name="f")


def brief(*messages: Msg) -> list[str]:
    """`user: hi`, `assistant: text [id] → id=ok`."""
    lines: list[str] = []
    for turn in history(messages):
        match turn:
            case SystemTurn():
                lines.append(f"system: {turn.text}")
            case UserTurn():
                lines.append(f"user: {' '.join(map(short, turn.parts))}")
            case AssistantTurn():
                results = "".join(f" {result.call.id}={result.text}" for result in turn.results)
                lines.append(f"assistant: {' '.join(map(short, turn.parts))}{results and ' →' + results}")
    return lines


def short(part: ContentBlock | Media) -> str:
    match part:
        case ThinkingBlock():
            return f"({part.thinking})"
        case TextBlock():
            return part.text
        case ToolUseBlock():
            return f"[{part.id}]"
        case _:
            assert isinstance(part, Media)
            return part.mention


def reply(*blocks: ContentBlock) -> AssistantMessage:
    return AssistantMessage("me", blocks)


def test_rounds_keep_the_order_of_their_blocks_and_have_their_results_behind_them() -> None:
    message = reply(
        ThinkingBlock("hm"), TextBlock("see"), use("a"), TextBlock("and"), use("b"), done("b", "2"),
        done("a", "1"), ThinkingBlock("so"), use("c"), done("c"), DataBlock(PNG), TextBlock("done"),
    )  # fmt: skip

    assert brief(SystemMessage("be kind"), UserMessage("hi"), message) == [
        "system: be kind", "user: hi", "assistant: (hm) see [a] and [b] → a=1 b=2",
        "assistant: (so) [c] → c=ok", "assistant: [image/png] done",
    ]  # fmt: skip


def test_blocks_keep_what_their_provider_wants_back() -> None:
    blocks = (
        ThinkingBlock("", {"signature": "s"}),
        TextBlock("t", {"signature": "u"}),
        use("a", metadata={"x": 1}),
    )
    turn = history([reply(*blocks, done("a"))])[0]

    assert isinstance(turn, AssistantTurn)
    assert turn.parts == blocks
    assert turn.calls == (blocks[2],)


@pytest.mark.parametrize(
    ("messages", "lines"),
    [
        ([reply(use("a"), use("b"), done("a", "1"), TextBlock("wait")), UserMessage("so?"),
          ToolResultMessage.of("b", "f", "2")],
         ["assistant: [a] [b] → a=1 b=2", "assistant: wait", "user: so?"]),
        ([reply(use("a"), done("a", "1")), reply(use("a"), done("a", "2"))],
         ["assistant: [a] → a=1", "assistant: [a] → a=2"]),
        ([reply(use("a")), reply(use("a")), reply(done("a", "2"), done("a", "1"))],
         ["assistant: [a] → a=1", "assistant: [a] → a=2"]),
        ([reply(use("a"), use("a"), done("a", "2"), done("a", "1"))], ["assistant: [a] [a] → a=1 a=2"]),
        ([reply(done("a"), use("a"))], []),
        ([reply(TextBlock("x"), use("a"), use("b"), done("b"), done("z"), done("b"))],
         ["assistant: x [b] → b=ok"]),
        ([reply(use("a"), ToolResultBlock.suspended(use("a")), use("b"), ToolResultBlock("b", "f"))], []),
        ([reply(use("a"), HintBlock(hint="hurry"), done("a"), TextBlock("yes"))],
         ["assistant: [a] → a=ok", "user: hurry", "assistant: yes"]),
        ([reply(TextBlock("a"), HintBlock(hint=""), TextBlock("b"))], ["assistant: a", "assistant: b"]),
        ([reply(ThinkingBlock("hm")), reply(ThinkingBlock("hm"), use("a"))], []),
        ([reply(TextBlock("x"), ThinkingBlock("hm"), use("a"))], ["assistant: x"]),
        ([reply(TextBlock("", {"s": 1}))], []),
        ([SystemMessage(""), UserMessage(""), reply(TextBlock("")), UserMessage([VideoBlock(None)])], []),
        ([UserMessage([TextBlock(""), TextBlock("a"), ImageBlock(LINK)])],
         ["user: a [image/png: http://x/y.png]"]),
    ],
)  # fmt: skip
def test_calls_and_results_always_come_in_pairs_and_nothing_is_empty(
    messages: list[Msg], lines: list[str]
) -> None:
    assert brief(*messages) == lines


@pytest.mark.parametrize(
    ("block", "media"),
    [
        (DataBlock(PNG, name="a.png"), Media("image", "image/png", "QUJD", name="a.png")),
        (DataBlock(PNG, metadata={"s": 1}), Media("image", "image/png", "QUJD", metadata={"s": 1})),
        (ImageBlock(PNG), IMAGE),
        (DataBlock(LINK), Media("image", "image/png", url="http://x/y.png")),
        (DataBlock(URLSource("http://x/y")), Media("image", "image/*", url="http://x/y")),
        (DataBlock(URLSource("data:image/png;base64,QUJD")), IMAGE),
        (DataBlock(URLSource("data:text/csv;charset=utf-8;base64,QQ==")), Media("file", "text/csv", "QQ==")),
        (AudioBlock(URLSource("http://x/y")), Media("audio", "audio/*", url="http://x/y")),
        (VideoBlock(URLSource("http://x/y", "video/mp4")), Media("video", "video/mp4", url="http://x/y")),
        (DataBlock(Base64Source("application/pdf", "QQ==")), Media("file", "application/pdf", "QQ==")),
        (DataBlock(Base64Source("text/plain", "QQ==")), Media("file", "text/plain", "QQ==")),
        (ImageBlock(PNG, min_pixels=4), Media("image", "image/png", "QUJD", hints={"min_pixels": 4})),
        (
            VideoBlock(URLSource("http://x/y.mp4"), fps=0.5, max_frames=9),
            Media("video", "video/mp4", url="http://x/y.mp4", hints={"fps": 0.5, "max_frames": 9}),
        ),
    ],
)
def test_media_have_one_form(block: ContentBlock, media: Media) -> None:
    assert history([UserMessage([block])]) == (UserTurn((media,)),)


def test_media_have_an_address_and_words() -> None:
    link = Media("image", "image/png", url="http://x/y.png")

    assert (IMAGE.address, IMAGE.subtype, IMAGE.mention) == (
        "data:image/png;base64,QUJD", "png", "[image/png]",
    )  # fmt: skip
    assert (link.address, link.mention) == ("http://x/y.png", "[image/png: http://x/y.png]")
    assert "QUJD" not in repr(IMAGE)


@pytest.mark.parametrize(("name", "kept"), [("user", None), ("Ann", "Ann"), ("", None), (None, None)])
def test_a_name_that_says_something_is_kept(name: str | None, kept: str | None) -> None:
    assert history([UserMessage("hi", name=name)]) == (UserTurn((TextBlock("hi"),), kept),)


@pytest.mark.parametrize(
    ("output", "state", "text", "is_error"),
    [
        ((TextBlock("a"), TextBlock(""), TextBlock("b")), "success", "a\nb", False),
        ((), "success", "", False),
        ((), "denied", "denied", True),
        ((), "interrupted", "interrupted", True),
        ((TextBlock("Error: x"),), "error", "Error: x", True),
        ((TextBlock("see"), DataBlock(PNG)), "success", "see\n[image/png]", False),
    ],
)
def test_results_have_parts_and_words(
    output: tuple[ContentBlock, ...], state: str, text: str, is_error: bool
) -> None:
    turn = history([reply(use("a"), ToolResultBlock("a", "f", output, state=ToolResultState(state)))])[0]

    assert isinstance(turn, AssistantTurn)
    result: Result = turn.results[0]
    assert (result.text, result.is_error) == (text, is_error)
    assert result.media == ((IMAGE,) if "image" in text else ())


@pytest.mark.parametrize(
    ("call", "text", "value"),
    [
        (use("a"), "{}", {}),
        (use("a", input={"x": 1}), '{"x":1}', {"x": 1}),
        (use("a", input={"x": 1}, content='{"x": 1}'), '{"x": 1}', {"x": 1}),
        (use("a", input={"x": 1}, content=" "), '{"x":1}', {"x": 1}),
        (use("a", content='{"x": "cu'), '{"invalid_json":"{\\"x\\": \\"cu"}', {"invalid_json": '{"x": "cu'}),
        (use("a", content="[1]"), '{"invalid_json":"[1]"}', {"invalid_json": "[1]"}),
    ],
)
def test_arguments_are_an_object_and_what_was_none_is_still_to_be_seen(
    call: ToolUseBlock, text: str, value: dict[str, Any]
) -> None:
    assert arguments_text(call) == text
    assert arguments_of(call) == value


def test_the_conversation_is_to_be_kept_up_to_the_end_of_a_message_that_says_so() -> None:
    marked = {CACHE_CONTROL: True}
    answer = AssistantMessage("me", [use("a"), done("a"), TextBlock("so"), use("dangling")], metadata=marked)
    lost = AssistantMessage("me", [use("lost")], metadata=marked)
    turns = history(
        [SystemMessage("be kind", metadata=marked), UserMessage("hi"), answer, UserMessage("x"), lost]
    )

    assert [turn.cached for turn in turns] == [True, False, False, True, False]
    assert not history([UserMessage("hi", metadata={CACHE_CONTROL: "yes"})])[0].cached


@pytest.mark.parametrize(
    ("messages", "marks"),
    [
        ([], []),
        ([UserMessage("hi")], [True]),
        ([SystemMessage("a"), SystemMessage("b"), UserMessage("hi")], [False, True, True]),
        ([SystemMessage("a"), UserMessage("hi"), SystemMessage("b"), UserMessage("x")],
         [True, False, False, True]),
    ],
)  # fmt: skip
def test_a_conversation_can_be_kept_whole_and_its_system_prompt_for_others(
    messages: list[Msg], marks: list[bool]
) -> None:
    assert [turn.cached for turn in kept(history(messages))] == marks


def test_long_conversations_take_time_in_proportion() -> None:
    rounds = 2_000
    blocks = [block for n in range(rounds) for block in (use(f"c{n}"), done(f"c{n}"))]

    assert len(history([reply(*blocks)])) == rounds
