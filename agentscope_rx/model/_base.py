"""What the agent asks of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from reactivex import Observable

from agentscope_rx.message import Msg
from agentscope_rx.model._response import ChatResponse, GenerateOptions, ToolSchema

__all__ = ["ChatModel"]


@runtime_checkable
class ChatModel(Protocol):
    """A chat model: a cold stream of the pieces of its answer."""

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
