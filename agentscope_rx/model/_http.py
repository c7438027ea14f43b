"""POST to a model's server, and the bytes that come back: the only place that knows aiohttp.

There is one session for each event loop, shared by all models, so that connections are used again. It
closes with its loop: an asynchronous generator holds it, and loops end those when they shut down.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from email.utils import parsedate_to_datetime
from http.client import responses as reasons
from ipaddress import ip_address
from typing import Final, final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import aiohttp
from attrs import field, frozen

from agentscope_rx.errors import (
    ModelConnectionError,
    ModelResponseError,
    ModelTimeoutError,
)
from agentscope_rx.model._failure import cause_of, read_error, remedy_for

__all__ = ["Post", "Reply", "is_loopback", "post"]

_ERROR_BODY: Final = 64 * 1024
"""Bytes of an error's body that are read and kept."""

_LAST_BYTES: Final = 0.1
"""Seconds for the end of a body whose content is there already, so that the connection can be used again."""

_REQUEST_IDS: Final = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid", "cf-ray")


@final
@frozen
class Post:
    """A request; nothing in it but the address is ever shown.

    Attributes:
        url: where to.
        body: JSON.
        headers, query: as they are sent.
        secrets: texts that no error may repeat.
        name: what errors call the other side.
        timeout: seconds that nothing may arrive; None for no limit.
        connect_timeout: seconds for the connection; None for no limit.
    """

    url: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    query: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    name: str
    timeout: float | None
    connect_timeout: float | None

    def redacted(self, text: str) -> str:
        """Return a text without the secrets."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


@final
class Reply:
    """The answer to a request: its head, and its body as it comes."""

    __slots__ = ("_post", "_response")

    def __init__(self, post: Post, response: aiohttp.ClientResponse) -> None:
        self._post = post
        self._response = response

    @property
    def content_type(self) -> str:
        """The MIME type; empty if there is none."""
        return self._response.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Yield the body's bytes as the network brings them."""
        with _model_errors(self._post):
            async for chunk in self._response.content.iter_any():
                yield chunk

    async def drain(self) -> None:
        """Read what is left, if it is there: whoever has all content that counts need not wait for it."""
        with suppress(TimeoutError, aiohttp.ClientError, OSError):
            async with asyncio.timeout(_LAST_BYTES):
                while not self._response.content.at_eof():
                    await self._response.content.readany()


@asynccontextmanager
async def post(request: Post) -> AsyncGenerator[Reply]:
    """Send a request; the block gets the reply once its head is there and says success.

    Errors: `ModelConnectionError`, `ModelTimeoutError`, `ModelHTTPError` and its subclasses.
    """
    session = await _session()
    with _model_errors(request):
        response = await session.post(
            request.url,
            data=io.BytesIO(request.body),
            headers=request.headers,
            params=request.query,
            proxy=_proxy(request.url),
            allow_redirects=False,  # a key goes to the host that it was given for
            timeout=aiohttp.ClientTimeout(
                total=None, connect=request.connect_timeout, sock_read=request.timeout
            ),
        )
    async with response:
        if not 200 <= response.status < 300:
            raise await _http_error(request, response)
        yield Reply(request, response)


@contextmanager
def _model_errors(request: Post) -> Generator[None]:
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise ModelConnectionError(
            f"{request.name} could not be reached within {_seconds(request.connect_timeout)}; "
            "check base_url and the network, or raise connect_timeout"
        ) from error
    except TimeoutError as error:
        raise ModelTimeoutError(
            f"{request.name} sent nothing for {_seconds(request.timeout)}; "
            "raise timeout if it may take longer"
        ) from error
    except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
        raise ModelConnectionError(
            f"{request.name} could not be reached: {request.redacted(str(error))}; "
            "check base_url, and that the server runs"
        ) from error
    except (aiohttp.ClientError, OSError) as error:
        raise ModelConnectionError(
            f"the connection to {request.name} broke: {request.redacted(str(error)) or type(error).__name__}"
        ) from error


def _seconds(timeout: float | None) -> str:
    return "too long" if timeout is None else f"{timeout:g} s"


async def _http_error(request: Post, response: aiohttp.ClientResponse) -> ModelResponseError:
    status, headers = response.status, response.headers
    body = request.redacted(await _error_body(response))
    request_id = next((headers[name] for name in _REQUEST_IDS if name in headers), "")
    reason = response.reason or reasons.get(status, "")
    said = read_error(body)
    retry_after = _retry_after(headers)
    retry_after = said.retry_after if retry_after is None else retry_after
    cause, status = cause_of(said, status)
    request_id = request_id or said.request_id
    text = said.text.rstrip(". ") or (f"see {headers['Location']}" if "Location" in headers else "")
    remedy = remedy_for(cause, status) if retry_after is None else f"try again after {retry_after:g} s"
    message = f"{request.name} answered {status} {reason}".rstrip()
    message += f": {text}" if text else ""
    message += f"; {remedy}" if remedy else ""
    message += f" (request {request_id})" if request_id else ""
    return cause(
        message,
        status=status,
        type=said.type,
        code=said.code,
        body=body,
        request_id=request_id,
        retry_after=retry_after,
    )


async def _error_body(response: aiohttp.ClientResponse) -> str:
    body = bytearray()
    with suppress(aiohttp.ClientError, OSError):  # TimeoutError is an OSError
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > _ERROR_BODY:
                break
    return bytes(body[:_ERROR_BODY]).decode("utf-8", "replace")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server wants to be left alone; it may say milliseconds, seconds, or a date."""
    with suppress(KeyError, ValueError):
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    with suppress(KeyError, ValueError):
        return max(0.0, float(headers["Retry-After"]))
    with suppress(KeyError, ValueError):
        return max(0.0, round(parsedate_to_datetime(headers["Retry-After"]).timestamp() - time.time(), 3))
    return None


def is_loopback(url: str) -> bool:
    """Return whether an address is on this machine."""
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _proxy(url: str) -> str | None:
    """The proxy that the environment names, by hand: aiohttp's own way reads credentials from `.netrc`."""
    parts = urlsplit(url)
    if is_loopback(url) or proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme) or getproxies().get("all")


_Keeper = AsyncGenerator[aiohttp.ClientSession]

_sessions: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[aiohttp.ClientSession, _Keeper]]] = (
    WeakKeyDictionary()
)


async def _session() -> aiohttp.ClientSession:
    loop = asyncio.get_running_loop()
    known = _sessions.get(loop)
    if known is not None:
        return known[0]
    for other in list(_sessions):
        if other.is_closed():  # without a shut-down; its session refers to it, so that it would stay
            del _sessions[other]
    keeper = _keep(loop)
    session = await anext(keeper)
    _sessions[loop] = session, keeper
    return session


async def _keep(loop: asyncio.AbstractEventLoop) -> _Keeper:
    """Hold a session open until the loop shuts down its asynchronous generators."""
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar(), raise_for_status=False
    )
    try:
        yield session
    finally:
        _sessions.pop(loop, None)
        await session.close()
