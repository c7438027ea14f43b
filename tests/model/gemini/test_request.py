"""Messages, tools and options as the body of a request."""

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
from agentscope_rx.model.gemini._request import build_request, is_older

NEW, OLD = "gemini-3-pro-preview", "gemini-2.5-flash"
PNG, LINK = Base64Source("image/png", "QUJD"), URLSource("https://x/y.png")
PDF, WAV = Base64Source("application/pdf", "QUJD"), Base64Source("audio/wav", "QUJD")
TOOL = ToolSchema("f", "Does it.", {"type": "object", "properties": {"x": {"type": "integer"}}})


def use(id: str, name: str = "f", signature: str | None = None, **input: Any) -> ToolUseBlock:
    return ToolUseBlock(
        id, name, input, metadata={} if signature is None else {"thoughtSignature": signature}
    )


def done(id: str, *output: ContentBlock, name: str = "f") -> ToolResultBlock:
    return ToolResultBlock(id, name, output or (TextBlock("ok"),), state=ToolResultState.SUCCESS)


def contents(*messages: Msg, model: str = OLD) -> list[dict[str, Any]]:
    return build_request(model, messages, (), GenerateOptions())["contents"]


def said(*blocks: ContentBlock, model: str = OLD) -> list[dict[str, Any]]:
    """The contents behind the question."""
    question, *rest = contents(UserMessage("hi"), AssistantMessage("me", blocks), model=model)
    assert question == {"role": "user", "parts": [{"text": "hi"}]}
    return rest


def parts(*blocks: ContentBlock, model: str = OLD) -> list[dict[str, Any]]:
    (content,) = said(*blocks, model=model)
    assert content["role"] == "model"
    return content["parts"]


def call(id: str, signature: str | None = None, /, **args: Any) -> dict[str, Any]:
    signed = {} if signature is None else {"thoughtSignature": signature}
    return {"functionCall": {"id": id, "name": "f", "args": args}, **signed}


def answer(id: str, output: str = "ok", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": id, "name": "f", "response": {"output": output}, **more}}


def text(*texts: str) -> list[dict[str, Any]]:
    return [{"text": each} for each in texts]


def test_a_conversation_is_the_users_contents_and_the_models_and_the_system_has_a_place_of_its_own() -> None:
    messages = (
        SystemMessage("be kind"), UserMessage("hi"), AssistantMessage("me", "hello"), UserMessage("bye"),
        SystemMessage("be brief"),
    )  # fmt: skip
    body = build_request(OLD, messages, (), GenerateOptions())

    assert body == {
        "contents": [
            {"role": "user", "parts": text("hi")},
            {"role": "model", "parts": text("hello")},
            {"role": "user", "parts": text("bye")},
        ],
        "systemInstruction": {"parts": text("be kind", "be brief")},
    }


def test_each_round_is_the_models_content_and_the_results_of_its_calls() -> None:
    reply = [
        TextBlock("see"), use("a", x=1), use("b"), done("b", TextBlock("2")), done("a", TextBlock("1")),
        HintBlock("h", "hurry"), TextBlock("so"), use("c"), done("c"), TextBlock("then"), TextBlock("that"),
    ]  # fmt: skip

    assert said(*reply) == [
        {"role": "model", "parts": [*text("see"), call("a", x=1), call("b")]},
        {"role": "user", "parts": [answer("a", "1"), answer("b", "2")]},
        {"role": "user", "parts": text("hurry")},
        {"role": "model", "parts": [*text("so"), call("c")]},
        {"role": "user", "parts": [answer("c")]},
        {"role": "model", "parts": text("then", "that")},
    ]


def test_calls_without_a_result_are_not_sent() -> None:
    assert said(TextBlock("x"), use("a"), use("b"), done("b")) == [
        {"role": "model", "parts": [*text("x"), call("b")]},
        {"role": "user", "parts": [answer("b")]},
    ]


def test_arguments_that_were_no_object_are_sent_as_one() -> None:
    broken = ToolUseBlock("a", "f", content='{"x": "cu')

    assert said(broken, done("a"))[0]["parts"] == [call("a", invalid_json='{"x": "cu')]


def test_the_model_speaks_once_in_a_row_and_never_first() -> None:
    first, second = AssistantMessage("me", "a"), AssistantMessage("me", [TextBlock("b"), use("a"), done("a")])

    assert contents(first, second) == [
        {"role": "user", "parts": text("")},
        {"role": "model", "parts": [*text("a", "b"), call("a")]},
        {"role": "user", "parts": [answer("a")]},
    ]


def test_there_is_always_a_content() -> None:
    assert contents(SystemMessage("be kind")) == [{"role": "user", "parts": text("")}]


def test_in_a_group_the_words_of_each_speaker_follow_his_name() -> None:
    assert contents(UserMessage("ann", "hi"), UserMessage("user", "ho"), model=NEW) == [
        {"role": "user", "parts": text("ann:", "hi")},
        {"role": "user", "parts": text("ho")},
    ]


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (DataBlock(PNG), {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}),
        (ImageBlock(PNG), {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}),
        (DataBlock(LINK), {"fileData": {"fileUri": "https://x/y.png", "mimeType": "image/png"}}),
        (ImageBlock(URLSource("https://x/y")), {"fileData": {"fileUri": "https://x/y"}}),
        (AudioBlock(WAV), {"inlineData": {"mimeType": "audio/wav", "data": "QUJD"}}),
        (AudioBlock(URLSource("gs://x/y.mp3")),
         {"fileData": {"fileUri": "gs://x/y.mp3", "mimeType": "audio/mpeg"}}),
        (VideoBlock(URLSource("https://youtu.be/x", "video/mp4"), fps=2),
         {"fileData": {"fileUri": "https://youtu.be/x", "mimeType": "video/mp4"},
          "videoMetadata": {"fps": 2}}),
        (VideoBlock(Base64Source("video/mp4", "QUJD")),
         {"inlineData": {"mimeType": "video/mp4", "data": "QUJD"}}),
        (DataBlock(PDF, name="a.pdf"), {"inlineData": {"mimeType": "application/pdf", "data": "QUJD"}}),
        (DataBlock(URLSource("data:image/gif;base64,QUJD")),
         {"inlineData": {"mimeType": "image/gif", "data": "QUJD"}}),
        (DataBlock(URLSource("file:///x.png")), {"text": "[image/png: file:///x.png]"}),
    ],
)  # fmt: skip
def test_media_are_inline_or_behind_their_address(block: ContentBlock, part: dict[str, Any]) -> None:
    assert contents(UserMessage(content=[TextBlock("see"), block])) == [
        {"role": "user", "parts": [*text("see"), part]}
    ]


IMAGE = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
SOUND = {"inlineData": {"mimeType": "audio/wav", "data": "QUJD"}}
FILE = {"fileData": {"fileUri": "https://x/y.png", "mimeType": "image/png"}}


def test_media_in_results_are_in_them_where_the_model_takes_them() -> None:
    results = (done("a", TextBlock("1"), DataBlock(PNG), DataBlock(WAV)), done("b", DataBlock(LINK)))

    assert said(use("a", signature="s"), use("b"), *results, model=NEW)[1]["parts"] == [
        answer("a", "1\n[image/png]\n[audio/wav]", parts=[IMAGE]),
        answer("b", "[image/png: https://x/y.png]"),
        *text("Media in the result of f (a):"),
        SOUND,
        *text("Media in the result of f (b):"),
        FILE,
    ]


def test_media_in_results_are_behind_them_for_older_models() -> None:
    assert said(use("a"), done("a", TextBlock("1"), DataBlock(PNG)), model=OLD)[1]["parts"] == [
        answer("a", "1\n[image/png]"),
        *text("Media in the result of f (a):"),
        IMAGE,
    ]


@pytest.mark.parametrize(
    ("output", "state", "response"),
    [
        ([TextBlock("no")], ToolResultState.ERROR, {"error": "no"}),
        ([], ToolResultState.DENIED, {"error": "denied"}),
        ([], ToolResultState.INTERRUPTED, {"error": "interrupted"}),
        ([], ToolResultState.SUCCESS, {"output": ""}),
        ([TextBlock('{"a": 1}')], ToolResultState.SUCCESS, {"output": '{"a": 1}'}),
    ],
)
def test_a_result_is_an_output_or_an_error(
    output: list[ContentBlock], state: ToolResultState, response: dict[str, Any]
) -> None:
    (sent,) = said(use("a"), ToolResultBlock("a", "f", output, state=state))[1]["parts"]

    assert sent["functionResponse"]["response"] == response


@pytest.mark.parametrize(
    ("block", "sent"),
    [
        (TextBlock("abc", {"thoughtSignature": "s", "covers": 3}),
         [{"text": "abc", "thoughtSignature": "s"}]),
        (TextBlock("abc", {"thoughtSignature": "s", "covers": 1}),
         [{"text": "ab"}, {"text": "c", "thoughtSignature": "s"}]),
        (TextBlock("abc", {"thoughtSignature": "s", "covers": 0}),
         [{"text": "abc"}, {"text": "", "thoughtSignature": "s"}]),
        (TextBlock("abc", {"thoughtSignature": "s"}), [{"text": "abc", "thoughtSignature": "s"}]),
        (TextBlock("ab", {"thoughtSignature": "s", "covers": 3}), [{"text": "ab", "thoughtSignature": "s"}]),
        (TextBlock("abc", {"signature": "of another"}), [{"text": "abc"}]),
        (ThinkingBlock("hm", {"thoughtSignature": "s", "covers": 0}),
         [{"text": "hm", "thought": True}, {"text": "", "thought": True, "thoughtSignature": "s"}]),
        (ThinkingBlock("hm"), [{"text": "hm", "thought": True}]),
        (ThinkingBlock("hm", {"signature": "of another"}), [{"text": "hm", "thought": True}]),
        (ThinkingBlock("", {"redacted_thinking": "of another"}), []),
        (DataBlock(PNG, metadata={"thoughtSignature": "s"}), [{**IMAGE, "thoughtSignature": "s"}]),
        (DataBlock(PNG, metadata={"thought": True}), [{**IMAGE, "thought": True}]),
        (TextBlock("abc", {"part": {"executableCode": {"code": "1"}, "thoughtSignature": "s"}}),
         [{"text": "abc"}, {"executableCode": {"code": "1"}, "thoughtSignature": "s"}]),
    ],
)  # fmt: skip
def test_what_came_with_a_signature_goes_back_as_it_came(
    block: ContentBlock, sent: list[dict[str, Any]]
) -> None:
    assert parts(block, TextBlock("end")) == [*sent, {"text": "end"}]


def test_a_call_goes_back_with_its_signature() -> None:
    blocks = (use("a", signature="s"), use("b"), done("a"), done("b"))

    assert said(*blocks, model=OLD)[0]["parts"] == said(*blocks, model=NEW)[0]["parts"]
    assert said(*blocks)[0]["parts"] == [call("a", "s"), call("b")]


def test_newer_models_are_told_that_another_model_made_the_calls_of_a_round() -> None:
    blocks = (use("a"), use("b"), done("a"), done("b"), use("c", signature="s"), done("c"))
    first, _, second, _ = said(*blocks, model=NEW)

    assert first["parts"] == [call("a", "skip_thought_signature_validator"), call("b")]
    assert second["parts"] == [call("c", "s")]


@pytest.mark.parametrize(
    ("model", "older"),
    [
        ("gemini-2.5-flash", True), ("gemini-2.0-flash-lite", True), ("gemini-1.5-pro", True),
        ("models/gemini-2.5-pro", True), ("gemma-3-27b-it", True), ("gemini-3-pro-preview", False),
        ("gemini-3.8-flash", False), ("gemini-4-argon", False), ("gemini-flash-latest", False),
        ("models/gemini-3-pro", False), ("gemini-12-pro", False), ("tunedModels/mine", False),
    ],
)  # fmt: skip
def test_models_from_before_gemini_3_are_known_by_their_names(model: str, older: bool) -> None:
    assert is_older(model) is older


def config(model: str = OLD, **options: Any) -> dict[str, Any]:
    return build_request(model, [UserMessage("hi")], (), GenerateOptions(**options)).get(
        "generationConfig", {}
    )


def test_options_are_the_apis() -> None:
    sent = config(
        temperature=0.5, top_p=0.9, top_k=40, max_tokens=100, frequency_penalty=0.1, presence_penalty=0.2,
        seed=7, stop=("a", "b"), thinking_budget=0, parallel_tool_calls=True,
    )  # fmt: skip

    assert sent == {
        "temperature": 0.5, "topP": 0.9, "topK": 40, "maxOutputTokens": 100, "frequencyPenalty": 0.1,
        "presencePenalty": 0.2, "seed": 7, "stopSequences": ["a", "b"],
        "thinkingConfig": {"thinkingBudget": 0},
    }  # fmt: skip
    assert config() == {}


@pytest.mark.parametrize(
    ("model", "options", "thinking"),
    [
        (OLD, {"thinking_budget": 100}, {"thinkingBudget": 100, "includeThoughts": True}),
        (OLD, {"thinking_budget": -1}, {"thinkingBudget": -1, "includeThoughts": True}),
        (OLD, {"reasoning_effort": "none"}, {"thinkingBudget": 0}),
        (OLD, {"reasoning_effort": "low"}, {"thinkingBudget": 1024, "includeThoughts": True}),
        (OLD, {"reasoning_effort": "medium"}, {"thinkingBudget": 8192, "includeThoughts": True}),
        (OLD, {"reasoning_effort": "high"}, {"thinkingBudget": 24576, "includeThoughts": True}),
        (OLD, {"reasoning_effort": "odd"}, {"thinkingBudget": -1, "includeThoughts": True}),
        (NEW, {"reasoning_effort": "low"}, {"thinkingLevel": "LOW", "includeThoughts": True}),
        (NEW, {"reasoning_effort": "none"}, {"thinkingLevel": "MINIMAL"}),
        (
            NEW,
            {"reasoning_effort": "high", "thinking_budget": 9},
            {"thinkingBudget": 9, "includeThoughts": True},
        ),
    ],
)
def test_thinking_is_limited_in_the_words_of_the_model(
    model: str, options: dict[str, Any], thinking: dict[str, Any]
) -> None:
    assert config(model, **options) == {"thinkingConfig": thinking}


SCHEMA = {"type": "object", "properties": {"a": {"const": 1}}}
WRITTEN = {"type": "object", "properties": {"a": {"type": "integer", "enum": [1]}}}


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        (SCHEMA, {"responseMimeType": "application/json", "responseJsonSchema": WRITTEN}),
        ({"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
         {"responseMimeType": "application/json", "responseJsonSchema": WRITTEN}),
        ({"type": "json_object"}, {"responseMimeType": "application/json"}),
        ({"type": "text"}, {}),
    ],
)  # fmt: skip
def test_the_answer_is_held_to_a_schema(wanted: dict[str, Any], sent: dict[str, Any]) -> None:
    assert config(response_format=wanted) == sent


def test_tools_are_declared_with_their_schemas() -> None:
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    anything = {"type": "object", "additionalProperties": True}
    tools = (TOOL, ToolSchema("now"), ToolSchema("g", "", nothing), ToolSchema("h", "", anything))
    body = build_request(OLD, [UserMessage("hi")], tools, GenerateOptions())

    assert body["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "f",
                    "description": "Does it.",
                    "parametersJsonSchema": {"type": "object", "properties": {"x": {"type": "integer"}}},
                },
                {"name": "now"},
                {"name": "g"},
                {"name": "h", "parametersJsonSchema": anything},
            ]
        }
    ]
    assert "toolConfig" not in body


@pytest.mark.parametrize(
    ("choice", "strict", "calling"),
    [
        ("auto", None, {"mode": "AUTO"}),
        ("none", None, {"mode": "NONE"}),
        ("required", None, {"mode": "ANY"}),
        ("f", None, {"mode": "ANY", "allowedFunctionNames": ["f"]}),
        (None, True, {"mode": "VALIDATED"}),
        ("auto", True, {"mode": "VALIDATED"}),
        ("required", True, {"mode": "ANY"}),
    ],
)
def test_which_tools_are_called_is_a_mode(
    choice: str | None, strict: bool | None, calling: dict[str, Any]
) -> None:
    tools = (ToolSchema("f", strict=strict),)
    body = build_request(OLD, [UserMessage("hi")], tools, GenerateOptions(tool_choice=choice))

    assert body["toolConfig"] == {"functionCallingConfig": calling}
    assert "toolConfig" not in build_request(OLD, [], (), GenerateOptions(tool_choice=choice))


def test_the_extra_body_is_merged_into_the_request() -> None:
    extra = {
        "generationConfig": {
            "responseModalities": ["TEXT", "IMAGE"],
            "topP": None,
            "thinkingConfig": {"x": 1},
        },
        "tools": [{"googleSearch": {}}],
        "systemInstruction": None,
        "cachedContent": "cachedContents/a",
    }
    options = GenerateOptions(temperature=0.5, top_p=0.9, thinking_budget=1, extra_body=extra)
    body = build_request(OLD, [SystemMessage("be kind"), UserMessage("hi")], (TOOL,), options)

    assert body["generationConfig"] == {
        "temperature": 0.5,
        "thinkingConfig": {"thinkingBudget": 1, "includeThoughts": True, "x": 1},
        "responseModalities": ["TEXT", "IMAGE"],
    }
    assert [list(tool) for tool in body["tools"]] == [["functionDeclarations"], ["googleSearch"]]
    assert "systemInstruction" not in body
    assert body["cachedContent"] == "cachedContents/a"
    assert build_request(OLD, [], (TOOL,), GenerateOptions(extra_body={"tools": None})).keys() == {"contents"}
