"""Groups of tools: what a session sees, and the tool with which a model chooses."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest
from reactivex import operators as ops

from agentscope_rx.agent import ReActAgent
from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEvent, ToolResultEndEvent, ToolResultTextDeltaEvent
from agentscope_rx.message import ToolResultBlock, ToolResultState, ToolUseBlock
from agentscope_rx.permission import PermissionBehavior, PermissionContextState, PermissionMode, decide
from agentscope_rx.state import AgentState, SessionState, ToolContextState
from agentscope_rx.testing import ScriptedCall, ScriptedModel, check_call, pause, tool_call
from agentscope_rx.tool import ToolGroup, ToolGroupScope, Toolkit, run_tool, tool


@tool
def search(query: str) -> str:
    return query


@tool
def add(a: int, b: int) -> int:
    return a + b


@tool
def power(a: int, b: int) -> int:
    return int(a**b)


class Net:
    @tool
    def ping(self, host: str) -> str:
        return host


MATH = ToolGroup("math", "Sums", [add, power], active=False)
NET = ToolGroup("net", "The network", [Net()])
SKILL = ToolGroup("skill", "A skill", [add], active=False, scope=ToolGroupScope.EXTERNAL)
KIT = Toolkit(search, MATH, NET, SKILL, meta_tool=True)


def test_a_group_takes_what_a_toolkit_takes() -> None:
    group = ToolGroup("g", tools=[lambda_free, Net(), add])

    assert [each.name for each in group.tools] == ["lambda_free", "ping", "add"]
    assert (group.description, group.active, group.scope) == ("", True, ToolGroupScope.META)


def lambda_free(x: str) -> str:
    return x


def test_a_toolkit_shows_the_tools_outside_of_groups_and_those_of_the_initial_groups() -> None:
    assert KIT.names == ("reset_equipped_tools", "search", "ping")
    assert KIT.initial_groups == KIT.active_groups == ("net",)
    assert KIT.groups == (MATH, NET, SKILL)


def test_a_view_shows_what_a_session_sees_with_its_groups_active() -> None:
    view = KIT.view(["math"])

    assert view.names == ("reset_equipped_tools", "search", "add", "power")
    assert [schema.name for schema in view.schemas()] == list(view.names)
    assert [each.name for each in view] == list(view.names)
    assert (len(view), "add" in view, "ping" in view) == (4, True, False)
    assert view.get("add") is not None
    assert view.get("ping") is None
    assert (view.active_groups, view.initial_groups) == (("math",), ("net",))
    assert repr(view) == "Toolkit(reset_equipped_tools, search, add, power)"


def test_a_tool_in_several_groups_is_shown_while_one_of_them_is_active() -> None:
    assert "add" in KIT.view(["skill"])
    assert "power" not in KIT.view(["skill"])
    assert "add" in KIT.view(["math", "skill"])
    assert KIT.view([]).names == ("reset_equipped_tools", "search")


def test_a_view_leaves_the_toolkit_as_it_was_and_names_that_are_no_groups_are_passed_over() -> None:
    before = KIT.names
    view = KIT.view(["math", "gone"])

    assert view.active_groups == ("math",)
    assert (KIT.names, view.view(["net"]).names) == (before, before)


def test_a_toolkit_without_groups_is_its_own_view_and_one_with_the_same_groups_active_too() -> None:
    plain = Toolkit(search)

    assert plain.view(["math"]) is plain
    assert KIT.view(["net"]) is KIT


def test_a_larger_toolkit_keeps_groups_and_what_is_active() -> None:
    new = ToolGroup("new", tools=[power])
    larger = KIT.view(["math"]).with_tools(lambda_free, attrs.evolve(new, tools=[lambda_free_too]))

    assert larger.names == (
        "reset_equipped_tools",
        "search",
        "add",
        "power",
        "lambda_free",
        "lambda_free_too",
    )
    assert larger.active_groups == ("math", "new")


def lambda_free_too(x: str) -> str:
    return x


def test_a_toolkit_says_in_which_groups_a_tool_is() -> None:
    assert KIT.groups_of("add") == ("math", "skill")
    assert KIT.groups_of("search") == KIT.groups_of("unknown") == ()


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ((ToolGroup("a"), ToolGroup("a")), "two groups are named 'a'"),
        ((add, ToolGroup("a", tools=[add])), "two tools are named 'add'"),
        ((ToolGroup("a", tools=[add]), add), "two tools are named 'add'"),
        ((ToolGroup("a", tools=[add, add]),), "two tools are named 'add'"),
        (
            (ToolGroup("a", tools=[add]), ToolGroup("b", tools=[attrs.evolve(add, timeout=1)])),
            "two tools are named 'add'",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(tools: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Toolkit(*tools)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": " "}, "' ' is no name for a group"),
        ({"name": 3}, "3 is no name for a group"),
        ({"name": "g", "tools": "add"}, "the tools of a group are 'add'; give a list"),
        ({"name": "g", "tools": add}, "the tools of a group are .*give a list"),
        ({"name": "g", "tools": [3]}, "3 is no tool"),
        ({"name": "g", "description": None}, "description is None"),
        ({"name": "g", "active": 1}, "active is 1"),
        ({"name": "g", "scope": "META"}, "scope is 'META'; give ToolGroupScope"),
    ],
)
def test_what_is_no_group_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ToolGroup(**options)


def test_a_meta_tool_without_a_group_to_choose_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="meta_tool=True, and no group to choose"):
        Toolkit(search, SKILL, meta_tool=True)


def test_a_tool_of_the_meta_tool_s_name_is_refused_beside_it() -> None:
    @tool(name="reset_equipped_tools")
    def mine() -> None: ...

    assert Toolkit(mine, MATH).names == ("reset_equipped_tools",)
    with pytest.raises(ConfigurationError, match="two tools are named 'reset_equipped_tools'"):
        Toolkit(mine, MATH, meta_tool=True)


# In a run.


def run(kit: Toolkit, name: str, session: SessionState | None = None, **input: Any) -> list[AgentEvent]:
    ctx = RuntimeContext(objects=() if session is None else [session])
    return run_tool(ToolUseBlock("c", name, input), kit, reply_id="r", ctx=ctx).pipe(ops.to_list()).run()


def text(events: list[AgentEvent]) -> str:
    return "".join(e.delta for e in events if isinstance(e, ToolResultTextDeltaEvent))


def state(events: list[AgentEvent]) -> ToolResultState:
    end = events[-1]
    assert isinstance(end, ToolResultEndEvent)
    return end.state


def session_with(*active: str) -> SessionState:
    return SessionState(AgentState(tool_context=ToolContextState(activated_groups=active)))


def active_in(session: SessionState) -> tuple[str, ...]:
    return session.value.tool_context.activated_groups


@pytest.mark.parametrize(
    ("kit", "name", "words"),
    [
        (
            KIT,
            "power",
            "Error: Unauthorized tool call: 'power' is not available: its group 'math' is not active. "
            "Activate 'math' with reset_equipped_tools and call it again.",
        ),
        (
            KIT,
            "add",
            "Error: Unauthorized tool call: 'add' is not available: none of its groups 'math', 'skill' is "
            "active. Activate 'math' with reset_equipped_tools and call it again.",
        ),
        (
            Toolkit(search, MATH),
            "power",
            "Error: Unauthorized tool call: 'power' is not available: its group 'math' is not active.",
        ),
        (
            Toolkit(search, SKILL, NET, meta_tool=True),
            "add",
            "Error: Unauthorized tool call: 'add' is not available: its group 'skill' is not active.",
        ),
        (
            KIT,
            "sum",
            "Error: Tool not found: 'sum'. The tools are: reset_equipped_tools, search, ping.",
        ),
    ],
)
def test_a_call_of_a_tool_that_is_not_shown_is_a_result_that_names_its_group(
    kit: Toolkit, name: str, words: str
) -> None:
    events = run(kit, name, a=2, b=3)

    assert (text(events), state(events)) == (words, ToolResultState.ERROR)


def test_the_meta_tool_tells_the_model_the_groups_that_it_may_choose() -> None:
    meta = KIT.get("reset_equipped_tools")
    assert meta is not None

    assert meta.description.endswith("The groups are:\n- math: Sums\n- net: The network")
    assert meta.parameters == {
        "type": "object",
        "properties": {
            "to_activate": {
                "type": "array",
                "items": {"type": "string", "enum": ["math", "net"]},
                "description": "The groups that are to be active; all others are put away.",
            }
        },
        "required": ["to_activate"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("before", "chosen", "after", "words"),
    [
        (["net"], ["math"], ("math",), "These groups are active now, with their tools:\n- math: add, power"),
        (
            ["net"],
            ["net", "math", "net"],
            ("math", "net"),
            "These groups are active now, with their tools:\n- math: add, power\n- net: ping",
        ),
        (["net", "math"], [], (), "None of your groups is active now."),
        (
            ["skill", "net", "gone"],
            ["math"],
            ("math", "skill"),
            "These groups are active now, with their tools:\n- math: add, power",
        ),
    ],
)
def test_the_meta_tool_sets_which_groups_of_its_session_are_active(
    before: list[str], chosen: list[str], after: tuple[str, ...], words: str
) -> None:
    session = session_with(*before)
    events = run(KIT.view(before), "reset_equipped_tools", session, to_activate=chosen)

    assert active_in(session) == after
    assert (text(events), state(events)) == (words, ToolResultState.SUCCESS)
    assert KIT.active_groups == ("net",)


@pytest.mark.parametrize("chosen", [["math", "maths"], ["skill"]])
def test_a_name_that_may_not_be_chosen_is_an_error_and_nothing_changes(chosen: list[str]) -> None:
    session = session_with("net")
    events = run(KIT, "reset_equipped_tools", session, to_activate=chosen)

    assert text(events) == (
        f"Error: There is no group {chosen[-1]!r}, so nothing has changed. The groups are: 'math', 'net'."
    )
    assert (state(events), active_in(session)) == (ToolResultState.ERROR, ("net",))


def test_a_choice_that_is_no_list_is_an_error() -> None:
    session = session_with("net")
    events = run(KIT, "reset_equipped_tools", session, to_activate="math")

    assert "$.to_activate: expected array, got str" in text(events)
    assert active_in(session) == ("net",)


def test_without_a_session_there_is_nothing_to_set() -> None:
    assert "there is no SessionState for its parameter 'state'" in text(
        run(KIT, "reset_equipped_tools", to_activate=[])
    )


@pytest.mark.parametrize("mode", PermissionMode)
def test_choosing_groups_is_asked_about_in_no_mode(mode: PermissionMode) -> None:
    call = ToolUseBlock("c", "reset_equipped_tools", {"to_activate": ["math"]})
    decision = decide(call, KIT.get("reset_equipped_tools"), PermissionContextState(mode))

    assert decision.behavior is PermissionBehavior.ALLOW


def test_two_sessions_of_one_toolkit_have_their_own_groups() -> None:
    ann, bob = session_with("net"), session_with("net")

    run(KIT, "reset_equipped_tools", ann, to_activate=["math"])

    assert KIT.view(active_in(ann)).names == ("reset_equipped_tools", "search", "add", "power")
    assert KIT.view(active_in(bob)).names == ("reset_equipped_tools", "search", "ping")


# In an agent.


@pytest.mark.asyncio
async def test_sessions_of_one_agent_choose_at_the_same_time_and_none_sees_the_choice_of_another() -> None:
    seen: dict[str, list[tuple[str, ...]]] = {}

    def answer(asked: ScriptedCall) -> list[ToolUseBlock | str]:
        user, *wanted = asked.text.split()
        seen.setdefault(user, []).append(tuple(schema.name for schema in asked.tools))
        if asked.results:
            return [pause(0.001), "done"]
        return [pause(0.001), tool_call("reset_equipped_tools", to_activate=wanted)]

    agent = ReActAgent("a", model=ScriptedModel(answer), toolkit=KIT)
    wishes = {f"user-{i}": ["math"] if i % 2 else [] for i in range(20)}

    async def ask(user: str) -> None:
        ctx = RuntimeContext(user_id=user)
        for _ in range(2):
            await agent.reply(" ".join([user, *wishes[user]]), ctx)

    await asyncio.gather(*map(ask, wishes))

    first = ("reset_equipped_tools", "search", "ping")
    for user, wanted in wishes.items():
        then = KIT.view(wanted).names
        assert seen[user] == [first, then, then, then]
        assert agent.get_agent_state(RuntimeContext(user_id=user)).tool_context.activated_groups == tuple(
            wanted
        )


def test_a_tool_that_is_taken_up_and_called_in_one_step_is_not_there_yet() -> None:
    calls = [tool_call("reset_equipped_tools", to_activate=["math"]), tool_call("power", a=2, b=3)]
    model = ScriptedModel(calls, tool_call("power", a=2, b=3), "8")
    record = check_call(ReActAgent("a", model=model, toolkit=KIT), "2 to the 3?")

    results = record.message.get_content_blocks(ToolResultBlock)
    assert [result.state for result in results] == ["success", "error", "success"]
    assert results[1].text_content.startswith("Error: Unauthorized tool call: 'power' is not available")
    assert results[2].text_content == "8"
