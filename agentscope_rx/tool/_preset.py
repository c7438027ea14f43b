"""Arguments that the application fixes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from attrs import evolve

from agentscope_rx._frozen import thaw
from agentscope_rx._typed_json import MisfitError
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.tool._arguments import fixed
from agentscope_rx.tool._schema import Parameter, Signature

__all__ = ["with_presets", "without"]


def with_presets(signature: Signature, values: Mapping[str, Any], tool: str) -> Signature:
    """Fix arguments of a tool, also those that a call would fill in.

    Errors: `ConfigurationError` for a name that is none of its parameters, and for what does not fit.
    """
    known = {parameter.name: parameter for parameter in signature.parameters}
    for name, value in values.items():
        if name not in known and not signature.open:
            names = ", ".join(known) or "it has none"
            raise ConfigurationError(
                f"preset of tool {tool!r} names {name!r}, which is none of its parameters: {names}"
            )
        parameter = known.get(name, Parameter(name, Any, required=False))
        known[name] = evolve(
            parameter, injected=None, preset=thaw(value) if type(value) in (list, dict) else value
        )
        try:
            fixed(known[name])
        except MisfitError as misfit:
            raise ConfigurationError(f"preset of tool {tool!r} does not fit: {misfit.text}") from None
    return evolve(signature, parameters=tuple(known.values()))


def without(parameters: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the JSON schema of an object without some of its properties."""
    schema = dict(parameters)
    for key in ("properties", "required"):
        held: Any = schema.get(key)
        if isinstance(held, Mapping):
            members = cast("Mapping[str, Any]", held)
            schema[key] = {name: each for name, each in members.items() if name not in names}
        elif held:
            schema[key] = [name for name in held if name not in names]
    return schema
