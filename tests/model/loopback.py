"""A server on this machine that answers as a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """What a test sees of the server."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[web.Request] = []
        self.bodies: list[Any] = []
        self.peers: set[Any] = set()
        self.left = asyncio.Event()
        """Set when a client has gone before its answer was complete."""

    @property
    def connections(self) -> int:
        """How many connections the requests came over."""
        return len(self.peers)


@asynccontextmanager
async def serving(handler: Handler) -> AsyncGenerator[Server]:
    """Run a server in this loop; its address is `server.url`."""
    server = Server()

    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        server.requests.append(request)
        server.bodies.append(json.loads(await request.read()))
        server.peers.add(request.transport.get_extra_info("peername"))
        try:
            return await handler(request)
        except (asyncio.CancelledError, ConnectionError):
            server.left.set()
            raise

    app = web.Application(client_max_size=2**26)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield server
    finally:
        await runner.cleanup()


def events(*data: Any, pause: float = 0.0, hang: bool = False, cut: bool = False) -> Handler:
    """Answer with server-sent events; then end, wait for ever, or break the connection."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for item in data:
            text = item if isinstance(item, str) else json.dumps(item)
            await response.write(f"data: {text}\n\n".encode())
            await asyncio.sleep(pause)
        if hang:
            await asyncio.sleep(60)
        if cut:
            assert request.transport is not None
            request.transport.close()
            return response
        await response.write_eof()
        return response

    return handler


def status(code: int, body: str = "", **headers: str) -> Handler:
    """Answer with a status."""

    async def handler(request: web.Request) -> web.StreamResponse:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=code, text=body, headers=names)

    return handler
