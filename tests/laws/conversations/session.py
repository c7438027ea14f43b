"""One session of a conversation: its calls, and whatever comes between."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from random import Random
from typing import Any, Final

from attrs import define, field
from reactivex.disposable import SerialDisposable

from agentscope_rx import event as ev, wire
from agentscope_rx.agent import ConfirmResults, ReActAgent, RuntimeContext
from agentscope_rx.errors import AgentScopeError, AnswerError, OpenCallsError
from agentscope_rx.event import AgentEvent, ConfirmResult
from agentscope_rx.message import AssistantMessage, GenerateReason, UserMessage
from agentscope_rx.state import AgentState
from agentscope_rx.testing import check_subagents
from tests.laws.conversations import oracle
from tests.laws.conversations.agents import Maker
from tests.laws.conversations.cuts import PATIENCE, Cut, Interrupt, random_cuts
from tests.laws.conversations.hooks import Spoils
from tests.laws.conversations.ledger import Call, Ledger
from tests.laws.conversations.script import Finding
from tests.laws.conversations.speaker import Speaker, is_words
from tests.laws.conversations.world import World

__all__ = ["Session"]

SESSIONS: Final = ["{}", "{}/a b", "../{}", "{} ü\U0001f600"]


@define
class Session:
    """A session, played step by step.

    Attributes:
        agent: whom it talks to.
        hooks: what the agent's hooks spoil.
        output: what the newest reply is asked to be.
        interrupts: how many there were.
        calls: how many there were.
        order: of which call the events were that came, one after the other.
        told: all that the agent has said in it; none, once another has taken over.
        log: what was done, for whoever looks for what went wrong.
    """

    world: World
    mark: str
    r: Random
    maker: Maker
    ctx: RuntimeContext
    agent: ReActAgent
    hooks: Spoils
    speaker: Speaker
    ledger: Ledger
    output: Any = None
    interrupts: int = 0
    calls: int = 0
    order: list[int] = field(factory=list)
    told: list[AgentEvent] | None = field(factory=list)
    log: list[str] = field(factory=list)

    @classmethod
    def begin(
        cls, world: World, mark: str, others: Collection[str], maker: Maker, shared: tuple[ReActAgent, Spoils]
    ) -> "Session":
        """Begin a session of a mark with an agent that it shares with the others."""
        r = Random(f"{world.seed} {mark} play")
        ctx = RuntimeContext(r.choice(SESSIONS).format(mark), r.choice([None, "user"]), objects=[world])
        world.agents[mark], hooks = shared
        speaker = Speaker(mark, r)
        is_stored = maker.store is not None
        ledger = Ledger(world, mark, others, is_stored, maker.max_iters, speaker.outcomes, spoils=hooks)
        session = cls(world, mark, r, maker, ctx, shared[0], hooks, speaker, ledger)
        session.log.append(f"{mark}: {maker} {shared[0].middlewares}")
        return session

    @property
    def is_harmed(self) -> bool:
        """Whether a hook may do anything."""
        return Spoils.ALL in self.hooks

    async def play(self) -> None:
        """Play a few steps, then come to rest."""
        try:
            for _ in range(self.r.randrange(1, 4)):
                if self.r.random() < 0.25:
                    await self._start_again()
                if self.r.random() < 0.1:
                    await self._observe()
                await self._step(await self._state())
            await self._rest()
        except Exception as error:
            error.add_note("\n".join(self.log))
            raise

    async def _state(self, *, wait: bool = False) -> AgentState:
        """Return the session's state; `wait` until it is free."""
        if wait:
            await self.agent.update_state(lambda state: state, self.ctx)
        return self.agent.get_agent_state(self.ctx)

    async def _start_again(self, *, plain: bool = False) -> None:
        """Go on with another agent object, as another process would."""
        before = await self._state()
        text = wire.dumps(before)
        read = wire.loads(AgentState, text, wire.UNLIMITED)
        assert read == before, f"the wire changes {before!r}"
        assert wire.dumps(read) == text
        self.agent, self.hooks = self.maker.agent(self.r, plain)
        self.told = None
        self.ledger.spoils |= self.hooks
        self.world.agents[self.mark] = self.agent
        self.log.append(f"another agent object: {self.agent.middlewares}")
        if self.maker.store is None:
            await self.agent.update_state(lambda _: read, self.ctx)
        assert await self._state(wait=True) == before

    async def _step(self, state: AgentState) -> None:
        """Do something that fits the state, or that does not."""
        reply, chance = oracle.unfinished(state), self.r.random()
        if reply is None:
            await self._when_finished(state, chance)
        elif asks := oracle.asking(reply):
            await self._when_asked(
                state,
                chance,
                self.speaker.wrong_answers(asks),
                self.speaker.answers(asks, self.ledger.reply_id),
            )
        elif waits := oracle.outside(reply):
            await self._when_asked(
                state, chance, self.speaker.wrong_outcomes(waits), self.speaker.some_outcomes(waits)
            )
        elif oracle.open_calls(reply):
            if chance < 0.2:
                await self._refused(state, self.speaker.words(), OpenCallsError)
            elif chance < 0.3:
                await self._interrupt(state)
            else:
                await self._call(state, None, cuts=True)
        elif chance < 0.4:
            await self._call(state, self.speaker.words(), cuts=True)
        elif chance < 0.5:
            await self._interrupt(state)
        else:
            await self._call(state, None, cuts=True)

    async def _when_finished(self, state: AgentState, chance: float) -> None:
        if chance > 0.88:
            await self._both(state, self.speaker.words(), self.r.choice([self.speaker.words(), None]))
        elif chance < 0.08:
            answer = ConfirmResult(True, self.speaker.invented())
            await self._refused(state, ConfirmResults([answer]), AnswerError)
        elif chance < 0.16:
            await self._interrupt(state)
        elif chance < 0.24:
            await self._call(state, None)
        else:
            await self._call(state, self.speaker.words(), cuts=True)

    async def _when_asked(self, state: AgentState, chance: float, wrong: Any, right: Any) -> None:
        if chance > 0.92:
            await self._both(state, right, right)  # as somebody does who clicks twice
        elif chance < 0.15:
            await self._refused(state, self.speaker.words(), OpenCallsError)
        elif chance < 0.3:
            await self._refused(state, wrong, AnswerError)
        elif chance < 0.4:
            await self._interrupt(state)
        elif chance < 0.5:
            await self._call(state, None, cuts=True)
        else:
            await self._call(state, right, cuts=True)

    async def _rest(self) -> None:
        """Answer what is asked until the reply is finished; in the end, interrupt it."""
        if self.is_harmed:
            await self._start_again(plain=True)
        for _ in range(4):
            state = await self._state()
            reply = oracle.unfinished(state)
            if reply is None:
                break
            if asks := oracle.asking(reply):
                await self._call(state, self.speaker.answers(asks, self.ledger.reply_id))
            elif waits := oracle.outside(reply):
                await self._call(state, self.speaker.all_outcomes(waits))
            else:
                await self._call(state, None)
        state = await self._state()
        if oracle.unfinished(state) is not None:
            await self._interrupt(state)
        self.ledger.check_at_rest(await self._state())
        is_whole = not self.ledger.lost and Spoils.CHILDREN not in self.ledger.spoils
        if self.told is not None and self.maker.store is None and is_whole:
            of_helpers = [event for event in self.told if event.source == "main/helper"]
            check_subagents(self.agent, of_helpers, self.ctx)

    async def _refused(self, state: AgentState, input: Any, error: type[AgentScopeError]) -> None:
        call = await self._run(state, input, ())
        assert call.events == [], f"a refused call emits {call.events!r}"
        assert type(call.error) is error, f"{input!r} gave {call.error!r}, not {error.__name__}"
        assert await self._state() == state, "a refused call changes the state"

    async def _observe(self) -> None:
        """Take a message in between the calls."""
        heard = UserMessage("friend", f"{self.mark} hears something")
        await self.agent.observe(heard, self.ctx)
        self.log.append("observe")
        self.ledger.context.append(heard.id)

    async def _call(self, state: AgentState, input: Any, *, cuts: bool = False) -> None:
        """Make a call, and check what it has come to."""
        before = oracle.unfinished(state)
        is_new = before is None or is_words(input)
        if is_new:
            self.output = Finding if self.r.random() < 0.15 else None
        call = await self._run(state, input, random_cuts(self.r) if cuts else ())
        self._check(call, await self._state(), _ids(input), None if is_new else before)

    async def _both(self, state: AgentState, one: Any, other: Any) -> None:
        """Make two calls at once: the second one waits, and finds what the first one has left."""
        if Spoils.VIEW in self.hooks:  # what is inside of which is not told apart
            return
        before = oracle.unfinished(state)
        self.output, self.order = None, []
        first, second = await asyncio.gather(self._run(state, one, ()), self._run(state, other, ()))
        assert self.order == sorted(self.order), "the calls of a session run at once"
        after = await self._state()
        middle = second.before if second.events else after
        self._check(first, middle, _ids(one), None if before is None or is_words(one) else before)
        reply = oracle.unfinished(middle)
        if second.events:
            self._check(second, after, _ids(other), None if reply is None or is_words(other) else reply)
            return
        assert type(second.error) is (OpenCallsError if is_words(other) else AnswerError), second.error
        assert not is_words(other) or (reply is not None and oracle.open_calls(reply))

    async def _interrupt(self, state: AgentState) -> None:
        """Interrupt the session between its calls."""
        before = oracle.unfinished(state)
        interrupt = Interrupt(0)
        self.world.inner[self.mark].clear()
        interrupt.do(self)
        await interrupt.over()
        self.log.append(f"interrupt between calls: {_names(interrupt.closing)}")
        inner = self.world.inner[self.mark] if Spoils.VIEW in self.hooks else []
        call = Call(
            state,
            interrupt.closing,
            list(inner) or interrupt.closing,
            interrupt.error,
            hooks=self.hooks,
            interrupts=[interrupt],
        )
        closes = before is not None and bool(oracle.open_calls(before))
        assert closes == bool(call.events), f"{before!r} was interrupted, with {interrupt.events!r}"
        if closes:
            end = call.events[-1]
            assert isinstance(end, ev.AgentEndEvent)
            assert end.generate_reason is GenerateReason.INTERRUPTED or self.is_harmed
        self._check(call, await self._state(), [], before)

    def _check(
        self, call: Call, state: AgentState, said: Sequence[str], resumed: AssistantMessage | None
    ) -> None:
        if self.told is not None:
            self.told += [*call.inner, *(e for each in call.interrupts for e in each.closing)]
        self.ledger.check(call, state, said, resumed)

    async def _run(self, state: AgentState, input: Any, cuts: Iterable[Cut]) -> Call:
        """Make a call, and let happen to it what is to happen."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Exception | None] = loop.create_future()
        inner = self.world.inner[self.mark]
        inner.clear()
        events: list[AgentEvent] = []
        self.calls += 1
        number = self.calls
        subscription = SerialDisposable()
        left = False

        def leave() -> None:
            nonlocal left
            if not ended.done():
                left = True
                subscription.dispose()
                ended.set_result(None)

        def end(error: Exception | None) -> None:
            if not ended.done():
                ended.set_result(error)

        def take(event: AgentEvent) -> None:
            nonlocal state
            assert not left, f"there is an event after the subscriber has gone: {event!r}"
            if not events:
                state = self.agent.get_agent_state(self.ctx)
            events.append(event)
            self.order.append(number)
            for cut in cuts:
                if cut.is_at(len(events)):
                    cut.do(self, leave)

        timers = [loop.call_later(cut.place, cut.do, self, leave) for cut in cuts if cut.is_timed]
        call = self.agent.call(input, self.ctx, self.output)
        subscription.disposable = call.subscribe(take, end, lambda: end(None))
        for cut in cuts:
            if cut.is_at(0):
                cut.do(self, leave)
        error = await asyncio.wait_for(ended, PATIENCE)
        for timer in timers:
            timer.cancel()
        if left:
            await self._state(wait=True)
        self.log.append(
            f"call({input!r}, {self.output}) {cuts or ''} left={left} {error!r}: {_names(events)}"
        )
        came = list(inner) if Spoils.VIEW in self.hooks else events
        interrupts = sorted((c for c in cuts if isinstance(c, Interrupt) and c.turn), key=lambda c: c.turn)
        for interrupt in interrupts:
            await interrupt.over()
        return Call(state, events, came, error, left, self.hooks, interrupts, self.output)


def _ids(input: Any) -> list[str]:
    """Return the ids of the words in an input."""
    return [msg.id for msg in (input if isinstance(input, list) else [input])] if is_words(input) else []


def _names(events: Iterable[AgentEvent]) -> str:
    return " ".join(type(event).__name__.removesuffix("Event") for event in events)
