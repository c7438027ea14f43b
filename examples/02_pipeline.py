"""A call is a stream, so it is composed as one: filter it, fold it, watch it, and write an operator."""

from reactivex import Observable, operators as ops

from agentscope_rx import AgentEvent, ReActAgent, TextBlockDeltaEvent, operators as agent_ops, tool
from agentscope_rx.event import ToolCallEndEvent
from agentscope_rx.testing import ScriptedModel, tool_call
from agentscope_rx.typing import Operator


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def words_per_block() -> Operator[AgentEvent, int]:
    """Count the words of each text block: an operator of your own is a function from stream to stream."""

    def operator(source: Observable[AgentEvent]) -> Observable[int]:
        def count(blocks: Observable[AgentEvent]) -> Observable[int]:
            deltas = blocks.pipe(agent_ops.of_type(TextBlockDeltaEvent))
            return deltas.pipe(
                ops.reduce(lambda text, event: text + event.delta, ""),
                ops.map(lambda text: len(text.split())),
            )

        grouped = source.pipe(
            agent_ops.of_type(TextBlockDeltaEvent), ops.group_by(lambda event: event.block_id)
        )
        return grouped.pipe(ops.flat_map(count))

    return operator


def agent() -> ReActAgent:
    model = ScriptedModel(["Adding it up. ", tool_call("add", a=20, b=22)], "The answer is forty-two.")
    return ReActAgent("Friday", model=model, toolkit=[add])


print("text:     ", agent().call("20 + 22?").pipe(agent_ops.text(), ops.to_list()).run())

calls = agent().call("20 + 22?").pipe(agent_ops.of_type(ToolCallEndEvent))
print("tools:    ", calls.map(lambda event: event.tool_call_name).to_list().run())

snapshots = agent().call("20 + 22?").pipe(agent_ops.snapshots())
sizes = snapshots.map(lambda snapshot: len(snapshot.message.content))
print("blocks:   ", sizes.pipe(ops.distinct_until_changed()).to_list().run())

print("words:    ", agent().call("20 + 22?").pipe(words_per_block(), ops.to_list()).run())

message = agent().call("20 + 22?").pipe(agent_ops.to_msg()).run()
print("message:  ", message.text_content)
