"""What the ports share: which model to ask, a banner, and a conversation.

Java: documentation2/common/ExampleUtils.java
"""

import sys
from argparse import ArgumentParser

from reactivex import operators as ops

from agentscope_rx import AgentEvent, ReActAgent, TextBlockDeltaEvent, UserMessage
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model import ChatModel, resolve_model


def get_model(offline: ChatModel) -> ChatModel:
    """Return the model that the command line names, and without one a model that needs no network."""
    parser = ArgumentParser()
    parser.add_argument(
        "--model", metavar="PROVIDER:NAME", help="a real model; its key is in the environment"
    )
    parser.add_argument("--base-url", metavar="URL", help="where it is served, if not at its provider")
    args = parser.parse_args()
    try:
        return resolve_model(args.model, base_url=args.base_url) if args.model else offline
    except ConfigurationError as error:
        parser.error(str(error))


def print_welcome(title: str, description: str) -> None:
    """Print what an example shows."""
    print("=" * 60, title, "=" * 60, description, "=" * 60, "", sep="\n")


def start_chat(agent: ReActAgent) -> None:
    """Send each line of the standard input to an agent, and print its text as it comes."""
    print("Chat started. Type 'exit' to quit.\n")
    while (line := read_line("You: ")).lower() != "exit":
        if line:
            print("\nAgent: ", end="")
            agent.stream_events(UserMessage(line)).pipe(ops.tap(show)).run()
            print("\n")
    print("\nGoodbye!")


def show(event: AgentEvent) -> None:
    if isinstance(event, TextBlockDeltaEvent):
        print(event.delta, end="", flush=True)


def read_line(prompt: str) -> str:
    """Return the next line; `exit` when there are no more."""
    try:
        line = input(prompt).strip()
    except EOFError:
        return "exit"
    if not sys.stdin.isatty():
        print(line)  # a terminal shows what is typed, a pipe does not
    return line
