"""The names of the top level are imported when they are first asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import agentscope_rx


def run(code: str) -> str:
    """Run code in a Python that has imported nothing of ours, and return what it prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_the_top_level_imports_nothing_else() -> None:
    code = "import sys, agentscope_rx; print([name for name in sys.modules if 'agentscope_rx.' in name])"
    assert run(code) == "[]\n"


def test_importing_values_does_not_import_agents() -> None:
    code = "import sys, agentscope_rx.event; print('agentscope_rx.agent' in sys.modules)"
    assert run(code) == "False\n"


@pytest.mark.parametrize("name", agentscope_rx.__all__)
def test_each_name_is_that_of_the_part_which_exports_it(name: str) -> None:
    value = getattr(agentscope_rx, name)
    assert value.__name__ == name
    assert value is getattr(sys.modules[value.__module__], name)


@pytest.mark.parametrize(
    "first", ["import agentscope_rx", "import agentscope_rx.tool", "from agentscope_rx import ReActAgent"]
)
def test_tool_is_the_decorator_whatever_was_imported_before(first: str) -> None:
    assert (
        run(f"{first}; from agentscope_rx import tool; print(tool.__name__, callable(tool))") == "tool True\n"
    )


@pytest.mark.parametrize(
    "name", ["message.Msg", "testing.ScriptedModel", "errors.ModelError", "interop.to_async_iterable"]
)
def test_namespaces_are_attributes_without_an_import_of_their_own(name: str) -> None:
    assert run(f"import agentscope_rx; print(agentscope_rx.{name}.__name__)") == f"{name.split('.')[1]}\n"


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        agentscope_rx.nope  # noqa: B018 - that it raises is what is tested


def test_dir_lists_what_has_not_been_imported_yet() -> None:
    assert run("import agentscope_rx; print('Toolkit' in dir(agentscope_rx))") == "True\n"


def test_dir_lists_nothing_that_is_only_used_there() -> None:
    assert {"sys", "import_module", "ModuleType", "annotations"} & set(dir(agentscope_rx)) == set()
