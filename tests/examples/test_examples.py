"""Every example runs and prints what its golden file says, offline; the ports from Java also over HTTP.

A golden file is a transcript: what stands behind `You: ` is typed in. Ids, times and durations are replaced
by what stays the same.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.aimock import AIMock, calls, says

ROOT: Final = Path(__file__).parents[2]
GOLDEN: Final = Path(__file__).parent / "golden"
EXAMPLES: Final = sorted((ROOT / "examples").rglob("[0-9]*.py"))
PORTS: Final = sorted((ROOT / "examples" / "java").glob("[0-9]*.py"))

# What the server answers to each port.
FIXTURES: Final[dict[str, list[dict[str, Any]]]] = {
    "01_basic_chat": [
        says("Who are you?", "I am your assistant.", reasoning="A question about me."),
        says("joke", "A stream walks into a bar, one drink at a time."),
    ],
    "02_agent_event_stream": [
        says(
            "weather",
            "Let me look.",
            calls("get_weather", "call_1", city="Beijing"),
            calls("get_weather", "call_2", city="Shanghai"),
            after_tools=False,
        ),
        says("weather", "It is cooler in Beijing.", after_tools=True),
    ],
    "03_tool_calling": [
        says("17 * 23", "Calculating. ", calls("calculate", expression="17 * 23"), after_tools=False),
        says("17 * 23", "17 * 23 is 391.", after_tools=True),
        says("Tokyo", None, calls("get_current_time", timezone="Asia/Tokyo"), after_tools=False),
        says("Tokyo", "It is late in Tokyo.", after_tools=True),
    ],
    "04_customized_middleware": [
        says("dataset", None, calls("process_data", dataset_name="customer"), after_tools=False),
        says("dataset", "All 1000 records are done.", after_tools=True),
    ],
    "05_model_call_middleware": [
        says("Rx?", "A library for streams of events."),
        says("Thanks", "You are welcome."),
    ],
    "06_system_prompt_middleware": [
        says("environment", "It is noon, and this is demo."),
        says("Who am I?", "You are user-42."),
    ],
    "07_tool_streaming": [
        says("Research", None, calls("research_topic", topic="quantum computing"), after_tools=False),
        says("Research", "There is more of it every year.", after_tools=True),
    ],
    "08_tool_calling_with_converter": [
        says("Who is", None, calls("get_user_info", user_id="ann"), after_tools=False),
        says("Who is", "Ann Dee; the rest is masked.", after_tools=True),
        says("orders", None, calls("list_orders", user_id="ann"), after_tools=False),
        says("orders", "One teapot, shipped.", after_tools=True),
    ],
    "09_tool_execution_context": [
        says("test", None, calls("context_demo", query="everything"), after_tools=False),
        says("test", "All is there.", after_tools=True),
        says("user", None, calls("user_info", field="user_id"), after_tools=False),
        says("user", "I know who is asking.", after_tools=True),
    ],
    "10_multi_modal_tool": [
        says("Draw", "Drawing. ", calls("text_to_image", text="a black dog")),
        says("Say", None, calls("text_to_audio", text="hello")),
        says("tiger", None, calls("image_to_text", url="https://example.com/tiger.png")),
        says("Media in the result of text_to_image", "Here is your dog."),
        says("Media in the result of text_to_audio", "Here it is, spoken."),
        says("Media in the result of image_to_text", "A tiger."),
    ],
    "11_tool_base": [
        says("Shanghai", None, calls("get_temperature", location="Shanghai"), after_tools=False),
        says("Shanghai", "It is 22°C in Shanghai.", after_tools=True),
        says("Lisbon", None, calls("get_temperature", location="Lisbon"), after_tools=False),
        says("Lisbon", "It is 22°C in Lisbon.", after_tools=True),
        says("passwd", None, calls("get_temperature", location="/etc/passwd"), after_tools=False),
        says("passwd", "That is no place.", after_tools=True),
    ],
    "12_tool_group": [
        says("factorial", None, calls("reset_equipped_tools", to_activate=["math_ops"]), after_tools=False),
        says("factorial", None, calls("factorial", n=5), after_result="active now"),
        says("factorial", "It is 120.", after_tools=True),
        says("address", None, calls("reset_equipped_tools", to_activate=["network_ops"]), after_tools=False),
        says("address", None, calls("dns_lookup", domain="github.com"), after_result="active now"),
        says("address", "It is 192.168.0.10.", after_tools=True),
        says("prime", None, calls("is_prime", n=17), after_tools=False),
        says("prime", "It is not at hand any more.", after_tools=True),
    ],
    "13_permission_context": [
        says("Read the file", None, calls("read_file", path="/tmp/notes.txt"), after_tools=False),
        says("Read the file", "It holds your notes.", after_tools=True),
        says("Delete the file", None, calls("delete_file", path="/tmp/notes.txt"), after_tools=False),
        says("Delete the file", "I must not delete files.", after_tools=True),
        says(
            "/tmp/out.txt",
            "Writing. ",
            calls("write_file", path="/tmp/out.txt", content="hello world"),
            after_tools=False,
        ),
        says(
            "/tmp/out/hello.txt",
            None,
            calls("write_file", path="/tmp/out/hello.txt", content="hello world"),
            after_tools=False,
        ),
        says("/tmp/out/hello.txt", "Done, as far as I may.", after_tools=True),
    ],
    "14_permission_hitl": [
        says("important", None, calls("dangerous_delete", path="/tmp/important.txt"), after_tools=False),
        says("important", "I was not allowed to.", after_tools=True),
        says("Read", None, calls("safe_read", path="/tmp/a.txt"), after_tools=False),
        says("Read", "It holds simulated data.", after_tools=True),
        says(
            "Delete /tmp/a.txt",
            "Both, then. ",
            calls("dangerous_delete", "call_a", path="/tmp/a.txt"),
            calls("dangerous_delete", "call_b", path="/tmp/b.txt"),
            after_tools=False,
        ),
        says("Delete /tmp/a.txt", "One of them is gone.", after_tools=True),
    ],
    "15_hook_stop_agent": [
        says("Search", None, calls("search_web", query="weather forecast"), after_tools=False),
        says("Search", "It will be sunny.", after_tools=True),
        says("Delete", "Deleting. ", calls("delete_file", filename="temp.txt"), after_tools=False),
        says("Delete", "It is gone.", after_tools=True),
        says(
            "john@example.com",
            None,
            calls("send_email", to="john@example.com", subject="Hello", body="Hello"),
            after_tools=False,
        ),
        says("How are you", "Fine, and nothing was sent."),
    ],
    "16_interruption": [
        says("Process", "At once. ", calls("process_data", dataset_name="customers")),
        says("How far", "60% of it are done; then you stopped me."),
    ],
    "17_structured_output": [
        says(
            "Extract the product",
            None,
            calls(
                "generate_response",
                response={
                    "product_type": "notebook",
                    "brand": "Apple",
                    "min_ram": 16,
                    "max_budget": 2000,
                    "features": ["light", "for travel"],
                },
            ),
        ),
        says(
            "Extract the contact",
            None,
            calls(
                "generate_response",
                response={"name": "Ada", "email": "ada@example.com", "phone": "+1-555-0100"},
            ),
        ),
        says(
            "Analyze the review",
            None,
            calls(
                "generate_response",
                response={
                    "overall_sentiment": "positive",
                    "positive_score": 0.9,
                    "negative_score": 0.1,
                    "key_topics": ["service"],
                    "summary": "Happy.",
                },
            ),
        ),
    ],
    "18_structured_output_fallback": [
        says(
            "Extract the product",
            None,
            calls("generate_response", response={"product_type": "laptop", "min_ram": "many"}),
            after_tools=False,
        ),
        says(
            "Extract the product",
            None,
            calls("generate_response", product_type="laptop", min_ram=16, max_budget=2000),
            after_tools=True,
        ),
        says(
            "Extract the contact",
            None,
            calls("generate_response", response='{"name": "Ada Okafor", "email": "ada@example.com"}'),
        ),
    ],
    "19_runtime_context": [
        says("my name is Alice", "Hello, Alice."),
        says("And now", "Still Alice."),
        says("What is my name", "Alice."),
    ],
    "20_application_layer_rag": [
        says("[refund-policy]", "Yes, prorated, within 30 days of purchase."),
    ],
    "21_vision": [
        says("What color", "It is a red square."),
        says("How large", "20 by 20 pixels."),
    ],
    "22_routing_by_tool_calls": [
        says("quick sort", "Here is the code.", after_tools=True),
        says("Please write: quick sort", "def quick_sort(items): ..."),
        says("quick sort", None, calls("generate_Python_code", demand="Please write: quick sort")),
        says("poem", "Here is the poem.", after_tools=True),
        says("Please write: a haiku", "An old silent stream"),
        says("poem", None, calls("generate_poem", demand="Please write: a haiku")),
    ],
    "23_subagent_streaming": [
        says("Look into it", "Agents that ask before they act."),
        says("trends", "Agents ask more.", after_tools=True),
        says("trends", None, calls("agent_spawn", agent_id="researcher", task="Look into it")),
    ],
    "24_subagent_send_directly": [
        says("Look into it", "There are many."),
        says("Compare", "Each has its strengths."),
        says("research", "Ask the researcher.", after_tools=True),
        says(
            "research",
            None,
            calls("agent_spawn", agent_id="researcher", task="Look into it", label="Trends"),
        ),
    ],
    "25_state": [
        says("My name is Ann", "Hello, Ann."),
        says("Do you know", "Not yet."),
        says("Order", None, calls("order", item="tea"), calls("order", item="cake"), after_tools=False),
        says("Order", "Both are on their way.", after_tools=True),
        says("And now", "I have forgotten it."),
        says("What is my name", "Ann."),
    ],
    "26_model_registry": [
        says("2 + 2", "It is 4."),
    ],
}


def run(example: Path, *options: str, typed: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example), *options],
        input=typed,
        env=environment | {"PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def check(golden: Path, example: Path, *options: str) -> None:
    expected = golden.read_text(encoding="utf-8") if golden.exists() else ""
    typed = re.findall(r"^You: (.+)\n", expected, re.MULTILINE)
    printed = timeless(run(example, *options, typed="".join(f"{line}\n" for line in typed)))

    assert golden.exists(), f"{example.name} printed this; if it is right, write it to {golden}:\n{printed}"
    assert printed.splitlines() == expected.splitlines()


def timeless(text: str) -> str:
    """Number the ids, and put the same in the place of every time."""
    ids: dict[str, str] = {}
    text = re.sub(
        r"\b(?:call_)?[0-9a-f]{12}[._]\d+-\d+\b",
        lambda found: ids.setdefault(found[0], f"id-{len(ids) + 1}"),
        text,
    )
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "2026-01-02T03:04:05Z", text)
    text = re.sub(r"in \d+ ms", "in 12 ms", text)
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def named(path: Path) -> str:
    return path.relative_to(ROOT / "examples").with_suffix("").as_posix()


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_an_example_prints_what_its_golden_file_says(example: Path) -> None:
    check(GOLDEN / f"{named(example)}.txt", example)


@pytest.mark.parametrize("port", PORTS, ids=named)
def test_a_port_speaks_to_a_real_server(port: Path, aimock: AIMock) -> None:
    url = aimock(*FIXTURES[port.stem])

    check(GOLDEN / f"{named(port)}.openai.txt", port, "--model", "openai:gpt-4o", "--base-url", url)


@pytest.mark.parametrize("port", PORTS, ids=named)
def test_a_port_names_the_java_file_that_it_ports(port: Path) -> None:
    assert re.search(
        r'\A""".+\n\nJava: documentation2/(?:\w+/)+\w+Example\.java\n"""', port.read_text("utf-8")
    )


def test_a_conversation_passes_over_empty_lines_and_ends_on_exit() -> None:
    printed = run(ROOT / "examples" / "java" / "01_basic_chat.py", typed="\n   \nhello\nEXIT\nmore\n")

    assert printed.endswith("You: \nYou: \nYou: hello\n\nAgent: You said: hello\n\nYou: EXIT\n\nGoodbye!\n")


def test_a_model_that_there_is_not_is_a_line_and_no_traceback() -> None:
    example = ROOT / "examples" / "java" / "01_basic_chat.py"
    done = subprocess.run(
        [sys.executable, str(example), "--model", "acme:x"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert (
        "error: 'acme:x' is no model that is known: there is no provider 'acme'"
        in done.stderr.splitlines()[-1]
    )


def test_a_golden_file_belongs_to_an_example() -> None:
    known = {named(example) for example in EXAMPLES}
    goldens = [path.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("*.txt")]

    assert {golden.removesuffix(".txt").removesuffix(".openai") for golden in goldens} <= known
