"""`agentscope-rx chat`: talk to an agent, and see its text and its tools as they come."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

import click

from agentscope_rx import wire
from agentscope_rx.agent import CallInput, ReActAgent
from agentscope_rx.cli._confirm import confirm
from agentscope_rx.cli._console import Console
from agentscope_rx.cli._offline import offline_model, weather
from agentscope_rx.errors import AgentScopeError, ConfigurationError, OpenCallsError
from agentscope_rx.event import AgentEvent, RequireUserConfirmEvent, UserConfirmResultEvent
from agentscope_rx.interop import to_async_iterable
from agentscope_rx.model import ChatModel, resolve_model
from agentscope_rx.permission import PermissionMode

__all__ = ["chat"]

_INTERRUPTED = 130
"""The exit code of a program that Ctrl-C has ended: 128 and the number of the signal."""


@click.command(short_help="Talk to an agent that can tell the weather.")
@click.option("--once", metavar="TEXT", help="Say this, print the reply, and end.")
@click.option(
    "--model",
    "model_id",
    metavar="PROVIDER:NAME",
    help="A real model, as openai:gpt-4o; the key is where its provider has it, as in OPENAI_API_KEY.",
)
@click.option("--base-url", metavar="URL", help="Where the model is served, if not at its provider.")
@click.option("--ask", is_flag=True, help="Ask before a tool runs: yes, no, always, or with other arguments.")
@click.option("--events", is_flag=True, help="Print every event as one JSON line.")
@click.option("--system", metavar="TEXT", default="You are a helpful assistant.", help="The system prompt.")
def chat(
    once: str | None, model_id: str | None, base_url: str | None, ask: bool, events: bool, system: str
) -> None:
    """Talk to an agent that can tell the weather; without --model it is a script, and nothing leaves here.

    Ctrl-C stops the reply, Ctrl-D ends the conversation.
    """
    model = _model(model_id, base_url)
    # Whoever sits before it sees at once what is wrong, and can say it again.
    permission = PermissionMode.DEFAULT if ask else None
    agent = ReActAgent(
        "assistant", system, model=model, toolkit=[weather], max_retries=0, permission=permission
    )
    with asyncio.Runner() as runner:

        def say(input: CallInput) -> None:
            show = _print_json if events else _printer()
            while questions := runner.run(_stream(agent, input, show)):
                input = confirm(questions, _read_line)

        if once is None:
            if sys.stdin.isatty():
                _welcome(model)
            _converse(say)
        else:
            _answer(say, once)


def _model(model_id: str | None, base_url: str | None) -> ChatModel:
    if model_id is None:
        if base_url is not None:
            raise click.UsageError("--base-url is for a real model; give --model PROVIDER:NAME, too")
        return offline_model(delay=0.03 if sys.stdout.isatty() else 0.0)
    try:
        return resolve_model(model_id, base_url=base_url)
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error


def _answer(say: Callable[[CallInput], None], text: str) -> None:
    try:
        say(text)
    except KeyboardInterrupt:
        _say_stopped()
        sys.exit(_INTERRUPTED)
    except AgentScopeError as error:
        raise click.ClickException(_told(error)) from error


def _welcome(model: ChatModel) -> None:
    with suppress(ImportError):  # Windows has none
        import_module("readline")  # gives `input` its history and its editing
    click.echo(f"Model: {model.model_name}. Ctrl-C stops a reply, Ctrl-D ends the conversation.", err=True)


def _converse(say: Callable[[CallInput], None]) -> None:
    stopped = False
    while True:
        try:
            text = _read_line("> ")
        except (EOFError, KeyboardInterrupt):
            if sys.stdin.isatty():
                click.echo(err=True)
            return
        if not text and not stopped:
            continue
        try:
            stopped = False
            say(text or None)
        except KeyboardInterrupt:
            stopped = True
            _say_stopped("; an empty line goes on with the reply")
        except OpenCallsError:
            stopped = True
            click.echo(
                "Error: a tool call of the stopped reply is open; an empty line goes on with it",
                err=True,
            )
        except AgentScopeError as error:
            click.echo(f"Error: {_told(error)}", err=True)


def _read_line(prompt: str) -> str:
    """Read what is typed; the prompt goes to the terminal, and never into a pipe that the output is for."""
    if not sys.stdin.isatty():
        return input().strip()
    if sys.stdout.isatty():
        return input(prompt).strip()
    click.echo(prompt, nl=False, err=True)
    return input().strip()


def _say_stopped(how_on: str = "") -> None:
    click.echo(f"\n[stopped{how_on}]", err=True)


def _told(error: AgentScopeError) -> str:
    return f"{type(error).__name__}: {error}"


async def _stream(
    agent: ReActAgent, input: CallInput, show: Callable[[AgentEvent], None]
) -> list[RequireUserConfirmEvent]:
    """Make a call, and return what it asks: nothing, if a hook has answered."""
    questions: list[RequireUserConfirmEvent] = []
    async with to_async_iterable(agent.call(input)) as events:
        async for event in events:
            show(event)
            if isinstance(event, RequireUserConfirmEvent):
                questions.append(event)
            elif isinstance(event, UserConfirmResultEvent):
                questions.clear()
    return questions


def _print_json(event: AgentEvent) -> None:
    click.echo(wire.dumps_event(event))


def _printer() -> Callable[[AgentEvent], None]:
    console = Console()

    def show(event: AgentEvent) -> None:
        if text := console.show(event):
            click.echo(text, nl=False)

    return show
