"""Structured output: what a reply is to be beside its text, and how a model is asked for it. Pure."""

from agentscope_rx.output._spec import OutputSpec as OutputSpec
from agentscope_rx.output._tool import (
    GENERATE_RESPONSE as GENERATE_RESPONSE,
    generate_response as generate_response,
)

__all__ = ["GENERATE_RESPONSE", "OutputSpec", "generate_response"]
