"""Tools that run elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentscope_rx.errors import ToolSuspendError
from agentscope_rx.tool._tool import Tool

__all__ = ["external_tool"]

_NO_PARAMETERS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}


def external_tool(
    name: str,
    description: str = "",
    parameters: Mapping[str, Any] = _NO_PARAMETERS,
    *,
    read_only: bool = False,
    strict: bool | None = None,
) -> Tool[..., Any]:
    """Make a tool of a schema alone: a call of it waits for an outcome from outside.

        pay = external_tool("pay", "Pay a bill.", {"type": "object", "properties": {…}})

    1. `parameters` is a JSON schema of an object; arguments that do not fit it are an error, and nobody is
       asked.
    2. A `ToolSchema` in a toolkit is the same. A function that only says what the model must give is
       `@tool(external=True)`.

    Args:
        name, description, parameters: what the model sees; without `parameters` it has none.
        read_only: whether it changes nothing.
        strict: as of a `Tool`.

    Errors: `ConfigurationError` for what is no name and for what is no schema.
    """
    return Tool(name, description, parameters, _waits, read_only=read_only, strict=strict, external=True)


def _waits(**_: Any) -> Any:
    raise ToolSuspendError
