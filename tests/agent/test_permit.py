"""What may happen with the calls of a batch."""

from __future__ import annotations

from agentscope_rx.agent._permit import permits
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.permission import PermissionContextState
from agentscope_rx.tool import Toolkit, external_tool

PHOTO = external_tool(
    "photo",
    "Take a photo.",
    {"type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"]},
)


def test_an_external_call_whose_arguments_do_not_fit_is_not_handed_out_but_gets_its_error() -> None:
    good = ToolUseBlock("a", "photo", {"of": "a cat"}, '{"of":"a cat"}')
    calls = (good, ToolUseBlock("b", "photo", {}, "{oops"), ToolUseBlock("c", "photo", {"of": 1}, '{"of":1}'))
    permitted = permits(calls, Toolkit(PHOTO), PermissionContextState(), configured=False)

    assert [call.id for call in permitted.outside] == ["a"]
    assert [call.id for call in permitted.run] == ["b", "c"]
