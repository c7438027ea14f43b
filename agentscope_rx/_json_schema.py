"""JSON schemas: whether one can be used, and where a value does not fit it.

jsonschema does it, and is loaded when it is first needed. Nothing is fetched: references stay in the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

from agentscope_rx._json import step
from agentscope_rx.errors import ConfigurationError

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

__all__ = ["check_schema", "misfits", "references"]

_MOST: Final = 10
"""Problems that are told: enough for a model, which reads them, to put them right."""

_SHOWN: Final = 200
"""Characters of a problem, which may hold the value."""

_DATA: Final = frozenset({"const", "default", "enum", "examples"})


def check_schema(schema: Mapping[str, Any]) -> None:
    """Refuse what is no JSON schema, of the draft that it names or of 2020-12.

    Errors: `ConfigurationError` with the path, also for a reference to something that is not in the schema.
    """
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012, SchemaRegistry

    try:
        _validator(schema).check_schema(dict(schema))
    except SchemaError as error:
        raise ConfigurationError(
            f"the JSON schema is wrong at {_path(error.absolute_path)}: {_words(error)}"
        ) from None
    registry: SchemaRegistry = _registry().with_resource("", DRAFT202012.create_resource(dict(schema)))
    for reference in references(schema):
        try:
            registry.resolver().lookup(reference)
        except Unresolvable:
            raise ConfigurationError(
                f"the JSON schema refers to {reference!r}, which it does not hold; put that under its $defs"
            ) from None


def misfits(schema: Mapping[str, Any], value: Any) -> tuple[tuple[str, str], ...]:
    """Return where a JSON value does not fit a schema: pairs of a path, as `$.items[2].price`, and words."""
    errors = islice(_validator(schema).iter_errors(value), _MOST)
    return tuple(map(_problem, errors))


def references(schema: Any) -> Iterator[str]:
    """Return what a schema refers to, wherever in it."""
    if isinstance(schema, Mapping):
        for key, item in cast("Mapping[str, Any]", schema).items():
            if key == "$ref" and isinstance(item, str):
                yield item
            elif key not in _DATA:
                yield from references(item)
    elif isinstance(schema, list | tuple):
        for item in cast("Iterable[Any]", schema):
            yield from references(item)


def _validator(schema: Mapping[str, Any]) -> Validator:
    from jsonschema.validators import Draft202012Validator, validator_for

    cls = validator_for(schema, default=Draft202012Validator)
    return cls(schema, registry=_registry())


def _registry() -> Any:
    from referencing.jsonschema import EMPTY_REGISTRY

    return EMPTY_REGISTRY


def _problem(error: ValidationError) -> tuple[str, str]:
    from jsonschema import exceptions

    # An error of anyOf says little; the best one inside it says what was most likely meant.
    error = cast("Any", exceptions).best_match([error])
    path = _path(error.absolute_path)
    if error.validator == "required":
        names = cast("list[str]", error.validator_value)
        missing = next((name for name in names if error.message.startswith(repr(name))), None)
        if missing is not None:
            return path + step(missing), "is missing"
    return path, _words(error)


def _path(steps: Iterable[str | int]) -> str:
    return "$" + "".join(map(step, steps))


def _words(error: ValidationError | Any) -> str:
    words: str = error.message
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN]}… ({len(words)} characters)"
