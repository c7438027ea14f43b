"""Messages, tools and options as a request for Ollama."""

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
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    UserMessage,
    VideoBlock,
)
from agentscope_rx.model import GenerateOptions, ToolSchema
from agentscope_rx.model.ollama._request import build_messages, build_request

PNG, LINK = Base64Source("image/png", "QUJD"), URLSource("http://x/y.png")


def use(id: str, name: str = "f", **more: Any) -> ToolUseBlock:
    return ToolUseBlock(id, name, **more)


def done(id: str, name: str = "f") -> ToolResultBlock:
    return ToolResultBlock.text("ok", id=id, name=name)


def call(id: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "function": {"name": "f", "arguments": arguments}}


def result(id: str, content: str = "ok", name: str = "f") -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_name": name, "tool_call_id": id}


def test_a_conversation_keeps_its_order_and_each_round_its_results() -> None:
    reply = AssistantMessage(
        "me",
        [
            ThinkingBlock("h"), ThinkingBlock("m"), TextBlock("see"), use("a", input={"x": 1}), use("b"),
            done("b"), done("a"), HintBlock(hint="hurry"), use("c"), done("c"), TextBlock("so"),
            TextBlock("then"), use("dangling"),
        ],
    )  # fmt: skip

    assert build_messages([SystemMessage("be kind"), UserMessage("hi", name="Ann"), reply]) == [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "Ann:\nhi"},
        {"role": "assistant", "content": "see", "thinking": "hm",
         "tool_calls": [call("a", x=1), call("b")]},
        result("a"),
        result("b"),
        {"role": "user", "content": "hurry"},
        {"role": "assistant", "content": "", "tool_calls": [call("c")]},
        result("c"),
        {"role": "assistant", "content": "so\nthen"},
    ]  # fmt: skip


def test_arguments_are_an_object_also_if_they_were_none() -> None:
    calls = [use("a", content='{"x": [1]}'), use("b", content='{"x": "cu')]
    message = build_messages([AssistantMessage("me", [*calls, done("a"), done("b")])])[0]

    assert message["tool_calls"] == [call("a", x=[1]), call("b", invalid_json='{"x": "cu')]


@pytest.mark.parametrize(
    ("block", "content", "images"),
    [
        (DataBlock(PNG), "see:", ["QUJD"]),
        (ImageBlock(PNG), "see:", ["QUJD"]),
        (DataBlock(LINK), "see:\n[image/png: http://x/y.png]", []),
        (AudioBlock(Base64Source("audio/wav", "QQ==")), "see:\n[audio/wav]", []),
        (VideoBlock(URLSource("http://x/y.mp4")), "see:\n[video/mp4: http://x/y.mp4]", []),
        (DataBlock(Base64Source("application/pdf", "QQ==")), "see:\n[application/pdf]", []),
    ],
)
def test_images_in_base64_are_sent_and_all_other_media_mentioned(
    block: ContentBlock, content: str, images: list[str]
) -> None:
    message = build_messages([UserMessage(TextBlock("see:"), block)])[0]

    assert message == {"role": "user", "content": content} | ({"images": images} if images else {})


def test_an_image_alone_has_an_empty_text() -> None:
    assert build_messages([UserMessage(DataBlock(PNG), DataBlock(PNG))]) == [
        {"role": "user", "content": "", "images": ["QUJD", "QUJD"]}
    ]


def test_images_in_results_follow_as_a_message_of_the_user() -> None:
    output = (TextBlock("a chart"), DataBlock(PNG), DataBlock(LINK))
    plot = ToolResultBlock("a", "plot", output, state=ToolResultState.SUCCESS)
    other = ToolResultBlock("b", "f", (DataBlock(LINK),), state=ToolResultState.SUCCESS)
    messages = build_messages([AssistantMessage("me", [use("a", "plot"), use("b"), plot, other])])

    assert messages[1:] == [
        result("a", "a chart\n[image/png]\n[image/png: http://x/y.png]", "plot"),
        result("b", "[image/png: http://x/y.png]"),
        {"role": "user", "content": "Images in the result of plot (a):", "images": ["QUJD"]},
    ]


def test_images_that_the_assistant_made_are_mentioned() -> None:
    assert build_messages([AssistantMessage("me", [TextBlock("here"), DataBlock(PNG)])]) == [
        {"role": "assistant", "content": "here\n[image/png]"}
    ]


def request(options: GenerateOptions | None = None, *tools: ToolSchema, **more: Any) -> dict[str, Any]:
    body = build_request("m", [UserMessage("hi")], tools, options or GenerateOptions(), **more)
    assert (body.pop("model"), body.pop("stream")) == ("m", True)
    assert body.pop("messages") == [{"role": "user", "content": "hi"}]
    return body


def test_a_bare_request_asks_for_nothing_else() -> None:
    assert request() == {}


def test_options_have_the_names_of_the_api() -> None:
    options = GenerateOptions(
        temperature=0.0, top_p=0.5, top_k=3, max_tokens=9, frequency_penalty=0.1, presence_penalty=0.2,
        seed=0, stop="END", parallel_tool_calls=True, extra_body={"options": {"min_p": 0.1, "top_k": None}},
    )  # fmt: skip
    tool = ToolSchema(
        "add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}}, strict=True
    )

    assert request(options, tool, ToolSchema("now"), num_ctx=4096, think=False, keep_alive="5m") == {
        "options": {
            "temperature": 0.0, "top_p": 0.5, "num_predict": 9, "frequency_penalty": 0.1,
            "presence_penalty": 0.2, "seed": 0, "stop": ["END"], "num_ctx": 4096, "min_p": 0.1,
        },
        "think": False,
        "keep_alive": "5m",
        "tools": [
            {"type": "function", "function": {
                "name": "add", "description": "Adds.",
                "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}},
            {"type": "function", "function": {
                "name": "now", "description": "", "parameters": {"type": "object", "properties": {}}}},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "default", "think"),
    [
        (GenerateOptions(), None, None), (GenerateOptions(), "high", "high"),
        (GenerateOptions(), False, False),
        (GenerateOptions(thinking_budget=5), None, True), (GenerateOptions(thinking_budget=0), True, False),
        (GenerateOptions(reasoning_effort="low"), False, "low"),
        (GenerateOptions(reasoning_effort="none", thinking_budget=5), "low", False),
    ],
)  # fmt: skip
def test_the_options_of_a_call_say_first_whether_the_model_thinks(
    options: GenerateOptions, default: bool | str | None, think: bool | str | None
) -> None:
    assert request(options, think=default) == ({} if think is None else {"think": think})


@pytest.mark.parametrize(
    ("choice", "offered"),
    [(None, ["f", "g"]), ("auto", ["f", "g"]), ("required", ["f", "g"]), ("none", []), ("g", ["g"]),
     ("other", ["f", "g"])],
)  # fmt: skip
def test_a_choice_of_tools_is_made_for_the_server(choice: str | None, offered: list[str]) -> None:
    body = request(GenerateOptions(tool_choice=choice), ToolSchema("f"), ToolSchema("g"))

    assert [tool["function"]["name"] for tool in body.get("tools", ())] == offered
    assert "tool_choice" not in body


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("wanted", "format"),
    [
        (SCHEMA, SCHEMA),
        ({"anyOf": [SCHEMA]}, {"anyOf": [SCHEMA]}),
        ({"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}, SCHEMA),
        ({"type": "json_schema"}, "json"),
        ({"type": "json_object"}, "json"),
        ({"type": "text"}, None),
        (None, None),
    ],
)
def test_a_schema_is_the_format(wanted: dict[str, Any] | None, format: Any) -> None:
    assert request(GenerateOptions(response_format=wanted)) == ({} if format is None else {"format": format})


def test_what_is_extra_comes_last_and_none_takes_a_key_out() -> None:
    options = GenerateOptions(temperature=1.0, extra_body={"truncate": False, "options": None})
    assert request(options, keep_alive=3) == {"truncate": False, "keep_alive": 3}

    assert request(GenerateOptions(extra_body={"keep_alive": None}), keep_alive=3) == {}
