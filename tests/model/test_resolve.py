"""Models by name."""

from __future__ import annotations

import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model import OpenAIChatModel, resolve_model


def test_an_id_is_a_provider_and_a_name() -> None:
    model = resolve_model("openai:qwen3:8b", base_url="http://127.0.0.1:1/v1")

    assert isinstance(model, OpenAIChatModel)
    assert model.model_name == "qwen3:8b"


@pytest.mark.parametrize("model_id", ["", "gpt-4o", "openai", "openai:", "acme:x", ":gpt-4o"])
def test_what_names_no_model_is_an_error_that_shows_how(model_id: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^'{model_id}' is no model; give openai:NAME"):
        resolve_model(model_id)


def test_a_provider_refuses_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        resolve_model("openai:gpt-4o")
