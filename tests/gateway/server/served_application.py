"""An application served on a real socket of this process, spoken to byte by byte."""

import asyncio
import functools
import ssl
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec

import orjson
import uvloop
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.exchange import RawHeaders
from gateway.middleware import RequestMiddleware
from gateway.response_cache import BodyLookup, FastPath, FastResponse
from gateway.server import connections
from gateway.server.admission import Admission
from gateway.server.config import Application, ConnectionLimits
from gateway.server.connections import ConnectionTable
from gateway.server.http_connection import HttpConnection, ServerState
from gateway.server.server import open_listeners
from gateway.server.websocket_connection import build_websocket_config
from rest.bodies import receive_body
from tests.gateway.small_app import PlainApplication
from tests.waiting import TIMEOUT_SECONDS

HOST = b"Host: localhost\r\n"
GET = b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"
LAST_GET = b"GET / HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"

P = ParamSpec("P")
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Listener:
    """Called, it opens a connection; it knows the server's side of each."""

    port: int = 0
    client_context: ssl.SSLContext | None = None
    state: ServerState = field(default_factory=ServerState)
    table: ConnectionTable = field(default_factory=lambda: ConnectionTable(ConnectionLimits()))

    async def __call__(self, source: str = "127.0.0.1") -> Streams:
        """From this address: all of 127.0.0.0/8 is this machine."""
        return await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self.client_context, local_addr=(source, 0)
        )

    @property
    def protocols(self) -> list[HttpConnection]:
        """The server's side of the connections that are open."""
        return [each for each in self.state.connections if isinstance(each, HttpConnection)]


FastPathLookup = Callable[[bytes, list[tuple[bytes, bytes]]], FastResponse | None]
FastPathLookupByBody = Callable[[bytes, list[tuple[bytes, bytes]]], BodyLookup | None]


class GivenFastPath(FastPath):
    """A fast path that knows what two functions know, and the bytes of what they answered."""

    def __init__(
        self, find: FastPathLookup | None, find_by_body: FastPathLookupByBody | None
    ) -> None:
        nothing: Any = None
        super().__init__(nothing, nothing, nothing, nothing)
        self._given, self._given_by_body = find, find_by_body

    def find(self, target: bytes, headers: RawHeaders) -> FastResponse | None:
        return self._given(target, list(headers)) if self._given else None

    def find_by_body(self, target: bytes, headers: RawHeaders) -> BodyLookup | None:
        return self._given_by_body(target, list(headers)) if self._given_by_body else None


@asynccontextmanager
async def listen(
    app: ASGIApp | Application,
    limits: ConnectionLimits,
    context: ssl.SSLContext | None = None,
    fast_path: FastPathLookup | None = None,
    admission: Admission | None = None,
    proxy_hops: int = 0,
    websocket_paths: frozenset[bytes] = frozenset(),
    fast_path_by_body: FastPathLookupByBody | None = None,
    base_url: str | None = None,
) -> AsyncGenerator[Listener]:
    """Serves on a free port, over TLS if there is a context."""
    given_fast_path = GivenFastPath(fast_path, fast_path_by_body)
    application = (
        app
        if isinstance(app, Application)
        else PlainApplication(
            app if isinstance(app, RequestMiddleware) else RequestMiddleware(app),
            admission=admission or Admission(100_000, 100_000),
            configured_base_url=base_url,
            websocket_paths=websocket_paths,
            get_fast_path=lambda: given_fast_path,
        )
    )
    served = application.build_app()
    state, table = ServerState(), ConnectionTable(limits)
    config = build_websocket_config(served)
    listener = Listener(state=state, table=table)
    create = functools.partial(HttpConnection, application, served, state, config, proxy_hops)
    [sock] = open_listeners("127.0.0.1", 0)
    listener.port = sock.getsockname()[1]
    server = connections.Listener(create, sock, table, tls_context=context)
    if context is not None:
        listener.client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        listener.client_context.check_hostname = False
        listener.client_context.verify_mode = ssl.CERT_NONE
    try:
        yield listener
    finally:
        server.close()
        sock.close()
        for protocol in listener.protocols:
            protocol.transport.abort()  # tasks that wait for a client end with it
        for task in list(listener.state.tasks):
            await asyncio.wait([task])


def run(scenario: Coroutine[Any, Any, None]) -> None:
    """Run a scenario on the event loop that workers use."""

    async def bounded() -> None:
        await asyncio.wait_for(scenario, TIMEOUT_SECONDS)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(bounded())


def on_server_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test on an event loop of its own, of the kind that workers use."""

    @functools.wraps(test)
    def run_test(*arguments: P.args, **fixtures: P.kwargs) -> None:
        run(test(*arguments, **fixtures))

    return run_test


async def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds; `run` bounds the wait."""
    while not condition():
        await asyncio.sleep(0.01)


async def open_slow_reader(connect: Listener, raw: bytes = GET) -> Streams:
    """A client that reads nothing; returns once the server waits for it."""
    reader, writer = await connect()
    client = writer.get_extra_info("sockname")
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    writer.write(raw)
    await wait_until(
        lambda: any(each.client == client and each.flow.write_paused for each in connect.protocols)
    )
    return reader, writer


async def read_response(reader: asyncio.StreamReader) -> bytes:
    """The head and the body of a response."""
    received = await reader.readuntil(b"\r\n\r\n")
    for line in received.lower().split(b"\r\n"):
        if line.startswith(b"content-length: "):
            return received + await reader.readexactly(int(line[16:]))
    return received


async def fetch(connect: Listener, request: bytes = LAST_GET, source: str = "127.0.0.2") -> bytes:
    """The whole response to another client; its connection closes after it."""
    reader, writer = await connect(source)
    writer.write(request)
    pieces = []
    while piece := await reader.read(4_000_000):
        pieces.append(piece)
    writer.close()
    return b"".join(pieces)


def statuses(received: bytes) -> list[int]:
    """Of all responses, in their order."""
    return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]


SHORT = ConnectionLimits(
    header_seconds=0.2,
    grace_seconds=0.1,
    body_idle_seconds=0.2,
    body_seconds=0.6,
    keep_alive_seconds=1,
    linger_seconds=0.1,
)
STEADY = replace(
    SHORT,
    header_seconds=600,
    grace_seconds=600,
    body_idle_seconds=600,
    body_seconds=600,
    keep_alive_seconds=600,
)
"""Cuts nothing off, however busy this machine is."""


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the address and the body."""
    body = scope["raw_path"] + b" " + await receive_body(receive, 1_000_000)
    length = str(len(body)).encode()
    headers = [(b"content-length", length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def reject(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers without a look at the body."""
    headers = [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body"})


def exchange(
    raw: bytes,
    app: ASGIApp = echo,
    limits: ConnectionLimits = STEADY,
    *more: bytes,
    source: str = "127.0.0.1",
    **options: Any,
) -> bytes:
    """All that the server sends until it closes; `more` is sent piece by piece, with pauses."""
    received = b""

    async def scenario() -> None:
        nonlocal received
        async with listen(app, limits, **options) as connect:
            reader, writer = await connect(source)
            writer.write(raw)
            reading = asyncio.create_task(reader.read())
            for piece in more:
                await asyncio.wait([reading], timeout=0.05)
                if not reading.done():
                    writer.write(piece)
            received = await reading
            writer.close()

    run(scenario())
    return received


def message(received: bytes) -> str:
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head
    assert b"x-request-id: " in head
    assert b"connection: close" in head
    text: str = orjson.loads(body)["message"]
    return text
