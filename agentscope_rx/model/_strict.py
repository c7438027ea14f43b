"""A `response_format` as OpenAI has it, and those who follow OpenAI; schemas for strict mode: pure.

In strict mode a server lets nothing through but what fits the schema; it takes a part of JSON Schema only,
and refuses the request for anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

from agentscope_rx._json import dumps

__all__ = ["Dialect", "response_format", "strict_schema"]

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


class Dialect(NamedTuple):
    """The part of JSON Schema that a server takes, where it differs from OpenAI's.

    Attributes:
        in_words: limits that it does not know, either.
        optional: whether it lets properties be left out.
        recursive: whether a schema may be part of itself.
    """

    in_words: frozenset[str] = frozenset()
    optional: bool = False
    recursive: bool = True


_OPENAI: Final = Dialect()


class _LooseError(Exception):
    """A schema says what strict mode has no words for."""


def strict_schema(schema: Mapping[str, Any], dialect: Dialect = _OPENAI) -> Json | None:
    """Return a schema for strict mode; None if there is none.

    1. What it lets through fits `schema`, apart from limits that strict mode does not know: those, and
       defaults, are told to the model in the description.
    2. Objects hold their properties and no others; all of them, unless the server lets some be left out. Then
       one that may be left out must have a default, or may be null: else the model would have to make
       something up.
    """
    try:
        strict = _strict(schema, dialect) if schema.get("type") == "object" else None
    except _LooseError:
        return None
    return strict if strict is None or dialect.recursive or not _is_recursive(strict) else None


def _is_recursive(schema: Json) -> bool:
    """Whether a strict schema is part of itself: one of its references leads back to where it stands."""
    definitions = {f"#/$defs/{name}": each for name, each in schema.get("$defs", {}).items()}
    leads = {name: set(_references(each)) for name, each in definitions.items()}
    if "#" in set(_references(schema)).union(*leads.values()):
        return True
    while leads:
        ends = {name for name, others in leads.items() if not others & leads.keys()}
        if not ends:
            return True
        leads = {name: others for name, others in leads.items() if name not in ends}
    return False


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for each in cast("list[Any]", schema):
            yield from _references(each)
    elif isinstance(schema, dict):
        for key, value in cast("Json", schema).items():
            if key == "$ref":
                yield value
            elif key in ("anyOf", "items"):
                yield from _references(value)
            elif key == "properties":
                yield from _references(list(value.values()))


def _strict(schema: Any, dialect: Dialect) -> Json:
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
                result[key] = [_strict(each, dialect) for each in value]
            case "$defs" | "properties":
                result[key] = {name: _strict(each, dialect) for name, each in value.items()}
            case "items":
                result[key] = _strict(value, dialect)
            case "format" if value in _FORMATS:
                result[key] = value
            case "format":
                words.append(f"format: {value}")
            case "required" | "additionalProperties":
                pass
            case _ if key in _AS_THEY_ARE and key not in dialect.in_words:
                result[key] = value
            case _ if key in _IN_WORDS or key in dialect.in_words:
                words.append(f"{key}: {dumps(value).decode()}")
            case _ if key in _LEFT_OUT:
                pass
            case _:
                raise _LooseError
    if _may_be("array", members) and "items" not in members:
        raise _LooseError
    if _may_be("object", members):
        result["required"] = _required(members, dialect)
        result["additionalProperties"] = False
    if words:
        described = [result["description"]] if result.get("description") else []
        result["description"] = " ".join([*described, f"({', '.join(words)})"])
    return result


def _required(members: Json, dialect: Dialect) -> list[str]:
    properties, required = members.get("properties"), members.get("required", ())
    if not isinstance(properties, Mapping):  # any object
        raise _LooseError
    if dialect.optional:
        return list(required)
    for name, schema in cast("Mapping[str, Any]", properties).items():
        if name not in required and "default" not in schema and not _may_be_null(schema):
            raise _LooseError
    return list(cast("Mapping[str, Any]", properties))


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    return _may_be("null", schema) or any(_may_be_null(each) for each in schema.get("anyOf", ()))


def _may_be(kind: str, schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type")
    return kinds == kind or (isinstance(kinds, list | tuple) and kind in kinds)
