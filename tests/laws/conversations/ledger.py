"""What a session must be like: kept beside it, and compared with it after each call."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from attrs import define, field

from agentscope_rx import event as ev
from agentscope_rx.event import AgentEvent
from agentscope_rx.message import (
    AssistantMessage,
    GenerateReason,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from agentscope_rx.state import AgentState
from tests.laws.conversations import oracle
from tests.laws.conversations.cuts import Interrupt
from tests.laws.conversations.hooks import Spoils
from tests.laws.conversations.script import Finding
from tests.laws.conversations.tools import said_by
from tests.laws.conversations.world import World

__all__ = ["Call", "Ledger"]

DONE: Final = {GenerateReason.MODEL_STOP, GenerateReason.MAX_ITERATIONS}


@define
class Call:
    """What came of one call.

    Attributes:
        before: the state before it.
        events: what its subscriber got.
        inner: what came out of the loop.
        error: what it failed with.
        left: whether the subscriber went before the end.
        hooks: what its hooks spoil.
        interrupts: those in it, and behind it, in their order.
        output: what the reply is asked to be.
    """

    before: AgentState
    events: list[AgentEvent]
    inner: list[AgentEvent]
    error: Exception | None = None
    left: bool = False
    hooks: Spoils = Spoils.NOTHING
    interrupts: Sequence[Interrupt] = ()
    output: Any = None

    @property
    def is_harmed(self) -> bool:
        """Whether a hook may have done anything."""
        return Spoils.ALL in self.hooks

    @property
    def changes_view(self) -> bool:
        """Whether what is seen outside is not what is stored."""
        return Spoils.VIEW in self.hooks

    @property
    def may_be_behind(self) -> bool:
        """Whether more may be stored than has gone out: where there is a store, that comes first."""
        cut = self.is_harmed or self.error is not None or bool(self.interrupts)
        return self.left or (self.changes_view and cut)


@define
class Ledger:
    """A session, as it should be.

    Attributes:
        context: the ids of the messages that it should have.
        reply_id: the newest reply.
        reply: its events, of all its calls.
        seed: what they go on from, where the beginning is missing.
        replies: the replies that it has had.
        lost: how often a call was left, or has failed: then its tools may have run for nothing.
        spoils: what does not hold any more.
        outcomes: the keys whose outcome was given from outside.
    """

    world: World
    mark: str
    others: Collection[str]
    stored: bool
    max_iters: int
    outcomes: Collection[str]
    spoils: Spoils = Spoils.NOTHING
    context: list[str] = field(factory=list)
    reply_id: str = ""
    reply: list[AgentEvent] = field(factory=list)
    seed: Any = None
    replies: set[str] = field(factory=set)
    lost: int = 0

    def check(
        self, call: Call, state: AgentState, said: Sequence[str], resumed: AssistantMessage | None
    ) -> None:
        """Check what a call has come to, and the interrupts in it or behind it."""
        at_work = self.world.at_work(self.mark)
        assert not at_work, f"L5: still at work: {at_work}"
        self.lost += call.left or call.error is not None
        if call.events:
            oracle.check_stream(
                call.events,
                call.error,
                whole=not call.left,
                harmed=call.is_harmed,
                children=Spoils.CHILDREN not in call.hooks,
            )
            oracle.check_round_trips(call.events, self.others)
        inner = call.inner
        if not inner and call.interrupts:  # it was interrupted before `on_agent` had let it begin
            kept = {msg.id for msg in state.context}
            inner = [event for event in call.events if call.events[0].reply_id in kept]  # type: ignore[attr-defined]
        if inner:
            self._begin(inner[0].reply_id, said, resumed)  # type: ignore[attr-defined]
        elif not call.interrupts:
            assert call.left or call.changes_view, f"no events, and the error {call.error!r}"
            assert state == call.before, f"nothing has come, but {call.before!r} has become {state!r}"
        self._take(inner)
        for interrupt in call.interrupts:
            self._check_interrupt(interrupt, call, state)
        ids = [msg.id for msg in state.context]
        assert ids == self.context, f"the context is {ids}, but should be {self.context}"
        self._check_rounds(call.before, state)
        if self.reply_id:
            self._check_reply(call, state)

    def _check_rounds(self, before: AgentState, state: AgentState) -> None:
        assert state.cur_iter <= self.max_iters, f"{state.cur_iter} rounds, but the limit is {self.max_iters}"
        least = before.cur_iter if before.reply_id == state.reply_id else 0
        if any(isinstance(event, ev.ModelCallStartEvent) and not event.source for event in self.reply):
            least = max(least, 1)
        assert state.cur_iter >= least, f"{state.cur_iter} rounds, but there were {least} already"

    def _begin(self, reply_id: str, said: Sequence[str], resumed: AssistantMessage | None) -> None:
        if resumed is not None:
            assert reply_id == resumed.id, f"the reply id {reply_id} is not that of {resumed!r}"
            return
        assert reply_id not in self.replies, f"the reply id {reply_id} is not new"
        self.replies.add(reply_id)
        self.reply_id, self.reply, self.seed = reply_id, [], None
        self.context += [*said, reply_id]

    def _take(self, events: Iterable[AgentEvent]) -> None:
        known = {event.id for event in self.reply}
        self.reply += [event for event in events if event.id not in known]

    def _check_interrupt(self, interrupt: Interrupt, call: Call, state: AgentState) -> None:
        """Check an interrupt by what it has said about itself."""
        closing = interrupt.closing
        if closing and closing != call.events:  # it has closed what the call had left
            oracle.check_stream(closing, interrupt.error, whole=True, harmed=call.is_harmed)
            oracle.check_round_trips(closing, self.others)
            assert closing[0].reply_id == self.reply_id  # type: ignore[attr-defined]
            self._take(self.world.inner[self.mark] if call.changes_view else closing)
        self.context += [msg.id for msg in interrupt.msgs]
        reply = oracle.unfinished(state)
        is_closed = call.is_harmed or reply is None or not oracle.open_calls(reply)
        assert is_closed, f"interrupted, but calls are open: {reply!r}"

    def _check_reply(self, call: Call, state: AgentState) -> None:
        """L4: over the joined streams of a reply, and from the checkpoint on."""
        stored = next(msg for msg in state.context if msg.id == self.reply_id)
        assert isinstance(stored, AssistantMessage)
        self._settle(stored)
        if not self.reply:
            return
        message = oracle.fold(self.reply, self.seed)
        if message != stored and call.may_be_behind and self.stored:
            assert oracle.grows_into(message, stored), f"L4: {message!r} is no beginning of {stored!r}"
            self.reply, self.seed = [], state.checkpoint
            return
        assert message == stored, f"L4: streamed {message!r}\nbut stored {stored!r}"
        if call.inner and not any(interrupt.closing for interrupt in call.interrupts):
            self._check_alone(call, stored)

    def _check_alone(self, call: Call, stored: AssistantMessage) -> None:
        """Check what one call says of its reply."""
        seed = call.before.checkpoint if call.before.reply_id == self.reply_id else None
        assert oracle.fold(call.inner, seed) == stored, "L4: with the checkpoint it is another"
        if call.changes_view and call.events:
            assert oracle.fold(call.events).id == stored.id
        end = [event for event in call.inner if not event.source][-1]
        if not isinstance(end, ev.AgentEndEvent):
            is_cut = call.left or call.is_harmed or (call.changes_view and call.error is not None)
            assert is_cut, f"the last event is {end!r}"
            return
        if Spoils.REASONS not in call.hooks:
            oracle.check_reasons(end, stored)
        if call.output is not None and end.generate_reason in DONE:
            assert stored.get_structured_data(Finding).mark == self.mark
        results = [event.result for event in call.inner if isinstance(event, ev.AgentResultEvent)]
        if results and call.error is None:
            assert results[-1] == stored, f"L4: the result is {results[-1]!r}, but stored {stored!r}"

    def _settle(self, message: AssistantMessage) -> None:
        for key, _, result in oracle.keys(message):
            if result.state is not ToolResultState.RUNNING:
                self.world.settled.add(key)

    def check_at_rest(self, state: AgentState) -> None:
        """Check the session when all its replies have ended."""
        tasks = Counter(task.subject for task in state.tasks_context.tasks)
        for reply in state.context:
            if not isinstance(reply, AssistantMessage):
                continue
            calls = [call.id for call in reply.get_content_blocks(ToolUseBlock)]
            results = [result.id for result in reply.get_content_blocks(ToolResultBlock)]
            assert sorted(calls) == sorted(results), f"calls {calls}, but results {results}"
            assert not oracle.open_calls(reply), f"at rest, but calls are open: {reply!r}"
            for key, call, result in oracle.keys(reply):
                self._check_runs(key, call, result)
                if call.name == "remember":
                    assert tasks[key] == self.world.runs[key], f"{key}: {tasks} but {self.world.runs}"

    def _check_runs(self, key: str, call: ToolUseBlock, result: ToolResultBlock) -> None:
        runs = self.world.runs[key]
        words = f"{key} ran {runs} times: {call!r} {result!r}"
        most = 2 if call.name == "flaky" else 1
        assert runs <= most * (1 + self.lost) or Spoils.RUNS in self.spoils, words
        match result.state:
            case ToolResultState.DENIED:
                assert runs == 0, words
            case ToolResultState.SUCCESS:
                assert runs >= 1 or key in self.outcomes or Spoils.RESULTS in self.spoils, words
                if Spoils.RESULTS not in self.spoils:
                    said = f"{key} outcome" if key in self.outcomes else said_by(call.name, call.input)
                    assert said.lower() == result.text_content.lower(), words
            case ToolResultState.ERROR:
                is_clear = self.lost or Spoils.RESULTS in self.spoils
                assert is_clear or runs == 0 or "not run" not in result.text_content.lower(), words
            case state:
                assert state is ToolResultState.INTERRUPTED, words
