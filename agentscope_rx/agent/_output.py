"""How a model is asked for a structured output, and what a message says of it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, final

from attrs import evolve, field, frozen

from agentscope_rx._json import dumps, loads_object
from agentscope_rx.agent._loop_state import Output
from agentscope_rx.errors import ConfigurationError, StructuredOutputError
from agentscope_rx.message import (
    STRUCTURED_OUTPUT,
    AssistantMessage,
    HintBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.model import ChatModel, GenerateOptions, supports_native_structured_output
from agentscope_rx.output import GENERATE_RESPONSE, OutputSpec, generate_response
from agentscope_rx.tool import Tool, Toolkit

__all__ = ["REPAIR", "Wanted", "output_so_far", "wanted"]

T = TypeVar("T")

REPAIR: Final = "structured_output"
"""The source of a hint that asks a model once more for the output."""

_AS_TEXT: Final = (
    "The answer is not what was asked for: {problem}. "
    "Answer again, with nothing but JSON that fits this schema: {schema}"
)
_BY_TOOL: Final = f"The response is still to be given: call {GENERATE_RESPONSE} with it."


@final
@frozen
class Wanted:
    """The structured output that a call asks for.

    Attributes:
        spec: what it must be.
        tool: takes it; None if the model's text is held to it instead.
    """

    spec: OutputSpec
    tool: Tool[..., Any] | None = field(default=None, repr=False)

    def toolkit(self, toolkit: Toolkit) -> Toolkit:
        """Return the tools that the model gets: those that there are, and the one that takes the output."""
        return toolkit if self.tool is None else toolkit.with_tools(self.tool)

    def options(self, options: GenerateOptions) -> GenerateOptions:
        """Return how the model is to answer."""
        if self.tool is not None:
            return options
        return evolve(options, response_format=self.spec.response_format)

    def problem(self, message: AssistantMessage, answer: str) -> StructuredOutputError:
        """Return what is wrong with the newest output in a message that ends with this text."""
        if self.tool is None:
            return _misfit(self.spec.parse, answer)
        calls = (call for call in reversed(message.content) if isinstance(call, ToolUseBlock))
        call = next((call for call in calls if call.name == GENERATE_RESPONSE), None)
        if call is None:
            return StructuredOutputError(f"$: the model did not call {GENERATE_RESPONSE}")
        if call.input_error:
            return StructuredOutputError(f"$: the arguments of {GENERATE_RESPONSE} were no JSON object")
        return _misfit(self.spec.take, dict(call.input) or loads_object(call.content or "") or {})

    def hint(self, problem: StructuredOutputError) -> str:
        """Return what a model is told whose answer ended without the output."""
        schema = dumps(self.spec.response_format).decode()
        return (_AS_TEXT if self.tool is None else _BY_TOOL).format(problem=problem, schema=schema)


def wanted(
    output: Any, model: ChatModel, toolkit: Toolkit, fallback: ChatModel | None = None
) -> Wanted | None:
    """Return what a call asks for; None if it asks for no structured output.

    It is asked for in a way that `fallback` understands as well.

    Errors: `ConfigurationError` if it cannot be asked for.
    """
    if output is None:
        return None
    spec = OutputSpec.of(output)
    if supports_native_structured_output(model) and supports_native_structured_output(fallback or model):
        return Wanted(spec)
    tool = generate_response(spec)
    try:
        toolkit.with_tools(tool)
    except ConfigurationError:
        raise ConfigurationError(
            f"the toolkit has a tool {tool.name!r}, the one by which model {model.model_name!r} is asked for "
            "structured output; rename it, or use a model that supports such output itself"
        ) from None
    return Wanted(spec, tool)


def output_so_far(message: AssistantMessage, spec: OutputSpec | None) -> tuple[Output | None, Any]:
    """Return how it stands with the output of a reply that goes on, and its value.

    What an earlier call has accepted stays, also if this one asks for nothing; not if it asks for something
    else, which that does not fit.
    """
    calls: set[str] = set()
    failures = 0
    failed = answered = given = False
    value: Any = None
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            answered = True
            if block.id in calls:
                calls.remove(block.id)
                failed = failed or block.state is not ToolResultState.SUCCESS
                if _fits(block, spec):
                    given, value = True, block.metadata.get(STRUCTURED_OUTPUT)
            continue
        if answered:  # a new round
            failures, failed, answered = failures + failed, False, False
        if isinstance(block, ToolUseBlock) and block.name == GENERATE_RESPONSE:
            calls.add(block.id)
        elif isinstance(block, HintBlock) and block.source == REPAIR:
            failures += 1
    if spec is None and not given:
        return None, None
    return Output(frozenset(calls), given, failures, failed), value


def _fits(result: ToolResultBlock, spec: OutputSpec | None) -> bool:
    if result.state is not ToolResultState.SUCCESS:
        return False
    if spec is None:
        return STRUCTURED_OUTPUT in result.metadata
    try:
        spec.accept(result.metadata.get(STRUCTURED_OUTPUT))
    except StructuredOutputError:
        return False
    return True


def _misfit(read: Callable[[T], Any], given: T) -> StructuredOutputError:
    try:
        read(given)
    except StructuredOutputError as error:
        return error
    return StructuredOutputError("$: fits, but was not taken: a middleware or a rule kept it back")
