"""Programs of their own: what happens at a fork and at the exit can be seen only from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time

import pytest

PRELUDE = """
import asyncio, os, sys, threading, time
import reactivex as rx
from reactivex import operators as ops
from agentscope_rx.interop import from_async_iterable, on_loop, shield

async def ticks(n, pause=0.001):
    try:
        for i in range(n):
            await asyncio.sleep(pause)
            yield i
    finally:
        await asyncio.sleep(0.001)
        print("cleaned up", flush=True)

def call(n, pause=0.001):
    return shield(on_loop(from_async_iterable(lambda: ticks(n, pause))))
"""


def run(program: str, *, timeout: float = 20, complains: str = "") -> tuple[str, float]:
    """Run a program with all warnings as errors; return what it printed and its seconds.

    It must end well, and say nothing on stderr, or at least what it `complains` of.
    """
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "faulthandler", "-c", PRELUDE + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0
    assert complains in done.stderr if complains else done.stderr == ""
    return done.stdout, time.monotonic() - began


def test_run_works_in_a_plain_script() -> None:
    assert run("print(call(3).run())")[0] == "cleaned up\n2\n"


def test_a_live_subscription_is_disposed_and_cleaned_up_at_the_exit() -> None:
    printed, _ = run("""
        began = threading.Event()
        call(10**6).subscribe(lambda i: i or (print("first", flush=True), began.set()))
        began.wait(5)
    """)
    assert printed == "first\ncleaned up\n"


def test_clean_up_that_hangs_does_not_hold_up_the_exit() -> None:
    _, seconds = run("""
        async def stubborn():
            try:
                yield 1
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(60)
        began = threading.Event()
        shield(on_loop(from_async_iterable(stubborn))).subscribe(lambda _: began.set())
        began.wait(5)
        time.sleep(0.05)
    """)
    assert seconds < 5


def test_a_subscriber_that_blocks_the_loop_does_not_hold_up_the_exit() -> None:
    printed, seconds = run("""
        began = threading.Event()
        call(3).subscribe(lambda _: (began.set(), time.sleep(60)))
        began.wait(5)
        print("leaving", flush=True)
    """)
    assert printed == "leaving\n"
    assert seconds < 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_parent_and_child_of_a_fork_both_call() -> None:
    printed, _ = run("""
        import warnings
        warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads
        call(2).run()
        pid = os.fork()
        if pid == 0:
            print("child", call(3).run(), flush=True)
            sys.exit(0)
        os.waitpid(pid, 0)
        print("parent", call(4).run(), flush=True)
    """)
    assert printed.splitlines() == ["cleaned up", "cleaned up", "child 2", "cleaned up", "parent 3"]


def test_an_exit_in_a_subscriber_does_not_end_the_loop_of_the_others() -> None:
    printed, _ = run(
        """
        began = threading.Event()
        def leave(_):
            began.set()
            sys.exit(3)
        call(3).subscribe(leave)
        began.wait(5)
        print(call(2).run(), flush=True)
    """,
        complains="SystemExit: 3",
    )
    assert printed.splitlines()[-1] == "1"


def test_a_source_that_exits_is_an_error_and_no_hang() -> None:
    printed, _ = run(
        """
        from agentscope_rx.errors import AgentScopeError
        async def leave():
            yield 1
            sys.exit(3)
        try:
            on_loop(from_async_iterable(leave)).run()
        except AgentScopeError as error:
            print(error)
        print(call(2).run(), flush=True)
    """,
    )
    assert printed.splitlines() == ["the source was ended by SystemExit", "cleaned up", "1"]


def test_two_loops_in_one_process_do_not_meet() -> None:
    printed, _ = run("""
        async def main():
            here = threading.current_thread().name
            mine, private = await asyncio.gather(
                asyncio.ensure_future(names()), asyncio.to_thread(lambda: names_call().run())
            )
            print(mine == here, private)
        async def name():
            yield threading.current_thread().name
        def names_call():
            return on_loop(from_async_iterable(name))
        async def names():
            return await names_call()
        asyncio.run(main())
    """)
    assert printed == "True agentscope-rx-loop\n"


def test_in_a_loop_of_the_user_s_an_exit_of_a_source_ends_the_program() -> None:
    printed, _ = run("""
        async def leave():
            yield 1
            sys.exit(3)
        async def main():
            try:
                await call_of(leave)
            except Exception as error:
                print(error, flush=True)
        def call_of(source):
            return shield(on_loop(from_async_iterable(source)))
        try:
            asyncio.run(main())
        except SystemExit as exit:
            print("left with", exit.code)
    """)
    assert "left with 3" in printed


@pytest.mark.parametrize("piped", ["", ".pipe(ops.tap(print), ops.ignore_elements())"])
def test_ctrl_c_in_run_disposes_what_it_waits_for(piped: str) -> None:
    printed, seconds = run(f"""
        import signal, time
        async def slow():
            try:
                yield 1
                await asyncio.sleep(60)
            finally:
                cleaned_up.set()
        cleaned_up = threading.Event()
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            shield(on_loop(from_async_iterable(slow))){piped}.run()
        except KeyboardInterrupt:
            print("interrupted", cleaned_up.wait(10))
    """)
    assert printed.endswith("interrupted True\n")
    assert seconds < 10
