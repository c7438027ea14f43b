"""What names of models say."""

from __future__ import annotations

import pytest

from agentscope_rx.model.anthropic._models import Known, known

OTHER = Known(8192, budget=True, adaptive=False, schema=False)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("claude-3-haiku-20240307 claude-3-opus-latest", Known(4096, True, False, False)),
        ("claude-3-5-sonnet-latest claude-3-7-sonnet-20250219", Known(8192, True, False, False)),
        ("claude-opus-4-20250514 claude-opus-4-1 claude-sonnet-4@20250514",
         Known(32_000, True, False, False)),
        ("claude-sonnet-4-5 claude-haiku-4-5-20251001 anthropic/claude-opus-4.5 us.anthropic.claude-opus-4-5",
         Known(32_000, True, False, True)),
        ("claude-opus-4-6", Known(32_000, True, True, True)),
        ("claude-opus-4-7 claude-sonnet-5 claude-fable-5-2 claude-opus-10 claude-mythos-preview",
         Known(32_000, False, True, True)),
        ("claude-2.1 claude-v2 claude-instant-1.2 deepseek-chat glm-4.6 kimi-k2-5 gpt-5", OTHER),
    ],
)  # fmt: skip
def test_a_name_says_what_a_model_takes(names: str, expected: Known) -> None:
    assert {name: known(name) for name in names.split()} == dict.fromkeys(names.split(), expected)
