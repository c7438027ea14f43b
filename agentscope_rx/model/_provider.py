"""What all providers share: where a server is, what it is asked, and how its answer is read.

A provider is a request (`build_request`, pure), a decoder (pure), and a class that owns a `Server` and says
in `stream` which request goes where.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, Protocol, TypeAlias, final
from urllib.parse import urlsplit

from attrs import evolve, field, frozen
from reactivex import Observable

from agentscope_rx._frames import DEFAULT_LIMIT, BodyReader, Frame, FrameReader, NDJSONReader, SSEReader
from agentscope_rx._json import dumps
from agentscope_rx.errors import (
    BadModelOutputError,
    ConfigurationError,
    ModelConnectionError,
    ModelError,
    ModelResponseError,
    ModelTimeoutError,
    WireError,
)
from agentscope_rx.interop import from_async_iterable
from agentscope_rx.model._http import Post, Reply, post
from agentscope_rx.model._response import ChatResponse, GenerateOptions

__all__ = ["Ask", "Decoder", "Defaults", "Key", "Server", "decoded"]

Key: TypeAlias = str | Callable[[], str] | None
"""A key, a function that returns the one of the moment, or None for the one of the environment."""

_SECRET: Final = ("auth", "key", "token", "secret", "cookie")
_NDJSON: Final = frozenset(
    {"application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-lines"}
)


class Decoder(Protocol):
    """Frames of one answer in, what is new in it out; made anew for each answer.

    1. `feed` is called with each frame in order, then `close` once; not after an error.
    2. `done` says that nothing more comes: reading stops. `whole` says that the model has said all that
       counts: a connection that breaks now is no loss.
    3. A body that is no stream comes as one frame: the provider's whole answer in its non-streaming form, or
       its error object.
    """

    @property
    def done(self) -> bool:
        """Whether the server said that nothing more comes."""
        ...

    @property
    def whole(self) -> bool:
        """Whether the model has said all, though something may follow, as usage."""
        ...

    def feed(self, frame: Frame) -> ChatResponse | None:
        """Decode a frame; None if there is nothing in it.

        Errors: `ModelResponseError` (`failed`) for an error object, `BadModelOutputError` (`object_in`).
        """
        ...

    def close(self) -> None:
        """Check that the answer is whole, now that the stream has ended.

        Errors: `IncompleteStreamError` if it is cut; `ContentFilterError` (`held_back`) if the provider cut
            it for its content.
        """
        ...


@final
@frozen
class Defaults:
    """Where a provider is, and under which names its users keep what it wants.

    Attributes:
        provider: what errors call it.
        base_url: its own server.
        keys: variables of the environment that may hold the key, the first that is set counts.
        urls: variables that may hold the address of a server.
        needs_key: whether its own server refuses who has no key.
        lines: whether it streams NDJSON, where a server does not say what it sends.
    """

    provider: str
    base_url: str
    keys: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    needs_key: bool = True
    lines: bool = False


@final
@frozen
class Ask:
    """One request.

    Attributes:
        path: behind the base URL, with its slash: `/v1/messages`.
        body: JSON.
        headers: the key's among them; those of the options come on top.
        query: what follows the `?`; that of the options comes on top.
    """

    path: str
    body: Mapping[str, Any] = field(repr=False)
    headers: Mapping[str, str] = field(factory=dict[str, str], repr=False)
    query: Mapping[str, str] = field(factory=dict[str, str], repr=False)


@final
class Server:
    """A provider's server, as the arguments of a model say it: checked at once, asked at each subscription.

    Args:
        model: the model's name.
        defaults: the provider.
        api_key: the key, or a function that returns the one of the moment; else the environment's.
        base_url: the server; else the environment's, else the provider's own.
        timeout: seconds that the server may send nothing; None for no limit.
        connect_timeout: seconds for the connection; None for no limit.
        options: for every call; those of a call come first.
        max_event_bytes: what one event of the stream may have.

    Errors: `ConfigurationError`.
    """

    def __init__(
        self,
        model: str,
        defaults: Defaults,
        *,
        api_key: Key = None,
        base_url: str | None = None,
        timeout: float | None = 300.0,
        connect_timeout: float | None = 10.0,
        options: GenerateOptions | None = None,
        max_event_bytes: int = DEFAULT_LIMIT,
    ) -> None:
        if not model:
            raise ConfigurationError("model is empty; give the model's name, as 'gpt-4o'")
        for name, seconds in (("timeout", timeout), ("connect_timeout", connect_timeout)):
            if seconds is not None and not seconds > 0:
                raise ConfigurationError(f"{name}={seconds!r} leaves no time; give seconds > 0, or None")
        self.model = model
        self.base_url = _checked_url(base_url or _variable(defaults.urls) or defaults.base_url)
        self.options = options or GenerateOptions()
        self._defaults = defaults
        self._key = api_key or _variable(defaults.keys)
        if self._key is None and defaults.needs_key and self.is_own:
            raise ConfigurationError(
                f"there is no key for {self.base_url}; set {' or '.join(defaults.keys)}, give api_key=…, "
                "or give the base_url of a server that needs none"
            )
        if isinstance(self._key, str):
            self._key = _checked_key(self._key)
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._limit = max_event_bytes
        self._reader("")

    @property
    def name(self) -> str:
        """What errors call it."""
        return f"{self.model} at {self.base_url}"

    @property
    def is_own(self) -> bool:
        """Whether it is the provider's own server, and not one that speaks the same."""
        own, host = urlsplit(self._defaults.base_url).hostname, urlsplit(self.base_url).hostname or ""
        return host == own or host.endswith(f".{own}")

    def stream(
        self,
        ask: Callable[[str | None, GenerateOptions], Ask],
        decoder: Callable[[str], Decoder],
        options: GenerateOptions | None = None,
    ) -> Observable[ChatResponse]:
        """Return the answer: one request per subscription, cancelled when it is disposed.

        Args:
            ask: makes the request, from the key of the moment and the options.
            decoder: makes a decoder, from what errors are to call the model.
            options: of this call.

        Errors: a `ModelError`; `ConfigurationError` for a request that is no JSON.
        """
        wanted = (options or GenerateOptions()).over(self.options)
        return from_async_iterable(lambda: self._answer(self._post(ask, wanted), decoder(self.name)))

    def _post(self, ask: Callable[[str | None, GenerateOptions], Ask], options: GenerateOptions) -> Post:
        key = self._key if isinstance(self._key, str | None) else _checked_key(self._key())
        asked = ask(key, options)
        try:
            body = dumps(asked.body)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(
                f"a tool's schema or an option for {self.model} is no JSON: {error}"
            ) from error
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/x-ndjson" if self._defaults.lines else "text/event-stream",
            "Accept-Encoding": "identity",  # compressing proxies hold small events back
            **asked.headers,
        }
        wanted = {name.lower() for name in options.extra_headers}
        headers = {name: value for name, value in headers.items() if name.lower() not in wanted}
        headers.update(options.extra_headers)
        query = {**asked.query, **options.extra_query}
        return Post(
            f"{self.base_url}{asked.path}",
            body,
            headers,
            query,
            _secrets(key, headers, query),
            self.name,
            self._timeout,
            self._connect_timeout,
        )

    async def _answer(self, request: Post, decoder: Decoder) -> AsyncGenerator[ChatResponse]:
        started = time.monotonic()
        try:
            async with post(request) as reply:
                reader = self._reader(reply.content_type)
                async with aclosing(self._frames(reply, reader, decoder)) as batches:
                    async for frames in batches:
                        for response in decoded(decoder, frames):
                            yield _timed(response, started) if response.usage is not None else response
                decoder.close()
                await reply.drain()
        except ModelError as error:
            _redact(error, request)
            raise

    async def _frames(
        self, reply: Reply, reader: FrameReader, decoder: Decoder
    ) -> AsyncGenerator[list[Frame]]:
        """Yield frames until the decoder is done; what breaks after the model has finished is no loss."""
        try:
            async with aclosing(reply.chunks()) as chunks:
                async for chunk in chunks:
                    yield reader.feed(chunk)
                    if decoder.done:
                        return
            yield reader.close()
        except WireError as error:
            raise BadModelOutputError(f"{self.name}: {error.problem}") from error
        except (ModelConnectionError, ModelTimeoutError):
            if not decoder.whole:
                raise

    def _reader(self, content_type: str) -> FrameReader:
        """Return the reader for a body; servers that do not stream send the whole answer."""
        if content_type == "text/html":
            raise BadModelOutputError(
                f"{self.name} answered with a web page instead of a stream; check base_url"
            )
        if content_type == "application/json":
            return BodyReader(limit=self._limit)
        lines = self._defaults.lines and content_type != "text/event-stream"
        return (NDJSONReader if lines or content_type in _NDJSON else SSEReader)(limit=self._limit)


def decoded(decoder: Decoder, frames: Sequence[Frame]) -> Iterable[ChatResponse]:
    """Decode frames until there is nothing more."""
    if len(frames) != 1:
        return _each_decoded(decoder, frames)
    response = decoder.feed(frames[0])  # as the network brings them, as a rule
    return () if response is None else (response,)


def _each_decoded(decoder: Decoder, frames: Iterable[Frame]) -> Iterator[ChatResponse]:
    for frame in frames:
        response = decoder.feed(frame)
        if response is not None:
            yield response
        if decoder.done:
            return


def _timed(response: ChatResponse, started: float) -> ChatResponse:
    assert response.usage is not None
    return evolve(response, usage=evolve(response.usage, time=round(time.monotonic() - started, 3)))


def _redact(error: ModelError, request: Post) -> None:
    """Take secrets out of what a server repeated of them."""
    error.args = tuple(request.redacted(arg) if isinstance(arg, str) else arg for arg in error.args)
    if isinstance(error, ModelResponseError):
        error.body = request.redacted(error.body)


def _variable(names: Iterable[str]) -> str | None:
    return next((value for name in names if (value := os.environ.get(name))), None)


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


def _secrets(key: str | None, headers: Mapping[str, str], query: Mapping[str, str]) -> tuple[str, ...]:
    """What no error may repeat, the longest first; of a header, also what follows `Bearer`."""
    named = [*headers.items(), *query.items()]
    values = [value for name, value in named if any(word in name.lower() for word in _SECRET)]
    hidden = {*values, *(value.partition(" ")[2] for value in values), key or ""}
    return tuple(sorted(hidden - {""}, key=len, reverse=True))
