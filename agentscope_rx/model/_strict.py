"""A `response_format` as OpenAI has it, and those who follow OpenAI; its schema for strict mode: pure.

In strict mode the server lets nothing through but what fits the schema; it takes a part of JSON Schema only,
and refuses the request for anything else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from agentscope_rx._json import dumps

__all__ = ["response_format", "strict_schema"]

Json: TypeAlias = dict[str, Any]

_AS_THEY_ARE: Final = {
    "type", "enum", "const", "title", "description", "pattern", "multipleOf", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
}  # fmt: skip
_IN_WORDS: Final = {"default", "minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties"}
_LEFT_OUT: Final = {"$schema", "$id", "$comment", "examples", "deprecated", "readOnly", "writeOnly"}
_FORMATS: Final = {
    "date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid",
}  # fmt: skip
_SAYS_SOMETHING: Final = {"type", "enum", "const", "anyOf"}


_READY: Final = frozenset({"text", "json_object", "json_schema"})


def response_format(wanted: Mapping[str, Any] | None) -> Json | None:
    """Return a JSON schema as a `response_format`, strict if it can be; what is one stays as it is."""
    if wanted is None or wanted.get("type") in _READY:
        return None if wanted is None else dict(wanted)
    title = re.sub(r"[^a-zA-Z0-9_-]", "_", str(wanted.get("title") or "response"))[:64]
    strict = strict_schema(wanted)
    schema = dict(wanted) if strict is None else strict
    return {
        "type": "json_schema",
        "json_schema": {"name": title, "schema": schema, "strict": strict is not None},
    }


class _LooseError(Exception):
    """A schema says what strict mode has no words for."""


def strict_schema(schema: Mapping[str, Any]) -> Json | None:
    """Return a schema for strict mode; None if there is none.

    1. What it lets through fits `schema`, apart from limits that strict mode does not know: those, and
       defaults, are told to the model in the description.
    2. Objects hold all their properties and no others. One that may be left out must have a default, or may
       be null: else the model would have to make something up.
    """
    try:
        return _strict(schema) if schema.get("type") == "object" else None
    except _LooseError:
        return None


def _strict(schema: Any) -> Json:
    if not isinstance(schema, Mapping):
        raise _LooseError
    members = dict(cast("Mapping[str, Any]", schema))
    if isinstance(reference := members.get("$ref"), str):
        if reference != "#" and not reference.startswith("#/$defs/"):
            raise _LooseError
        return {"$ref": reference}  # nothing may stand beside it
    if not members.keys() & _SAYS_SOMETHING:
        raise _LooseError
    result: Json = {}
    words: list[str] = []
    for key, value in members.items():
        match key:
            case "anyOf":
                result[key] = [_strict(each) for each in value]
            case "$defs" | "properties":
                result[key] = {name: _strict(each) for name, each in value.items()}
            case "items":
                result[key] = _strict(value)
            case "format" if value in _FORMATS:
                result[key] = value
            case "format":
                words.append(f"format: {value}")
            case "required" | "additionalProperties":
                pass
            case _ if key in _AS_THEY_ARE:
                result[key] = value
            case _ if key in _IN_WORDS:
                words.append(f"{key}: {dumps(value).decode()}")
            case _ if key in _LEFT_OUT:
                pass
            case _:
                raise _LooseError
    if _may_be("array", members) and "items" not in members:
        raise _LooseError
    if _may_be("object", members):
        result["required"] = _required(members)
        result["additionalProperties"] = False
    if words:
        described = [result["description"]] if result.get("description") else []
        result["description"] = " ".join([*described, f"({', '.join(words)})"])
    return result


def _required(members: Json) -> list[str]:
    properties, required = members.get("properties"), members.get("required", ())
    if not isinstance(properties, Mapping):  # any object
        raise _LooseError
    for name, schema in cast("Mapping[str, Any]", properties).items():
        if name not in required and "default" not in schema and not _may_be_null(schema):
            raise _LooseError
    return list(cast("Mapping[str, Any]", properties))


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    return _may_be("null", schema) or any(_may_be_null(each) for each in schema.get("anyOf", ()))


def _may_be(kind: str, schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type")
    return kinds == kind or (isinstance(kinds, list | tuple) and kind in kinds)
