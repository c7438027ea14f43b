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
    ToolResultState,
    ToolUseBlock,
    URLSource,
    UserMessage,
    VideoBlock,
)
from agentscope_rx.model import GenerateOptions, ToolSchema
from agentscope_rx.model.openai_responses._request import build_input, build_request, reasons

Json = dict[str, Any]

PNG, LINK = Base64Source("image/png", "QUJD"), URLSource("http://x/y.png")


def use(id: str, name: str = "f", **input: Any) -> ToolUseBlock:
    return ToolUseBlock(id, name, input)


def done(id: str, text: str = "ok", name: str = "f") -> ToolResultBlock:
    return ToolResultBlock.text(text, id=id, name=name)


def secret(id: str) -> Json:
    return {"type": "reasoning", "id": id, "summary": [], "encrypted_content": f"secret of {id}"}


def thought(id: str, text: str = "", server: str = "here") -> ThinkingBlock:
    return ThinkingBlock(text, {"reasoning_item": secret(id), "server": server})


def brief(*messages: Msg) -> list[str]:
    """`user: hi`, `reasoning rs_1`, `call a`, `output a: ok`."""
    lines: list[str] = []
    for item in build_input(messages, server="here"):
        match item.get("type"):
            case "reasoning":
                lines.append(f"reasoning {item['id']}")
            case "function_call":
                lines.append(f"call {item['call_id']}")
            case "function_call_output":
                lines.append(f"output {item['call_id']}: {item['output']}")
            case _:
                lines.append(f"{item['role']}: {item['content']}")
    return lines


def test_a_round_is_what_the_model_said_in_its_order_with_the_outputs_behind_it() -> None:
    messages = (
        SystemMessage("be kind"),
        UserMessage("hi"),
        AssistantMessage(
            "me",
            [
                ThinkingBlock("hm"), TextBlock("let me see"), use("a"), TextBlock("and"), use("b"),
                done("b", "2"), done("a", "1"), HintBlock(hint="hurry"), TextBlock("done"),
            ],
        ),
        UserMessage("bye"),
    )  # fmt: skip

    assert brief(*messages) == [
        "system: be kind", "user: hi", "assistant: let me see", "call a", "assistant: and", "call b",
        "output a: 1", "output b: 2", "user: hurry", "assistant: done", "user: bye",
    ]  # fmt: skip


def test_calls_without_a_result_and_results_without_a_call_are_not_sent() -> None:
    reply = AssistantMessage("me", [TextBlock("x"), use("a"), use("b"), done("b"), done("z")])

    assert brief(reply, UserMessage("hi")) == ["assistant: x", "call b", "output b: ok", "user: hi"]


def test_reasoning_goes_back_unchanged_before_what_it_led_to() -> None:
    reply = AssistantMessage(
        "me",
        [thought("rs_1", "hm"), thought("rs_2"), use("a"), thought("rs_3"), use("b"), done("a"), done("b"),
         thought("rs_4"), TextBlock("done")],
    )  # fmt: skip

    assert brief(reply) == [
        "reasoning rs_1", "reasoning rs_2", "call a", "reasoning rs_3", "call b", "output a: ok",
        "output b: ok", "reasoning rs_4", "assistant: done",
    ]  # fmt: skip
    assert build_input([reply], server="here")[0] == secret("rs_1")


def test_reasoning_that_led_to_nothing_is_left_out() -> None:
    cut = AssistantMessage("me", [thought("rs_1"), use("a"), thought("rs_2"), use("b"), done("a")])
    stopped = AssistantMessage("me", [TextBlock("x"), thought("rs_3")])

    assert brief(cut, stopped) == ["reasoning rs_1", "call a", "output a: ok", "assistant: x"]


@pytest.mark.parametrize(
    "block",
    [
        thought("rs_1", "hm", server="elsewhere"),
        ThinkingBlock("hm", {"signature": "s"}),
        ThinkingBlock("hm", {"reasoning_item": "rs_1", "server": "here"}),
        ThinkingBlock("hm"),
    ],
)
def test_reasoning_of_others_is_left_out(block: ThinkingBlock) -> None:
    assert brief(AssistantMessage("me", [block, TextBlock("x")])) == ["assistant: x"]


def test_phases_go_back_and_so_does_what_only_some_calls_have() -> None:
    call = ToolUseBlock(
        "a", "f", metadata={"function_call": {"namespace": "crm", "caller": {"type": "direct"}}}
    )
    reply = AssistantMessage(
        "me",
        [
            TextBlock("look", {"phase": "commentary", "citations": [1]}),
            TextBlock("", {"phase": "x"}),
            call,
            done("a"),
        ],
    )

    assert build_input([reply]) == [
        {"role": "assistant", "content": "look", "phase": "commentary"},
        {
            "type": "function_call", "call_id": "a", "name": "f", "arguments": "{}", "namespace": "crm",
            "caller": {"type": "direct"},
        },
        {"type": "function_call_output", "call_id": "a", "output": "ok", "caller": {"type": "direct"}},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (use("a", city="Paris"), '{"city":"Paris"}'),
        (ToolUseBlock("a", "f", {"x": 1}, content='{"x": 1}'), '{"x": 1}'),
        (ToolUseBlock("a", "f", content='{"x": "cu'), '{"invalid_json":"{\\"x\\": \\"cu"}'),
    ],
)
def test_arguments_go_back_as_they_were_written_if_they_are_an_object(
    call: ToolUseBlock, arguments: str
) -> None:
    item = build_input([AssistantMessage("me", [call, done("a")])])[0]

    assert item == {"type": "function_call", "call_id": "a", "name": "f", "arguments": arguments}


def image(url: str) -> Json:
    return {"type": "input_image", "detail": "auto", "image_url": url}


PARTS: list[tuple[ContentBlock, Json]] = [
    (TextBlock("a"), {"type": "input_text", "text": "a"}),
    (DataBlock(PNG), image("data:image/png;base64,QUJD")),
    (DataBlock(LINK), image("http://x/y.png")),
    (ImageBlock(URLSource("http://x/y")), image("http://x/y")),
    (
        DataBlock(Base64Source("application/pdf", "QQ=="), name="a.pdf"),
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,QQ=="},
    ),
    (
        DataBlock(Base64Source("text/csv", "QQ==")),
        {"type": "input_file", "filename": "file.csv", "file_data": "data:text/csv;base64,QQ=="},
    ),
    (
        DataBlock(URLSource("http://x/y", "application/pdf"), name="a.pdf"),
        {"type": "input_file", "file_url": "http://x/y"},
    ),
    (AudioBlock(Base64Source("audio/wav", "QQ==")), {"type": "input_text", "text": "[audio/wav]"}),
    (
        VideoBlock(URLSource("http://x/y.mp4")),
        {"type": "input_text", "text": "[video/mp4: http://x/y.mp4]"},
    ),
]


@pytest.mark.parametrize(("block", "part"), PARTS)
def test_users_send_text_and_media_and_words_for_what_the_api_cannot_take(
    block: ContentBlock, part: Json
) -> None:
    see = {"type": "input_text", "text": "see:"}
    assert build_input([UserMessage(TextBlock("see:"), block)]) == [{"role": "user", "content": [see, part]}]


@pytest.mark.parametrize(("block", "part"), PARTS[1:])
def test_results_have_them_too(block: ContentBlock, part: Json) -> None:
    result = ToolResultBlock("a", "f", (TextBlock("see:"), block), state=ToolResultState.SUCCESS)
    output = build_input([AssistantMessage("me", [use("a"), result])])[1]["output"]

    assert output == [{"type": "input_text", "text": "see:"}, part]


@pytest.mark.parametrize(
    ("state", "output"),
    [(ToolResultState.SUCCESS, ""), (ToolResultState.DENIED, "denied"), (ToolResultState.ERROR, "error")],
)
def test_a_result_without_output_says_how_it_ended(state: ToolResultState, output: str) -> None:
    result = ToolResultBlock("a", "f", state=state)
    assert build_input([AssistantMessage("me", [use("a"), result])])[1]["output"] == output


def test_media_that_the_assistant_made_are_mentioned() -> None:
    reply = AssistantMessage("me", [TextBlock("here"), DataBlock(PNG)])
    assert brief(reply) == ["assistant: here", "assistant: [image/png]"]


def test_in_a_group_the_words_of_a_speaker_follow_his_name() -> None:
    content = [{"type": "input_text", "text": "Ann Lee:"}, {"type": "input_text", "text": "hi"}]
    assert build_input([UserMessage("hi", name="Ann Lee")]) == [{"role": "user", "content": content}]
    assert build_input([UserMessage("hi", name="user")]) == [{"role": "user", "content": "hi"}]


def test_a_bare_request_asks_for_a_stream_that_nobody_keeps() -> None:
    assert build_request("m", [UserMessage("hi")], [], GenerateOptions()) == {
        "model": "m",
        "input": [{"role": "user", "content": "hi"}],
        "stream": True,
        "store": False,
    }


def test_reasoning_is_asked_for_in_a_form_that_can_be_given_back() -> None:
    options = GenerateOptions(reasoning_effort="low")
    body = build_request("m", [], [], options, store=True, encrypted=True, summary="auto")

    assert (body["store"], body["include"]) == (True, ["reasoning.encrypted_content"])
    assert body["reasoning"] == {"effort": "low", "summary": "auto"}


def test_options_have_the_names_of_the_api_and_those_that_it_lacks_are_not_sent() -> None:
    options = GenerateOptions(
        temperature=0.0, top_p=0.5, top_k=3, max_tokens=9, frequency_penalty=0.1, presence_penalty=0.2,
        seed=0, stop="END", thinking_budget=7, tool_choice="add", parallel_tool_calls=False,
        cache_control=True,
    )  # fmt: skip
    parameters = {"type": "object", "properties": {"a": {"type": "integer"}}}
    tools = [ToolSchema("add", "Adds.", parameters, strict=True), ToolSchema("now")]
    body = build_request("m", [], tools, options)

    assert body == {
        "model": "m", "input": [], "stream": True, "store": False, "temperature": 0.0, "top_p": 0.5,
        "max_output_tokens": 9, "tool_choice": {"type": "function", "name": "add"},
        "parallel_tool_calls": False,
        "tools": [
            {"type": "function", "name": "add", "description": "Adds.", "strict": True,
             "parameters": parameters},
            {"type": "function", "name": "now", "description": "", "strict": False,
             "parameters": {"type": "object", "properties": {}}},
        ],
    }  # fmt: skip


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_a_choice_of_tools_is_sent_with_tools_only(choice: str) -> None:
    options = GenerateOptions(tool_choice=choice, parallel_tool_calls=True)

    assert build_request("m", [], [ToolSchema("f")], options)["tool_choice"] == choice
    assert not {"tool_choice", "parallel_tool_calls"} & build_request("m", [], [], options).keys()


SCHEMA: Json = {"type": "object", "title": "The answer", "properties": {}}
STRICT: Json = {**SCHEMA, "required": [], "additionalProperties": False}


@pytest.mark.parametrize(
    ("wanted", "format"),
    [
        (SCHEMA, {"type": "json_schema", "name": "The_answer", "schema": STRICT, "strict": True}),
        (
            {"type": "object"},
            {"type": "json_schema", "name": "response", "schema": {"type": "object"}, "strict": False},
        ),
        ({"type": "json_object"}, {"type": "json_object"}),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
            {"type": "json_schema", "name": "n", "schema": SCHEMA},
        ),
        (
            {"type": "json_schema", "name": "n", "schema": SCHEMA},
            {"type": "json_schema", "name": "n", "schema": SCHEMA},
        ),
    ],
)
def test_a_schema_becomes_a_format_and_a_ready_one_stays(wanted: Json, format: Json) -> None:
    body = build_request("m", [], [], GenerateOptions(response_format=wanted))
    assert body["text"] == {"format": format}


def test_what_is_extra_comes_last_and_none_takes_a_key_out() -> None:
    extra = {"temperature": 2, "store": None, "tools": [{"type": "web_search"}]}
    body = build_request("m", [], [ToolSchema("f")], GenerateOptions(temperature=1.0, extra_body=extra))

    assert (body["temperature"], body["tools"]) == (2, [{"type": "web_search"}])
    assert "store" not in body


@pytest.mark.parametrize(
    "model",
    ["gpt-5", "gpt-5.3-codex", "gpt-6-astra", "gpt-10", "o3", "o4-mini", "openai/gpt-5-mini", "codex-mini"],
)
def test_models_that_reason_are_known_by_their_names(model: str) -> None:
    assert reasons(model)


@pytest.mark.parametrize(
    "model",
    ["gpt-4o", "gpt-4.1", "gpt-5-chat-latest", "openai/gpt-oss-20b", "qwen3", "gpt-3.5-turbo", "solo1"],
)
def test_others_are_not_asked_for_their_reasoning(model: str) -> None:
    assert not reasons(model)
