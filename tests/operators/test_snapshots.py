from __future__ import annotations

import gc
from collections.abc import Iterator
from threading import Thread
from weakref import WeakSet, ref

import pytest
import reactivex
from reactivex.subject import Subject

from agentscope_rx import _json
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ExternalExecutionResultEvent,
    TextBlockDeltaEvent,
    TextBlockStartEvent,
    ToolCallStartEvent,
)
from agentscope_rx.message import AssistantMessage, Msg, TextBlock, ToolResultBlock, ToolResultState
from agentscope_rx.operators import ReplyFold, Snapshot, snapshots, to_msg
from tests.operators.marbles import Stage, messages
from tests.streams import reply


def words(count: int) -> Iterator[AgentEvent]:
    yield AgentStartEvent("s", "r")
    yield TextBlockStartEvent("r", "t")
    for number in range(count):
        yield TextBlockDeltaEvent("r", "t", f"{number} ")


def text_of(snapshot: Snapshot) -> str:
    return snapshot.message.text_content


def collected(events: Iterator[AgentEvent]) -> list[Snapshot]:
    made: list[Snapshot] = []
    reactivex.from_iterable(events).pipe(snapshots()).subscribe(made.append)
    return made


def test_each_event_has_its_snapshot_when_it_comes() -> None:
    stage = Stage()
    made = stage.run(stage.cold("-A-S-a-b-E-Z-|").pipe(snapshots()))

    assert [(tick, kind) for tick, kind, _ in made] == [
        (tick, kind) for tick, kind, _ in messages("-1-2-3-4-5-6-|")
    ]
    snapshots_made = [value for _, kind, value in made if kind == "N"]
    assert [text_of(snapshot) for snapshot in snapshots_made] == ["", "", "a", "ab", "ab", "ab"]
    assert [snapshot.complete for snapshot in snapshots_made] == [False] * 5 + [True]


def test_a_snapshot_read_late_is_the_same_as_one_read_at_once() -> None:
    late = collected(words(1_000))

    assert [text_of(snapshot) for snapshot in late[1:4]] == ["", "0 ", "0 1 "]
    assert text_of(late[700]) == " ".join(str(number) for number in range(699)) + " "
    assert text_of(late[2]) == "0 "


def test_what_was_read_never_changes() -> None:
    subject: Subject[AgentEvent] = Subject()
    made: list[Snapshot] = []
    subject.pipe(snapshots()).subscribe(made.append)
    read: list[Msg] = []
    for event in words(20):
        subject.on_next(event)
        read.append(made[-1].message)

    assert [snapshot.message for snapshot in made] == read
    assert all(snapshot.message is message for snapshot, message in zip(made, read, strict=True))


def test_a_message_is_read_without_a_copy_of_what_was_read_before() -> None:
    blocks: list[object] = []

    def keep(snapshot: Snapshot) -> None:
        blocks.extend(snapshot.message.content[:1])

    reactivex.from_iterable(reply(3)).pipe(snapshots()).subscribe(keep)
    assert len({id(block) for block in blocks[-5:]}) == 1


@pytest.mark.parametrize("keep", [0, 1, 3])
def test_what_late_reading_needs_goes_with_the_snapshots(keep: int) -> None:
    subject: Subject[AgentEvent] = Subject()
    kept: list[Snapshot] = []
    alive: WeakSet[Snapshot] = WeakSet()

    def on_next(snapshot: Snapshot) -> None:
        alive.add(snapshot)
        kept.append(snapshot)
        del kept[: max(0, len(kept) - keep)]

    subject.pipe(snapshots()).subscribe(on_next)
    for event in words(5_000):
        subject.on_next(event)
    gc.collect()

    # Links to at most half of what there is to copy.
    assert len(alive) <= (0 if keep == 0 else 2_600)
    assert [text_of(snapshot)[-5:] for snapshot in kept] == ["4997 ", "4998 ", "4999 "][3 - keep :]
    subject.dispose()
    kept.clear()
    assert list(alive) == []


def test_a_snapshot_alone_keeps_nothing_that_comes_after_it() -> None:
    subject: Subject[AgentEvent] = Subject()
    first: list[Snapshot] = []
    later: list[ref[Snapshot]] = []

    def on_next(snapshot: Snapshot) -> None:
        (later.append(ref(snapshot)) if first else first.append(snapshot))

    subject.pipe(snapshots()).subscribe(on_next)
    for event in words(50):
        subject.on_next(event)

    assert [link() for link in later] == [None] * 51
    assert first[0].message.content == ()


def test_a_checkpoint_is_json_and_goes_on_from_its_moment() -> None:
    events = reply(7)
    whole = reactivex.from_iterable(events).pipe(to_msg()).run()

    for cut, snapshot in enumerate(collected(iter(events)), start=1):
        seed = _json.loads(_json.dumps(snapshot.checkpoint))
        rest = reactivex.from_iterable(events[cut:])
        assert rest.pipe(to_msg(seed=seed)).run() == whole
        *_, last = [snapshot, *_through(events[cut:], seed)]
        assert last.message == whole


def _through(events: list[AgentEvent], seed: dict[str, object]) -> list[Snapshot]:
    made: list[Snapshot] = []
    reactivex.from_iterable(events).pipe(snapshots(seed=seed)).subscribe(made.append)
    return made


def test_events_of_others_give_the_snapshot_that_was() -> None:
    stranger = (
        TextBlockStartEvent("other", "t", id="x"),
        TextBlockStartEvent("r", "t", source="main/x", id="y"),
    )
    made = collected(iter([AgentStartEvent("s", "r"), *stranger, *stranger]))

    assert len(made) == 5
    assert [snapshot.message.content for snapshot in made] == [()] * 5
    assert made[2] is made[3] is made[4]


def test_a_snapshot_may_be_read_while_the_stream_goes_on_elsewhere() -> None:
    events = list(words(2_000))
    prefixes = {}
    fold = ReplyFold()
    for count, event in enumerate(events):
        fold.apply(event)
        prefixes[count] = fold.message().text_content if count % 100 == 0 else None
    made: list[Snapshot] = []
    writer = Thread(
        target=lambda: reactivex.from_iterable(events).pipe(snapshots()).subscribe(made.append), daemon=True
    )
    writer.start()
    read = 0
    while read < len(events):
        if read < len(made):
            message = made[read].message
            assert prefixes[read] in (None, message.text_content)
            assert len(message.get_content_blocks(TextBlock)) == (read > 0)
            read += 1
    writer.join()


def test_a_snapshot_is_the_same_whether_the_one_before_it_was_read_or_not() -> None:
    outcome = ToolResultBlock("c", "", state=ToolResultState.SUCCESS)
    events = [
        ToolCallStartEvent("r", "c", ""),
        ExternalExecutionResultEvent("r", [outcome]),
        ToolCallStartEvent("r", "c", "tool"),
    ]
    read: list[AssistantMessage] = []
    reactivex.from_iterable(events).pipe(snapshots()).subscribe(lambda now: read.append(now.message))

    assert [snapshot.message for snapshot in collected(iter(events))] == read


def test_a_snapshot_shows_its_message() -> None:
    (snapshot,) = collected(iter([AgentStartEvent("s", "r", "Ann")]))

    assert repr(snapshot) == f"Snapshot({snapshot.message!r}, complete=False)"


def test_a_snapshot_of_the_end_is_complete() -> None:
    *_, last = collected(iter([AgentStartEvent("s", "r"), AgentEndEvent("r")]))

    assert last.complete


def test_wrong_arguments_are_refused_at_the_call() -> None:
    with pytest.raises(ConfigurationError, match="scope"):
        snapshots(scope="agent")  # type: ignore[arg-type]
