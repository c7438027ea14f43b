"""A limit for what a tool says: head and tail, a line between them, media in their place."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from reactivex import operators as ops

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import (
    AgentEvent,
    AgentStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.interop import to_async_iterable
from agentscope_rx.message import (
    ContentBlock,
    DataBlock,
    TextBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
)
from agentscope_rx.operators import to_msg
from agentscope_rx.tool import ToolEmitter, Toolkit, run_tool, tool
from agentscope_rx.tool._limit import OutputLimit, cut

IMAGE = DataBlock(URLSource("http://x/y.png"), "i")
OTHER = DataBlock(URLSource("http://x/z.png"), "o")


def limited(limit: float | None, blocks: Sequence[str | ContentBlock]) -> tuple[list[Any], list[Any]]:
    """What passes at once, and what comes at the end: texts, and ids of media."""

    def shown(block: ContentBlock) -> Any:
        return block.text if isinstance(block, TextBlock) else block.id  # type: ignore[attr-defined]

    output = OutputLimit(limit)
    at_once = [
        shown(passed)
        for block in blocks
        for passed, _ in output.add(TextBlock(block) if isinstance(block, str) else block)
    ]
    return at_once, [shown(block) for block, _ in output.rest()]


@pytest.mark.parametrize(
    ("limit", "blocks", "at_once", "rest"),
    [
        (None, ["abc", IMAGE, "def"], ["abc", "i", "def"], []),
        (math.inf, ["abc", "def"], ["abc", "def"], []),
        (6, ["abcdef"], ["abc"], ["def"]),
        (6, ["ab", "cd", "ef"], ["ab", "c"], ["def"]),
        (6, ["abcdefg"], ["abc"], ["\n… [1 characters left out] …\n", "efg"]),
        (6, list("abcdefghij"), ["a", "b", "c"], ["\n… [4 characters left out] …\n", "hij"]),
        (5, ["abcdefg"], ["abc"], ["\n… [2 characters left out] …\n", "fg"]),
        (1, ["abc"], ["a"], ["\n… [2 characters left out] …\n"]),
        (6, [IMAGE, "abcdefgh"], ["i", "abc"], ["\n… [2 characters left out] …\n", "fgh"]),
        (6, ["abcd", IMAGE, "ef"], ["abc"], ["d", "i", "ef"]),
        (6, ["abcd", IMAGE, "efg"], ["abc"], ["\n… [1 characters left out] …\n", "i", "efg"]),
        (6, ["abcd", IMAGE, "ef", "ghi"], ["abc", "i"], ["\n… [3 characters left out] …\n", "ghi"]),
        (6, ["abc", IMAGE, "def"], ["abc", "i"], ["def"]),
        (
            6,
            ["abcdef", IMAGE, "gh", OTHER],
            ["abc"],
            ["\n… [2 characters left out] …\n", "f", "i", "gh", "o"],
        ),
        (
            6,
            ["abcd", IMAGE, OTHER, "xxxx", "yyy"],
            ["abc", "i", "o"],
            ["\n… [5 characters left out] …\n", "yyy"],
        ),
        (6, [], [], []),
    ],
)
def test_the_head_passes_at_once_and_the_tail_at_the_end(
    limit: float | None, blocks: list[str | ContentBlock], at_once: list[Any], rest: list[Any]
) -> None:
    assert limited(limit, blocks) == (at_once, rest)


def test_however_it_comes_nothing_is_lost_unseen() -> None:
    chance = random.Random(1)
    for _ in range(300):
        text = "".join(chance.choice("abcdefgh") for _ in range(chance.randrange(40)))
        limit = chance.randrange(1, 40)
        cuts = sorted(chance.randrange(len(text) + 1) for _ in range(chance.randrange(6)))
        parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        at_once, rest = limited(limit, parts)

        tail = limit // 2
        head = limit - tail
        left_out = max(0, len(text) - limit)
        notice = f"\n… [{left_out} characters left out] …\n" if left_out else ""
        kept = text[len(text) - tail :] if left_out and tail else "" if left_out else text[head:]
        assert "".join(at_once) == text[:head]
        assert "".join(rest) == notice + kept


def test_held_text_is_joined_unless_its_metadata_differ() -> None:
    output = OutputLimit(8)
    for text, metadata in [("abcd", {}), ("e", {}), ("f", {"step": 1}), ("g", {"step": 1}), ("h", {})]:
        list(output.add(TextBlock(text), metadata))

    assert [(block, dict(metadata)) for block, metadata in output.rest()] == [
        (TextBlock("e"), {}),
        (TextBlock("fg"), {"step": 1}),
        (TextBlock("h"), {}),
    ]


def test_a_long_tail_of_single_characters_takes_no_quadratic_time() -> None:
    output = OutputLimit(400_000)
    began = time.process_time()
    list(output.add(TextBlock("x" * 400_000)))
    for _ in range(200_000):
        list(output.add(TextBlock("y")))
    assert "".join(b.text for b, _ in output.rest() if isinstance(b, TextBlock)).endswith("y" * 200_000)

    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("text", "limit", "shorter"),
    [
        ("abc", None, "abc"),
        ("abc", 3, "abc"),
        ("abcdef", 4, "ab\n… [2 characters left out] …\nef"),
        ("", 4, ""),
    ],
)
def test_a_text_is_cut_in_the_middle(text: str, limit: float | None, shorter: str) -> None:
    assert cut(text, limit) == shorter


# In a run.


def run(function: Any, *, toolkit_limit: float | None = None) -> list[AgentEvent]:
    toolkit = Toolkit(function, max_output=toolkit_limit)
    block = ToolUseBlock("c", toolkit.names[0])
    return run_tool(block, toolkit, reply_id="r").pipe(ops.to_list()).run()


def text(events: list[AgentEvent]) -> str:
    return "".join(e.delta for e in events if isinstance(e, ToolResultTextDeltaEvent))


CUT = "ab\n… [4 characters left out] …\ngh"


@pytest.mark.parametrize("kind", ["returned", "blocks", "emitted", "yielded", "emitted and returned"])
def test_the_limit_is_for_all_that_a_tool_gives(kind: str) -> None:
    def yields() -> Iterator[str]:
        yield from "abcdefgh"

    def works(out: ToolEmitter) -> Any:
        match kind:
            case "returned":
                return "abcdefgh"
            case "blocks":
                return [TextBlock("abc"), TextBlock("defgh")]
            case "emitted":
                for each in "abcdefgh":
                    out.emit(each)
                return None
            case _:
                out.emit("abcd")
                return "efgh"

    events = run(tool(name="f", max_output=4)(yields if kind == "yielded" else works))

    assert text(events) == CUT
    assert isinstance(events[-1], ToolResultEndEvent)
    assert events[-1].state is ToolResultState.SUCCESS


def test_what_is_streamed_is_what_the_message_holds() -> None:
    @tool(max_output=6)
    def work(out: ToolEmitter) -> str:
        out.emit("abcde")
        out.emit(IMAGE)
        return "fghijkl"

    events = run(work)
    result = to_msg()(_stream(events)).run().content[0]

    assert isinstance(result, ToolResultBlock)
    assert result.text_content.replace("\n", "") == "abc… [6 characters left out] …jkl"
    assert next(e for e in events if isinstance(e, ToolResultDataDeltaEvent)).url == "http://x/y.png"
    assert [type(block) for block in result.output] == [TextBlock, DataBlock, TextBlock]


def _stream(events: list[AgentEvent]) -> Any:
    import reactivex as rx

    return rx.from_iterable([AgentStartEvent("s", "r", "n"), *events])


@pytest.mark.asyncio
async def test_the_head_is_live_and_the_tail_waits_for_the_end() -> None:
    go_on = threading.Event()

    @tool(max_output=4)
    def work(out: ToolEmitter) -> str:
        out.emit("abc")
        go_on.wait(5)
        return "d"

    async with to_async_iterable(run_tool(ToolUseBlock("c", "work"), Toolkit(work), reply_id="r")) as events:
        await anext(events)
        first = await anext(events)
        assert isinstance(first, ToolResultTextDeltaEvent)
        assert first.delta == "ab"
        go_on.set()
        assert text([e async for e in events]) == "cd"


def test_what_went_wrong_is_told_below_the_tail() -> None:
    @tool(max_output=4)
    def fails(out: ToolEmitter) -> None:
        out.emit("abcdefgh")
        raise ValueError("no")

    assert text(run(fails)) == f"{CUT}\nError: Tool execution failed: ValueError: no"


def test_words_about_a_failure_have_the_limit_of_their_own() -> None:
    @tool(max_output=60)
    def fails() -> None:
        raise ValueError("x" * 5_000)

    said = text(run(fails))

    assert said.startswith("Error: Tool execution failed: ValueError: xxx")
    assert "characters left out" in said
    assert 1_000 < len(said) < 1_100


def test_a_tool_that_is_suspended_drops_nothing_that_it_has_said() -> None:
    from agentscope_rx.errors import ToolSuspendError

    @tool(max_output=4)
    def waits(out: ToolEmitter) -> None:
        out.emit("abcdefgh")
        raise ToolSuspendError("wait")

    assert text(run(waits)) == CUT


def test_a_toolkit_s_limit_is_for_tools_that_do_not_say_it_themselves() -> None:
    def work() -> str:
        return "abcdefgh"

    assert text(run(work, toolkit_limit=4)) == CUT
    assert text(run(tool(max_output=6)(work), toolkit_limit=4)) == "abc\n… [2 characters left out] …\nfgh"
    assert text(run(tool(max_output=math.inf)(work), toolkit_limit=4)) == "abcdefgh"


@pytest.mark.parametrize("limit", [0, -1, 2.5, True, math.nan])
def test_a_wrong_limit_is_refused(limit: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"max_output of tool 'f' is .*; give characters from 1"):

        @tool(max_output=limit)
        def f() -> None: ...
