"""What the fold is: the chain of RxPY's own operators; and `group_reduce` is RxPY's grouping and reducing."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
import reactivex
from reactivex import Observable, operators as ops

from agentscope_rx.event import AgentEvent
from agentscope_rx.message import Msg
from agentscope_rx.operators import group_reduce, to_msg
from agentscope_rx.typing import Operator
from tests.case_streams import RECONSTRUCT, REPORTED, Case
from tests.streams import chaos, reply


def load_example() -> ModuleType:
    file = Path(__file__).parents[2] / "examples" / "03_message_by_hand.py"
    spec = importlib.util.spec_from_file_location("message_by_hand", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


BY_HAND = load_example()


def folded(events: list[AgentEvent] | tuple[AgentEvent, ...], operator: Operator[Any, Msg]) -> list[Msg]:
    made: list[Msg] = []
    reactivex.from_iterable(events).pipe(operator).subscribe(made.append)
    return made


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id) for case in RECONSTRUCT + REPORTED if case.scope == "reply"]
)
def test_to_msg_is_the_chain_of_stock_operators_on_every_case(case: Case) -> None:
    by_hand = folded(case.events, BY_HAND.message_by_hand(case.reply_id))

    assert by_hand == folded(case.events, to_msg(case.reply_id))
    assert len(by_hand) == 1


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("stream", [reply, chaos])
def test_to_msg_is_the_chain_of_stock_operators_on_random_streams(
    seed: int, stream: Callable[[int], list[AgentEvent]]
) -> None:
    events = stream(seed)

    assert folded(events, to_msg("r1")) == folded(events, BY_HAND.message_by_hand("r1"))


def stock(
    key: Callable[[Any], Any],
    fold: Callable[[Any, Any], Any],
    seed: Callable[[], Any],
    until: Callable[[Any], bool],
) -> Operator[Any, Any]:
    """`group_reduce`, as RxPY has it: numbered groups, reduced side by side, put in order at the end."""

    def ended(group: Observable[Any]) -> Observable[Any]:
        return group.pipe(ops.filter(until))

    def reduced(group: Observable[Any], number: int) -> Observable[Any]:
        return group.pipe(ops.reduce(fold, seed()), ops.map(lambda state: (number, state)))

    def operator(source: Observable[Any]) -> Observable[Any]:
        return source.pipe(
            ops.group_by_until(key, None, ended),
            ops.flat_map_indexed(reduced),
            ops.to_list(),
            ops.flat_map(lambda pairs: reactivex.from_iterable(state for _, state in sorted(pairs))),
        )

    return operator


def append(items: tuple[str, ...], item: str) -> tuple[str, ...]:
    return (*items, item)


@pytest.mark.parametrize("seed", range(200))
def test_group_reduce_is_group_by_until_and_flat_map_of_reduce_in_order_of_opening(seed: int) -> None:
    random = Random(seed)
    items = ["".join(random.choice("abcD") for _ in range(2)) for _ in range(random.randint(0, 30))]
    arguments: Any = (lambda item: item[0].lower(), append)
    rest: Any = {"seed": tuple, "until": lambda item: item[1] == "D"}

    ours = reactivex.from_iterable(items).pipe(group_reduce(*arguments, **rest), ops.to_list()).run()
    theirs = reactivex.from_iterable(items).pipe(stock(*arguments, **rest), ops.to_list()).run()

    assert ours == theirs
