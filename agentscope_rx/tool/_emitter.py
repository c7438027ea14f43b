"""What a running tool is given to stream with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias, final

from attrs import field, frozen

from agentscope_rx.event import AgentEvent, RequestStopEvent
from agentscope_rx.message import ContentBlock, GenerateReason, TextBlock

__all__ = ["Cancelled", "Emitted", "ToolEmitter"]

Emitted: TypeAlias = ContentBlock | AgentEvent
"""What a tool sends before it has ended."""


class Cancelled(BaseException):
    """Raised by `emit` in a sync tool whose call was cancelled: nobody reads its output any more.

    Not an `Exception`, so that the tool's own error handling lets it through; `finally` runs.
    """


@final
@frozen
class ToolEmitter:
    """Streams a tool's output while it runs; a parameter of this type is filled in, unseen by the model.

        @tool
        def count(to: int, out: ToolEmitter) -> None:
            for i in range(to):
                out.emit(f"{i} ")

    What was emitted is part of the result, before what the tool returns: return None if that was all.
    """

    _send: Callable[[Emitted], Awaitable[object]] = field(repr=False)
    _is_cancelled: Callable[[], bool] = field(repr=False)

    @property
    def is_cancelled(self) -> bool:
        """Whether the call was cancelled: for sync tools that work long without emitting."""
        return self._is_cancelled()

    def emit(self, output: str | ContentBlock) -> Awaitable[object]:
        """Send text, a content block, or a result whose output and metadata are sent.

        In a sync tool it waits while the reader is 1 024 pieces behind, and raises `Cancelled` when the
        call was cancelled. In an async tool it never waits by itself: `await out.emit(…)` does.

        Errors: `TypeError` for anything else.
        """
        if isinstance(output, str):
            return self._send(TextBlock(output))
        if not isinstance(output, ContentBlock):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise TypeError(f"emit takes a str or a ContentBlock: got {output!r}")
        return self._send(output)

    def forward(self, event: AgentEvent) -> Awaitable[object]:
        """Pass on an event of a subagent as it is, live; its `source` says whose it is.

        It stands in the stream and not in the tool's result. It waits as `emit` does.

        Errors: `TypeError` for anything else, also for an event without a source.
        """
        if not isinstance(event, AgentEvent) or not event.source:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise TypeError(
                f"forward takes an event with a source, as with_source(…) gives it one: got {event!r}"
            )
        return self._send(event)

    def request_stop(
        self,
        reason: str | None = None,
        *,
        generate_reason: GenerateReason = GenerateReason.ACTING_STOP_REQUESTED,
    ) -> None:
        """Ask the agent to finish this step, with all its tools, and then to end the call."""
        self._send(RequestStopEvent(reason, generate_reason))
