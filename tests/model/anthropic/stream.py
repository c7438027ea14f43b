"""Events of a message, in few words."""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ["Json", "args", "event", "finish", "sign", "start", "stop", "text", "think", "tool"]

Json: TypeAlias = dict[str, Any]


def event(kind: str, index: int | None, **more: Any) -> Json:
    """An event of a block; without an index, if that is None."""
    return {"type": f"content_block_{kind}"} | ({} if index is None else {"index": index}) | more


def start(index: int | None, type: str, **more: Any) -> Json:
    return event("start", index, content_block={"type": type, **more})


def tool(index: int | None, id: str, name: str = "f", **more: Any) -> Json:
    return start(index, "tool_use", **{"id": id, "name": name, "input": {}, **more})


def text(index: int | None, text: Any) -> Json:
    return event("delta", index, delta={"type": "text_delta", "text": text})


def think(index: int | None, thinking: Any) -> Json:
    return event("delta", index, delta={"type": "thinking_delta", "thinking": thinking})


def sign(index: int | None, signature: Any) -> Json:
    return event("delta", index, delta={"type": "signature_delta", "signature": signature})


def args(index: int | None, partial: Any) -> Json:
    return event("delta", index, delta={"type": "input_json_delta", "partial_json": partial})


def stop(index: int | None) -> Json:
    return event("stop", index)


def finish(reason: str = "end_turn", **more: Any) -> tuple[Json, Json]:
    """The end of a message."""
    delta = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, **more}, {"type": "message_stop"}
