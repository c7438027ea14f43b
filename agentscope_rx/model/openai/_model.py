"""OpenAI's chat completions, and the many servers that speak them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from reactivex import Observable

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import Msg
from agentscope_rx.model._provider import Ask, Server
from agentscope_rx.model._response import ChatResponse, GenerateOptions, ToolSchema
from agentscope_rx.model.openai._decode import ChunkDecoder
from agentscope_rx.model.openai._presets import preset
from agentscope_rx.model.openai._request import build_request

__all__ = ["OpenAIChatModel"]


@final
class OpenAIChatModel:
    """A model behind OpenAI's chat completions API, or behind a server that speaks it.

    ```python
    OpenAIChatModel("gpt-4o")                                            # OPENAI_API_KEY
    OpenAIChatModel("qwen3", base_url="http://127.0.0.1:11434/v1")       # a server of one's own
    OpenAIChatModel("deepseek-reasoner", provider="deepseek")            # DEEPSEEK_API_KEY
    ```

    Args:
        model: the model's name.
        api_key: the key, or a function that returns the one of the moment; else the one in the environment,
            as `OPENAI_API_KEY`. Only the provider's own server must have one.
        base_url: the server; else the one in the environment, as `OPENAI_BASE_URL`, else the provider's own.
        timeout: seconds that the server may send nothing, keep-alive comments included; None for no limit.
        connect_timeout: seconds for the connection; None for no limit.
        options: for every call; those of a call come first.
        provider: whose server it is, and so which address, which key and which habits it has: `openai`, or
            one of `deepseek`, `dashscope`, `moonshot`, `kimi`, `zhipu`, `glm`, `zai`, `openrouter`, `vllm`,
            `llama.cpp`, `lmstudio`.
        reasoning_key: where thinking goes back to a server that wants it, as `reasoning_content`; if left
            out, what the provider is known to want, and with an empty text none.
        max_event_bytes: what one event of the stream may have.
        native_structured_output: whether the server holds answers to a `response_format`, also of requests
            with tools; if left out, only OpenAI's own does.

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
        provider: str = "openai",
        reasoning_key: str | None = None,
        max_event_bytes: int = 16 * 2**20,
        native_structured_output: bool | None = None,
    ) -> None:
        if not isinstance(native_structured_output, bool | None):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise ConfigurationError(
                f"native_structured_output is {native_structured_output!r}; give True, False or None"
            )
        known = preset(provider)
        self._server = Server(
            model,
            known.defaults,
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            connect_timeout=connect_timeout,
            options=options,
            max_event_bytes=max_event_bytes,
        )
        self._is_openai = provider == "openai" and self._server.is_own
        self._reasoning_key = known.reasoning_key if reasoning_key is None else reasoning_key
        self._cache_marks = known.cache_marks
        self._details = known.details and self._reasoning_key == known.reasoning_key
        self._native = self._is_openai if native_structured_output is None else native_structured_output

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
            body = build_request(
                self.model_name,
                asked,
                offered,
                options,
                max_tokens_key="max_completion_tokens" if self._is_openai else "max_tokens",
                reasoning_key=self._reasoning_key or None,
                cache_marks=self._cache_marks,
                details=self._details,
            )
            headers = {} if key is None else {"Authorization": f"Bearer {key}"}
            return Ask("/chat/completions", body, headers)

        return self._server.stream(ask, ChunkDecoder, options)

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self.model_name!r}, base_url={self.base_url!r})"
