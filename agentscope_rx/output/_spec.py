"""What a reply is to be beside its text: a type or a JSON schema, and how what a model wrote becomes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from reprlib import repr as short_repr
from typing import Any, Final, cast, final, get_origin

from attrs import field, frozen

from agentscope_rx._frozen import FrozenDict, freeze, thaw
from agentscope_rx._json import JSONError, loads
from agentscope_rx._json_schema import check_schema, misfits
from agentscope_rx._repr import Brief
from agentscope_rx._typed_json import MisfitError, is_pydantic, json_as, read_as, schema_of_type
from agentscope_rx.errors import ConfigurationError, StructuredOutputError
from agentscope_rx.interop import words_of
from agentscope_rx.output._schema import RESPONSE, hoisted, is_an_object, wrapped

__all__ = ["OutputSpec"]

_FENCED: Final = re.compile(r"\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
_SHOWN: Final = 100
_REMEDY: Final = "give a dataclass, an attrs class, a TypedDict, a pydantic model, or a JSON schema as a dict"


@final
@frozen
class OutputSpec(Brief):
    """The structured output that a reply is asked for; `OutputSpec.of(City)`.

    Attributes:
        type: what a value is read as; None if a JSON schema was given, whose values are JSON.
        schema: what a value must be, with all definitions in `$defs`.
        name: what it is called; `response` if it has no name.
    """

    type: Any = field(hash=False)
    schema: Mapping[str, Any] = field(converter=freeze, hash=False, repr=False)
    name: str = RESPONSE

    @classmethod
    def of(cls, output: Any) -> OutputSpec:
        """Return the spec of what a user gives as `output=`: a class or another type, or a JSON schema.

        Errors: `ConfigurationError` for a type that no JSON value can be read as, and for a wrong schema.
        """
        if isinstance(output, OutputSpec):
            return output
        if isinstance(output, Mapping):
            given = dict(cast("Mapping[str, Any]", output))
            check_schema(given)
            return cls(None, hoisted(given), _name(given.get("title")))
        if output is None or isinstance(output, str):
            raise ConfigurationError(f"output is {output!r}, which is no type; {_REMEDY}")
        try:
            schema, definitions = schema_of_type(output)
        except (TypeError, NameError) as error:
            raise ConfigurationError(
                f"output is {short_repr(output)}, which no JSON value can be read as: {error}; {_REMEDY}"
            ) from error
        if definitions:
            schema["$defs"] = definitions
        is_a_class = isinstance(output, type) and get_origin(output) is None
        return cls(output, schema, _name(output.__name__ if is_a_class else None))

    @property
    def response_format(self) -> FrozenDict:
        """The schema of the text of an answer: of an object, since servers take no other."""
        schema = self.schema
        if not is_an_object(schema):
            return freeze(wrapped(schema, self.name))
        return freeze({"title": self.name, **schema})

    @property
    def parameters(self) -> FrozenDict:
        """The schema of the arguments of a tool that takes the value, as `response`."""
        return freeze(wrapped(self.schema))

    def read(self, value: Any) -> Any:
        """Return a JSON value as what was asked for.

        Errors: `StructuredOutputError` with every problem and its path.
        """
        value = self.accept(value)
        return value if self.type is None else read_as(self.type, thaw(value))

    def accept(self, value: Any) -> Any:
        """Return a JSON value that fits: the one given, or the only one that it can stand for.

        What is read generously is written as it was read: 3 for `"3"` where a number must be, the value for
        its JSON text.

        Errors: `StructuredOutputError` with every problem and its path.
        """
        try:
            return self._accept(thaw(value))
        except StructuredOutputError:
            if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
                with suppress(JSONError):
                    return self._accept(loads(value))
            raise

    def parse(self, text: str) -> Any:
        """Return the JSON value that the text of an answer is; it may be fenced, as code.

        Errors: `StructuredOutputError` if it is none, or if it does not fit.
        """
        fenced = _FENCED.fullmatch(text)
        try:
            value = loads((text if fenced is None else fenced[1]).strip())
        except JSONError:
            raise StructuredOutputError(f"$: expected JSON, got {_shown(text)}") from None
        if isinstance(value, dict) and not is_an_object(self.schema):
            return self.take(cast("dict[str, Any]", value))
        return self.accept(value)

    def take(self, arguments: Mapping[str, Any]) -> Any:
        """Return the JSON value that stands in an object as `response`; or the object, if it is the value.

        Errors: `StructuredOutputError` if there is none, or if it does not fit.
        """
        if RESPONSE in arguments:
            return self.accept(arguments[RESPONSE])
        if is_an_object(self.schema) and arguments.keys() & self.schema.get("properties", {}).keys():
            return self.accept(arguments)
        raise StructuredOutputError(f"$: is missing; give it as {RESPONSE!r}")

    def _accept(self, value: Any) -> Any:
        problems: tuple[tuple[str, str], ...] = ()
        if self.type is not None:
            try:
                return json_as(self.type, value)
            except MemoryError:
                raise
            except MisfitError as misfit:
                problems = misfit.problems
            except Exception as error:  # a user's class may raise anything when it is made
                problems = (("$", words_of(error)),)
        if not is_pydantic(self.type):  # it tells all problems itself; msgspec the first, in fewer words
            problems = misfits(self.schema, value) or problems
        if not problems:
            return value
        told = MisfitError(*problems)
        raise StructuredOutputError(told.text, path=told.path)


def _name(given: Any) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", given)[:64] if given and isinstance(given, str) else RESPONSE


def _shown(text: str) -> str:
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}… ({len(text)} characters)"
