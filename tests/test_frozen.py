"""The frozen dictionary: a dict in all but change."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import FrozenDict, ToolUseBlock


@pytest.mark.parametrize(
    "change",
    [
        lambda mapping: mapping.__setitem__("a", 2),
        lambda mapping: mapping.__delitem__("a"),
        lambda mapping: mapping.__ior__({"b": 2}),
        lambda mapping: mapping.clear(),
        lambda mapping: mapping.pop("a"),
        lambda mapping: mapping.pop("z", None),
        lambda mapping: mapping.popitem(),
        lambda mapping: mapping.setdefault("b", 2),
        lambda mapping: mapping.update(b=2),
        lambda mapping: mapping.update({"b": 2}),
    ],
)
def test_no_method_changes_it(change: Callable[[Any], object]) -> None:
    mapping = FrozenDict(a=1)

    with pytest.raises(TypeError, match=r"frozen; copy it with dict\(…\)"):
        change(mapping)
    assert mapping == {"a": 1}


def test_it_compares_prints_and_encodes_as_a_dict() -> None:
    mapping = FrozenDict(a=FrozenDict(b=1))

    assert mapping == {"a": {"b": 1}}
    assert repr(mapping) == "{'a': {'b': 1}}"
    assert json.dumps(mapping) == '{"a": {"b": 1}}'
    assert isinstance(mapping, Mapping)


def test_copies_are_frozen_and_dicts_made_from_it_are_not() -> None:
    inner = [1]
    mapping = FrozenDict(a=inner)
    deep = copy.deepcopy(mapping)

    assert copy.copy(mapping) is mapping
    assert type(deep) is type(pickle.loads(pickle.dumps(mapping))) is FrozenDict
    assert deep["a"] == inner
    assert deep["a"] is not inner
    assert type(dict(mapping)) is type(mapping | {"b": 2}) is dict


def test_a_frozen_mapping_is_taken_as_it_is_and_any_other_is_copied() -> None:
    frozen, proxy = FrozenDict(a=1), MappingProxyType({"a": 1})

    assert ToolUseBlock("1", "n", frozen).input is frozen
    assert ToolUseBlock("1", "n", proxy).input == frozen
    with pytest.raises(ConfigurationError, match="is no mapping; give a dict"):
        ToolUseBlock("1", "n", [("a", 1)])  # type: ignore[arg-type]


def test_what_is_inside_a_mapping_is_copied_too() -> None:
    itself: list[Any] = [1]
    itself.append(itself)
    given: dict[str, Any] = {"list": [[1]], "dict": {"list": [2]}, "itself": itself}
    input: Any = ToolUseBlock("1", "n", given).input

    given["list"][0].append("changed")
    given["dict"]["list"].append("changed")
    itself.append("changed")

    assert (input["list"], input["dict"]) == ([[1]], {"list": [2]})
    assert len(input["itself"]) == 2
    assert input["itself"][1] is input["itself"]


def test_a_mapping_may_be_as_deep_as_it_likes() -> None:
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"deeper": deep}

    assert "deeper" in ToolUseBlock("1", "n", deep).input
