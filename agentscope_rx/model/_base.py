"""What the agent asks of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from reactivex import Observable

from agentscope_rx.message import Msg
from agentscope_rx.model._response import ChatResponse, GenerateOptions, ToolSchema

__all__ = ["ChatModel", "supports_native_structured_output"]


@runtime_checkable
class ChatModel(Protocol):
    """A chat model: a cold stream of the pieces of its answer.

    A model whose server holds its answers to a `response_format` says so with
    `supports_native_structured_output = True`; without it, structured output is asked for with a tool.
    """

    @property
    def model_name(self) -> str:
        """The model's name, for `ModelCallStartEvent`."""
        ...

    def stream(
        self, messages: Sequence[Msg], tools: Sequence[ToolSchema], options: GenerateOptions
    ) -> Observable[ChatResponse]:
        """Ask the model.

        1. Nothing is sent before `subscribe`; each subscription is a request of its own.
        2. Each item is what is new since the item before.
        3. Disposing cancels the request.

        Errors: a `ModelError` through `on_error`.
        """
        ...


def supports_native_structured_output(model: ChatModel) -> bool:
    """Return whether a model's answers can be held to a JSON schema; no, if it does not say.

    Source: Java `Model.supportsNativeStructuredOutput`.
    """
    return getattr(model, "supports_native_structured_output", False) is True
