"""Google's Gemini, by its own API."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, final
from urllib.parse import quote, urlsplit

from reactivex import Observable

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import Msg
from agentscope_rx.model._provider import Ask, Defaults, Server
from agentscope_rx.model._response import ChatResponse, GenerateOptions, ToolSchema
from agentscope_rx.model.gemini._decode import ChunkDecoder
from agentscope_rx.model.gemini._request import build_request, is_older

__all__ = ["GeminiModel"]

_GEMINI: Final = Defaults(
    "Gemini",
    "https://generativelanguage.googleapis.com/v1beta",
    ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ("GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"),
)
_VERSION: Final = re.compile(r"/v\d+((alpha|beta)\d*)?(/|$)")


@final
class GeminiModel:
    """A model behind the Gemini API, or behind a server that speaks it.

    ```python
    GeminiModel("gemini-3-pro-preview")                                  # GEMINI_API_KEY
    GeminiModel("gemini-2.5-flash", options=GenerateOptions(thinking_budget=0))
    ```

    What the API has beside the options goes through `extra_body`, which is merged into the request:
    `{"tools": [{"googleSearch": {}}]}`, `{"generationConfig": {"responseModalities": ["IMAGE"]}}`,
    `{"safetySettings": […]}`, `{"cachedContent": "cachedContents/…"}`.

    Args:
        model: the model's name, as it is, or with what the API puts before it: `tunedModels/mine`.
        api_key: the key, or a function that returns the one of the moment; else `GEMINI_API_KEY` or
            `GOOGLE_API_KEY`. Only Google's own server must have one.
        base_url: the server; else `GOOGLE_GEMINI_BASE_URL` or `GEMINI_BASE_URL`, else Google's. One without
            a version of the API in it gets `/v1beta`.
        timeout: seconds that the server may send nothing, keep-alive comments included; None for no limit.
        connect_timeout: seconds for the connection; None for no limit.
        options: for every call; those of a call come first.
        max_event_bytes: what one event of the stream may have: an image is one.
        native_structured_output: whether the model holds answers to a `response_format`, also of requests
            with tools; if left out, models since Gemini 3 do.

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
        max_event_bytes: int = 64 * 2**20,
        native_structured_output: bool | None = None,
    ) -> None:
        if not isinstance(native_structured_output, bool | None):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise ConfigurationError(
                f"native_structured_output is {native_structured_output!r}; give True, False or None"
            )
        self._server = Server(
            model,
            _GEMINI,
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            connect_timeout=connect_timeout,
            options=options,
            max_event_bytes=max_event_bytes,
        )
        version = "" if _VERSION.search(urlsplit(self._server.base_url).path) else "/v1beta"
        name = quote(model, safe="/-._~") if "/" in model else f"models/{quote(model, safe='-._~')}"
        self._path = f"{version}/{name}:streamGenerateContent"
        self._native = not is_older(model) if native_structured_output is None else native_structured_output

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
            body = build_request(self.model_name, asked, offered, options)
            return Ask(self._path, body, {} if key is None else {"x-goog-api-key": key}, {"alt": "sse"})

        return self._server.stream(ask, ChunkDecoder, options)

    def __repr__(self) -> str:
        return f"GeminiModel({self.model_name!r}, base_url={self.base_url!r})"
