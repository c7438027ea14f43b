"""The command line: `agentscope-rx chat` and `agentscope-rx replay`."""

from __future__ import annotations

import io
import sys

import click

from agentscope_rx.cli._chat import chat
from agentscope_rx.cli._replay import replay

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="agentscope_rx")
def main() -> None:
    """Talk to an agent, and make messages of the events that it streams."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


main.add_command(chat)
main.add_command(replay)
