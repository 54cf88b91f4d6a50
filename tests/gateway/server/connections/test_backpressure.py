"""Slow and pipelining clients neither delay other clients nor use much memory."""

import asyncio
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from gateway.cache.fast_path import FastResponse
from gateway.server import tls
from gateway.server.config import ConnectionLimits
from tests.gateway.server.served_application import (
    GET,
    HOST,
    LAST_GET,
    fetch,
    listen,
    on_server_loop,
    open_slow_reader,
    wait_until,
)

LIMITS = ConnectionLimits(header_seconds=600, grace_seconds=600, body_idle_seconds=600)
"""A busy machine takes longer than slow clients may."""
BIG = bytes(16_000_000)
"""More than the kernel takes for a client that does not read."""


def count_ok_responses(received: bytes) -> int:
    """How many responses were 200; all must be."""
    assert received.count(b"HTTP/1.1 ") == received.count(b"HTTP/1.1 200 OK\r\n")
    return received.count(b"HTTP/1.1 ")


class CountingApp:
    """An application that counts the requests it is given and answers all alike."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.started = 0
        self.open = asyncio.Event()
        self.open.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.started += scope["raw_path"] == b"/"
        await self.open.wait()
        body = self.body if scope["raw_path"] == b"/" else b"small"
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


LAST_SMALL = LAST_GET.replace(b" / ", b" /small ")


@pytest.mark.parametrize("secure", [False, True])
@on_server_loop
async def test_no_request_starts_before_the_response_to_the_last_is_read(
    secure: bool, tmp_path: Path
) -> None:
    app = CountingApp(BIG)
    context = tls.create_ssl_context(*tls.ensure_certificate(tmp_path)) if secure else None
    async with listen(app, LIMITS, context) as connect:
        reader, writer = await open_slow_reader(connect, GET * 4 + LAST_GET)
        assert count_ok_responses(await fetch(connect, LAST_SMALL)) == 1
        assert app.started <= 1 + secure  # TLS takes one more than the connection below it
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        size = 0
        while piece := await reader.read(4_000_000):
            size += len(piece)
        assert size > 5 * len(BIG)
        assert app.started == 5
        writer.close()


@on_server_loop
async def test_a_request_that_waits_for_its_client_is_dropped_with_it() -> None:
    app = CountingApp(BIG)
    async with listen(app, LIMITS) as connect:
        _, writer = await open_slow_reader(connect, GET * 2)
        writer.transport.abort()
        await wait_until(lambda: not connect.protocols)
        assert count_ok_responses(await fetch(connect, LAST_SMALL)) == 1
        assert app.started == 1


@on_server_loop
async def test_pipelined_requests_wait_unparsed_and_are_all_answered() -> None:
    count, queued = 3000, list[int]()

    blocking = CountingApp(b"")
    blocking.open.clear()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await blocking(scope, receive, send)
        queued.extend(len(each.pipeline) for each in connect.protocols)

    async with listen(app, LIMITS) as connect:
        reader, writer = await connect()
        writer.write(GET * (count - 1) + LAST_GET)
        await wait_until(lambda: any(each.flow.read_paused for each in connect.protocols))
        blocking.open.set()
        assert count_ok_responses(await reader.read()) == count
        writer.close()
    assert set(queued) == {0}


@on_server_loop
async def test_a_body_after_a_pipelined_request_arrives_complete() -> None:
    body = b"x" * 300_000
    post = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(body) + body
    sizes = list[int]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        size, more = 0, True
        while more:
            message = await receive()
            size += len(message["body"])
            more = message["more_body"]
        sizes.append(size)
        await CountingApp(b"")(scope, receive, send)

    async with listen(app, LIMITS) as connect:
        assert count_ok_responses(await fetch(connect, GET + post + GET + post + LAST_GET)) == 5
    assert sizes == [0, len(body), 0, len(body), 0]


@on_server_loop
async def test_fast_path_responses_wait_for_a_slow_reader() -> None:
    found = FastResponse(200, b"content-length: 1000000\r\n", bytes(1_000_000), "/", "key")
    count, looked_up = 60, list[bytes]()

    def fast_path(target: bytes, headers: list[tuple[bytes, bytes]]) -> FastResponse | None:
        looked_up.append(target)
        return found if target == b"/" else None

    app = CountingApp(found.body)
    async with listen(app, LIMITS, fast_path=fast_path) as connect:
        reader, writer = await open_slow_reader(connect, GET * (count - 1) + LAST_GET)
        assert count_ok_responses(await fetch(connect, LAST_SMALL)) == 1
        assert len(looked_up) + app.started < count / 2
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        assert count_ok_responses(await reader.read()) == count
        writer.close()
