"""An agent as a tool: it works in a session of its own, and what it asks, its parent pauses for."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, final, runtime_checkable

from attrs import evolve, frozen
from reactivex import Observable

from agentscope_rx.agent._children import Children, Heard, Interruptible
from agentscope_rx.agent._standing import Fresh, GoesOn, Said, Standing, Used, standing
from agentscope_rx.agent._waiting import Waiting, about, is_over
from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import AnswerError, ConfigurationError
from agentscope_rx.message import (
    ContentBlock,
    DataBlock,
    GenerateReason,
    Msg,
    TextBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.state import AgentState
from agentscope_rx.tool import Tool, tool

if TYPE_CHECKING:
    from agentscope_rx.agent._agent import Agent

__all__ = ["Delegate", "Talk", "agent_of", "agent_tool", "talk"]

_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_INTERRUPTED: Final = "Error: interrupted by the user"


@runtime_checkable
class Remembering(Protocol):
    """An agent that tells what it remembers of a session."""

    def update_state(
        self, change: Callable[[AgentState], AgentState], ctx: RuntimeContext | None = None
    ) -> Observable[AgentState]:
        """Change what is remembered; one item, the state afterwards."""
        ...


def agent_tool(agent: Agent, *, name: str | None = None, description: str | None = None) -> Tool[..., Any]:
    """Make a tool of an agent, which works on a `message` and returns what it comes to.

        main = ReActAgent("main", model=…, toolkit=[agent_tool(researcher, name="research")])

    In a toolkit, a `ReActAgent` is such a tool by itself: `toolkit=[researcher]`.

    1. It works in a session of its own for each call, `<session>/<agent>/<tool_call_id>`, for the same user,
       with the same attributes and objects of the context. If it has no state store, it has its parent's.
    2. Its events pass live in the parent's stream, with `source`: `main/researcher`, and those of an agent
       that works for it `main/researcher/writer`. Ids and times stay; it has its own `reply_id`.
    3. What it says last is the result. If it fails, the result is an error; what it may do is its own
       `permission`.
    4. If it pauses, to ask a human or the outside, or is stopped, the parent pauses for the same reason. The
       answers are given to the parent, with the `reply_id` of the question; `call(None)` repeats the
       questions, and goes on with what was stopped.
    5. An interrupt of the parent interrupts it; so does a timeout. A stop that is asked of the parent lets it
       finish. Disposing disposes it, and it goes on where it was when the parent does.

    Args:
        agent: the agent; what works for others is told by its `description`.
        name: the tool's name; left out, `call_<agent>`.
        description: what the model is told; left out, the agent's own.

    Source: Java's `SubAgentTool`.
    """
    delegate = Delegate(agent)
    words = description or getattr(agent, "description", "") or f"Ask the agent {agent.name}."
    return tool(name=name or _tool_name(agent.name), description=words)(delegate.work)


def _tool_name(agent: str) -> str:
    name = _NO_NAME.sub("_", agent).strip("_")
    if not name:
        raise ConfigurationError(
            f"no tool can be named after agent {agent!r}: use agent_tool(agent, name='…')"
        )
    return f"call_{name}"[:64]


def agent_of(tool: Tool[..., Any]) -> Agent | None:
    """Return the agent that a tool was made of; None if it was made of something else."""
    delegate = getattr(tool.function, "__self__", None)
    return delegate.agent if isinstance(delegate, Delegate) else None


@final
class Delegate:
    """What the tool of an agent does."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    async def work(
        self, message: str, call: ToolUseBlock, ctx: RuntimeContext, children: Children
    ) -> ToolResultBlock:
        """Let the agent work on a message.

        Args:
            message: What it is to do, with all that it must know: it sees nothing of this conversation.
        """
        return await talk(await Talk.of(self.agent, call, ctx, children), message)


@final
@frozen
class Talk:
    """A call of a tool, and the subagent that works for it.

    Attributes:
        agent: the subagent.
        session_id: its session.
        call: the call.
        ctx: of the call.
        children: all subagents of the parent's call.
    """

    agent: Agent
    session_id: str
    call: ToolUseBlock
    ctx: RuntimeContext
    children: Children

    @classmethod
    async def of(cls, agent: Agent, call: ToolUseBlock, ctx: RuntimeContext, children: Children) -> Self:
        """Begin in the session that is the call's own, or go on in it.

        If another call has used it, as call ids may come again, the next session of that name is taken.
        """
        own = f"{ctx.session_id}/{agent.name}/{call.id}"
        this = cls.at(own, agent, call, ctx, children)
        number = 1
        while children.session_of(call.id) is None and isinstance(await this.standing(), Used):
            number += 1
            this = evolve(this, session_id=f"{own}-{number}")
        return this

    @classmethod
    def at(
        cls, session_id: str, agent: Agent, call: ToolUseBlock, ctx: RuntimeContext, children: Children
    ) -> Self:
        """Begin in a session, or go on in that in which the subagent waits."""
        return cls(children.adopt(agent), children.session_of(call.id) or session_id, call, ctx, children)

    @property
    def child_ctx(self) -> RuntimeContext:
        """Whom the subagent serves."""
        return evolve(self.ctx, session_id=self.session_id)

    @property
    def message_id(self) -> str:
        """The id of what the subagent is told: by it a call that runs again knows what it has said."""
        return f"{self.children.reply_id}/{self.call.id}"

    async def hear(self, events: Observable[Any]) -> Heard:
        """Run it, and listen."""
        agent = self.agent
        interrupt = partial(agent.interrupt, self.child_ctx) if isinstance(agent, Interruptible) else None
        return await self.children.hear(self.call.id, agent.name, events, interrupt)

    async def standing(self) -> Standing:
        """Say how it stands with what the subagent is told; as far as one knows of one that does not tell."""
        if not isinstance(self.agent, Remembering):
            return Fresh() if self.children.session_of(self.call.id) is None else GoesOn()
        state = await self.agent.update_state(_as_it_is, self.child_ctx)
        return standing(state, self.message_id)


def _as_it_is(state: AgentState) -> AgentState:
    return state


async def talk(this: Talk, message: str) -> ToolResultBlock:
    """Let a subagent work on a message, or go on with it.

    1. What was answered goes to where it waits. Where it waits no more, it is passed over.
    2. A call that runs again does not say its message twice: the subagent goes on, or has ended by now.
    3. What an earlier call has left open is closed first, unless somebody is to answer.

    Errors: those of the subagent.
    """
    agent, ctx = this.agent, this.child_ctx
    if this.children.interrupting:
        return await _interrupted(this)
    if (answers := this.children.answers_for(this.call.id)) is not None:
        try:
            return outcome(this, await this.hear(agent.call(answers, ctx)))
        except AnswerError:  # somebody has answered there, or has interrupted it
            if not isinstance(agent, Remembering):
                raise
    match await this.standing():
        case Said(reply) if reply.generate_reason is GenerateReason.INTERRUPTED:
            return _interruption(this, reply.id)
        case Said(reply):
            return result(this, reply.id, reply)
        case GoesOn():
            return outcome(this, await this.hear(agent.call(None, ctx)))
        case Used(waits=True):
            return ToolResultBlock.error(f"{agent.name} waits for an answer of somebody else's.")
        case Used(left_open=True) if isinstance(agent, Interruptible):
            await this.hear(agent.interrupt(ctx))
        case _:
            pass
    said = UserMessage(message, id=this.message_id)
    return outcome(this, await this.hear(agent.call(said, ctx)))


async def _interrupted(this: Talk) -> ToolResultBlock:
    heard = Heard()
    if isinstance(this.agent, Interruptible):
        heard = await this.hear(this.agent.interrupt(this.child_ctx))
    return _interruption(this, heard.fold.reply_id or "")


def _interruption(this: Talk, reply_id: str) -> ToolResultBlock:
    metadata = about(this.agent.name, this.session_id, reply_id)
    return ToolResultBlock("", "", _INTERRUPTED, metadata, ToolResultState.INTERRUPTED)


def outcome(this: Talk, heard: Heard) -> ToolResultBlock:
    """Return what a call of a subagent came to: its last words, or that it waits."""
    fold = heard.fold
    reason, reply_id = fold.generate_reason(), fold.reply_id or ""
    if reason is GenerateReason.INTERRUPTED:
        return _interruption(this, reply_id)
    if reason is None or is_over(reason):
        message = fold.message()
        return result(this, reply_id, message if last_words(message) else heard.result or message)
    waiting = Waiting(this.session_id, reason, heard.questions)
    suspended = ToolResultBlock.suspended(this.call)
    about_it = about(this.agent.name, this.session_id, reply_id)
    return evolve(suspended, metadata={**suspended.metadata, **about_it, **waiting.metadata()})


def result(this: Talk, reply_id: str, message: Msg) -> ToolResultBlock:
    """Return the result of a call whose subagent has ended with a message."""
    words = last_words(message) or (TextBlock(f"{this.agent.name} has said nothing."),)
    return ToolResultBlock(
        "", "", words, about(this.agent.name, this.session_id, reply_id), ToolResultState.SUCCESS
    )


def last_words(message: Msg) -> tuple[ContentBlock, ...]:
    """Return the last text and data of a message, as far back as no tool call stands between."""
    words: list[ContentBlock] = []
    behind: int | None = None
    for block in reversed(message.content):
        if isinstance(block, ToolUseBlock | ToolResultBlock) and behind is None and words:
            behind = len(words)
        elif isinstance(block, DataBlock) or (isinstance(block, TextBlock) and block.text):
            words.append(block)
    return tuple(reversed(words[:behind]))
