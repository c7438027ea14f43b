"""OpenAI's chat completions, and the many servers that speak them."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Final, final
from urllib.parse import urlsplit

from attrs import evolve
from reactivex import Observable

from agentscope_rx._frames import Frame, SSEReader
from agentscope_rx._json import dumps
from agentscope_rx.errors import (
    BadModelOutputError,
    ConfigurationError,
    ModelConnectionError,
    ModelTimeoutError,
    WireError,
)
from agentscope_rx.interop import from_async_iterable
from agentscope_rx.message import Msg
from agentscope_rx.model._http import Post, Reply, post
from agentscope_rx.model._response import ChatResponse, GenerateOptions, ToolSchema
from agentscope_rx.model.openai._decode import ChunkDecoder
from agentscope_rx.model.openai._request import build_request

__all__ = ["OpenAIChatModel"]

_BASE_URL: Final = "https://api.openai.com/v1"
_SECRET: Final = ("auth", "key", "token", "secret", "cookie")


@final
class OpenAIChatModel:
    """A model behind OpenAI's chat completions API, or behind a server that speaks it.

    ```python
    OpenAIChatModel("gpt-4o")                                            # OPENAI_API_KEY
    OpenAIChatModel("qwen3", base_url="http://127.0.0.1:11434/v1")       # a server of one's own
    ```

    Args:
        model: the model's name.
        api_key: the key, or a function that returns the one of the moment; else `OPENAI_API_KEY`. Only
            OpenAI's own server must have one.
        base_url: the server; else `OPENAI_BASE_URL`, else OpenAI's own.
        timeout: seconds that the server may send nothing, keep-alive comments included; None for no limit.
        connect_timeout: seconds for the connection; None for no limit.
        options: for every call; those of a call come first.
        reasoning_key: where thinking goes back to a server that wants it, as `reasoning_content`.
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
        reasoning_key: str | None = None,
        max_event_bytes: int = 16 * 2**20,
        native_structured_output: bool | None = None,
    ) -> None:
        if not model:
            raise ConfigurationError("model is empty; give the model's name, as 'gpt-4o'")
        for name, seconds in (("timeout", timeout), ("connect_timeout", connect_timeout)):
            if seconds is not None and not seconds > 0:
                raise ConfigurationError(f"{name}={seconds!r} leaves no time; give seconds > 0, or None")
        if not isinstance(native_structured_output, bool | None):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise ConfigurationError(
                f"native_structured_output is {native_structured_output!r}; give True, False or None"
            )
        self._model = model
        self._base_url = _checked_url(base_url or os.environ.get("OPENAI_BASE_URL") or _BASE_URL)
        self._api_key = api_key or os.environ.get("OPENAI_API_KEY") or None
        if self._api_key is None and self._is_openai:
            raise ConfigurationError(
                f"there is no key for {self._base_url}; set OPENAI_API_KEY, give api_key=…, "
                "or give the base_url of a server that needs none"
            )
        if isinstance(self._api_key, str):
            self._api_key = _checked_key(self._api_key)
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._options = options or GenerateOptions()
        self._reasoning_key = reasoning_key
        self._max_event_bytes = max_event_bytes
        self._native = self._is_openai if native_structured_output is None else native_structured_output
        SSEReader(limit=max_event_bytes)

    @property
    def model_name(self) -> str:
        """The name that was given."""
        return self._model

    @property
    def supports_native_structured_output(self) -> bool:
        """Whether an answer can be held to a JSON schema; else structured output comes by a tool."""
        return self._native

    @property
    def base_url(self) -> str:
        """The server."""
        return self._base_url

    def stream(
        self,
        messages: Sequence[Msg],
        tools: Sequence[ToolSchema] = (),
        options: GenerateOptions | None = None,
    ) -> Observable[ChatResponse]:
        """Ask the model: one request per subscription, cancelled when it is disposed.

        Errors: `ModelConnectionError`, `ModelTimeoutError`, `ModelHTTPError`, `RateLimitedError`,
            `ModelResponseError`, `IncompleteStreamError`, `BadModelOutputError`.
        """
        asked, offered = tuple(messages), tuple(tools)
        wanted = (options or GenerateOptions()).over(self._options)
        return from_async_iterable(lambda: self._responses(self._request(asked, offered, wanted)))

    def _request(
        self, messages: Sequence[Msg], tools: Sequence[ToolSchema], options: GenerateOptions
    ) -> Post:
        body = build_request(
            self._model,
            messages,
            tools,
            options,
            max_tokens_key="max_completion_tokens" if self._is_openai else "max_tokens",
            reasoning_key=self._reasoning_key,
        )
        try:
            text = dumps(body)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(
                f"a tool's schema or an option for {self._model} is no JSON: {error}"
            ) from error
        key = self._api_key if isinstance(self._api_key, str | None) else _checked_key(self._api_key())
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",  # compressing proxies hold small events back
            **({} if key is None else {"Authorization": f"Bearer {key}"}),
            **options.extra_headers,
        }
        return Post(
            f"{self._base_url}/chat/completions",
            text,
            headers,
            options.extra_query,
            _secrets(key, options),
            self._name,
            self._timeout,
            self._connect_timeout,
        )

    async def _responses(self, request: Post) -> AsyncGenerator[ChatResponse]:
        started = time.monotonic()
        decoder = ChunkDecoder(request.name)
        async with post(request) as reply, aclosing(self._decoded(decoder, reply)) as responses:
            async for response in responses:
                if response.usage is not None:
                    elapsed = round(time.monotonic() - started, 3)
                    response = evolve(response, usage=evolve(response.usage, time=elapsed))
                yield response
            decoder.close()
            await reply.drain()

    async def _decoded(self, decoder: ChunkDecoder, reply: Reply) -> AsyncGenerator[ChatResponse]:
        """Decode the body: events, or the whole answer that a server sends that does not stream."""
        match reply.content_type:
            case "application/json":
                frames = self._whole(reply)
            case "text/html":
                raise BadModelOutputError(
                    f"{self._name} answered with a web page instead of a stream; check base_url"
                )
            case _:
                frames = self._frames(reply)
        async with aclosing(frames):
            try:
                async for frame in frames:
                    response = decoder.feed(frame)
                    if response is not None:
                        yield response
                    if decoder.done:
                        return
            except (ModelConnectionError, ModelTimeoutError):
                if not decoder.whole:  # what breaks after the model has finished is no loss
                    raise

    async def _frames(self, reply: Reply) -> AsyncGenerator[Frame]:
        reader = SSEReader(limit=self._max_event_bytes)
        try:
            async with aclosing(reply.chunks()) as chunks:
                async for chunk in chunks:
                    for frame in reader.feed(chunk):
                        yield frame
            for frame in reader.close():
                yield frame
        except WireError as error:
            raise BadModelOutputError(f"{self._name}: {error.problem}") from error

    async def _whole(self, reply: Reply) -> AsyncGenerator[Frame]:
        body = bytearray()
        async with aclosing(reply.chunks()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > self._max_event_bytes:
                    raise BadModelOutputError(
                        f"{self._name}: the answer is longer than {self._max_event_bytes} bytes"
                    )
        yield Frame(body.decode("utf-8", "replace"))

    @property
    def _name(self) -> str:
        return f"{self._model} at {self._base_url}"

    @property
    def _is_openai(self) -> bool:
        host = urlsplit(self._base_url).hostname or ""
        return host == "api.openai.com" or host.endswith(".api.openai.com")

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self._model!r}, base_url={self._base_url!r})"


def _checked_url(base_url: str) -> str:
    url = base_url.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port)
    except ValueError:
        parts, usable = urlsplit(""), False
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError("base_url holds credentials; give them as api_key or extra_headers")
    if not usable or parts.query or parts.fragment:
        raise ConfigurationError(
            f"base_url={base_url!r} is no address of a server; give one as 'http://127.0.0.1:8000/v1', "
            "and what follows a '?' as GenerateOptions(extra_query=…)"
        )
    return url


def _checked_key(key: str) -> str:
    if not key.strip() or not key.strip().isascii() or not key.strip().isprintable():
        raise ConfigurationError("api_key is no key: it is empty, or has characters that no header can carry")
    return key.strip()


def _secrets(key: str | None, options: GenerateOptions) -> tuple[str, ...]:
    extras = [*options.extra_headers.items(), *options.extra_query.items()]
    hidden = [value for name, value in extras if value and any(word in name.lower() for word in _SECRET)]
    return tuple(sorted({*hidden, *([key] if key else [])}, key=len, reverse=True))
