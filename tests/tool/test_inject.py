"""What a call fills in: decided by the type hint when a tool is made, found by type when it is called."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

import attrs
import pydantic
import pytest
from reactivex import operators as ops

from agentscope_rx.agent import Agent, ReActAgent
from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEvent, ToolResultEndEvent, ToolResultTextDeltaEvent
from agentscope_rx.message import ToolResultState, ToolUseBlock
from agentscope_rx.state import AgentState, SessionState
from agentscope_rx.testing import ScriptedModel
from agentscope_rx.tool import Injected, ToolEmitter, Toolkit, run_tool, tool
from agentscope_rx.tool._inject import Injection, injection

T = TypeVar("T")


class Db:
    def __init__(self, name: str = "db") -> None:
        self.name = name


class Replica(Db): ...


class Repository(Generic[T]): ...


class Clock(Protocol):
    def now(self) -> str: ...


@runtime_checkable
class Named(Protocol):
    name: str


@attrs.frozen
class User:
    id: str


@dataclasses.dataclass
class Service:
    db: Db


class Order(pydantic.BaseModel):
    item: str


@pytest.mark.parametrize(
    ("hint", "injected"),
    [
        (RuntimeContext, Injection(RuntimeContext)),
        (ToolEmitter | None, Injection(ToolEmitter, optional=True)),
        (ToolUseBlock, Injection(ToolUseBlock)),
        (AgentState, Injection(AgentState)),
        (SessionState, Injection(SessionState)),
        (Db, Injection(Db)),
        (Db | None, Injection(Db, optional=True)),
        (Annotated[Db, "the database"], Injection(Db)),
        (Repository[int], Injection(Repository)),
        (Service, Injection(Service)),
        (Named, Injection(Named)),
        (Agent, Injection(Agent)),
        (ReActAgent, Injection(ReActAgent)),
        (Annotated[User, Injected], Injection(User)),
        (Annotated[User | None, Injected], Injection(User, optional=True)),
        (Annotated[User, Injected] | None, Injection(User, optional=True)),
        (Annotated[sqlite3.Connection, Injected], Injection(sqlite3.Connection)),
        (Annotated[dict[str, int], Injected], Injection(dict)),
    ],
    ids=str,
)
def test_what_json_cannot_hold_and_what_is_marked_is_filled_in_by_the_call(
    hint: Any, injected: Injection
) -> None:
    assert injection(hint, "x", "f") == injected


@pytest.mark.parametrize(
    "hint",
    [
        str,
        int | None,
        list[int],
        dict[str, Any],
        Any,
        Literal["a"],
        date,
        User,
        User | None,
        Order,
        Path,  # Python's own: most likely a mistake, which the schema then names
        object,
        list[Db],
        Db | User,
        Callable[[int], int],
        Iterator[int],
    ],
    ids=str,
)
def test_everything_else_is_the_model_s(hint: Any) -> None:
    assert injection(hint, "x", "f") is None


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (
            Annotated[Db | User, Injected],
            r"'x' of tool 'f' is Injected as .*; give one class, or one and None",
        ),
        (Annotated[None, Injected], "'x' of tool 'f' is Injected as"),
        (Annotated[Any, Injected], "'x' of tool 'f' is Injected as"),
        (Annotated[object, Injected], "'x' of tool 'f' is Injected as"),
        (Clock, r"object of Clock, against which.*write @runtime_checkable above"),
        (Annotated[Clock, Injected], "object of Clock, against which"),
    ],
    ids=str,
)
def test_what_no_object_could_be_found_for_is_refused(hint: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        injection(hint, "x", "f")


def test_a_class_with_a_hint_that_cannot_be_resolved_is_refused_with_both_remedies() -> None:
    @dataclasses.dataclass
    class Plan:
        step: Missing  # type: ignore[name-defined]  # noqa: F821

    def f(plan: Plan) -> None: ...

    with pytest.raises(ConfigurationError, match=r"'plan' of tool 'f'.*'Missing'.*Import it.*Annotated\[…"):
        tool(f)

    def g(plan: Annotated[Plan, Injected]) -> None: ...

    assert tool(g).parameters["properties"] == {}


def test_a_type_of_python_s_own_is_refused_unless_it_is_marked() -> None:
    def read(path: Path) -> None: ...

    with pytest.raises(
        ConfigurationError, match=r"'path' of tool 'read' is of type .*Path.*Annotated\[…, Inj"
    ):
        tool(read)


def run(
    function: Any, *objects: Any, toolkit_objects: tuple[Any, ...] = (), **input: Any
) -> list[AgentEvent]:
    toolkit = Toolkit(function, objects=toolkit_objects)
    block = ToolUseBlock("call-1", toolkit.names[0], input)
    ctx = RuntimeContext(user_id="ann", objects=objects)
    return run_tool(block, toolkit, reply_id="r", ctx=ctx).pipe(ops.to_list()).run()


def text(events: list[AgentEvent]) -> str:
    return "".join(e.delta for e in events if isinstance(e, ToolResultTextDeltaEvent))


def find(db: Db) -> str:
    return db.name


def find_if_there_is_one(db: Db | None) -> str:
    return "none" if db is None else db.name


def find_in_the_usual(db: Db | None = Db("usual")) -> str:  # noqa: B008
    return "none" if db is None else db.name


@pytest.mark.parametrize(
    ("function", "objects", "result"),
    [
        (find, [Db("mine")], "mine"),
        (find, [User("u"), Replica("replica")], "replica"),
        (find, [Replica("replica"), Db("exact")], "exact"),
        (find_if_there_is_one, [Db("mine")], "mine"),
        (find_if_there_is_one, [], "none"),
        (find_in_the_usual, [Db("mine")], "mine"),
        (find_in_the_usual, [], "usual"),
    ],
)
def test_an_object_of_the_call_is_found_by_its_type(function: Any, objects: list[Any], result: str) -> None:
    assert text(run(function, *objects)) == result


def test_a_missing_object_is_a_result_that_names_the_type_and_the_remedy(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ran: list[int] = []

    def pay(amount: int, db: Db) -> None:
        ran.append(amount)

    events = run(pay, amount=1)

    assert text(events) == (
        "Error: Tool 'pay' did not run: there is no Db for its parameter 'db'. "
        "The application must give one: RuntimeContext(objects=[Db(…)])"
    )
    end = events[-1]
    assert isinstance(end, ToolResultEndEvent)
    assert (end.state, ran) == (ToolResultState.ERROR, [])
    assert [f"Error: {record.getMessage()}" for record in caplog.records] == [text(events)]


def test_an_object_of_the_toolkit_is_there_in_every_call_and_the_call_s_own_comes_first() -> None:
    assert text(run(find, toolkit_objects=(Db("shared"),))) == "shared"
    assert text(run(find, Db("mine"), toolkit_objects=(Db("shared"),))) == "mine"
    assert Toolkit(find, objects=[1]).with_tools(find_in_the_usual).objects == (1,)


def test_a_tool_gets_the_call_the_context_and_the_state_of_its_session() -> None:
    session = SessionState(AgentState(session_id="s"))

    def work(call: ToolUseBlock, ctx: RuntimeContext, state: AgentState, here: SessionState, n: int) -> str:
        here.update(lambda state: attrs.evolve(state, summary="changed"))
        return f"{call.id} {ctx.user_id} {state.session_id}{state.summary} {here.value.summary} {n}"

    assert text(run(work, session, n=3)) == "call-1 ann s changed 3"
    assert session.value.summary == "changed"


def test_a_state_without_a_session_is_found_by_its_type() -> None:
    def work(state: AgentState) -> str:
        return state.session_id

    assert text(run(work, AgentState(session_id="alone"))) == "alone"
    assert "there is no AgentState for its parameter 'state'" in text(run(work))


def test_a_tool_gets_the_agent_by_its_class_or_as_an_agent() -> None:
    agent = ReActAgent("Friday", model=ScriptedModel("x"))

    def by_class(me: ReActAgent) -> str:
        return me.name

    def by_protocol(me: Agent) -> str:
        return me.name

    assert text(run(by_class, agent)) == text(run(by_protocol, agent)) == "Friday"


def test_what_the_call_fills_in_is_hidden_and_the_model_cannot_fill_it_in() -> None:
    def work(n: int, db: Db, user: Annotated[User, Injected]) -> str:
        return f"{n} {db.name} {user.id}"

    made = tool(work)

    assert list(made.parameters["properties"]) == ["n"]
    assert made.parameters["required"] == ["n"]
    assert made.arguments(ToolUseBlock("c", "work", {"n": "1"})) == {"n": 1}
    assert made.arguments(ToolUseBlock("c", "work", {"n": 1, "user": {"id": "me"}})) is None
    events = run(work, Db(), User("you"), n=1, user={"id": "me"})
    assert "$.user: is unknown; the parameters are: n" in text(events)
    assert text(run(work, Db(), User("you"), n=1)) == "1 db you"


def test_an_open_tool_is_not_filled_in_by_the_model_either() -> None:
    def work(db: Db | None = None, **more: Any) -> str:
        return f"{db} {more}"

    assert text(run(work, db={"name": "x"}, a=1)) == "None {'a': 1}"
