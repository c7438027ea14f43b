"""Turns, tools and options as a request in DashScope's own protocol."""

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
from agentscope_rx.model._history import CACHE_CONTROL, history
from agentscope_rx.model.dashscope._request import (
    build_messages,
    build_request,
    choice_of,
    has_media,
    has_uploads,
    is_incremental,
    is_multimodal,
    thinks,
)

PNG, LINK = Base64Source("image/png", "QUJD"), URLSource("http://x/y.png")
PDF = DataBlock(Base64Source("application/pdf", "QQ=="))


def use(id: str, name: str = "f", **more: Any) -> ToolUseBlock:
    return ToolUseBlock(id, name, **more)


def done(id: str, name: str = "f") -> ToolResultBlock:
    return ToolResultBlock.text("ok", id=id, name=name)


def sent(*messages: Msg, multimodal: bool = False) -> list[dict[str, Any]]:
    return build_messages(history(messages), multimodal=multimodal)


def request(options: GenerateOptions, *tools: ToolSchema, **more: Any) -> dict[str, Any]:
    return build_request("m", history([UserMessage("hi")]), tools, options, **more)


def parameters(options: GenerateOptions, *tools: ToolSchema, **more: Any) -> dict[str, Any]:
    added = request(options, *tools, **more)["parameters"]
    assert (added.pop("result_format"), added.pop("incremental_output")) == ("message", True)
    return added


REPLY = AssistantMessage(
    "me",
    [
        ThinkingBlock("h"), ThinkingBlock("m"), TextBlock("see"), use("a", input={"x": 1}), use("b"),
        done("b"), done("a"), HintBlock(hint="hurry"), TextBlock("so"), TextBlock("then"),
    ],
)  # fmt: skip


def call(id: str, arguments: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}}


def test_for_text_each_message_has_one_text() -> None:
    assert sent(SystemMessage("be kind"), UserMessage(TextBlock("a"), TextBlock("b")), REPLY) == [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "a\nb"},
        {"role": "assistant", "content": "see", "reasoning_content": "hm",
         "tool_calls": [call("a", '{"x":1}'), call("b", "{}")]},
        {"role": "tool", "tool_call_id": "a", "name": "f", "content": "ok"},
        {"role": "tool", "tool_call_id": "b", "name": "f", "content": "ok"},
        {"role": "user", "content": "hurry"},
        {"role": "assistant", "content": "so\nthen"},
    ]  # fmt: skip


def test_for_the_multimodal_endpoint_each_message_has_parts() -> None:
    messages = (SystemMessage("be kind"), UserMessage(TextBlock("a"), DataBlock(LINK)), REPLY)

    assert sent(*messages, multimodal=True) == [
        {"role": "system", "content": [{"text": "be kind"}]},
        {"role": "user", "content": [{"text": "a"}, {"image": "http://x/y.png"}]},
        {"role": "assistant", "content": [{"text": "see"}], "reasoning_content": "hm",
         "tool_calls": [call("a", '{"x":1}'), call("b", "{}")]},
        {"role": "tool", "tool_call_id": "a", "name": "f", "content": [{"text": "ok"}]},
        {"role": "tool", "tool_call_id": "b", "name": "f", "content": [{"text": "ok"}]},
        {"role": "user", "content": [{"text": "hurry"}]},
        {"role": "assistant", "content": [{"text": "so"}, {"text": "then"}]},
    ]  # fmt: skip


@pytest.mark.parametrize(("multimodal", "content"), [(False, ""), (True, [{"text": ""}])])
def test_a_call_without_words_has_an_empty_text(multimodal: bool, content: Any) -> None:
    message = sent(AssistantMessage("me", [use("a"), done("a")]), multimodal=multimodal)[0]

    assert message["content"] == content


def test_calls_without_a_result_are_not_sent() -> None:
    assert sent(AssistantMessage("me", [TextBlock("x"), use("a")])) == [{"role": "assistant", "content": "x"}]


def test_arguments_that_were_no_object_are_sent_as_one() -> None:
    message = sent(AssistantMessage("me", [use("a", content='{"x": "cu'), done("a")]))[0]

    assert message["tool_calls"] == [call("a", '{"invalid_json":"{\\"x\\": \\"cu"}')]


def test_a_signature_of_gemini_goes_to_nobody_else() -> None:
    thinking = ThinkingBlock("hm", {"signature": "s", "thoughtSignature": "s", "covers": 2})

    assert sent(AssistantMessage("me", [thinking, TextBlock("x")])) == [
        {"role": "assistant", "content": "x", "reasoning_content": "hm"}
    ]


def test_a_signature_goes_back_with_its_thinking() -> None:
    blocks = [ThinkingBlock("hm", {"signature": "s", "reasoning_signature": "s"}), TextBlock("x")]

    assert sent(AssistantMessage("me", blocks)) == [
        {"role": "assistant", "content": "x", "reasoning_content": "hm", "reasoning_signature": "s"}
    ]


@pytest.mark.parametrize(
    ("block", "part", "words"),
    [
        (DataBlock(PNG), {"image": "data:image/png;base64,QUJD"}, "[image/png]"),
        (DataBlock(LINK), {"image": "http://x/y.png"}, "[image/png: http://x/y.png]"),
        (ImageBlock(PNG), {"image": "data:image/png;base64,QUJD"}, "[image/png]"),
        (ImageBlock(LINK, min_pixels=4, max_pixels=9),
         {"image": "http://x/y.png", "min_pixels": 4, "max_pixels": 9}, "[image/png: http://x/y.png]"),
        (AudioBlock(Base64Source("audio/mpeg", "QQ==")), {"audio": "data:audio/mpeg;base64,QQ=="},
         "[audio/mpeg]"),
        (AudioBlock(URLSource("http://x/y.wav")), {"audio": "http://x/y.wav"},
         "[audio/x-wav: http://x/y.wav]"),
        (VideoBlock(URLSource("http://x/y.mp4"), fps=2), {"video": "http://x/y.mp4", "fps": 2},
         "[video/mp4: http://x/y.mp4]"),
        (DataBlock(Base64Source("video/mp4", "QQ==")), {"video": "data:video/mp4;base64,QQ=="},
         "[video/mp4]"),
        (PDF, {"text": "[application/pdf]"}, "[application/pdf]"),
        (DataBlock(URLSource("http://x/y.pdf")), {"text": "[application/pdf: http://x/y.pdf]"},
         "[application/pdf: http://x/y.pdf]"),
    ],
)  # fmt: skip
def test_media_are_sent_or_at_least_mentioned(block: ContentBlock, part: dict[str, Any], words: str) -> None:
    message = UserMessage(TextBlock("see:"), block)

    assert sent(message, multimodal=True)[0]["content"] == [{"text": "see:"}, part]
    assert sent(message)[0]["content"] == f"see:\n{words}"


def test_media_in_results_follow_as_a_message_of_the_user() -> None:
    output = (TextBlock("a chart"), DataBlock(PNG), PDF)
    result = ToolResultBlock("a", "plot", output, state=ToolResultState.SUCCESS)
    reply = AssistantMessage("me", [use("a", "plot"), use("b"), result, done("b"), TextBlock("x")])
    messages = sent(reply, multimodal=True)

    assert [message["role"] for message in messages] == ["assistant", "tool", "tool", "user", "assistant"]
    assert messages[1]["content"] == [{"text": "a chart\n[image/png]\n[application/pdf]"}]
    assert messages[3]["content"] == [
        {"text": "Media in the result of plot (a):"}, {"image": "data:image/png;base64,QUJD"},
    ]  # fmt: skip
    assert [message["role"] for message in sent(reply)] == ["assistant", "tool", "tool", "assistant"]


def test_media_that_the_assistant_made_are_mentioned() -> None:
    reply = AssistantMessage("me", [TextBlock("here"), DataBlock(LINK)])

    assert sent(reply)[0]["content"] == "here\n[image/png: http://x/y.png]"
    assert sent(reply, multimodal=True)[0]["content"] == [
        {"text": "here"}, {"text": "[image/png: http://x/y.png]"},
    ]  # fmt: skip


@pytest.mark.parametrize("multimodal", [False, True])
def test_what_is_to_be_kept_is_marked_at_its_last_part(multimodal: bool) -> None:
    marked = {CACHE_CONTROL: True}
    messages = sent(
        SystemMessage("be kind", metadata=marked),
        UserMessage("hi"),
        AssistantMessage("me", [TextBlock("see"), use("a"), done("a")], metadata=marked),
        multimodal=multimodal,
    )

    def cached(text: str) -> list[dict[str, Any]]:
        return [{"text": text, "cache_control": {"type": "ephemeral"}}]

    assert [message["content"] for message in messages] == [
        cached("be kind"),
        [{"text": "hi"}] if multimodal else "hi",
        [{"text": "see"}] if multimodal else "see",
        cached("ok"),
    ]


def test_what_is_to_be_kept_may_be_said_for_a_call() -> None:
    turns = history([SystemMessage("be kind"), UserMessage("hi"), UserMessage("so?")])
    body = build_request("m", turns, [], GenerateOptions(cache_control=True))
    contents = [message["content"] for message in body["input"]["messages"]]

    assert ["cache_control" in content[-1] for content in contents] == [True, False, True]


@pytest.mark.parametrize(
    ("model", "multimodal"),
    [
        ("qwen-plus", False), ("qwen-max", False), ("qwen-turbo-latest", False), ("qwen3-max", False),
        ("qwen3-235b-a22b", False), ("qwen3-coder-plus", False), ("deepseek-v3.2", False),
        ("kimi-k2-thinking", False), ("qwen3.6-max-preview", False), ("qwen2.5-14b", False),
        ("qvq-max", True), ("QVQ-72b-preview", True), ("qwen-vl-max", True), ("qwen3-vl-plus", True),
        ("qwen2.5-vl-72b-instruct", True), ("qwen3-asr-flash", True), ("qwen-audio-turbo", True),
        ("qwen3-omni-flash", True), ("qwen3.5-plus", True), ("qwen3.5-397b-a17b", True),
        ("qwen3.6-plus-2026-04-02", True), ("qwen3.7-plus", True), ("qwen3.10-flash", True),
        ("qwen4-plus", True), ("kimi-k2.5", True), ("kimi/kimi-k2.6", True),
    ],
)  # fmt: skip
def test_models_are_known_by_their_names(model: str, multimodal: bool) -> None:
    assert is_multimodal(model) is multimodal


@pytest.mark.parametrize(
    ("block", "media", "uploads"),
    [
        (TextBlock("a"), False, False),
        (PDF, False, False),
        (DataBlock(PNG), True, False),
        (VideoBlock(URLSource("oss://x/y.mp4")), True, True),
    ],
)
def test_media_are_found_wherever_they_stand(block: ContentBlock, media: bool, uploads: bool) -> None:
    result = ToolResultBlock("a", "f", (block,), state=ToolResultState.SUCCESS)
    for message in (UserMessage(block), AssistantMessage("me", [use("a"), result])):
        turns = history([SystemMessage("x"), message])
        assert (has_media(turns), has_uploads(turns)) == (media, uploads)
    assert not has_media(history([AssistantMessage("me", [TextBlock("x"), block])]))


def test_a_bare_request_asks_for_messages_and_for_what_is_new() -> None:
    assert request(GenerateOptions()) == {
        "model": "m",
        "input": {"messages": [{"role": "user", "content": "hi"}]},
        "parameters": {"result_format": "message", "incremental_output": True},
    }
    assert request(GenerateOptions(), incremental_output=False)["parameters"]["incremental_output"] is False


def test_options_have_the_names_of_the_api() -> None:
    options = GenerateOptions(
        temperature=0.0, top_p=0.5, top_k=3, max_tokens=9, frequency_penalty=0.1, presence_penalty=0.2,
        seed=0, stop="END", thinking_budget=7, reasoning_effort="low", tool_choice="auto",
        parallel_tool_calls=True, response_format={"type": "json_object"},
    )  # fmt: skip
    tool = ToolSchema(
        "add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}}, strict=True
    )

    assert parameters(options, tool, ToolSchema("now"), enable_search=True) == {
        "temperature": 0.0, "top_p": 0.5, "top_k": 3, "max_tokens": 9, "frequency_penalty": 0.1,
        "presence_penalty": 0.2, "seed": 0, "stop": ["END"], "enable_thinking": True, "thinking_budget": 7,
        "reasoning_effort": "low", "enable_search": True, "tool_choice": "auto",
        "parallel_tool_calls": True, "response_format": {"type": "json_object"},
        "tools": [
            {"type": "function", "function": {
                "name": "add", "description": "Adds.", "strict": True,
                "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}},
            {"type": "function", "function": {
                "name": "now", "description": "", "parameters": {"type": "object", "properties": {}}}},
        ],
    }  # fmt: skip


def test_a_schema_becomes_a_response_format() -> None:
    schema = {"type": "object", "title": "Answer", "properties": {}}

    assert parameters(GenerateOptions(response_format=schema))["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("options", "default", "thinking"),
    [
        (GenerateOptions(), None, None),
        (GenerateOptions(), True, True),
        (GenerateOptions(), False, False),
        (GenerateOptions(thinking_budget=5), None, True),
        (GenerateOptions(thinking_budget=5), False, True),
        (GenerateOptions(thinking_budget=0), True, False),
        (GenerateOptions(reasoning_effort="high"), None, True),
        (GenerateOptions(reasoning_effort="none"), True, False),
        (GenerateOptions(reasoning_effort="none", thinking_budget=5), True, False),
    ],
)
def test_the_options_of_a_call_say_first_whether_the_model_thinks(
    options: GenerateOptions, default: bool | None, thinking: bool | None
) -> None:
    assert thinks(options, default) is thinking
    sent = parameters(options, enable_thinking=default)
    assert sent.get("enable_thinking") is thinking
    assert thinking or "thinking_budget" not in sent
    assert thinking or "reasoning_effort" not in sent


ONE, TWO = [ToolSchema("f")], [ToolSchema("f"), ToolSchema("g")]


@pytest.mark.parametrize(
    ("choice", "tools", "thinking", "allowed"),
    [
        (None, ONE, True, None), ("auto", ONE, True, "auto"), ("none", TWO, True, "none"),
        ("required", ONE, None, "f"), ("required", TWO, None, "auto"), ("required", ONE, True, "auto"),
        ("g", TWO, None, "g"), ("g", TWO, False, "g"), ("g", TWO, True, "auto"),
    ],
)  # fmt: skip
def test_a_choice_of_tools_is_one_that_the_server_takes(
    choice: str | None, tools: list[ToolSchema], thinking: bool | None, allowed: str | None
) -> None:
    assert choice_of(choice, tools, thinking) == allowed

    options = GenerateOptions(tool_choice=choice)
    named = allowed in ("f", "g")
    wanted = {"type": "function", "function": {"name": allowed}} if named else allowed
    assert parameters(options, *tools, enable_thinking=thinking).get("tool_choice") == wanted
    assert "tool_choice" not in parameters(options, enable_thinking=thinking)


def test_what_is_extra_comes_last_and_none_takes_a_key_out() -> None:
    extra = {
        "parameters": {"temperature": 2, "result_format": None, "enable_search": True},
        "input": {"prompt": "x"},
        "resources": [1],
    }
    body = request(GenerateOptions(temperature=1.0, extra_body=extra))

    assert body["parameters"] == {"incremental_output": True, "temperature": 2, "enable_search": True}
    assert body["input"] == {"messages": [{"role": "user", "content": "hi"}], "prompt": "x"}
    assert body["resources"] == [1]
    assert request(GenerateOptions(extra_body={"model": None, "parameters": None})).keys() == {"input"}
    assert request(GenerateOptions(extra_body={"input": "raw"}))["input"] == "raw"


@pytest.mark.parametrize(
    ("extra", "default", "incremental"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"parameters": {"incremental_output": False}}, True, False),
        ({"parameters": {"incremental_output": True}}, False, True),
        ({"parameters": {"incremental_output": None}}, True, False),
        ({"parameters": {"seed": 1}}, True, True),
        ({"parameters": None}, True, True),
    ],
)
def test_the_request_says_whether_frames_bring_only_what_is_new(
    extra: dict[str, Any], default: bool, incremental: bool
) -> None:
    assert is_incremental(GenerateOptions(extra_body=extra), default) is incremental
