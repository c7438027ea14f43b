from __future__ import annotations

from collections.abc import Sequence

import pytest
import reactivex
from reactivex import Observable

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import Msg
from agentscope_rx.model import (
    ChatModel,
    ChatResponse,
    GenerateOptions,
    OpenAIChatModel,
    ToolSchema,
    supports_native_structured_output,
)
from agentscope_rx.testing import ScriptedModel


class Plain:
    """A model as users write one, which says nothing of structured output."""

    def __repr__(self) -> str:
        return "Plain()"

    model_name = "plain"

    def stream(
        self, messages: Sequence[Msg], tools: Sequence[ToolSchema], options: GenerateOptions
    ) -> Observable[ChatResponse]:
        return reactivex.empty()


def openai(base_url: str, native: bool | None = None) -> ChatModel:
    return OpenAIChatModel("m", api_key="k", base_url=base_url, native_structured_output=native)


@pytest.mark.parametrize(
    ("model", "native"),
    [
        (Plain(), False),
        (ScriptedModel("x"), False),
        (ScriptedModel("x", native_structured_output=True), True),
        (openai("https://api.openai.com/v1"), True),
        (openai("https://api.openai.com/v1", False), False),
        (openai("http://127.0.0.1:11434/v1"), False),
        (openai("http://127.0.0.1:11434/v1", True), True),
    ],
    ids=repr,
)
def test_a_model_says_whether_its_answers_can_be_held_to_a_schema(model: ChatModel, native: bool) -> None:
    assert isinstance(model, ChatModel)
    assert supports_native_structured_output(model) is native


@pytest.mark.parametrize("wrong", ["no", 1])
def test_what_says_neither_yes_nor_no_is_refused(wrong: bool) -> None:
    with pytest.raises(ConfigurationError, match=r"_output is .*; give True or False"):
        ScriptedModel("x", native_structured_output=wrong)
    with pytest.raises(ConfigurationError, match=r"_output is .*; give True, False or None"):
        OpenAIChatModel("m", base_url="http://x/v1", native_structured_output=wrong)
