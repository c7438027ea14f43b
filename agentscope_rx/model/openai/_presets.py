"""Servers that speak OpenAI's chat completions: where they are, and what they do in their own way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model._provider import Defaults

__all__ = ["PRESETS", "Preset", "preset"]


class Preset(NamedTuple):
    """A provider.

    Attributes:
        defaults: where it is.
        reasoning_key: where its server wants thinking back; empty for nowhere.
        cache_marks: whether its server wants to be told what to keep for the next call.
        details: whether it wants thinking back as `reasoning_details`, if it came so.
    """

    defaults: Defaults
    reasoning_key: str = ""
    cache_marks: bool = False
    details: bool = False


_MOONSHOT: Final = Preset(
    Defaults(
        "Moonshot AI",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY", "KIMI_API_KEY"),
        ("MOONSHOT_BASE_URL",),
    ),
    "reasoning_content",
)
_ZHIPU: Final = Preset(
    Defaults(
        "Zhipu AI",
        "https://open.bigmodel.cn/api/paas/v4",
        ("ZHIPUAI_API_KEY", "ZHIPU_API_KEY"),
        ("ZHIPUAI_BASE_URL",),
    ),
    "reasoning_content",
)

PRESETS: Final[Mapping[str, Preset]] = {
    "openai": Preset(
        Defaults("OpenAI", "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",))
    ),
    "deepseek": Preset(
        Defaults("DeepSeek", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",), ("DEEPSEEK_BASE_URL",)),
        "reasoning_content",
    ),
    "dashscope": Preset(
        Defaults(
            "DashScope",
            "https://dashscope.aliyuncs.com/compatible-mode/v1",
            ("DASHSCOPE_API_KEY",),
            ("DASHSCOPE_COMPATIBLE_BASE_URL",),
        ),
        "reasoning_content",
        cache_marks=True,
    ),
    "moonshot": _MOONSHOT,
    "kimi": _MOONSHOT,
    "zhipu": _ZHIPU,
    "glm": _ZHIPU,
    "zai": Preset(
        Defaults("Z.ai", "https://api.z.ai/api/paas/v4", ("ZAI_API_KEY",), ("ZAI_BASE_URL",)),
        "reasoning_content",
    ),
    "openrouter": Preset(
        Defaults(
            "OpenRouter",
            "https://openrouter.ai/api/v1",
            ("OPENROUTER_API_KEY",),
            ("OPENROUTER_BASE_URL",),
        ),
        "reasoning",
        cache_marks=True,
        details=True,
    ),
    "vllm": Preset(
        Defaults("vLLM", "http://127.0.0.1:8000/v1", ("VLLM_API_KEY",), ("VLLM_BASE_URL",), needs_key=False)
    ),
    "llama.cpp": Preset(
        Defaults(
            "llama.cpp",
            "http://127.0.0.1:8080/v1",
            ("LLAMA_API_KEY",),
            ("LLAMA_BASE_URL",),
            needs_key=False,
        )
    ),
    "lmstudio": Preset(
        Defaults(
            "LM Studio",
            "http://127.0.0.1:1234/v1",
            ("LMSTUDIO_API_KEY",),
            ("LMSTUDIO_BASE_URL",),
            needs_key=False,
        )
    ),
}
"""By the name that stands before the colon in `deepseek:deepseek-chat`."""


def preset(provider: str) -> Preset:
    """Return a provider's preset.

    Errors: `ConfigurationError`.
    """
    found = PRESETS.get(provider)
    if found is None:
        raise ConfigurationError(
            f"provider={provider!r} is none of {', '.join(PRESETS)}; give one of these, or base_url=…"
        )
    return found
