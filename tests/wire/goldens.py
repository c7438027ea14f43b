"""What Java's classes wrote and read (`tests/golden`), and how to compare it with ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from agentscope_rx import event, message, permission, state
from agentscope_rx.errors import WireError

FOLDER: Final = Path(__file__).parent.parent / "golden"

_TARGETS: Final[dict[str, Any]] = {
    "agentstate": state.AgentState,
    "event": event.AgentEvent,
    "events": event.AgentEvent,
    "msg": message.Msg,
    "messages": message.Msg,
    "block": message.ContentBlock,
    "blocks": message.ContentBlock,
    "root_list_of_blocks_loses_type": list[message.ContentBlock],
    "root_list_of_events_loses_type_id_but_keeps_getType": list[event.AgentEvent],
    "root_map_of_msg_keeps_role": dict[str, message.Msg],
}


def lines(name: str) -> list[str]:
    """The lines of a golden file; some strings hold other line ends."""
    return (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")


def java_text(line: str) -> str:
    """What Java wrote, to the letter: the last member of a line."""
    return line[line.index('"json":') + len('"json":') : line.rindex("}")]


def target(*names: str) -> Any:
    """The class of ours that goes by one of these names in the goldens."""
    modules = (event, message, permission, state)
    found = [_TARGETS.get(name) for name in names]
    found += [getattr(module, name, None) for name in names for module in modules]
    return next(cls for cls in found if cls is not None)


def differences(java: Any, ours: Any, path: str = "$") -> Iterator[str]:
    """The paths at which ours lacks or alters what Java wrote; what we add is none."""
    match java, ours:
        case dict(), dict():
            for key in java:
                if key in ours:
                    yield from differences(java[key], ours[key], f"{path}.{key}")
                else:
                    yield f"{path}.{key}"
        case list(), list() if len(java) == len(ours):
            for index, (left, right) in enumerate(zip(java, ours, strict=True)):
                yield from differences(left, right, f"{path}[{index}]")
        case "<RANDOM_HEX32>" | "<NOW>", str():
            pass
        case _:
            if type(java) is not type(ours) or java != ours:
                yield path


def value_at(value: Any, error: WireError) -> Any:
    """What lies at the path of an error."""
    for name, index in re.findall(r"\.(\w+)|\[(\d+)\]", error.path):
        value = value[int(index)] if index else value[name]
    return value


def anywhere(value: Any) -> Iterator[Any]:
    """A JSON value and all that is inside it."""
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from anywhere(inner)
