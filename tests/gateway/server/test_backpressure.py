"""The protocol rejects requests itself when a worker has no room for them."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from gateway.middleware import RequestMiddleware
from gateway.response_cache import FastResponse
from gateway.server import admission as admission_module
from gateway.server import http_connection, tls
from gateway.server.admission import Admission
from gateway.server.config import ConnectionLimits
from gateway.server.http_connection import APPLICATION_REJECTION_COST, HttpConnection
from tests.gateway.server.served_application import (
    GET,
    HOST,
    LAST_GET,
    Listener,
    Streams,
    fetch,
    listen,
    on_server_loop,
    open_slow_reader,
    statuses,
    wait_until,
)

REJECTED = b'/v1/errors#QUEUE_FULL"}'
"""The end of the error."""

LAST = b"GET /free HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"


class App:
    """Holds requests for `/` until the event is set; answers others at once."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.started: list[str] = []
        self.admission = Admission(1, 1)
        self.listener = Listener()

    @property
    def protocols(self) -> list[HttpConnection]:
        """The server's side of the open connections."""
        return self.listener.protocols

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.started.append(scope["path"])
        if scope["path"] == "/":
            await self.release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def wrapped(self) -> RequestMiddleware:
        return RequestMiddleware(self)


@asynccontextmanager
async def busy_worker(app: App, base_url: str | None = None) -> AsyncIterator[Streams]:
    """Let a request take the only slot, and connect another client."""
    async with listen(
        app.wrapped(), ConnectionLimits(), admission=app.admission, base_url=base_url
    ) as connect:
        app.listener = connect
        (_, holder), (reader, writer) = await connect(), await connect()
        with closing(holder), closing(writer):
            holder.write(GET)
            await wait_until(lambda: app.started == ["/"])
            try:
                yield reader, writer
            finally:
                app.release.set()


@on_server_loop
async def test_the_error_refers_to_its_page_at_the_configured_url() -> None:
    async with busy_worker(App(), "https://maps.example") as (reader, writer):
        writer.write(GET)
        assert b'"https://maps.example/v1/errors#' in await reader.readuntil(REJECTED)


async def free_slot(app: App) -> None:
    app.release.set()
    await wait_until(lambda: app.admission.in_flight == 0)


@on_server_loop
async def test_a_request_without_a_slot_never_reaches_the_application(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "floorgate.access")
    app = App()

    async with busy_worker(app) as (reader, writer):
        writer.write(GET)
        received = await reader.readuntil(REJECTED)
        await free_slot(app)
        writer.write(LAST)
        received += await reader.read(-1)
    assert statuses(received) == [503, 200]
    assert b"retry-after: 1\r\n" in received
    assert b"x-request-id: " in received.partition(b"\r\n\r\n")[0]
    assert app.started == ["/", "/free"]
    assert len([each for each in caplog.records if each.name == "floorgate.access"]) == 2


@on_server_loop
async def test_over_tls_the_first_request_of_a_connection_is_rejected_by_the_protocol_too(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.INFO, "floorgate.access")
    context = tls.create_ssl_context(*tls.ensure_certificate(tmp_path))

    app = App()
    app.admission.keyed.limit = 0
    limits = ConnectionLimits()
    async with listen(app.wrapped(), limits, context, admission=app.admission) as connect:
        reader, writer = await connect()
        with closing(writer):
            writer.write(GET)
            assert statuses(await reader.readuntil(REJECTED)) == [503]
    assert [each for each in caplog.records if each.name == "floorgate.access"] == []


@pytest.mark.parametrize("arrives", ["with", "after"])
@on_server_loop
async def test_a_small_body_of_a_rejected_request_is_discarded(arrives: str) -> None:
    app = App()
    head = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\n"
    body = b"GET / HTT"
    async with busy_worker(app) as (reader, writer):
        writer.write(head + body if arrives == "with" else head)
        received = await reader.readuntil(REJECTED)
        await free_slot(app)
        writer.write(LAST if arrives == "with" else body + LAST)
        received += await reader.read(-1)
    assert statuses(received) == [503, 200]
    assert app.started == ["/", "/free"]


@on_server_loop
async def test_a_head_request_is_rejected_without_a_body() -> None:
    app = App()
    async with busy_worker(app) as (reader, writer):
        writer.write(b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\n" + LAST_GET)
        received = await reader.read(-1)
    first, second = received.split(b"HTTP/1.1 ")[1:]
    assert first.endswith(b"\r\n\r\n")
    assert statuses(received) == [503, 503]
    assert b"Service unavailable" in second


@pytest.mark.parametrize(
    ("head", "more"),
    [(LAST_GET, b""), (LAST_GET, GET), (b"GET / HTTP/1.0\r\n\r\n", b"garbage")],
)
@on_server_loop
async def test_a_request_that_ends_its_connection_is_rejected_by_the_protocol_too(
    head: bytes, more: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "floorgate.access")

    async with busy_worker(App()) as (reader, writer):
        writer.write(head + more)
        received = await reader.read(-1)
        assert [each for each in caplog.records if each.name == "floorgate.access"] == []
    assert statuses(received) == [503]
    assert b"\r\nconnection: close\r\n" in received
    assert received.endswith(REJECTED)


@pytest.mark.parametrize(
    "header",
    [b"Origin: https://a.example", b"Content-Length: 100000",
     b"Transfer-Encoding: chunked", b"Content-Length: 5\r\nExpect: 100-continue"],
)  # fmt: skip
@on_server_loop
async def test_what_the_protocol_cannot_reject_alone_is_rejected_by_the_middleware(
    header: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "floorgate.access")

    app = App()
    async with busy_worker(app) as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\n" + HOST + header + b"\r\n\r\n")
        assert statuses(await reader.readuntil(REJECTED)) == [503]
        assert app.started == ["/"]
        # Counted, without a line of its own.
        assert [each.name for each in caplog.records] == ["floorgate.admission"]


@on_server_loop
async def test_a_client_that_the_middleware_rejects_waits_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission_module, "MAX_REJECTIONS_PER_SECOND", 0.001)
    monkeypatch.setattr(admission_module, "MAX_DELAY_SECONDS", 3600.0)

    app = App()
    async with busy_worker(app) as (reader, writer):
        writer.write(GET[:-2] + b"Origin: https://a.example\r\n\r\n" + LAST)
        received = await reader.readuntil(REJECTED)
        (hasty,) = [each for each in app.protocols if each.is_delayed]
        assert hasty.flow.read_paused
        due_seconds = (app.admission._rejections_due.get("127.0.0.1") or 0.0) - hasty.loop.time()
        assert round(due_seconds / 1000) == APPLICATION_REJECTION_COST
        await free_slot(app)
        hasty.end_delay()
        received += await reader.read(-1)
    assert statuses(received) == [503, 200]


@on_server_loop
async def test_a_client_that_leaves_gives_its_slot_back() -> None:
    app = App()
    async with listen(app.wrapped(), ConnectionLimits(), admission=app.admission) as connect:
        _, writer = await connect()
        writer.write(GET)
        await wait_until(lambda: app.started == ["/"])
        writer.close()
        app.release.set()
        await wait_until(lambda: app.admission.in_flight == 0)


@on_server_loop
async def test_a_client_that_asks_again_at_once_waits_and_others_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission_module, "MAX_REJECTIONS_PER_SECOND", 0.001)
    monkeypatch.setattr(admission_module, "MAX_DELAY_SECONDS", 3600.0)

    app = App()
    async with busy_worker(app) as (reader, writer):
        writer.write(GET)
        await reader.readuntil(REJECTED)
        (hasty,) = [each for each in app.protocols if each.is_delayed]
        writer.write(GET + LAST)
        await wait_until(lambda: bool(hasty._unparsed) or hasty.flow.read_paused)
        await free_slot(app)
        other_reader, other_writer = await app.listener()
        with closing(other_writer):
            other_writer.write(LAST)
            assert statuses(await other_reader.read(-1)) == [200]
        assert app.started == ["/", "/free"]
        hasty.end_delay()
        assert statuses(await reader.read(-1)) == [200, 200]


@pytest.mark.parametrize(("header", "closes"), [(b"", True), (b"API-Key: valid\r\n", False)])
@on_server_loop
async def test_a_client_without_a_key_that_has_waited_for_long_is_closed(
    monkeypatch: pytest.MonkeyPatch, header: bytes, closes: bool
) -> None:
    """It has been rejected again and again, and asked again at once."""
    monkeypatch.setattr(admission_module, "MAX_REJECTIONS_PER_SECOND", 1.0)
    monkeypatch.setattr(http_connection, "MAX_DELAYED_SECONDS", 5.0)
    app = App()
    app.admission._is_known_key = lambda key: key.text == "valid"
    async with busy_worker(app) as (reader, writer):
        for count in itertools.count(1):
            writer.write(GET[:-2] + header + b"\r\n")
            received = await reader.readuntil(REJECTED)
            if b"\r\nconnection: close\r\n" in received or count == 20:
                break
            for protocol in app.protocols:
                if protocol.is_delayed:
                    protocol.end_delay()
        assert (b"\r\nconnection: close\r\n" in received) == closes


@on_server_loop
async def test_a_client_that_leaves_while_it_waits_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission_module, "MAX_REJECTIONS_PER_SECOND", 0.5)

    app = App()
    async with busy_worker(app) as (reader, writer):
        writer.write(GET)
        await reader.readuntil(REJECTED)
        (delayed,) = [each for each in app.protocols if each.is_delayed]
        writer.transport.abort()
        await wait_until(lambda: not delayed.is_delayed)


@on_server_loop
async def test_requests_that_waited_behind_another_are_rejected_when_it_is_their_turn() -> None:
    app = App()
    async with listen(app.wrapped(), ConnectionLimits(), admission=app.admission) as connect:
        reader, writer = await connect()
        with closing(writer):
            writer.write(GET + GET + LAST)
            await wait_until(lambda: app.started == ["/"])
            app.admission.keyed.limit = 0
            app.release.set()
            assert statuses(await reader.read(-1)) == [200, 503, 503]


# Slow and pipelining clients neither delay other clients nor use much memory.


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
