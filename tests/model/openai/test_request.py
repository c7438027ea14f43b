"""Messages, tools and options as a request's body."""

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
from agentscope_rx.model import GenerateOptions, ToolSchema
from agentscope_rx.model._history import CACHE_CONTROL
from agentscope_rx.model.openai._request import build_messages, build_request

PNG, LINK = Base64Source("image/png", "QUJD"), URLSource("http://x/y.png")


def use(id: str, name: str = "f", **input: Any) -> ToolUseBlock:
    return ToolUseBlock(id, name, input)


def audio(data: str, format: str) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": data, "format": format}}


def video(url: str) -> dict[str, Any]:
    return {"type": "video_url", "video_url": {"url": url}}


def done(id: str, text: str = "ok", name: str = "f") -> ToolResultBlock:
    return ToolResultBlock.text(text, id=id, name=name)


def brief(*messages: Msg) -> list[str]:
    """`user: hi`, `assistant: text [call ids]`, `tool a: ok`."""
    lines: list[str] = []
    for message in build_messages(messages):
        calls = "".join(f" [{call['id']}]" for call in message.get("tool_calls", ()))
        name = f"tool {message['tool_call_id']}" if message["role"] == "tool" else message["role"]
        lines.append(f"{name}: {message['content']}{calls}")
    return lines


def test_a_conversation_keeps_its_order() -> None:
    messages = (
        SystemMessage("be kind"),
        UserMessage("hi"),
        AssistantMessage("me", "hello"),
        UserMessage("bye"),
    )

    assert brief(*messages) == [
        "system: be kind", "user: hi", "assistant: hello", "user: bye",
    ]  # fmt: skip


def test_each_round_of_a_reply_is_a_message_followed_by_its_results() -> None:
    reply = AssistantMessage(
        "me",
        [
            ThinkingBlock("hm"), TextBlock("let me see"), use("a"), use("b"), done("b", "2"), done("a", "1"),
            TextBlock("and"), TextBlock("more"), use("c"), done("c", "3"), TextBlock("done"),
        ],
    )  # fmt: skip

    assert brief(reply) == [
        "assistant: let me see [a] [b]", "tool a: 1", "tool b: 2", "assistant: and\nmore [c]", "tool c: 3",
        "assistant: done",
    ]  # fmt: skip


def test_results_go_to_their_call_wherever_they_stand() -> None:
    reply = AssistantMessage("me", [use("a"), use("b"), done("a", "1"), TextBlock("waiting")])

    assert brief(reply, UserMessage("so?"), ToolResultMessage.of("b", "f", "2")) == [
        "assistant: None [a] [b]", "tool a: 1", "tool b: 2", "assistant: waiting", "user: so?",
    ]  # fmt: skip


def test_an_id_that_comes_again_means_the_newest_call() -> None:
    first = AssistantMessage("me", [use("a"), done("a", "1")])
    second = AssistantMessage("me", [use("a"), done("a", "2")])

    assert brief(first, UserMessage("again"), second) == [
        "assistant: None [a]", "tool a: 1", "user: again", "assistant: None [a]", "tool a: 2",
    ]  # fmt: skip


def test_calls_without_a_result_and_results_without_a_call_are_not_sent() -> None:
    running = ToolResultBlock("d", "f")
    suspended = ToolResultBlock.suspended(use("c"))
    reply = AssistantMessage("me", [TextBlock("x"), use("a"), use("b"), done("b"), done("z")])

    waiting = AssistantMessage("me", [use("c"), suspended, use("d"), running])

    assert brief(reply, waiting, UserMessage("hi")) == [
        "assistant: x [b]", "tool b: ok", "user: hi",
    ]  # fmt: skip


def test_a_hint_speaks_as_the_user_between_rounds() -> None:
    reply = AssistantMessage("me", [use("a"), done("a"), HintBlock(hint="hurry"), TextBlock("done")])

    assert brief(reply) == ["assistant: None [a]", "tool a: ok", "user: hurry", "assistant: done"]


def test_messages_with_nothing_to_say_are_not_sent() -> None:
    assert (
        brief(
            UserMessage(content=[]), AssistantMessage("me", []), AssistantMessage("me", ThinkingBlock("hm"))
        )
        == []
    )


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (use("a"), "{}"),
        (use("a", city="Paris"), '{"city":"Paris"}'),
        (ToolUseBlock("a", "f", {"x": 1}, content='{"x": 1}'), '{"x": 1}'),
        (ToolUseBlock("a", "f", {"x": 1}, content=" "), '{"x":1}'),
        (ToolUseBlock("a", "f", content='{"x": "cu'), '{"invalid_json":"{\\"x\\": \\"cu"}'),
        (ToolUseBlock("a", "f", content="[1]"), '{"invalid_json":"[1]"}'),
    ],
)
def test_arguments_go_back_as_they_were_written_if_they_are_an_object(
    call: ToolUseBlock, arguments: str
) -> None:
    message = build_messages([AssistantMessage("me", [call, done("a")])])[0]

    assert message["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
    ]


def test_what_a_provider_wants_back_with_a_call_goes_back() -> None:
    call = ToolUseBlock("a", "f", metadata={"extra_content": {"google": 1}, "other": 2})
    message = build_messages([AssistantMessage("me", [call, done("a")])])[0]

    assert message["tool_calls"][0]["extra_content"] == {"google": 1}


def test_thinking_goes_back_only_to_servers_that_want_it() -> None:
    reply = AssistantMessage("me", [ThinkingBlock("h"), ThinkingBlock("m"), use("a"), done("a")])

    assert build_messages([reply], reasoning_key="reasoning_content")[0]["reasoning_content"] == "hm"
    assert "reasoning_content" not in build_messages([reply])[0]


def test_thinking_goes_back_in_the_pieces_that_it_came_in() -> None:
    text = {"type": "reasoning.text", "text": "hm", "index": 0}
    late = {"type": "reasoning.text", "signature": "s", "index": 0}
    reply = AssistantMessage(
        "me",
        [
            ThinkingBlock("hm", {"reasoning_details": [text]}), TextBlock("a"),
            ThinkingBlock("", {"reasoning_details": [late]}), use("a"), done("a"), ThinkingBlock("plain"),
            TextBlock("b"),
        ],
    )  # fmt: skip
    first, _, second = build_messages([reply], reasoning_key="reasoning", details=True)

    assert first["reasoning_details"] == [{**text, "signature": "s"}]
    assert "reasoning" not in first
    assert second["reasoning"] == "plain"
    assert build_messages([reply], reasoning_key="reasoning")[0]["reasoning"] == "hm"


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (TextBlock("a"), {"type": "text", "text": "a"}),
        (DataBlock(PNG), {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}),
        (DataBlock(LINK), {"type": "image_url", "image_url": {"url": "http://x/y.png"}}),
        (DataBlock(URLSource("http://x/y")), {"type": "image_url", "image_url": {"url": "http://x/y"}}),
        (ImageBlock(URLSource("http://x/y")), {"type": "image_url", "image_url": {"url": "http://x/y"}}),
        (ImageBlock(PNG), {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}),
        (DataBlock(Base64Source("audio/mpeg", "QQ==")), audio("QQ==", "mp3")),
        (AudioBlock(Base64Source("audio/wav", "QQ==")), audio("QQ==", "wav")),
        (AudioBlock(URLSource("http://x/y.wav")), audio("http://x/y.wav", "wav")),
        (VideoBlock(URLSource("http://x/y.mp4")), video("http://x/y.mp4")),
        (DataBlock(Base64Source("video/mp4", "QQ==")), video("data:video/mp4;base64,QQ==")),
        (
            DataBlock(Base64Source("application/pdf", "QQ=="), name="a.pdf"),
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QQ=="}},
        ),
        (
            DataBlock(URLSource("http://x/y", "application/pdf")),
            {"type": "file", "file": {"filename": "file.pdf", "file_data": "http://x/y"}},
        ),
    ],
)  # fmt: skip
def test_users_send_text_and_media(block: ContentBlock, part: dict[str, Any]) -> None:
    message = build_messages([UserMessage(TextBlock("see:"), block)])[0]

    assert message == {"role": "user", "content": [{"type": "text", "text": "see:"}, part]}


def test_a_video_without_a_source_is_passed_over() -> None:
    assert build_messages([UserMessage(TextBlock("a"), VideoBlock(None))]) == [
        {"role": "user", "content": "a"}
    ]


@pytest.mark.parametrize(("name", "sent"), [("user", None), ("Ann", "Ann"), ("Ann Lee", None), (None, None)])
def test_a_name_that_says_something_is_sent(name: str | None, sent: str | None) -> None:
    assert build_messages([UserMessage("hi", name=name)])[0].get("name") == sent


def test_a_name_that_the_api_refuses_stands_before_the_words() -> None:
    assert build_messages([UserMessage("hi", name="Ann Lee")])[0]["content"] == [
        {"type": "text", "text": "Ann Lee:"},
        {"type": "text", "text": "hi"},
    ]


def test_media_in_results_follow_as_a_message_of_the_user() -> None:
    output = (TextBlock("a chart"), DataBlock(PNG), DataBlock(LINK))
    result = ToolResultBlock("a", "plot", output, state=ToolResultState.SUCCESS)
    messages = build_messages(
        [AssistantMessage("me", [use("a", "plot"), use("b"), result, done("b"), TextBlock("x")])]
    )

    assert [message["role"] for message in messages] == ["assistant", "tool", "tool", "user", "assistant"]
    assert messages[1]["content"] == "a chart\n[image/png]\n[image/png: http://x/y.png]"
    assert messages[3]["content"] == [
        {"type": "text", "text": "Media in the result of plot (a):"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        {"type": "image_url", "image_url": {"url": "http://x/y.png"}},
    ]


def test_media_that_the_assistant_made_are_mentioned() -> None:
    assert brief(AssistantMessage("me", [TextBlock("here"), DataBlock(PNG)])) == [
        "assistant: here\n[image/png]"
    ]


@pytest.mark.parametrize(
    "state", [ToolResultState.DENIED, ToolResultState.INTERRUPTED, ToolResultState.ERROR]
)
def test_a_result_without_output_says_how_it_ended(state: ToolResultState) -> None:
    assert (
        brief(AssistantMessage("me", [use("a"), ToolResultBlock("a", "f", state=state)]))[1]
        == f"tool a: {state}"
    )


def test_a_success_without_output_is_empty() -> None:
    result = ToolResultBlock("a", "f", state=ToolResultState.SUCCESS)
    assert brief(AssistantMessage("me", [use("a"), result]))[1] == "tool a: "


def test_servers_that_know_marks_are_told_what_to_keep() -> None:
    marked = {CACHE_CONTROL: True}
    messages = (
        SystemMessage("be kind", metadata=marked),
        UserMessage(TextBlock("a"), DataBlock(LINK)),
        AssistantMessage("me", [use("a"), done("a")], metadata=marked),
        UserMessage("so?"),
    )

    def contents(**more: Any) -> list[Any]:
        return [message["content"] for message in build_messages(messages, **more)]

    def cached(text: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]

    image = {"type": "image_url", "image_url": {"url": "http://x/y.png"}}
    shown = [{"type": "text", "text": "a"}, image]
    assert contents() == ["be kind", shown, None, "ok", "so?"]
    assert contents(cache_marks=True) == [cached("be kind"), shown, None, cached("ok"), "so?"]

    last = build_request("m", messages[:2], [], GenerateOptions(cache_control=True), cache_marks=True)
    assert last["messages"][1]["content"] == [shown[0], {**image, "cache_control": {"type": "ephemeral"}}]
    assert build_request("m", messages[:2], [], GenerateOptions(cache_control=True)) == build_request(
        "m", messages[:2], [], GenerateOptions()
    )


def test_a_bare_request_asks_for_a_stream_with_usage_and_nothing_else() -> None:
    assert build_request("m", [UserMessage("hi")], [], GenerateOptions()) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_options_have_the_names_of_the_api() -> None:
    options = GenerateOptions(
        temperature=0.0, top_p=0.5, top_k=3, max_tokens=9, frequency_penalty=0.1, presence_penalty=0.2,
        seed=0, stop="END", thinking_budget=7, reasoning_effort="low", tool_choice="add",
        parallel_tool_calls=False,
    )  # fmt: skip
    tool = ToolSchema(
        "add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}}, strict=True
    )
    body = build_request("m", [], [tool, ToolSchema("now")], options, max_tokens_key="max_completion_tokens")

    del body["messages"], body["model"], body["stream"], body["stream_options"]
    assert body == {
        "temperature": 0.0, "top_p": 0.5, "top_k": 3, "max_completion_tokens": 9, "frequency_penalty": 0.1,
        "presence_penalty": 0.2, "seed": 0, "stop": ["END"], "thinking_budget": 7, "reasoning_effort": "low",
        "tool_choice": {"type": "function", "function": {"name": "add"}}, "parallel_tool_calls": False,
        "tools": [
            {"type": "function", "function": {
                "name": "add", "description": "Adds.", "strict": True,
                "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}},
            {"type": "function", "function": {
                "name": "now", "description": "", "parameters": {"type": "object", "properties": {}}}},
        ],
    }  # fmt: skip


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_a_choice_of_tools_is_sent_with_tools_only(choice: str) -> None:
    options = GenerateOptions(tool_choice=choice)

    assert build_request("m", [], [ToolSchema("f")], options)["tool_choice"] == choice
    assert "tool_choice" not in build_request("m", [], [], options)


def test_a_schema_becomes_a_response_format_and_a_ready_one_stays() -> None:
    schema = {"type": "object", "title": "The answer", "properties": {}}
    wanted = build_request("m", [], [], GenerateOptions(response_format=schema))["response_format"]
    strict = {**schema, "required": [], "additionalProperties": False}
    assert wanted == {
        "type": "json_schema",
        "json_schema": {"name": "The_answer", "schema": strict, "strict": True},
    }

    loose = {"type": "object"}
    assert build_request("m", [], [], GenerateOptions(response_format=loose))["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "response", "schema": loose, "strict": False},
    }

    ready = {"type": "json_object"}
    assert build_request("m", [], [], GenerateOptions(response_format=ready))["response_format"] == ready


def test_what_is_extra_comes_last_and_none_takes_a_key_out() -> None:
    body = build_request(
        "m",
        [],
        [],
        GenerateOptions(temperature=1.0, extra_body={"temperature": 2, "stream_options": None, "x": [1]}),
    )

    assert (body["temperature"], body["x"]) == (2, [1])
    assert "stream_options" not in body
