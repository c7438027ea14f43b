"""JSON schemas in the part of JSON Schema that Gemini takes: pure.

The API refuses the whole request for a keyword that it does not know, and for some uses of those that it
knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from agentscope_rx._json import dumps
from agentscope_rx._json_schema import references

__all__ = ["gemini_schema"]

Json: TypeAlias = dict[str, Any]

_AS_THEY_ARE: Final = frozenset({
    "$id", "$anchor", "title", "description", "minItems", "maxItems", "minimum", "maximum", "required",
    "propertyOrdering",
})  # fmt: skip
_SCHEMAS: Final = frozenset({"anyOf", "oneOf", "prefixItems"})
_NAMED_SCHEMAS: Final = frozenset({"properties", "$defs", "definitions"})
_LEFT_OUT: Final = frozenset({
    "$schema", "$comment", "$vocabulary", "examples", "example", "deprecated", "readOnly", "writeOnly",
    "discriminator", "xml", "externalDocs", "nullable", "additionalItems",
})  # fmt: skip
_FORMATS: Final = frozenset({"date-time", "date", "time", "int32", "int64", "float", "double"})
_DEFINITIONS: Final = "#/$defs/"
_ITEMS_IN_ALL: Final = 500
"""What all `maxItems` of a schema may come to; about twice as much is refused, without a reason."""


def gemini_schema(schema: Mapping[str, Any]) -> Json:
    """Return a schema that Gemini takes, and that says what `schema` says as far as it can.

    1. What the API has other words for is rewritten: `const`, `oneOf`, `allOf`, `definitions`, `nullable`,
       lists of `items`, exclusive bounds.
    2. What it has no words for is told to the model in the description: `(pattern: "a+", default: 3)`.
    3. A reference stands alone. One to somewhere else than a definition is replaced by what is there.
    4. A property that leads back to its own object is not required, or the API would have to write for ever;
       the description says that it is.
    """
    return _Writer(schema).root()


class _Writer:
    """Writes the parts of one schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._root = schema
        self._limits = sum(_all_max_items(schema)) <= _ITEMS_IN_ALL
        self._reach = _reach(schema)

    def root(self) -> Json:
        root = _members(self._root)
        target = root.pop("$ref", None)
        if target is not None:  # tools must be objects at sight
            root = {**_members(self._resolve(target)), **root}
            root.pop("$ref", None)
        return self._write(root, _named(target) if target is not None else "#", frozenset())

    def _write(self, schema: Any, owner: str, inlined: frozenset[str]) -> Json:
        """Write a part; `owner` is the definition that it is in, `inlined` what it was copied from."""
        members = self._merged(_members(schema), inlined)
        if "$ref" in members:
            return self._reference(members, owner, inlined)
        result: Json = {}
        words: list[str] = []
        for key, value in members.items():
            if key in _AS_THEY_ARE and (key != "maxItems" or self._limits):
                result[key] = _listed(value) if isinstance(value, list | tuple) else value
            elif key in _SCHEMAS:
                key = "anyOf" if key == "oneOf" else key
                written = [self._write(each, owner, inlined) for each in _listed(value)]
                result[key] = [*result.get(key, ()), *written]
            elif key in _NAMED_SCHEMAS:
                self._write_named(result, key, _members(value), owner, inlined)
            elif key == "items":
                self._write_items(result, value, owner, inlined)
            elif key == "additionalProperties":
                result[key] = value if isinstance(value, bool) else self._write(value, owner, inlined)
            elif key == "format" and value in _FORMATS:
                result[key] = value
            elif key in ("type", "enum", "const", "exclusiveMinimum", "exclusiveMaximum"):
                pass  # below: they depend on each other
            elif key not in _LEFT_OUT and not key.startswith("x-"):
                words.append(_word(key, value))
        words += _write_values(result, members)
        words += _write_bounds(result, members)
        self._loosen(result, members, owner)
        _describe(result, words)
        return result

    def _reference(self, members: Json, owner: str, inlined: frozenset[str]) -> Json:
        target = str(members.pop("$ref"))
        rest = self._write(members, owner, inlined)
        if target == "#" or _named(target).startswith(_DEFINITIONS):
            reference: Json = {"$ref": _named(target)}
            return {**rest, "anyOf": [reference]} if rest else reference
        if target in inlined or (found := self._resolve(target)) is None:
            _describe(rest, [_word("$ref", target)])
            return rest
        return {**self._write(found, owner, inlined | {target}), **rest}

    def _write_named(
        self, result: Json, key: str, schemas: Json, owner: str, inlined: frozenset[str]
    ) -> None:
        if key == "properties":
            result[key] = {name: self._write(each, owner, inlined) for name, each in schemas.items()}
            return
        written = {name: self._write(each, _DEFINITIONS + name, inlined) for name, each in schemas.items()}
        result["$defs"] = {**result.get("$defs", {}), **written}

    def _write_items(self, result: Json, items: Any, owner: str, inlined: frozenset[str]) -> None:
        if isinstance(items, list | tuple):
            result["prefixItems"] = [self._write(item, owner, inlined) for item in _listed(items)]
        elif not isinstance(items, bool):
            result["items"] = self._write(items, owner, inlined)

    def _merged(self, members: Json, inlined: frozenset[str]) -> Json:
        """Put the parts of an `allOf` together; what two of them say differently, the first says."""
        parts = _listed(members.pop("allOf", None))
        for part in map(_members, parts):
            target = part.get("$ref")
            if target is not None and len(parts) > 1:
                if target in inlined:
                    continue
                part = {**_members(self._resolve(target)), **part}
                part.pop("$ref")
                inlined |= {target}
            for key, value in self._merged(part, inlined).items():
                if key in ("properties", "required") and key in members:
                    members[key] = _united(members[key], value)
                else:
                    members.setdefault(key, value)
        return members

    def _loosen(self, result: Json, members: Json, owner: str) -> None:
        """Take properties that lead back to their object out of those that are required."""
        properties: Json = result.get("properties", {})
        given = _members(members.get("properties"))
        for name in _listed(result.get("required")):
            leads = {place for target in references(given.get(name)) for place in self._from(_named(target))}
            if owner in leads:
                result["required"].remove(name)
                _describe(properties[name], ["required"])
        if result.get("required") == []:
            del result["required"]

    def _from(self, place: str) -> frozenset[str]:
        return self._reach.get(place, frozenset()) | {place}

    def _resolve(self, target: str) -> Any:
        """Return what a reference within the schema names; None if there is nothing."""
        found: Any = self._root
        for step in str(target).removeprefix("#").split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if name.isdecimal() and (within := _listed(found)):
                found = within[int(name)] if int(name) < len(within) else None
            else:
                found = _members(found).get(name)
        return found if str(target).startswith("#") else None


def _write_values(result: Json, members: Json) -> list[str]:
    """Write the type and the values; return the words for values that the API cannot hold."""
    types = [members["type"]] if isinstance(members.get("type"), str) else _listed(members.get("type"))
    if "const" in members:
        values: list[Any] | None = [members["const"]]
    else:
        values = _listed(members["enum"]) if "enum" in members else None
    words: list[str] = []
    if values is not None:
        types = types or list(dict.fromkeys(map(_type_of, values)))
        held = [value for value in values if _type_of(value) in ("string", "integer", "number")]
        if any(_type_of(value) in ("boolean", "object", "array") for value in values):
            words.append(_word("const" if "const" in members else "enum", members.get("const", values)))
        elif held:
            result["enum"] = held
    if members.get("nullable") is True:
        if types:
            types = list(dict.fromkeys([*types, "null"]))
        elif "anyOf" in result:
            result["anyOf"].append({"type": "null"})
    if "null" in types and "enum" in result and "anyOf" not in result:  # values are texts and numbers only
        valued = {"type": _one_or_all([each for each in types if each != "null"]), "enum": result.pop("enum")}
        result["anyOf"] = [valued, {"type": "null"}]
    elif types:
        result["type"] = _one_or_all(types)
    return words


def _one_or_all(types: list[Any]) -> Any:
    return types[0] if len(types) == 1 else types


def _write_bounds(result: Json, members: Json) -> list[str]:
    """Write exclusive bounds as inclusive ones; return the words for what that loses."""
    words: list[str] = []
    for key, bound, step, inner in (
        ("exclusiveMinimum", "minimum", 1, max),
        ("exclusiveMaximum", "maximum", -1, min),
    ):
        limit = members.get(key)
        if limit is None or limit is False:
            continue
        if _type_of(limit) not in ("integer", "number"):  # draft 4: says that the other bound is exclusive
            words.append(_word(key, limit))
            continue
        whole = result.get("type") == "integer" and _type_of(limit) == "integer"
        if not whole:
            words.append(_word(key, limit))
        limit = limit + step if whole else limit
        result[bound] = inner(limit, result.get(bound, limit))
    return words


def _describe(schema: Json, words: list[str]) -> None:
    if words:
        if "$ref" in schema:  # nothing may stand beside it
            schema["anyOf"] = [{"$ref": schema.pop("$ref")}]
        described = [schema["description"]] if schema.get("description") else []
        schema["description"] = " ".join([*described, f"({', '.join(words)})"])


def _word(key: str, value: Any) -> str:
    return f"{key}: {dumps(value).decode()}"


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case _:
            return "array"


def _united(first: Any, second: Any) -> Any:
    """Both of two lists, or of two mappings; the first comes first."""
    if isinstance(first, Mapping):
        return {**_members(second), **_members(first)}
    return [*_listed(first), *(each for each in _listed(second) if each not in _listed(first))]


def _members(schema: Any) -> Json:
    return dict(cast("Mapping[str, Any]", schema)) if isinstance(schema, Mapping) else {}


def _listed(values: Any) -> list[Any]:
    return list(cast("Iterable[Any]", values)) if isinstance(values, list | tuple) else []


def _named(target: str) -> str:
    """The name of a definition as it is written here."""
    return str(target).replace("#/definitions/", _DEFINITIONS, 1)


def _all_max_items(schema: Any) -> Iterator[int]:
    if isinstance(schema, Mapping):
        for key, value in cast("Mapping[str, Any]", schema).items():
            if key == "maxItems" and _type_of(value) == "integer":
                yield value
            yield from _all_max_items(value)
    for each in _listed(schema):
        yield from _all_max_items(each)


def _reach(root: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Which places each definition, and the root, leads to."""
    rest = {key: value for key, value in root.items() if key not in ("$defs", "definitions")}
    reach = {"#": set(map(_named, references(rest)))}
    for key in ("$defs", "definitions"):
        for name, schema in _members(root.get(key)).items():
            reach[_DEFINITIONS + name] = set(map(_named, references(schema)))
    grown = True
    while grown:
        grown = False
        for places in reach.values():
            more = {far for place in places for far in reach.get(place, ())} - places
            places |= more
            grown = grown or bool(more)
    return {place: frozenset(places) for place, places in reach.items()}
