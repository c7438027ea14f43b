"""Lines of Ollama's `/api/chat` as `ChatResponse`s: pure.

Generous about form: whatever is missing, null, empty or unknown is skipped. Strict about the end: an error
line, and an end without `done`, are errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentscope_rx._frames import Frame
from agentscope_rx._json import dumps
from agentscope_rx.errors import IncompleteStreamError
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, ToolUseBlock
from agentscope_rx.model._chunks import Json, as_list, as_object, as_str, object_in
from agentscope_rx.model._failure import failed
from agentscope_rx.model._pieces import piece, text_part, thinking_part, usage_of
from agentscope_rx.model._response import ChatResponse, ResponsePart

__all__ = ["LineDecoder"]


class LineDecoder:
    """Lines of one stream in, what is new in the answer out; knows whether the answer is whole.

    Attributes:
        done: whether the server said that nothing more comes.
    """

    def __init__(self, name: str) -> None:
        self.done = False
        self._name = name

    @property
    def whole(self) -> bool:
        """Whether the model has said all."""
        return self.done

    def feed(self, frame: Frame) -> ChatResponse | None:
        """Decode a line; None if there is nothing in it.

        Errors: `ModelResponseError` for an error line, `BadModelOutputError` for what is no JSON.
        """
        line = object_in(frame, self._name)
        if line is None:
            return None
        if line.get("error") or frame.event == "error":
            raise failed(self._name, line)
        self.done = line.get("done") is True
        parts = _parts(as_object(line.get("message")))
        if not self.done:  # what was counted, and why it ended, is in the last line only
            if len(parts) == 1:
                return piece(parts[0])
            return ChatResponse(parts) if parts else None
        usage, finish = _usage(line), as_str(line.get("done_reason"))
        return ChatResponse(parts, usage, finish) if parts or usage is not None or finish else None

    def close(self) -> None:
        """Check that the answer is whole, now that the stream has ended.

        Errors: `IncompleteStreamError`.
        """
        if not self.done:
            raise IncompleteStreamError(
                f"the stream of {self._name} ended without a line that is done: the answer is cut; ask again"
            )


def _parts(message: Json) -> list[ResponsePart]:
    """The parts of a message: thinking comes before the text that it led to."""
    parts: list[ResponsePart] = []
    if thinking := as_str(message.get("thinking") or message.get("reasoning_content")):
        parts.append(thinking_part(thinking))
    if text := as_str(message.get("content")):
        parts.append(text_part(text))
    if images := message.get("images"):
        parts += (DataBlock(Base64Source("image/png", data)) for data in map(as_str, as_list(images)) if data)
    if calls := message.get("tool_calls"):
        parts += _calls(as_list(calls))
    return parts


def _calls(calls: list[Any]) -> Iterator[ToolUseBlock]:
    for call in map(as_object, calls):
        function = as_object(call.get("function"))
        if name := as_str(function.get("name")):
            yield ToolUseBlock(as_str(call.get("id")), name, content=_arguments(function.get("arguments")))


def _arguments(value: Any) -> str:
    """The text of arguments: the server has read them already; other servers leave that to us."""
    if isinstance(value, str):
        return value
    return "{}" if value is None else dumps(value).decode()


def _usage(line: Json) -> ChatUsage | None:
    """Totals of the call; None where nothing was counted."""
    return usage_of(
        line.get("prompt_eval_count"), line.get("eval_count"), line.get("prompt_eval_cached_count")
    )
