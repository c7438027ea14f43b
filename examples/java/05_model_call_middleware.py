"""A middleware around each request to the model: what goes in, how long it takes, how many events come out.

Java: documentation2/middleware/ModelCallMiddlewareExample.java
"""

import sys
import time

from reactivex import Observable, operators as ops

from agentscope_rx import AgentEvent, MiddlewareBase, ReActAgent, RuntimeContext
from agentscope_rx.agent import Agent
from agentscope_rx.middleware import ModelCallInput, Phase
from agentscope_rx.testing import ScriptedModel

from example_utils import get_model, print_welcome, start_chat


class AuditingMiddleware(MiddlewareBase):
    """Log each model call, and count; the counts are of all sessions together."""

    def __init__(self) -> None:
        self.call_count = 0
        self.event_count = 0

    def on_model_call(
        self, agent: Agent, ctx: RuntimeContext, input: ModelCallInput, next: Phase[ModelCallInput]
    ) -> Observable[AgentEvent]:
        self.call_count += 1
        call_index, start = self.call_count, time.perf_counter()
        print(
            f"[Audit #{call_index}] model={type(input.model).__name__}"
            f" | messages={len(input.messages)} | tools={len(input.tools)}"
        )

        def count(_: AgentEvent) -> None:
            self.event_count += 1

        def completed() -> None:
            elapsed = (time.perf_counter() - start) * 1000
            print(f"\n[Audit #{call_index}] completed in {elapsed:.0f} ms (events: {self.event_count})")

        def failed(error: Exception) -> None:
            print(f"\n[Audit #{call_index}] error: {error}", file=sys.stderr)

        return next(input).pipe(ops.tap(count, failed, completed))


print_welcome(
    "Model Call Middleware Example",
    "Demonstrates on_model_call() to log request metadata and measure latency.",
)

audit_middleware = AuditingMiddleware()
agent = ReActAgent(
    name="AuditedAgent",
    sys_prompt="You are a concise assistant. Reply in one sentence.",
    model=get_model(ScriptedModel(lambda asked: f"In one sentence: {asked.text}")),
    middlewares=[audit_middleware],
)

print("Sending a few messages to observe middleware logging ...\n")
start_chat(agent)

print("\n--- Audit Summary ---")
print(f"Total model calls intercepted: {audit_middleware.call_count}")
print(f"Total events received:         {audit_middleware.event_count}")
