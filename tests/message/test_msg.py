"""Messages: every spelling of their constructors, the rules of roles, Java's helpers."""

from __future__ import annotations

import copy
import pickle
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest

from agentscope_rx.errors import AgentScopeError, ConfigurationError, StructuredOutputError
from agentscope_rx.identity import deterministic
from agentscope_rx.message import (
    AssistantMessage,
    ChatUsage,
    ContentBlock,
    DataBlock,
    GenerateReason,
    Msg,
    MsgRole,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
    message_class,
)
from tests.samples import BLOCKS, CALL, LINK, MESSAGES, RESULT

A, B = TextBlock("a"), DataBlock(LINK, "data-1")

PINNED = {
    UserMessage: MsgRole.USER,
    AssistantMessage: MsgRole.ASSISTANT,
    SystemMessage: MsgRole.SYSTEM,
    ToolResultMessage: MsgRole.TOOL,
}

every_message = pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
every_pinned_class = pytest.mark.parametrize("cls", PINNED, ids=lambda cls: cls.__name__)


@pytest.mark.parametrize(
    ("arguments", "keywords", "name", "content"),
    [
        (("a",), {}, None, (A,)),
        (("bob", "a"), {}, "bob", (A,)),
        ((A,), {}, None, (A,)),
        ((A, B), {}, None, (A, B)),
        (([A, B],), {}, None, (A, B)),
        (((A, B),), {}, None, (A, B)),
        (("bob", A, B), {}, "bob", (A, B)),
        (("bob", [A, B]), {}, "bob", (A, B)),
        (("bob", "a", B), {}, "bob", (A, B)),
        ((iter([A]),), {}, None, (A,)),
        ((), {"content": "a"}, None, (A,)),
        ((), {"content": A}, None, (A,)),
        ((), {"content": [A, B], "name": "bob"}, "bob", (A, B)),
        (("bob",), {"content": "a"}, "bob", (A,)),
        (("a",), {"name": "bob"}, "bob", (A,)),
        ((A, B), {"name": "bob"}, "bob", (A, B)),
        (("",), {}, None, (TextBlock(""),)),
        ((), {}, None, ()),
        (([],), {}, None, ()),
    ],
)
def test_constructors_understand_every_spelling(
    arguments: tuple[Any, ...], keywords: dict[str, Any], name: str | None, content: tuple[ContentBlock, ...]
) -> None:
    message = UserMessage(*arguments, **keywords)

    assert (message.name, message.content) == (name, content)


@every_pinned_class
def test_classes_pin_their_role(cls: type[Msg]) -> None:
    message = cls("hi")  # a lone string is text

    assert message.role is PINNED[cls]
    assert message.text_content == "hi"
    assert message_class(PINNED[cls]) is cls
    assert attrs.evolve(message, name="bob") == cls(
        "hi", name="bob", id=message.id, timestamp=message.timestamp
    )
    with pytest.raises(TypeError, match="role"):
        attrs.evolve(message, role=MsgRole.USER)


def test_a_message_without_a_role_is_plain() -> None:
    assert message_class(None) is Msg
    assert Msg("bob", None, BLOCKS).content == BLOCKS


def test_three_strings_are_a_call_its_tool_and_a_text() -> None:
    message = ToolResultMessage("call-1", "search", "found")

    assert message.content == (
        ToolResultBlock("call-1", "search", (TextBlock("found"),), state=ToolResultState.SUCCESS),
    )
    assert message.name is None
    assert ToolResultMessage.of("call-1", "search", "found").content == message.content
    assert ToolResultMessage(RESULT, RESULT).content == (RESULT, RESULT)


ALLOWED = {
    MsgRole.USER: {"text", "data", "image", "audio", "video"},
    MsgRole.SYSTEM: {"text"},
    MsgRole.ASSISTANT: {block.type for block in BLOCKS},
    MsgRole.TOOL: {block.type for block in BLOCKS},
}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.type)
@pytest.mark.parametrize("role", MsgRole)
def test_a_role_decides_which_blocks_a_message_holds(role: MsgRole, block: ContentBlock) -> None:
    pinned = message_class(role)
    if block.type in ALLOWED[role]:
        assert Msg(None, role, block).content == pinned(block).content == (block,)
        return

    complaint = f"a {role} message cannot hold a {type(block).__name__}; allowed: TextBlock"
    with pytest.raises(ConfigurationError, match=complaint):
        Msg(None, role, [TextBlock("x"), block])  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=complaint):
        pinned(TextBlock("x"), block)
    with pytest.raises(ConfigurationError, match=complaint):
        attrs.evolve(pinned("x"), content=(block,))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: UserMessage(5), "content is 5; give a string, a content block, or a sequence"),
        (lambda: UserMessage(None), "content is None; give a string"),
        (
            lambda: UserMessage([A, "b"]),
            "content holds 'b', which is no content block; wrap text in TextBlock",
        ),
        (lambda: UserMessage("bob", "a", name="eve"), "UserMessage got two names, 'bob' and 'eve'"),
        (lambda: UserMessage(A, content="b"), "UserMessage got content twice"),
        (lambda: UserMessage("bob", "a", content="b"), "UserMessage got content twice"),
        (lambda: UserMessage("a", name=5), "UserMessage.name is 5; give a str or None"),
        (lambda: UserMessage("a", id=5), "UserMessage.id is 5; give a str"),
        (lambda: UserMessage("a", timestamp=5), "UserMessage.timestamp is 5; give a str"),
        (lambda: UserMessage("a", metadata=5), "5 is no mapping; give a dict"),
        (lambda: UserMessage("a", usage=5), "UserMessage.usage is 5; give ChatUsage or None"),
        (
            lambda: UserMessage("a", generate_reason="x"),
            "generate_reason is 'x'; give GenerateReason (MODEL_STOP, ",
        ),
        (
            lambda: Msg("bob", "USER", "a"),
            "Msg.role is 'USER'; give MsgRole (USER, ASSISTANT, SYSTEM, TOOL) or None",
        ),
        (lambda: Msg("bob", MsgRole.USER, 5), "content is 5; give a string"),
    ],
)
def test_a_wrong_argument_raises_with_its_value_and_the_remedy(make: Any, complaint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()

    assert complaint in str(caught.value)
    assert isinstance(caught.value, AgentScopeError)
    assert isinstance(caught.value, ValueError)


@every_message
def test_fields_cannot_be_set(message: Msg) -> None:
    for field in attrs.fields(type(message)):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(message, field.name, getattr(message, field.name))


@every_message
def test_pickling_and_copying_keep_the_value_and_its_hash(message: Msg) -> None:
    twins = (
        pickle.loads(pickle.dumps(message)),
        copy.copy(message),
        copy.deepcopy(message),
        attrs.evolve(message),
    )
    for twin in twins:
        assert type(twin) is type(message)
        assert twin == message
        assert hash(twin) == hash(message)


def test_a_message_equals_only_one_of_its_class() -> None:
    fields = {"id": "m", "timestamp": "t"}

    assert UserMessage("hi", **fields) == UserMessage(content="hi", **fields)
    assert UserMessage("hi", **fields) != Msg(None, MsgRole.USER, "hi", **fields)
    assert UserMessage("hi") != UserMessage("hi"), "each has an id of its own"


def test_ids_and_times_are_made_once() -> None:
    with deterministic("m", start="2026-01-02T03:04:05.006Z"):
        message = UserMessage("hi")

    assert (message.id, message.timestamp) == ("m1", "2026-01-02 03:04:05.006")


def test_the_timestamp_is_now_in_utc() -> None:
    timestamp = UserMessage("hi").timestamp

    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", timestamp)
    assert abs(datetime.fromisoformat(f"{timestamp}+00:00") - datetime.now(UTC)) < timedelta(minutes=1)


def test_metadata_without_nulls_is_copied_and_frozen() -> None:
    metadata = {"a": 1, "b": None}
    message = UserMessage("hi", metadata=metadata)
    metadata["a"] = 2

    assert message.metadata == {"a": 1}
    with pytest.raises(TypeError, match=r"frozen; copy it with dict\(…\) and attrs.evolve"):
        message.metadata["a"] = 3  # type: ignore[index]
    assert attrs.evolve(message, metadata={**message.metadata, "c": 4}).metadata == {"a": 1, "c": 4}


def test_text_content_joins_the_texts_by_line_ends() -> None:
    assert UserMessage("one", TextBlock("1"), B, TextBlock("2")).text_content == "1\n2"
    assert AssistantMessage(ThinkingBlock("hm"), CALL).text_content == ""


def test_helpers_find_blocks_by_class() -> None:
    message = AssistantMessage(A, CALL, TextBlock("b"), RESULT)

    assert message.get_content_blocks(TextBlock) == [A, TextBlock("b")]
    assert message.get_content_blocks(ContentBlock) == list(message.content)
    assert message.get_first_content_block() is A
    assert message.get_first_content_block(ToolUseBlock) is CALL
    assert message.get_first_content_block(DataBlock) is None
    assert message.has_content_blocks(ToolResultBlock)
    assert not message.has_content_blocks(DataBlock)
    assert AssistantMessage().get_first_content_block() is None


def test_structured_output_is_read_from_the_metadata() -> None:
    plain, structured = (
        AssistantMessage("x"),
        AssistantMessage("x", metadata={"_structured_output": {"a": 1}}),
    )

    assert (plain.structured_output, plain.has_structured_data) == (None, False)
    assert (structured.structured_output, structured.has_structured_data) == ({"a": 1}, True)


@attrs.frozen
class City:
    name: str
    founded: int | None = None


ROME = {"name": "Rome", "founded": -753}


def structured(value: object, output_type: Any = None) -> AssistantMessage:
    return AssistantMessage("x", metadata={"_structured_output": value}, output_type=output_type)


def test_structured_output_is_of_the_type_that_it_was_asked_for_as() -> None:
    message = structured(ROME, City)

    assert message.structured_output == City("Rome", -753)
    assert message.metadata["_structured_output"] == ROME
    assert attrs.evolve(message, name="ann").structured_output == City("Rome", -753)
    assert pickle.loads(pickle.dumps(message)).structured_output == City("Rome", -753)


def test_the_type_is_no_part_of_the_message() -> None:
    typed, plain = structured(ROME, City), structured(ROME)
    plain = attrs.evolve(plain, id=typed.id, timestamp=typed.timestamp)

    assert typed == plain
    assert hash(typed) == hash(plain)
    assert repr(typed) == repr(plain)
    assert plain.structured_output == ROME


def test_structured_output_from_elsewhere_is_read_as_what_it_is_asked_as() -> None:
    rome: City = structured(ROME).get_structured_data(City)

    assert rome == City("Rome", -753)
    assert structured([ROME]).get_structured_data(list[City]) == [rome]
    assert structured(ROME, City).get_structured_data(dict) == ROME


def test_what_is_made_of_structured_output_is_nobody_elses() -> None:
    message = structured({"a": [1]}, dict[str, list[int]])
    message.structured_output["a"].append(2)

    assert message.structured_output == {"a": [1]}


def test_structured_output_that_does_not_fit_names_the_path() -> None:
    message = structured([ROME, {"name": 1}])

    with pytest.raises(StructuredOutputError, match=r"^\$\[1\]\.name: expected str, got int$") as caught:
        message.get_structured_data(list[City])
    assert caught.value.path == "$[1].name"


def test_a_message_without_structured_output_says_how_to_get_one() -> None:
    message = AssistantMessage("x", id="m", output_type=City)

    assert message.structured_output is None
    with pytest.raises(StructuredOutputError, match=r"'m' has no structured output; ask .* output=City"):
        message.get_structured_data(City)


def test_usage_adds_up_and_derives_its_total() -> None:
    total = ChatUsage(10, 5, 2, 0.5, 1) + ChatUsage(1, 2, 3, 0.25, 4)

    assert total == ChatUsage(11, 7, 5, 0.75, 5)
    assert total.total_tokens == 18
    assert AssistantMessage("x", usage=total).chat_usage is total


@pytest.mark.parametrize("wrong", ["1", 1.0, True, None])
def test_usage_counts_in_whole_tokens(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"ChatUsage\.input_tokens is .*; give an int"):
        ChatUsage(wrong)


def test_reasons_and_roles_have_javas_names() -> None:
    assert [role.value for role in MsgRole] == ["USER", "ASSISTANT", "SYSTEM", "TOOL"]
    assert {reason.value for reason in GenerateReason} >= {
        "MODEL_STOP", "TOOL_SUSPENDED", "REASONING_STOP_REQUESTED", "ACTING_STOP_REQUESTED",
        "ALL_TOOLS_DENIED", "INTERRUPTED", "MAX_ITERATIONS",
    }  # fmt: skip
