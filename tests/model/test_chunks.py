"""Frames that hold JSON, and values that may be anything."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx._frames import Frame
from agentscope_rx.errors import BadModelOutputError, ModelResponseError
from agentscope_rx.model._chunks import as_int, as_list, as_object, as_str, json_in, object_in


@pytest.mark.parametrize(
    ("frame", "value"),
    [
        (Frame('{"a": 1}'), {"a": 1}),
        (Frame(' {"a": 1}\n', complete=False), {"a": 1}),
        (Frame('{"a": ', complete=False), None),
        (Frame(""), None),
        (Frame(" \n"), None),
        (Frame("null"), None),
        (Frame("[1]"), None),
    ],
)
def test_a_frame_holds_an_object_or_nothing(frame: Frame, value: Any) -> None:
    assert object_in(frame, "m") == value


def test_a_frame_may_hold_a_list() -> None:
    assert json_in(Frame("[1]"), "m") == [1]
    assert json_in(Frame("[1", complete=False), "m") is None
    with pytest.raises(ModelResponseError, match="1"):
        json_in(Frame("[1]", event="error"), "m")


def test_what_is_no_json_is_an_error_and_an_error_may_be_no_json() -> None:
    with pytest.raises(BadModelOutputError, match=r"^m sent an event that is no JSON .*: '\{\"a\": oops'$"):
        object_in(Frame('{"a": oops'), "m")
    for data in ("down", '"down"'):
        with pytest.raises(ModelResponseError, match=r"^m failed while it answered: down$"):
            object_in(Frame(data, "error"), "m")


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3), ("4", 4), (1.0, 1), (True, None), (None, None), ("x", None), ([], None), (float("inf"), None)],
)
def test_numbers_are_read_where_they_are_some(value: Any, number: int | None) -> None:
    assert as_int(value) == number


def test_what_is_of_another_type_reads_as_nothing() -> None:
    assert (as_object({"a": 1}), as_list([1]), as_str("a")) == ({"a": 1}, [1], "a")
    for value in (None, 3, object()):
        assert (as_object(value), as_list(value), as_str(value)) == ({}, [], "")
