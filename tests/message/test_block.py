"""Content blocks: frozen, compared by value, made with checked arguments, and Java's little factories."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import attrs
import pytest
from attrs import evolve

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.identity import deterministic
from agentscope_rx.message import (
    Base64Source,
    ContentBlock,
    DataBlock,
    FrozenDict,
    HintBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    VideoBlock,
)
from tests.samples import BLOCKS, CALL, LINK, PNG

every_block = pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)


def test_the_samples_are_all_blocks() -> None:
    assert {block.type for block in BLOCKS} == {
        "text", "thinking", "data", "image", "audio", "video", "tool_use", "tool_result", "hint",
    }  # fmt: skip


@every_block
def test_fields_cannot_be_set(block: ContentBlock) -> None:
    for field in attrs.fields(type(block)):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(block, field.name, getattr(block, field.name))


@every_block
def test_pickling_and_copying_keep_the_value_and_its_hash(block: ContentBlock) -> None:
    for twin in (
        pickle.loads(pickle.dumps(block)),
        copy.copy(block),
        copy.deepcopy(block),
        attrs.evolve(block),
    ):
        assert type(twin) is type(block)
        assert twin == block
        assert hash(twin) == hash(block)


def test_positional_arguments_are_in_javas_order() -> None:
    assert ToolUseBlock("1", "search", {"q": 1}, '{"q":1}') == ToolUseBlock(
        id="1", name="search", input={"q": 1}, content='{"q":1}'
    )
    assert HintBlock("1", "be brief", "system") == HintBlock(id="1", hint="be brief", source="system")
    assert Base64Source("image/png", "aGk=") == Base64Source(media_type="image/png", data="aGk=")


def test_data_and_hints_get_ids_of_their_own_and_texts_have_none() -> None:
    with deterministic():
        assert [DataBlock(PNG).id, HintBlock(hint="x").id] == ["e1", "e2"]
    assert not hasattr(TextBlock("x"), "id")


def test_mappings_are_copied_and_frozen() -> None:
    arguments: dict[str, Any] = {"q": 1}
    block = ToolUseBlock("1", "search", arguments)
    arguments["q"] = 2

    assert block.input == {"q": 1}
    with pytest.raises(TypeError, match="frozen"):
        block.input["q"] = 3  # type: ignore[index]


def test_output_may_be_a_text_or_one_block_or_many() -> None:
    text = TextBlock("found")

    assert ToolResultBlock("1", "search", "found").output == (text,)  # type: ignore[arg-type]
    assert ToolResultBlock("1", "search", text).output == (text,)  # type: ignore[arg-type]
    assert ToolResultBlock("1", "search", [text, text]).output == (text, text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "unusable"),
    [
        (None, False),
        ("", False),
        (" \n", False),
        ("{}", False),
        ('{"a": 1}', False),
        ('{"a": 1, "a": 2}', False),
        ('{"a": 1', True),
        ('{"a": 1} x', True),
        ("[1]", True),
        ("null", True),
        ('{"a": NaN}', True),
        ('{"a": "\n"}', True),
        ("[" * 100_000, True),
    ],
)
def test_arguments_are_unusable_if_there_is_text_that_is_no_json_object(content: str, unusable: bool) -> None:
    assert ToolUseBlock("1", "search", content=content).input_error is unusable


def test_results_of_text_and_error_are_made_in_one_call() -> None:
    good, bad = ToolResultBlock.text("ok", id="1", name="search"), ToolResultBlock.error("boom")

    assert good == ToolResultBlock("1", "search", (TextBlock("ok"),), state=ToolResultState.SUCCESS)
    assert bad == ToolResultBlock("", "", (TextBlock("Error: boom"),), state=ToolResultState.ERROR)
    assert not good.is_suspended
    assert not bad.is_suspended


def test_the_text_of_a_result_leaves_media_out() -> None:
    image = DataBlock(URLSource("https://example.com/a.png", "image/png"))

    assert ToolResultBlock("1", "look", (TextBlock("a"), image, TextBlock("b"))).text_content == "a\nb"
    assert ToolResultBlock("1", "look", image).text_content == ""


def test_a_suspended_result_waits_for_its_call() -> None:
    plain, reasoned = ToolResultBlock.suspended(CALL), ToolResultBlock.suspended(CALL, "ask Bob")

    assert plain.is_suspended
    assert (plain.id, plain.name, plain.state) == (CALL.id, CALL.name, ToolResultState.RUNNING)
    assert plain.output == (TextBlock("[Awaiting external execution]"),)
    assert reasoned.output == (TextBlock("ask Bob"),)


def test_a_suspended_result_that_was_filled_in_waits_no_more() -> None:
    outcome = evolve(ToolResultBlock.suspended(CALL), output=[TextBlock("done")])

    assert outcome.is_suspended
    assert not evolve(outcome, state=ToolResultState.SUCCESS).is_suspended


def test_defaults_are_javas() -> None:
    assert ToolUseBlock("1", "search").state is ToolCallState.PENDING
    assert ToolResultBlock("1", "search").state is ToolResultState.RUNNING
    assert ThinkingBlock("hm").metadata is None
    assert LINK.media_type == LINK.mime_type == "image/png"


def test_base64_data_is_cut_in_the_repr() -> None:
    assert "iVBORw0KGgo=" in repr(PNG)
    assert len(repr(Base64Source("image/png", "A" * 1_000_000))) < 120


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: TextBlock(5), "TextBlock.text is 5; give a str"),
        (lambda: TextBlock(None), "TextBlock.text is None; give a str"),
        (lambda: ThinkingBlock("x", "y"), "'y' is no mapping; give a dict"),
        (lambda: DataBlock("aGk="), "DataBlock.source is 'aGk='; give Base64Source or URLSource"),
        (lambda: ImageBlock(None), "ImageBlock.source is None; give Base64Source or URLSource"),
        (lambda: VideoBlock(LINK, "2"), "VideoBlock.fps is '2'; give float or int or None"),
        (lambda: Base64Source("image/png", b"hi"), "Base64Source.data is b'hi'; give a str"),
        (lambda: URLSource(None), "URLSource.url is None; give a str"),
        (lambda: ToolUseBlock(1, "n"), "ToolUseBlock.id is 1; give a str"),
        (lambda: ToolUseBlock("1", None), "ToolUseBlock.name is None; give a str"),
        (lambda: ToolUseBlock("1", "n", "{}"), "'{}' is no mapping; give a dict"),
        (lambda: ToolUseBlock("1", "n", {}, {}), "ToolUseBlock.content is {}; give a str or None"),
        (lambda: ToolUseBlock("1", "n", state="done"), "ToolUseBlock.state is 'done'; give ToolCallState"),
        (lambda: ToolResultBlock("1", "n", 5), "content is 5; give a string, a content block, or a sequence"),
        (lambda: ToolResultBlock("1", "n", ["x"]), "content holds 'x', which is no content block; wrap text"),
        (lambda: ToolResultBlock("1", "n", state="success"), "state is 'success'; give ToolResultState"),
        (lambda: HintBlock("1", None), "HintBlock.hint is None; give a str"),
    ],
)
def test_a_wrong_argument_raises_with_its_value_and_the_remedy(make: Any, complaint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()

    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("call", "known"),
    [
        (ToolUseBlock("1", "search"), {}),
        (ToolUseBlock("1", "search", content='{"q":"whe'), {"q": "whe"}),
        (ToolUseBlock("1", "search", content='{"q":"where", oops'), {"q": "where"}),
        (ToolUseBlock("1", "search", content="no JSON"), {}),
        (ToolUseBlock("1", "search", {"q": "edited"}, content='{"q":"as written"}'), {"q": "edited"}),
    ],
)
def test_a_call_shows_its_arguments_while_they_are_written(call: ToolUseBlock, known: dict[str, Any]) -> None:
    assert call.partial_input == known
    assert isinstance(call.partial_input, FrozenDict)
