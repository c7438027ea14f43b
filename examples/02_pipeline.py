"""A call is a stream, so it is composed as one: filter it, fold it, look half-way, write an operator."""

from reactivex import Observable, compose, operators as ops

from agentscope_rx import AgentEvent, ReActAgent, ToolCallStartEvent, operators as agent_ops, tool
from agentscope_rx.testing import ScriptedModel, tool_call
from agentscope_rx.typing import Operator


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call() -> Observable[AgentEvent]:
    """Return a call; nothing happens before it is run."""
    model = ScriptedModel(["Adding it up. ", tool_call("add", a=20, b=22)], "The answer is forty-two.")
    return ReActAgent("Friday", model=model, toolkit=[add]).call("20 + 22?")


def progress() -> Operator[AgentEvent, int]:
    """Tell how long the text is so far: an operator is a function from stream to stream, made of others."""
    return compose(agent_ops.text(), ops.map(len), ops.scan(lambda total, length: total + length))


text = call().pipe(agent_ops.text(), ops.to_list()).run()
print("text:    ", text)

tools = call().pipe(agent_ops.of_type(ToolCallStartEvent), ops.map(lambda event: event.tool_call_name))
print("tools:   ", tools.pipe(ops.to_list()).run())

sizes = call().pipe(agent_ops.snapshots(), ops.map(lambda snapshot: len(snapshot.message.content)))
print("growing: ", sizes.pipe(ops.distinct_until_changed(), ops.to_list()).run())

blocks = call().pipe(agent_ops.blocks(), ops.map(lambda block: block.type))
print("blocks:  ", blocks.pipe(ops.to_list()).run())

print("progress:", call().pipe(progress(), ops.to_list()).run())

message = call().pipe(agent_ops.to_msg()).run()
print("message: ", message.text_content)
