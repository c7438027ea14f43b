"""Java's transcripts: their legend, and the set-ups that they were recorded with, once more."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import reactivex as rx
from attrs import evolve
from reactivex import Observable, operators as ops

from agentscope_rx import MiddlewareBase, on_agent, on_model_call, operators as agent_ops
from agentscope_rx.agent import CallInput, ConfirmResults, ExternalResults, ReActAgent
from agentscope_rx.errors import ModelError, ToolSuspendError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    AllToolsDeniedEvent,
    ConfirmResult,
    CustomEvent,
    ExceedMaxItersEvent,
    ExternalExecutionResultEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.message import (
    Base64Source,
    DataBlock,
    GenerateReason,
    TextBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model import ToolCallChunk
from agentscope_rx.permission import PermissionBehavior, PermissionContextState, PermissionRule
from agentscope_rx.testing import CallRecord, ScriptedModel, acheck_call, pause, thinking, tool_call
from agentscope_rx.tool import ToolEmitter, external_tool, tool

__all__ = ["SETUPS", "java", "plain", "render"]

CODES: Final[dict[type[AgentEvent], str]] = {
    AgentStartEvent: "AS",
    AgentEndEvent: "AE",
    AgentResultEvent: "AR",
    ModelCallStartEvent: "MS",
    ModelCallEndEvent: "ME",
    TextBlockStartEvent: "TS",
    TextBlockDeltaEvent: "TD",
    TextBlockEndEvent: "TE",
    ThinkingBlockStartEvent: "HS",
    ThinkingBlockDeltaEvent: "HD",
    ThinkingBlockEndEvent: "HE",
    ToolCallStartEvent: "CS",
    ToolCallDeltaEvent: "CD",
    ToolCallEndEvent: "CE",
    ToolResultStartEvent: "RS",
    ToolResultTextDeltaEvent: "RT",
    ToolResultDataDeltaEvent: "RD",
    ToolResultEndEvent: "RE",
    ExceedMaxItersEvent: "XI",
    RequestStopEvent: "ST",
    CustomEvent: "CU",
    RequireUserConfirmEvent: "QC",
    RequireExternalExecutionEvent: "QX",
    UserConfirmResultEvent: "UC",
    ExternalExecutionResultEvent: "UX",
    AllToolsDeniedEvent: "AD",
    HintBlockEvent: "HB",
}
"""The transcripts' legend; the last two are ours, since Java does not stream them."""

SHOWN: Final = 30
"""Characters of a delta that the transcripts show."""


def java() -> dict[str, tuple[str, str]]:
    """The recorded transcripts by their number: what they are of, and the stream."""
    lines = (Path(__file__).parent / "java_transcripts.jsonl").read_text(encoding="utf-8").splitlines()
    return {entry["id"]: (entry["title"], entry["stream"]) for entry in map(json.loads, lines)}


_DIGIT: Final = re.compile(r"^([A-Z]{2})\d")
_DELTA: Final = re.compile(r"^([A-Z]D|RT)(.*?)«(.*)»(.*)$")


def plain(stream: str) -> list[str]:
    """Java's stream without the numbers of its many reply ids, and with neighbouring deltas as one."""
    tokens = re.findall(r"(?:[^\s«]|«[^»]*»)+", stream)
    return joined(_DIGIT.sub(r"\1", token).replace("XI''", "XI") for token in tokens)


def render(record: CallRecord) -> list[str]:
    """Our stream in the same legend."""
    tokens = [_token(event) for event in record.events]
    return joined([*tokens, "!error"] if record.error is not None else tokens)


def joined(tokens: Iterable[str]) -> list[str]:
    """Put neighbouring deltas of one block together."""
    result: list[tuple[str, str, str, str]] = []
    for token in tokens:
        delta = _DELTA.match(token)
        code, key, text, rest = delta.groups() if delta else (token, "", "", "")
        last = result[-1] if result else ("", "", "", "")
        if delta and last[0] == code and last[1] == key and last[3] == rest:
            result[-1] = (code, key, last[2] + text, rest)
        else:
            result.append((code, key, text, rest))
    return [_written(*parts) for parts in result]


def _written(code: str, key: str, text: str, rest: str) -> str:
    if not _is_delta(code):
        return code
    return f"{code}{key}«{text if len(text) <= SHOWN else text[:SHOWN] + '…'}»{rest}"


def _is_delta(code: str) -> bool:
    return code in {"TD", "HD", "CD", "RT"}


def _token(event: AgentEvent) -> str:
    source = f"@{event.source}" if event.source else ""
    code = CODES[type(event)]
    match event:
        case ToolCallDeltaEvent() | ToolResultTextDeltaEvent():
            text = f":{event.tool_call_id}«{event.delta}»"
        case TextBlockDeltaEvent() | ThinkingBlockDeltaEvent():
            text = f"«{event.delta}»"
        case ToolResultEndEvent():
            text = f":{event.tool_call_id}={event.state.value}"
        case ToolCallStartEvent() | ToolCallEndEvent() | ToolResultStartEvent() | ToolResultDataDeltaEvent():
            text = f":{event.tool_call_id}"
        case AgentResultEvent():
            assert event.result is not None
            text = f"[{event.result.generate_reason}]"
        case RequestStopEvent():
            text = f"[{event.generate_reason}]"
        case RequireUserConfirmEvent() | RequireExternalExecutionEvent():
            text = f"[{','.join(f'{call.id}/{call.state.value}' for call in event.tool_calls)}]"
        case UserConfirmResultEvent():
            text = f"[{','.join(each.tool_call.id for each in event.confirm_results if each.tool_call)}]"
        case ExternalExecutionResultEvent():
            text = f"[{','.join(each.id for each in event.tool_results)}]"
        case CustomEvent():
            text = f"({event.name})"
        case _:
            text = ""
    return f"{code}{text}{source}"


@tool
async def add(a: int, b: int) -> str:
    """Add."""
    return str(a + b)


@tool
async def wait(ms: int, out: ToolEmitter) -> str:
    """Take some time; say so on the way, if the time is a round one."""
    await asyncio.sleep(ms / 1000)
    if ms in (200, 50, 300):
        out.emit(f"chunk{ms}")
        return ""
    return f"q{ms}"


@tool
async def guarded(x: str) -> str:
    """Do something that may not be done unasked."""
    return f"g{x}"


@tool
async def look() -> list[Any]:
    """Return words and a picture."""
    return [TextBlock("see"), DataBlock(Base64Source("image/png", "AAAA"))]


@tool
async def empty() -> str:
    """Return nothing but a text without a letter."""
    return ""


@tool
async def nothing() -> None:
    """Return nothing."""


@tool
async def broken() -> str:
    """Fail."""
    raise ValueError("kaboom")


@tool
async def human(q: str) -> str:
    """Wait for somebody."""
    raise ToolSuspendError("need human")


QUERY: Final = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
outside: Final = external_tool("outside", "Runs elsewhere.", QUERY)

ADD: Final = '{"a":1,"b":2}'


def call(name: str, id: str, arguments: str = ADD) -> ToolUseBlock:
    return tool_call(name, arguments, id)


def agent(*script: Any, tools: Sequence[Any] = (add, wait), **options: Any) -> ReActAgent:
    return ReActAgent("main", model=ScriptedModel(*script), toolkit=tools, max_retries=0, **options)


SETUPS: dict[str, Callable[[], Awaitable[CallRecord]]] = {}
"""By number, what runs a transcript's set-up and returns the call that it shows."""


def script(number: str, *steps: Any, **options: Any) -> None:
    """Register a lone call."""

    async def run() -> CallRecord:
        return await acheck_call(agent(*steps, **options), "go")

    SETUPS[number] = run


script("A1", ["Hel", "lo"])
script("A2", [thinking("thi"), thinking("nk"), "ans"])
script("A3", ["a", thinking("t1"), "b", thinking("t2")])
script("A4", ["let me ", call("add", "c1")], "3")
script("A5", ["pre ", call("add", "c1"), "post"], "3")
script("A6", [call("wait", f"c{i}", f'{{"ms":{ms}}}') for i, ms in enumerate((200, 50, 100, 10), 1)], "ok")
script(
    "A7",
    [
        ToolCallChunk('{"a":1,', "c1", "add", 0),
        ToolCallChunk('{"a":5,', "c2", "add", 1),
        ToolCallChunk('"b":2}', "", "", 0),
        ToolCallChunk('"b":6}', "", "", 1),
    ],
    "ok",
)
script(
    "A8",
    [
        ToolCallChunk('{"a":1,', "c1", "add", 0),
        ToolCallChunk('{"a":5,', "c2", "add", 1),
        ToolCallChunk('"b":2}', "c1", "add", 0),
        ToolCallChunk('"b":6}', "c2", "add", 1),
    ],
    "ok",
)
script("A9", [ToolUseBlock("c1", "add", {"a": 1, "b": 2})], "ok")
script(
    "A10",
    call("look", "c1", "{}"),
    [call("empty", "c2", "{}"), call("nothing", "c3", "{}"), call("nothing", "c4", "{}")],
    "ok",
    tools=[look, empty, nothing],
)
script(
    "A11",
    [
        call("broken", "c1", "{}"),
        call("nope", "c2", "{}"),
        call("add", "c3", '{"a":1}'),
        call("add", "c4", "{oops"),
    ],
    "ok",
    tools=[broken, add],
)
script("A12", call("add", "c1"), call("add", "c2"), "summary", max_iters=2)
script("A13", call("add", "c1"), ModelError("no"), max_iters=1)
script("A14", ["par", ModelError("no")])
script("A17", thinking("only"), "  ", "real")
script("A18", [], [])
script("A37", call("wait", "c1", '{"ms":300}'), "fin", tools=[evolve(wait, timeout=0.02)])


class Stops(MiddlewareBase):
    """Asks to stop when a phase of the model, or of the tools, is over."""

    def __init__(self, hook: str, reason: GenerateReason) -> None:
        self.hook = hook
        self.reason = reason

    def on_reasoning(self, agent: Any, ctx: Any, input: Any, next: Any) -> Any:
        return self.then_stop("on_reasoning", next(input))

    def on_acting(self, agent: Any, ctx: Any, input: Any, next: Any) -> Any:
        return self.then_stop("on_acting", next(input))

    def then_stop(self, hook: str, events: Observable[AgentEvent]) -> Observable[AgentEvent]:
        stop = RequestStopEvent("enough", self.reason)
        return rx.concat(events, rx.of(stop)) if hook == self.hook else events


class StopsWhenAllIsDenied(MiddlewareBase):
    """Stops when the human has denied everything."""

    def on_acting(self, agent: Any, ctx: Any, input: Any, next: Any) -> Any:
        stop = RequestStopEvent("denied", GenerateReason.ALL_TOOLS_DENIED)

        def with_stop(event: AgentEvent) -> Observable[AgentEvent]:
            return rx.of(event, stop) if isinstance(event, AllToolsDeniedEvent) else rx.of(event)

        return next(input).pipe(ops.concat_map(with_stop))


class Cached(MiddlewareBase):
    """Answers in the place of the model."""

    def on_model_call(self, agent: Any, ctx: Any, input: Any, next: Any) -> Any:
        return rx.of(
            TextBlockStartEvent("", "t"), TextBlockDeltaEvent("", "t", "cached"), TextBlockEndEvent("", "t")
        )


@on_model_call
def rewritten(events: Observable[AgentEvent]) -> Observable[AgentEvent]:
    """Words in capitals, no arguments, and an event more."""
    louder = agent_ops.map_type(TextBlockDeltaEvent, lambda e: evolve(e, delta=e.delta.upper()))
    without = agent_ops.map_type(ToolCallDeltaEvent, lambda _: None)
    return events.pipe(louder, without, ops.start_with(CustomEvent("inj-onModelCall")))


BY_MIDDLEWARE: Final = GenerateReason.MIDDLEWARE_STOP_REQUESTED

script("A28", ["pre", call("add", "c1")], middlewares=[Stops("on_reasoning", BY_MIDDLEWARE)])
script(
    "A29",
    ["pre", call("add", "c1")],
    middlewares=[Stops("on_reasoning", GenerateReason.REASONING_STOP_REQUESTED)],
)
script("A30", call("add", "c1"), middlewares=[Stops("on_acting", BY_MIDDLEWARE)])
script("A31", ["hel", "lo", call("add", "c1")], "fin", middlewares=[rewritten])
script("A32", "not asked", middlewares=[Cached()])


async def interrupted(steps: list[Any], when: Callable[[AgentEvent], bool], **options: Any) -> CallRecord:
    friend = agent(steps, **options)

    @on_agent
    def watch(events: Observable[AgentEvent]) -> Observable[AgentEvent]:
        return events.pipe(ops.do_action(lambda event: friend.interrupt() if when(event) else None))

    friend = evolve(friend, middlewares=[watch])
    return await acheck_call(friend, "go")


async def a15() -> CallRecord:
    steps = [thinking("T"), "par", ToolCallChunk('{"a":1,', "c1", "add", 0), pause(30)]
    return await interrupted(steps, lambda event: isinstance(event, ToolCallDeltaEvent))


async def a16() -> CallRecord:
    steps = [call("wait", "c1", '{"ms":300}'), call("wait", "c2", '{"ms":10}')]
    return await interrupted(steps, lambda event: isinstance(event, ToolResultEndEvent))


def rules(behavior: PermissionBehavior, *allowed: str) -> PermissionContextState:
    rule = PermissionRule("guarded", None, behavior)
    table = {PermissionBehavior.ASK: "ask_rules", PermissionBehavior.DENY: "deny_rules"}[behavior]
    allow = {name: [PermissionRule(name)] for name in allowed}
    return PermissionContextState(**{table: {"guarded": [rule]}, "allow_rules": allow})


def asking(*steps: Any, **options: Any) -> ReActAgent:
    ask = rules(PermissionBehavior.ASK, "add")
    return agent(*steps, tools=[guarded, add], permission=ask, **options)


THREE: Final = [
    "pre",
    call("guarded", "c1", '{"x":"1"}'),
    call("guarded", "c2", '{"x":"2"}'),
    call("add", "c3"),
]
TWO: Final = [call("guarded", "c1", '{"x":"1"}'), call("guarded", "c2", '{"x":"2"}')]


def answers(record: CallRecord, **confirmed: bool) -> ConfirmResults:
    (question,) = (event for event in record.events if isinstance(event, RequireUserConfirmEvent))
    asked = {call.id: call for call in question.tool_calls}
    return ConfirmResults([ConfirmResult(yes, asked[id]) for id, yes in confirmed.items()])


async def a19() -> CallRecord:
    return await acheck_call(asking(THREE), "go")


async def a20() -> CallRecord:
    friend = asking(THREE)
    question = await acheck_call(friend, "go")
    return await acheck_call(friend, answers(question, c1=True))


async def a21() -> CallRecord:
    friend = asking(THREE, "fin")
    question = await acheck_call(friend, "go")
    return await acheck_call(friend, answers(question, c1=True, c2=False))


async def denied(**options: Any) -> CallRecord:
    friend = asking(TWO, "fin", **options)
    question = await acheck_call(friend, "go")
    return await acheck_call(friend, answers(question, c1=False, c2=False))


async def a23() -> CallRecord:
    return await denied(middlewares=[StopsWhenAllIsDenied()])


script(
    "A24",
    [call("guarded", "c1", '{"x":"1"}'), call("add", "c3")],
    "fin",
    tools=[guarded, add],
    permission=rules(PermissionBehavior.DENY, "add"),
)

OUTSIDE: Final = [
    call("outside", "c1", '{"q":"1"}'),
    call("human", "c2", '{"q":"2"}'),
    call("add", "c3"),
]


async def going_outside(*inputs: CallInput) -> CallRecord:
    friend = agent(OUTSIDE, "fin", tools=[outside, human, add])
    record = await acheck_call(friend, "go")
    for input in inputs:
        record = await acheck_call(friend, input)
    return record


def outcome(id: str) -> ExternalResults:
    return ExternalResults(ToolResultBlock(id, "", [TextBlock("done")]))


async def a26() -> CallRecord:
    return await going_outside(outcome("c1"))


async def a27() -> CallRecord:
    rest = ToolResultMessage(ToolResultBlock("c2", "human", [TextBlock("done")]))
    return await going_outside(outcome("c1"), [rest, UserMessage("and hurry")])


SETUPS.update(
    {
        "A15": a15,
        "A16": a16,
        "A19": a19,
        "A20": a20,
        "A21": a21,
        "A22": denied,
        "A23": a23,
        "A25": going_outside,
        "A26": a26,
        "A27": a27,
    }
)

CITY: Final = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "t": {"type": "integer"}},
    "required": ["city", "t"],
}


def responding(id: str) -> ToolUseBlock:
    return call("generate_response", id, '{"response":{"city":"SF","t":3}}')


def structured(number: str, *steps: Any, native: bool = False) -> None:
    async def run() -> CallRecord:
        model = ScriptedModel(*steps, native_structured_output=native)
        friend = ReActAgent("main", model=model, toolkit=[add], max_retries=0)
        return await acheck_call(friend, "go", output=CITY)

    SETUPS[number] = run


structured("A33", [thinking("T1"), call("add", "c1")], [thinking("T2"), responding("c2")])
structured("A34", [responding("c1"), call("add", "c2")])
structured("A35", ['{"city":"SF",', '"t":3}'], native=True)
structured("A36", ["par", ModelError("no")], native=True)


async def a38() -> CallRecord:
    def working(name: str, id: str, for_whom: ReActAgent, last: str) -> ReActAgent:
        steps = ([call(f"call_{for_whom.name}", id, '{"message":"go"}')], last)
        return ReActAgent(name, model=ScriptedModel(*steps), toolkit=[for_whom], max_retries=0)

    grand = ReActAgent("gr", model=ScriptedModel("GRAND"))
    return await acheck_call(working("main", "k1", working("ch", "k2", grand, "CHILD"), "PARENT"), "go")


SETUPS["A38"] = a38
