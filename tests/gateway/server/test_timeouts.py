"""When a connection is closed, and what is not cut off by that."""

import asyncio
import ssl
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from gateway.server import tls
from gateway.server.config import ConnectionLimits
from tests.gateway.server.exchanges import SHORT, echo, exchange, message
from tests.gateway.server.served_application import GET, LAST_GET, listen, on_server_loop, statuses


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        (GET[:-2], "0.2 seconds"),
        (GET[:-2] + b"Content-Length: 9\r\n\r\nabc", "240 bytes per second"),
    ],
)
def test_a_request_that_does_not_arrive_is_given_up(raw: bytes, names: str) -> None:
    received = exchange(raw, echo, replace(SHORT, body_seconds=60))
    assert statuses(received) == [408]
    assert names in message(received)


@pytest.mark.parametrize(
    ("limits", "names"),
    [
        # No pause is too long, in case this machine is busy.
        (
            replace(SHORT, grace_seconds=0.5, min_bytes_per_second=1, body_idle_seconds=60),
            "within 0.6 seconds",
        ),
        (replace(SHORT, body_seconds=60), "240 bytes per second"),
    ],
)
@on_server_loop
async def test_a_body_that_arrives_too_slowly_is_given_up(
    limits: ConnectionLimits, names: str
) -> None:
    async with listen(echo, replace(limits, linger_seconds=10)) as connect:
        reader, writer = await connect()
        writer.write(GET[:-2] + b"Content-Length: 999\r\n\r\n")
        answering = asyncio.create_task(reader.readuntil(b"}"))
        while not answering.done():
            writer.write(b"x")
            await asyncio.wait([answering], timeout=0.05)
        assert names in message(await answering)
        writer.close()


def test_a_silent_connection_is_closed_without_a_response() -> None:
    assert exchange(b"", echo, SHORT) == b""


def test_a_bad_request_does_not_cut_into_the_answer_before_it() -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await asyncio.sleep(0.3)
        await send({"type": "http.response.body", "body": b"second"})

    received = exchange(GET, slow, SHORT, b"\x00nonsense")
    assert statuses(received) == [200, 400]
    assert b"second\r\n0\r\n\r\nHTTP/1.1 400 " in received


def test_a_body_that_breaks_off_ends_the_application() -> None:
    errors: list[type[BaseException]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await echo(scope, receive, send)
        except Exception as error:
            errors.append(type(error))
            raise

    exchange(GET[:-2] + b"Content-Length: 9\r\n\r\nabc", app, SHORT)
    assert [each.__name__ for each in errors] == ["ClientDisconnectedError"]


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    length = str(24_000_000).encode()
    headers = [(b"content-length", length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": bytes(24_000_000)})


def _context(directory: Path) -> ssl.SSLContext:
    return tls.create_ssl_context(*tls.ensure_certificate(directory))


@on_server_loop
async def test_a_slow_client_that_does_read_gets_everything() -> None:
    async with listen(endless, replace(SHORT, body_idle_seconds=30)) as connect:
        reader, writer = await connect()
        writer.write(LAST_GET)
        size = 0
        while piece := await reader.read(4_000_000):
            size += len(piece)
            await asyncio.sleep(0.005)
        assert size > 24_000_000
        writer.close()


@on_server_loop
async def test_a_handshake_has_a_deadline(tmp_path: Path) -> None:
    limits = replace(SHORT, handshake_seconds=0.2)

    async with listen(echo, limits, _context(tmp_path)) as connect:
        reader, writer = await asyncio.open_connection("127.0.0.1", connect.port)
        assert await reader.read() == b""
        writer.close()
