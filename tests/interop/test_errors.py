"""What is raised where nobody expects it, as an error of a stream."""

import asyncio

import pytest
from reactivex.scheduler import ImmediateScheduler

from agentscope_rx.errors import AgentScopeError
from agentscope_rx.interop import CallScheduler, as_error, goes_on, outside, words_of


def test_an_exception_is_its_own_error() -> None:
    boom = MemoryError("boom")

    assert as_error(boom) is boom


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (asyncio.CancelledError(), "cancelled"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (SystemExit(3), "SystemExit"),
        (GeneratorExit(), "GeneratorExit"),
    ],
)
def test_what_is_no_exception_is_the_cause_of_one(raised: BaseException, words: str) -> None:
    error = as_error(raised)

    assert isinstance(error, AgentScopeError)
    assert error.__cause__ is raised
    assert words in str(error)


def test_only_an_exit_goes_on() -> None:
    exits = [KeyboardInterrupt(), SystemExit()]

    assert [goes_on(error) for error in (*exits, asyncio.CancelledError(), ValueError())] == [
        True,
        True,
        False,
        False,
    ]


class MuteError(Exception):
    """Cannot say what it is about."""

    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (ValueError("no"), "ValueError: no"),
        (TimeoutError(), "TimeoutError"),
        (MuteError(), "MuteError: (its __str__ raised ValueError)"),
        (
            ExceptionGroup("two failed", [ValueError("a"), KeyError("b")]),
            "ExceptionGroup: two failed (2 sub-exceptions): ValueError: a; KeyError: 'b'",
        ),
    ],
)
def test_an_exception_in_words(raised: BaseException, words: str) -> None:
    assert words_of(raised) == words


def test_outside_of_a_call_whatever_escapes_is_raised() -> None:
    for scheduler in (None, ImmediateScheduler()):
        with pytest.raises(KeyError):
            outside(scheduler)(KeyError())


@pytest.mark.asyncio
async def test_inside_of_a_call_the_part_around_takes_it() -> None:
    taken: list[BaseException] = []
    boom = KeyError()

    outside(CallScheduler(asyncio.get_running_loop()).part(taken.append))(boom)

    assert taken == [boom]
