"""Reasoning in pieces, as OpenRouter streams it."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx.model.openai._details import joined, text_of


def text(text: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning.text", **({} if text is None else {"text": text}), **more}


def secret(data: str, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning.encrypted", "data": data, **more}


@pytest.mark.parametrize(
    ("fragments", "pieces"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param(
            [text("Let ", index=0), text("me", index=0, format="f"), text(index=0, signature="s", id=None)],
            [text("Let me", index=0, format="f", signature="s")],
            id="text in fragments, and its signature last",
        ),
        pytest.param(
            [text("a", index=0), secret("x", index=1), text("b", index=2), text("c", index=0)],
            [text("ac", index=0), secret("x", index=1), text("b", index=2)],
            id="indexes that take turns",
        ),
        pytest.param(
            [text("a", index=0), secret("x", index=0)],
            [text("a", index=0), secret("x", index=0)],
            id="one index, two types",
        ),
        pytest.param([text("a"), text("b"), text(signature="s")], [text("ab", signature="s")], id="no index"),
        pytest.param(
            [text("a", signature="s"), text("b")],
            [text("a", signature="s"), text("b")],
            id="no index, behind a signature",
        ),
        pytest.param([secret("x"), secret("y")], [secret("x"), secret("y")], id="secrets without an index"),
        pytest.param([text("a"), text("b", index=0)], [text("a"), text("b", index=0)], id="an index at last"),
        pytest.param([None, {}, 3, text("a")], [text("a")], id="what is no piece"),
        pytest.param(
            [text("a", index=0), {**text(index=0), "text": 3}], [text(3, index=0)], id="a wrong text"
        ),  # type: ignore[arg-type]
    ],
)
def test_fragments_are_joined_to_the_pieces_that_they_are_of(fragments: list[Any], pieces: list[Any]) -> None:
    kept = [dict(fragment) for fragment in fragments if isinstance(fragment, dict)]

    assert joined(fragments) == pieces
    assert joined(pieces) == pieces
    assert [fragment for fragment in fragments if isinstance(fragment, dict)] == kept


def test_what_can_be_read_is_text_and_summaries() -> None:
    assert text_of([text("a"), {"type": "reasoning.summary", "summary": "b"}, secret("x"), None, 3]) == "ab"
