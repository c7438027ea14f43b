"""The tool by which a model that cannot be held to a schema gives its answer."""

from __future__ import annotations

from typing import Any, Final

from attrs import evolve

from agentscope_rx.errors import StructuredOutputError
from agentscope_rx.message import STRUCTURED_OUTPUT, ToolResultBlock
from agentscope_rx.output._spec import OutputSpec
from agentscope_rx.tool import Tool, tool

__all__ = ["GENERATE_RESPONSE", "generate_response"]

GENERATE_RESPONSE: Final = "generate_response"

_DESCRIPTION: Final = (
    "Give the final response. Call it once, when everything that the response needs is known; "
    "nothing follows it."
)
_DONE: Final = "Successfully generated response."


def generate_response(spec: OutputSpec) -> Tool[..., Any]:
    """Return the tool that takes the structured output of a reply, as Java's `generate_response`.

    Its result holds the value, as JSON, in the metadata `_structured_output`. What does not fit is a result
    with state `error` that names the path.
    """

    @tool(name=GENERATE_RESPONSE, description=_DESCRIPTION, read_only=True)
    async def respond(**arguments: Any) -> ToolResultBlock:
        try:
            value = spec.take(arguments)
        except StructuredOutputError as error:
            return ToolResultBlock.error(
                f"the response does not fit: {error}. Correct it, and call {GENERATE_RESPONSE} again."
            )
        return evolve(ToolResultBlock.text(_DONE), metadata={STRUCTURED_OUTPUT: value})

    return evolve(respond, parameters=spec.parameters)
