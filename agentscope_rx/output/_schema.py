"""The schema of an output, as it stands alone and as it stands inside the schema of an object. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from agentscope_rx._frozen import thaw

__all__ = ["RESPONSE", "hoisted", "is_an_object", "wrapped"]

RESPONSE: Final = "response"
"""The property under which a value stands where only objects can be."""

_DATA: Final = frozenset({"const", "default", "enum", "examples"})


def is_an_object(schema: Mapping[str, Any]) -> bool:
    """Whether all values of a schema are objects."""
    return schema.get("type") == "object"


def hoisted(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a schema whose definitions are all in `$defs`, the name that newer drafts have."""
    result = _referring(thaw(schema), lambda ref: _renamed(ref))
    definitions = {**result.pop("definitions", {}), **result.pop("$defs", {})}
    return {**result, "$defs": definitions} if definitions else result


def wrapped(schema: Mapping[str, Any], title: str | None = None) -> dict[str, Any]:
    """Return the schema of an object with one property, `response`, of a hoisted schema."""
    inner = _referring(thaw(schema), _moved)
    definitions = inner.pop("$defs", {})
    for key in ("$schema", "$id"):  # both are said of a whole schema only
        inner.pop(key, None)
    return {
        **({"title": title} if title else {}),
        "type": "object",
        "properties": {RESPONSE: inner},
        "required": [RESPONSE],
        "additionalProperties": False,
        **({"$defs": definitions} if definitions else {}),
    }


def _renamed(reference: str) -> str:
    return reference.replace("#/definitions/", "#/$defs/", 1) if reference.startswith("#/def") else reference


def _moved(reference: str) -> str:
    if reference == "#" or (reference.startswith("#/") and not reference.startswith("#/$defs/")):
        return f"#/properties/{RESPONSE}{reference[1:]}"
    return reference


def _referring(schema: Any, change: Callable[[str], str]) -> Any:
    """Return a schema with other references."""
    if isinstance(schema, list):
        return [_referring(item, change) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        key: change(item)
        if key == "$ref" and isinstance(item, str)
        else item
        if key in _DATA
        else _referring(item, change)
        for key, item in cast("dict[str, Any]", schema).items()
    }
