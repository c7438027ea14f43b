"""Models by name."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model import ChatModel, GenerateOptions, ModelRegistry, OpenAIChatModel, resolve_model
from agentscope_rx.model._providers import BARE, PROVIDERS
from agentscope_rx.testing import ScriptedModel

ANYWHERE: dict[str, Any] = {"base_url": "http://127.0.0.1:1/v1"}


@pytest.fixture(autouse=True)
def nothing_registered() -> Iterator[None]:
    ModelRegistry.reset()
    yield
    ModelRegistry.reset()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_id_is_a_provider_and_a_name(provider: str) -> None:
    model = ModelRegistry.resolve(f"{provider}:qwen3:8b", **ANYWHERE)

    assert isinstance(model, ChatModel)
    assert type(model).__name__ == PROVIDERS[provider].name
    assert model.model_name == "qwen3:8b"
    assert resolve_model(f"{provider}:x", **ANYWHERE).model_name == "x"


def test_a_provider_of_its_own_has_its_own_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk")
    monkeypatch.delenv("DEEPSEEK_BASE_URL", raising=False)

    model = ModelRegistry.resolve("deepseek:deepseek-chat")
    assert isinstance(model, OpenAIChatModel)
    assert model.base_url == "https://api.deepseek.com/v1"


def test_settings_reach_the_model_and_none_counts_as_left_out() -> None:
    seen: list[dict[str, Any]] = []

    def make(model_id: str, **settings: Any) -> ChatModel:
        seen.append({"id": model_id, **settings})
        return ScriptedModel("hi")

    options = GenerateOptions(temperature=0.0)
    ModelRegistry.register_factory("corp-.*", make)
    ModelRegistry.resolve("corp-a", options=options, base_url=None, api_key="k")

    assert seen == [{"id": "corp-a", "options": options, "api_key": "k"}]


@pytest.mark.parametrize(
    "model_id", ["", "gpt-4o", "openai", "openai:", ":gpt-4o", " ", "corp", "openai\n:x"]
)
def test_what_names_no_model_is_an_error_that_shows_how(model_id: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve_model(model_id)

    assert str(caught.value).startswith(f"{model_id!r} is no model")
    assert re.search(r"deepseek, .*openai, .*ModelRegistry", str(caught.value))


def test_whether_an_id_is_known_is_seen_without_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ModelRegistry.register("fast", ScriptedModel("hi"))
    ModelRegistry.register_factory("corp-.*", lambda _: ScriptedModel("hi"))

    known = ("fast", "corp-a", "openai:gpt-4o", "ollama:llama3", "qwen-plus")
    unknown = ("slow", "corp", "gpt-4o", "acme:x", "openai:", ":x", "")
    assert [ModelRegistry.can_resolve(model_id) for model_id in known] == [True] * len(known)
    assert [ModelRegistry.can_resolve(model_id) for model_id in unknown] == [False] * len(unknown)


def test_a_provider_that_is_not_there_is_named() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^'acme:x' is no model that is known: there is no provider 'acme'"
    ):
        resolve_model("acme:x")


def test_a_provider_refuses_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        resolve_model("openai:gpt-4o")


def test_a_name_comes_before_patterns_and_the_latest_pattern_before_the_others() -> None:
    named, first, second = ScriptedModel("hi"), ScriptedModel("hi"), ScriptedModel("hi")
    ModelRegistry.register_factory("openai:.*", lambda _: first)
    assert resolve_model("openai:gpt-4o") is first
    ModelRegistry.register_factory("openai:gpt.*", lambda _: second)
    assert resolve_model("openai:gpt-4o") is second
    assert resolve_model("openai:o3") is first
    ModelRegistry.register("openai:gpt-4o", named)
    assert resolve_model("openai:gpt-4o") is named

    with pytest.raises(ConfigurationError, match="'x openai:gpt' is no model"):
        resolve_model("x openai:gpt")  # a pattern must match all of it
    ModelRegistry.reset()
    assert isinstance(resolve_model("openai:gpt-4o", **ANYWHERE), OpenAIChatModel)


def test_a_model_that_is_there_already_cannot_be_set() -> None:
    ModelRegistry.register("fast", ScriptedModel("hi"))

    with pytest.raises(ConfigurationError, match=r"'fast' .* ready made: base_url cannot be changed; use"):
        resolve_model("fast", **ANYWHERE)


@pytest.mark.parametrize(("name", "model"), [("", ScriptedModel("hi")), ("x", "gpt-4o"), ("x", None)])
def test_only_models_can_be_registered(name: str, model: Any) -> None:
    with pytest.raises(ConfigurationError, match="give a name and a ChatModel"):
        ModelRegistry.register(name, model)


@pytest.mark.parametrize("pattern", ["(", None])
def test_only_patterns_can_be_registered(pattern: Any) -> None:
    with pytest.raises(ConfigurationError, match="is no regular expression"):
        ModelRegistry.register_factory(pattern, lambda _: ScriptedModel("hi"))


def test_a_bare_name_is_its_owners_once_that_is_there() -> None:
    assert BARE["qwen"] == "dashscope"
    if "dashscope" in PROVIDERS:
        assert type(resolve_model("qwen-plus", **ANYWHERE)) is PROVIDERS["dashscope"].load()
    else:
        with pytest.raises(ConfigurationError, match="'qwen-plus' is no model"):
            resolve_model("qwen-plus")


def test_an_installed_package_can_bring_a_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[agentscope_rx.models]\nacme = acme_models:Acme\n")
    (tmp_path / "acme_models.py").write_text(
        "class Acme:\n"
        "    def __init__(self, name, **settings):\n"
        "        self.model_name, self.settings = name, settings\n"
        "    def stream(self, messages, tools, options):\n"
        "        raise NotImplementedError\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert "acme" in ModelRegistry.providers()
    assert "acme_models" not in sys.modules

    model: Any = resolve_model("acme:big", **ANYWHERE)
    assert (model.model_name, model.settings) == ("big", ANYWHERE)
    monkeypatch.delitem(sys.modules, "acme_models")


def test_providers_are_loaded_when_they_are_used() -> None:
    script = (
        "import sys\n"
        "from agentscope_rx.model import ModelRegistry, resolve_model\n"
        "ModelRegistry.providers()\n"
        "ModelRegistry.register_factory('x', lambda _: None)\n"
        "assert not any('model.openai' in name or name == 'aiohttp' for name in sys.modules)\n"
        "resolve_model('openai:m', base_url='http://x/v1')\n"
        "assert 'agentscope_rx.model.openai' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
