"""Messages, tools and options as a request's body."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
from agentscope_rx.model.anthropic._request import build_request

PNG, LINK = Base64Source("image/png", "QUJD"), URLSource("https://x/y.png")
PDF = Base64Source("application/pdf", "QUJD")
MARK = {"type": "ephemeral"}
CACHED: dict[str, Any] = {"metadata": {"_cache_control": True}}
SIGNED = ThinkingBlock("hm", {"signature": "s"})
A = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def body(
    *messages: Msg, tools: tuple[ToolSchema, ...] = (), model: str = "claude-sonnet-4-5", **options: Any
) -> dict[str, Any]:
    return build_request(model, messages, tools, GenerateOptions(**options))


def sent(*messages: Msg) -> list[dict[str, Any]]:
    return body(*messages)["messages"]


def use(id: str, name: str = "f", **input: Any) -> ToolUseBlock:
    return ToolUseBlock(id, name, input)


def done(id: str, text: str = "ok", name: str = "f") -> ToolResultBlock:
    return ToolResultBlock.text(text, id=id, name=name)


def reply(*blocks: ContentBlock) -> AssistantMessage:
    return AssistantMessage("me", blocks)


def text(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def call(id: str, name: str = "f", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def result(id: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def media(type: str, source: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": type, "source": source, **more}


def inline(media_type: str) -> dict[str, Any]:
    return {"type": "base64", "media_type": media_type, "data": "QUJD"}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {**user(*content), "role": "assistant"}


def test_the_least_request() -> None:
    assert body(UserMessage("hi")) == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 32_000,
        "messages": [user("hi")],
        "stream": True,
    }


# The conversation


def test_a_round_is_followed_by_all_its_results_in_one_message() -> None:
    message = reply(
        SIGNED, TextBlock("see"), use("a", x=1), use("b"), done("b", "2"), done("a", "1"), TextBlock("and"),
        use("c"), done("c", "3"), TextBlock("done"),
    )  # fmt: skip

    assert sent(UserMessage("hi"), message, UserMessage("bye")) == [
        user("hi"),
        assistant(
            {"type": "thinking", "thinking": "hm", "signature": "s"}, text("see"), call("a", x=1), call("b")
        ),
        user(result("a", "1"), result("b", "2")),
        assistant(text("and"), call("c")),
        user(result("c", "3")),
        assistant("done"),
        user("bye"),
    ]


def test_neighbours_of_one_role_are_one_message_and_results_come_first_in_it() -> None:
    message = reply(use("a"), done("a"), HintBlock(hint="hurry"))

    assert sent(UserMessage("hi"), UserMessage("you"), message, UserMessage("so?"), reply(TextBlock("x")),
                reply(TextBlock("y")), UserMessage("?")) == [
        user(text("hi"), text("you")),
        assistant(call("a")),
        user(result("a"), text("hurry"), text("so?")),
        assistant(text("x"), text("y")),
        user("?"),
    ]  # fmt: skip


def test_calls_without_a_result_and_results_without_a_call_are_not_sent() -> None:
    waiting = reply(use("c"), ToolResultBlock.suspended(use("c")), use("d"), ToolResultBlock("d", "f"))
    message = reply(TextBlock("x"), use("a"), use("b"), done("b"), done("z"))

    assert sent(UserMessage("hi"), message, waiting, ToolResultMessage.of("y", "f", "2")) == [
        user("hi"),
        assistant(text("x"), call("b")),
        user(result("b")),
    ]


def test_system_messages_stand_above_the_conversation_wherever_they_are() -> None:
    assert body(SystemMessage("be kind"), UserMessage("hi"))["system"] == "be kind"

    request = body(SystemMessage("be kind"), UserMessage("hi"), SystemMessage("be brief"))
    assert request["system"] == [text("be kind"), text("be brief")]
    assert request["messages"] == [user("hi")]


def test_blank_texts_are_not_sent_and_an_answer_to_go_on_with_ends_without_blanks() -> None:
    blank = reply(TextBlock("\n\n"), use("a"), done("a", " "), TextBlock(" x "))

    assert sent(UserMessage([TextBlock(" "), TextBlock("hi")]), UserMessage("\n"), blank) == [
        user("hi"),
        assistant(call("a")),
        user({"type": "tool_result", "tool_use_id": "a"}),
        assistant(" x"),
    ]
    assert sent(UserMessage("hi"), reply(TextBlock(" x ")), UserMessage("so?"))[1] == assistant(" x ")
    assert sent(UserMessage("hi"), reply(TextBlock(" "), ThinkingBlock("hm"), TextBlock("\n"))) == [
        user("hi")
    ]


# Thinking


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (SIGNED, {"type": "thinking", "thinking": "hm", "signature": "s"}),
        (ThinkingBlock("", {"signature": "s"}), {"type": "thinking", "thinking": "", "signature": "s"}),
        (ThinkingBlock("hm", {"signature": "s", "thoughtSignature": "s"}), None),
        (ThinkingBlock("hm", {"signature": ""}), {"type": "thinking", "thinking": "hm", "signature": ""}),
        (ThinkingBlock("", {"redacted_thinking": "r"}), {"type": "redacted_thinking", "data": "r"}),
        (ThinkingBlock("", {"server_block": {"type": "server_tool_use", "id": "s", "input": {}}}),
         {"type": "server_tool_use", "id": "s", "input": {}}),
        (ThinkingBlock("hm"), None),
        (ThinkingBlock("hm", {"reasoning_details": []}), None),
        (ThinkingBlock("hm", {"signature": "g", "thoughtSignature": "g"}), None),
    ],
)  # fmt: skip
def test_thinking_goes_back_as_it_came_and_only_to_who_gave_it(
    block: ThinkingBlock, expected: dict[str, Any] | None
) -> None:
    rest = [call("a")]

    assert sent(reply(block, use("a"), done("a")))[0]["content"] == ([expected] if expected else []) + rest


def test_what_the_api_says_of_a_call_goes_back_with_it() -> None:
    kept = {"caller": {"type": "direct"}, "toolset_name": "t", "other": 1}
    message = reply(ToolUseBlock("a", "f", metadata=kept), done("a"))

    assert sent(message)[0]["content"] == [
        {**call("a"), "caller": {"type": "direct"}, "toolset_name": "t"}
    ]  # fmt: skip


# Calls and results


@pytest.mark.parametrize(
    ("block", "input"),
    [
        (use("a", x=1), {"x": 1}),
        (ToolUseBlock("a", "f", content='{"x": 1}'), {"x": 1}),
        (ToolUseBlock("a", "f", content='{"x": "cu'), {"invalid_json": '{"x": "cu'}),
        (ToolUseBlock("a", "f"), {}),
    ],
)
def test_arguments_are_an_object(block: ToolUseBlock, input: dict[str, Any]) -> None:
    assert sent(reply(block, done("a")))[0]["content"] == [call("a", **input)]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["toolu_01-x"], ["toolu_01-x"]),
        (["functions.f:0"], ["functions_f_0"]),
        (["a", "a", "a"], ["a", "a-2", "a-3"]),
        (["a.b", "a:b"], ["a_b", "a_b-2"]),
        ([""], ["call"]),
    ],
)
def test_ids_of_calls_are_such_as_the_api_takes_and_none_comes_twice(
    ids: list[str], expected: list[str]
) -> None:
    messages = sent(*(message for id in ids for message in (reply(use(id), done(id)), UserMessage("so?"))))

    assert [message["content"][0]["id"] for message in messages[::2]] == expected
    assert [message["content"][0]["tool_use_id"] for message in messages[1::2]] == expected


@pytest.mark.parametrize(
    ("output", "state", "expected"),
    [
        ("ok", "success", {"content": "ok"}),
        ([TextBlock("a"), TextBlock("b")], "success", {"content": "a\nb"}),
        ([], "success", {}),
        ([TextBlock("see"), DataBlock(PNG)], "success",
         {"content": [text("see"), media("image", inline("image/png"))]}),
        ([DataBlock(PDF, name="a.pdf")], "success",
         {"content": [media("document", inline("application/pdf"), title="a.pdf")]}),
        ([AudioBlock(URLSource("https://x/y.wav", "audio/wav"))], "success",
         {"content": "[audio/wav: https://x/y.wav]"}),
        ("Error: no", "error", {"content": "Error: no", "is_error": True}),
        ([TextBlock("no"), DataBlock(PNG)], "error", {"content": "no\n[image/png]", "is_error": True}),
        ([], "denied", {"content": "denied", "is_error": True}),
        ([], "interrupted", {"content": "interrupted", "is_error": True}),
    ],
)  # fmt: skip
def test_results_carry_texts_and_media_and_say_what_failed(
    output: Any, state: str, expected: dict[str, Any]
) -> None:
    block = ToolResultBlock("a", "f", output, state=ToolResultState(state))

    assert sent(reply(use("a"), block))[1]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", **expected}
    ]  # fmt: skip


# Media


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (DataBlock(PNG), media("image", inline("image/png"))),
        (ImageBlock(PNG), media("image", inline("image/png"))),
        (DataBlock(Base64Source("image/jpg", "QUJD")), media("image", inline("image/jpeg"))),
        (DataBlock(LINK), media("image", {"type": "url", "url": "https://x/y.png"})),
        (ImageBlock(URLSource("https://x/y")), media("image", {"type": "url", "url": "https://x/y"})),
        (DataBlock(URLSource("data:image/gif;base64,QUJD")), media("image", inline("image/gif"))),
        (DataBlock(Base64Source("image/bmp", "QUJD")), text("[image/bmp]")),
        (DataBlock(PDF, name="a.pdf"), media("document", inline("application/pdf"), title="a.pdf")),
        (DataBlock(URLSource("https://x/y.pdf")), media("document", {"type": "url", "url": "https://x/y.pdf"})),
        (DataBlock(Base64Source("text/csv", "YSxi"), name="t.csv"),
         media("document", {"type": "text", "media_type": "text/plain", "data": "a,b"}, title="t.csv")),
        (DataBlock(Base64Source("application/ld+json", "e30=")),
         media("document", {"type": "text", "media_type": "text/plain", "data": "{}"})),
        (DataBlock(Base64Source("text/plain", "/w==")), text("[text/plain]")),
        (DataBlock(Base64Source("text/plain", "?")), text("[text/plain]")),
        (DataBlock(URLSource("https://x/y.txt")), text("[text/plain: https://x/y.txt]")),
        (DataBlock(Base64Source("application/zip", "QUJD")), text("[application/zip]")),
        (AudioBlock(Base64Source("audio/wav", "QUJD")), text("[audio/wav]")),
        (VideoBlock(URLSource("https://x/y.mp4")), text("[video/mp4: https://x/y.mp4]")),
    ],
)  # fmt: skip
def test_media_are_sent_where_the_api_takes_them_and_named_where_not(
    block: ContentBlock, expected: dict[str, Any]
) -> None:
    assert sent(UserMessage([TextBlock("see"), block])) == [user(text("see"), expected)]


def test_media_that_a_model_made_are_named() -> None:
    assert sent(UserMessage("hi"), reply(TextBlock("here"), DataBlock(LINK)))[1] == assistant(
        text("here"), text("[image/png: https://x/y.png]")
    )


# Tools and options

TOOL = ToolSchema("f", "Does.", A)


def test_tools_have_a_schema_of_an_object() -> None:
    tools = (TOOL, ToolSchema("g"), ToolSchema("h", parameters={"properties": {}}))

    assert body(tools=tools)["tools"] == [
        {"name": "f", "description": "Does.", "input_schema": A},
        {"name": "g", "input_schema": {"type": "object", "properties": {}}},
        {"name": "h", "input_schema": {"type": "object", "properties": {}}},
    ]


def test_a_strict_tool_is_strict_if_it_can_be() -> None:
    at_most = {**A, "properties": {"a": {"type": "integer", "maximum": 3}, "b": {"type": "string"}}}
    loose = {"type": "object", "additionalProperties": {"type": "string"}}
    tools = (ToolSchema("f", "", at_most, strict=True), ToolSchema("g", "", loose, strict=True))

    assert body(tools=tools)["tools"] == [
        {
            "name": "f",
            "input_schema": {
                **A,
                "properties": {
                    "a": {"type": "integer", "description": "(maximum: 3)"},
                    "b": {"type": "string"},
                },
                "additionalProperties": False,
            },
            "strict": True,
        },
        {"name": "g", "input_schema": loose},
    ]


@pytest.mark.parametrize(
    ("options", "choice"),
    [
        ({}, None),
        ({"tool_choice": "auto"}, {"type": "auto"}),
        ({"tool_choice": "none"}, {"type": "none"}),
        ({"tool_choice": "required"}, {"type": "any"}),
        ({"tool_choice": "f"}, {"type": "tool", "name": "f"}),
        ({"parallel_tool_calls": True}, None),
        ({"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        ({"parallel_tool_calls": False, "tool_choice": "required"},
         {"type": "any", "disable_parallel_tool_use": True}),
        ({"parallel_tool_calls": False, "tool_choice": "none"}, {"type": "none"}),
    ],
)  # fmt: skip
def test_the_choice_of_tools(options: dict[str, Any], choice: dict[str, Any] | None) -> None:
    assert body(tools=(TOOL,), **options).get("tool_choice") == choice
    assert "tool_choice" not in body(**options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"temperature": 0.0}, {"temperature": 0.0}),
        ({"top_p": 0.5, "top_k": 3}, {"top_p": 0.5, "top_k": 3}),
        ({"stop": ("a", "b")}, {"stop_sequences": ["a", "b"]}),
        ({"max_tokens": 9}, {"max_tokens": 9}),
        ({"seed": 1, "frequency_penalty": 1.0, "presence_penalty": 1.0}, {}),
        ({"extra_body": {"service_tier": "auto", "max_tokens": None}},
         {"service_tier": "auto", "max_tokens": None}),
        ({"thinking_budget": 2048}, {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ({"thinking_budget": 0}, {"thinking": {"type": "disabled"}}),
        ({"thinking_budget": 32_000},
         {"thinking": {"type": "enabled", "budget_tokens": 32_000}, "max_tokens": 40_192}),
        ({"thinking_budget": 2048, "max_tokens": 4000},
         {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 4000}),
        ({"reasoning_effort": "low"}, {"output_config": {"effort": "low"}}),
    ],
)  # fmt: skip
def test_options_in_the_words_of_the_api(options: dict[str, Any], expected: dict[str, Any]) -> None:
    wanted = {**body(UserMessage("hi")), **expected}

    assert body(UserMessage("hi"), **options) == {
        key: value for key, value in wanted.items() if value is not None
    }


@pytest.mark.parametrize("options", [{"thinking_budget": 2048}, {"reasoning_effort": "high"}])
def test_newer_models_choose_themselves_how_much_to_think(options: dict[str, Any]) -> None:
    request = body(model="claude-opus-4-8", **options)

    assert request["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert request.get("output_config") == ({"effort": "high"} if "reasoning_effort" in options else None)


# Structured output


@pytest.mark.parametrize("wanted", [A, {"type": "json_schema", "json_schema": {"name": "a", "schema": A}}])
def test_an_answer_is_held_to_a_schema(wanted: dict[str, Any]) -> None:
    request = body(SystemMessage("be kind"), response_format=wanted, reasoning_effort="low")

    assert request["output_config"] == {
        "effort": "low",
        "format": {"type": "json_schema", "schema": {**A, "additionalProperties": False}},
    }
    assert request["system"] == "be kind"


@pytest.mark.parametrize(
    ("wanted", "schema"),
    [
        ({"type": "json_object"}, {"type": "object"}),
        ({"type": "object", "additionalProperties": True}, {"type": "object", "additionalProperties": True}),
    ],
)
def test_what_the_api_cannot_hold_an_answer_to_is_asked_for_in_words(
    wanted: dict[str, Any], schema: dict[str, Any]
) -> None:
    request = body(SystemMessage("be kind"), response_format=wanted)

    words = f"Answer with nothing but JSON that fits this schema: {json.dumps(schema, separators=(',', ':'))}"
    assert request["system"] == [text("be kind"), text(words)]
    assert "output_config" not in request


def test_a_model_that_cannot_be_held_to_a_schema_is_asked_in_words() -> None:
    request = build_request("glm-4.6", [], [], GenerateOptions(response_format=A), native_schema=False)

    assert request["system"].startswith("Answer with nothing but JSON")
    assert "output_config" not in request


def test_plain_text_is_no_format() -> None:
    assert body(response_format={"type": "text"}) == body()


# Caching


def marks(request: dict[str, Any]) -> list[str]:
    """What is marked, in order."""
    places = [("tools", request.get("tools", [])), ("system", request.get("system", []))]
    places += [(message["role"], message["content"]) for message in request["messages"]]
    return [
        f"{where} {block.get('text') or block.get('name') or block['type']}"
        for where, blocks in places if not isinstance(blocks, str)
        for block in blocks if block.get("cache_control") == MARK
    ]  # fmt: skip


def test_the_system_prompt_and_the_end_of_the_conversation_are_marked_for_the_cache() -> None:
    request = body(SystemMessage("be kind"), UserMessage("hi"), tools=(TOOL,), cache_control=True)

    assert request["system"] == [text("be kind", cache_control=MARK)]
    assert request["messages"] == [user(text("hi", cache_control=MARK))]
    assert marks(request) == ["system be kind", "user hi"]


def test_tools_are_marked_if_there_is_no_system_prompt() -> None:
    request = body(UserMessage("hi"), tools=(TOOL, ToolSchema("g")), cache_control=True)

    assert marks(request) == ["tools g", "user hi"]
    assert marks(body(UserMessage("hi"), tools=(TOOL,))) == []


def test_messages_that_ask_for_it_are_marked() -> None:
    message = AssistantMessage("me", [SIGNED, use("a"), done("a")], **CACHED)
    request = body(
        SystemMessage("be kind", **CACHED), UserMessage("hi", **CACHED), message, UserMessage("so?")
    )

    assert marks(request) == ["system be kind", "user hi", "user tool_result"]


def test_thinking_is_not_marked_and_of_too_many_marks_the_last_ones_stay() -> None:
    spoken = AssistantMessage(
        "me", [TextBlock("x"), ThinkingBlock("", {"signature": "s"}), TextBlock(" ")], **CACHED
    )
    assert marks(body(UserMessage("hi"), spoken, UserMessage("so?"))) == ["assistant x"]

    texts = [UserMessage("1", **CACHED), reply(TextBlock("2")), UserMessage("3", **CACHED)]
    texts += [AssistantMessage("me", "4", **CACHED), UserMessage("5", **CACHED), UserMessage("6", **CACHED)]
    assert marks(body(SystemMessage("0", **CACHED), *texts)) == [
        "user 3", "assistant 4", "user 5", "user 6",
    ]  # fmt: skip
