"""Models that an Ollama server runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final, final
from urllib.parse import urlsplit

from reactivex import Observable

from agentscope_rx.message import Msg
from agentscope_rx.model._provider import Ask, Defaults, Server
from agentscope_rx.model._response import ChatResponse, GenerateOptions, ToolSchema
from agentscope_rx.model.ollama._decode import LineDecoder
from agentscope_rx.model.ollama._request import build_request

__all__ = ["OllamaModel"]

_PORT: Final = 11434
_DEFAULTS: Final = Defaults(
    "Ollama", f"http://127.0.0.1:{_PORT}", ("OLLAMA_API_KEY",), needs_key=False, lines=True
)


@final
class OllamaModel:
    """A model that an Ollama server runs, on this machine or elsewhere.

    ```python
    OllamaModel("llama3.2")                                              # the server in OLLAMA_HOST
    OllamaModel("qwen3", num_ctx=32_768, think=True)
    OllamaModel("gpt-oss:120b", base_url="https://ollama.com")           # OLLAMA_API_KEY
    ```

    The server leaves out the oldest messages of a conversation that is longer than its context, and does not
    say so: give `num_ctx`.

    Args:
        model: the model's name.
        api_key: the key, or a function that returns the one of the moment; else the one in `OLLAMA_API_KEY`,
            if there is one.
        base_url: the server, also as `host:port`; else the one in `OLLAMA_HOST`, else this machine's.
        timeout: seconds that the server may send nothing, the loading of the model included; None for no
            limit.
        connect_timeout: seconds for the connection; None for no limit.
        options: for every call; those of a call come first.
        num_ctx: tokens that the conversation, with what is to be answered, may have. More of the model's own
            options are `GenerateOptions(extra_body={"options": {"min_p": 0.1}})`.
        think: whether the model is to think, or how much, as `low`; None leaves it to the server.
            `thinking_budget` and `reasoning_effort` of the options say so, too.
        keep_alive: how long the model stays loaded: seconds, or a text as `5m`.
        max_event_bytes: what one line of the stream may have.
        native_structured_output: whether agents ask for structured output by a `response_format`; a server
            that gets one calls no tools, so it is for agents without.

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
        num_ctx: int | None = None,
        think: bool | str | None = None,
        keep_alive: float | str | None = None,
        max_event_bytes: int = 16 * 2**20,
        native_structured_output: bool = False,
    ) -> None:
        self._server = Server(
            model,
            _DEFAULTS,
            api_key=api_key,
            base_url=_address(base_url or os.environ.get("OLLAMA_HOST") or ""),
            timeout=timeout,
            connect_timeout=connect_timeout,
            options=options,
            max_event_bytes=max_event_bytes,
        )
        self._num_ctx = num_ctx
        self._think = think
        self._keep_alive = keep_alive
        self._native_output = native_structured_output

    @property
    def model_name(self) -> str:
        """The name that was given."""
        return self._server.model

    @property
    def supports_native_structured_output(self) -> bool:
        """Whether an answer can be held to a JSON schema; else structured output comes by a tool."""
        return self._native_output

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
                num_ctx=self._num_ctx,
                think=self._think,
                keep_alive=self._keep_alive,
            )
            headers = {} if key is None else {"Authorization": f"Bearer {key}"}
            return Ask("/chat" if self.base_url.endswith("/api") else "/api/chat", body, headers)

        return self._server.stream(ask, LineDecoder, options)

    def __repr__(self) -> str:
        return f"OllamaModel({self.model_name!r}, base_url={self.base_url!r})"


def _address(host: str) -> str | None:
    """An address from what Ollama takes for one: `host`, `:port`, and `0.0.0.0`, where servers listen."""
    host = host.strip()
    if not host:
        return None
    scheme, separator, rest = host.rpartition("://")
    url = f"{scheme or 'http'}://{rest}"
    try:
        parts = urlsplit(url)
        port = parts.port or (None if separator else _PORT)
    except ValueError:
        return url  # refused with all that is no address
    if "@" in rest or parts.query or (separator and not parts.hostname):
        return url
    name = parts.hostname or "127.0.0.1"
    name = "127.0.0.1" if name in ("0.0.0.0", "::") else f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{name}{f':{port}' if port else ''}{parts.path}"
