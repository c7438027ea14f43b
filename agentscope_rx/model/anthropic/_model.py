"""Anthropic's Messages API, and the servers that speak it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from reactivex import Observable

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import Msg
from agentscope_rx.model._provider import Ask, Defaults, Server
from agentscope_rx.model._response import ChatResponse, GenerateOptions, ToolSchema
from agentscope_rx.model.anthropic._decode import MessageDecoder
from agentscope_rx.model.anthropic._models import known
from agentscope_rx.model.anthropic._request import SAMPLING, build_request

__all__ = ["AnthropicModel"]

_DEFAULTS: Final = Defaults(
    "Anthropic",
    "https://api.anthropic.com",
    ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    ("ANTHROPIC_BASE_URL",),
)
_VERSION: Final = "2026-10-21"
_SAMPLING_VERSION: Final = "2023-06-01"
"""The last version that has a temperature, and the one that everybody knows."""


@final
class AnthropicModel:
    """A Claude model behind Anthropic's Messages API, or a model behind a server that speaks it.

    ```python
    AnthropicModel("claude-sonnet-4-5")                                         # ANTHROPIC_API_KEY
    AnthropicModel("claude-opus-4-5", options=GenerateOptions(thinking_budget=4096, cache_control=True))
    AnthropicModel("deepseek-chat", base_url="https://api.deepseek.com/anthropic", api_key=key)
    ```

    1. Thinking, and its signatures, go back to the API unchanged.
    2. `thinking_budget` lets the model think, and 0 forbids it; newer models choose themselves how much.
       `reasoning_effort` says how hard to think and to work.
    3. `cache_control` marks the system prompt and the end of the conversation for the API's cache; a message
       with the metadata `_cache_control` is marked by itself.
    4. `temperature`, `top_p` and `top_k` are of the older version of the API, which is asked for then.

    Args:
        model: the model's name.
        api_key: the key, or a function that returns the one of the moment; else the one in the environment,
            `ANTHROPIC_API_KEY` or `ANTHROPIC_AUTH_TOKEN`. Only Anthropic's own server must have one.
        base_url: the server, with or without `/v1`; else the one in the environment, `ANTHROPIC_BASE_URL`,
            else Anthropic's own.
        timeout: seconds that the server may send nothing, keep-alive comments included; None for no limit.
        connect_timeout: seconds for the connection; None for no limit.
        options: for every call; those of a call come first.
        max_event_bytes: what one event of the stream may have.
        native_structured_output: whether the model's answers can be held to a `response_format`; if left out,
            those of Claude 4.5 and later can, on Anthropic's own server.

    Errors: `ConfigurationError` here; a `ModelError` through `on_error` of a stream.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | Callable[[], str] | None = None,
        base_url: str | None = None,
        timeout: float | None = 300.0,
        connect_timeout: float | None = 10.0,
        options: GenerateOptions | None = None,
        max_event_bytes: int = 16 * 2**20,
        native_structured_output: bool | None = None,
    ) -> None:
        if not isinstance(native_structured_output, bool | None):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise ConfigurationError(
                f"native_structured_output is {native_structured_output!r}; give True, False or None"
            )
        self._server = Server(
            model,
            _DEFAULTS,
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            connect_timeout=connect_timeout,
            options=options,
            max_event_bytes=max_event_bytes,
        )
        can = self._server.is_own and known(model).schema
        self._native = can if native_structured_output is None else native_structured_output

    @property
    def model_name(self) -> str:
        """The name that was given."""
        return self._server.model

    @property
    def supports_native_structured_output(self) -> bool:
        """Whether an answer can be held to a JSON schema; else structured output comes by a tool."""
        return self._native

    @property
    def base_url(self) -> str:
        """The server."""
        return self._server.base_url

    def stream(
        self,
        messages: Sequence[Msg],
        tools: Sequence[ToolSchema] = (),
        options: GenerateOptions | None = None,
    ) -> Observable[ChatResponse]:
        """Ask the model: one request per subscription, cancelled when it is disposed.

        Errors: `ModelConnectionError`, `ModelTimeoutError`, `ModelResponseError` and its subclasses,
            `IncompleteStreamError`, `BadModelOutputError`.
        """
        asked, offered = tuple(messages), tuple(tools)

        def ask(key: str | None, options: GenerateOptions) -> Ask:
            body = build_request(self.model_name, asked, offered, options, native_schema=self._native)
            older = not self._server.is_own or any(name in body for name in SAMPLING)
            headers = {"anthropic-version": _SAMPLING_VERSION if older else _VERSION}
            if key is not None:
                headers["Authorization"] = f"Bearer {key}"
            return Ask("/messages" if self.base_url.endswith("/v1") else "/v1/messages", body, headers)

        return self._server.stream(ask, MessageDecoder, options)

    def __repr__(self) -> str:
        return f"AnthropicModel({self.model_name!r}, base_url={self.base_url!r})"
