"""One connection, byte by byte: what is served and what is rejected."""

import asyncio
import ssl
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from starlette.types import Receive, Scope, Send

from gateway.server import tls
from gateway.server.config import ConnectionLimits
from rest.openapi.description import build_description
from schema.root import GRAPHQL_SCHEMA
from tests.gateway.server.served_application import (
    GET,
    HOST,
    LAST_GET,
    SHORT,
    STEADY,
    echo,
    exchange,
    listen,
    message,
    on_server_loop,
    reject,
    statuses,
)

# What is served


def test_requests_follow_one_another_on_a_connection() -> None:
    received = exchange(GET, echo, STEADY, GET, LAST_GET)
    assert statuses(received) == [200, 200, 200]


def test_pipelined_requests_are_answered_in_order() -> None:
    paths = [b"/a", b"/b", b"/c"]
    raw = b"".join(GET.replace(b" / ", b" %b " % path) for path in paths) + LAST_GET
    received = exchange(raw)
    assert statuses(received) == [200] * 4
    assert [part.split(b"\r\n\r\n")[1] for part in received.split(b"HTTP/1.1 ")[1:]] == [
        b"/a ", b"/b ", b"/c ", b"/ ",
    ]  # fmt: skip


def test_chunked_bodies_arrive_complete_and_trailers_are_ignored() -> None:
    raw = b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    received = exchange(
        raw, echo, STEADY, b"3\r\nabc\r\n2;x=y\r\nde\r\n", b"0\r\nA: b\r\n\r\n", LAST_GET
    )
    assert b"/ abcde" in received
    assert statuses(received) == [200, 200]


def test_http_1_0_is_served_without_a_host_and_closed() -> None:
    received = exchange(b"GET / HTTP/1.0\r\n\r\n")
    assert statuses(received) == [200]
    assert b"connection: close" in received


def test_a_client_that_asks_first_is_told_to_continue() -> None:
    head = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n"
    received = exchange(head, echo, STEADY, b"abc", LAST_GET)
    assert statuses(received) == [100, 200, 200]


def test_a_rejected_client_that_expects_100_continue_sends_no_body() -> None:
    head = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n"
    assert statuses(exchange(head, reject)) == [413]


def test_an_answer_before_the_end_of_the_body_reaches_the_client() -> None:
    head = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 9000000\r\n\r\n"
    limits = replace(STEADY, linger_seconds=2)
    assert statuses(exchange(head + b"x" * 500_000, reject, limits)) == [413]


def test_a_connection_goes_on_when_the_body_ends_after_its_answer() -> None:
    head = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 6\r\n\r\n"
    limits = replace(STEADY, linger_seconds=60)
    assert statuses(exchange(head + b"abc", reject, limits, b"def", LAST_GET)) == [413, 413]


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@on_server_loop
async def test_a_connection_closes_after_the_body_that_was_answered_early(version: bytes) -> None:
    """To close it before would reset it, and a proxy that is sending would answer 502."""
    lines = HOST + b"Connection: close\r\nContent-Length: 9000000\r\n\r\n"
    async with listen(reject, replace(STEADY, linger_seconds=60)) as connect:
        reader, writer = await connect()
        writer.write(b"POST / HTTP/%b\r\n%b" % (version, lines))
        assert statuses(await reader.readuntil(b"\r\n\r\n")) == [413]
        writer.write(b"x" * 9_000_000)
        await writer.drain()
        assert await reader.read() == b""
        writer.close()


def test_an_upgrade_is_declined_by_an_ordinary_answer() -> None:
    raw = GET[:-2] + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n"
    received = exchange(raw)
    assert statuses(received) == [200]
    assert b"connection: close" in received


def test_an_idle_connection_is_closed() -> None:
    assert statuses(exchange(GET, echo, SHORT)) == [200]


def test_empty_lines_do_not_keep_an_idle_connection_open() -> None:
    assert statuses(exchange(GET, echo, SHORT, b"\r\n")) == [200]


# What is rejected


@pytest.mark.parametrize(
    ("raw", "status", "names"),
    [
        (b"GET /" + b"a" * 25_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414, "24576 bytes"),
        (b"GET /" + b"a" * 25_000, 414, "24576 bytes"),
        (GET[:-2] + b"A: " + b"b" * 40_000 + b"\r\n\r\n", 431, "32768 bytes"),
        (GET[:-2] + b"A: " + b"b" * 400_000, 431, "32768 bytes"),  # and no end of it
        (GET[:-2] + b"A: b\r\n" * 120 + b"\r\n", 431, "100 headers"),
        (b"GET / HTTP/1.1\r\n\r\n", 400, "exactly one Host"),
        (GET[:-2] + HOST + b"\r\n", 400, "exactly one Host"),
        (b"GET / HTTP/1.0\r\n" + HOST * 2 + b"\r\n", 400, "exactly one Host"),
        (b"GET / HTTP/1.1\r\nHost: a/b@c\r\n\r\n", 400, "Host header"),
        (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400, "Host header"),
        (b"\x16\x03\x01\x02\x00", 400, "Malformed"),  # TLS where plain HTTP is spoken
        (b"GET / HTTP/2.0\r\n" + HOST + b"\r\n", 505, "use HTTP/1.1"),
        (b"GET / HTTP/0.9\r\n" + HOST + b"\r\n", 505, "use HTTP/1.1"),
        (b"\r\n" * 10_000, 400, "Empty lines precede the request"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "Malformed"),
        (b"GET /\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n", 400, "Malformed"),
        (b"GET http://[ HTTP/1.1\r\n" + HOST + b"\r\n", 400, "Malformed"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"A\x00: b\r\n\r\n", 400, "Malformed"),
        (GET[:-2] + b"Content-Length: -1\r\n\r\n", 400, "Content-Length"),
        (GET[:-2] + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "Content-Length"),
        # request smuggling: two lengths
        (
            GET[:-2] + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
            400,
            "Malformed",
        ),
        (GET[:-2] + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "chunk size"),
        (GET[:-2] + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, "must be chunked"),
        (GET[:-2] + b"Transfer-Encoding: gzip\r\n\r\n", 501, "must be chunked"),
        (GET[:-2] + b"Transfer-Encoding: identity\r\n\r\n", 501, "must be chunked"),
        (
            b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
            "HTTP/1.0 must not have",
        ),
        (b"GET http://user@a/ HTTP/1.1\r\n" + HOST + b"\r\n", 400, "invalid URL"),
        (b"GET ftp://a/ HTTP/1.1\r\n" + HOST + b"\r\n", 400, "invalid URL"),
        (b"GET http:///a HTTP/1.1\r\n" + HOST + b"\r\n", 400, "invalid URL"),
        (b"GET http://a/ HTTP/1.1\r\n\r\n", 400, "exactly one Host"),
        (b"CONNECT a:80 HTTP/1.1\r\n" + HOST + b"\r\n", 400, "invalid URL"),
    ],
)
def test_a_bad_request_is_rejected_with_the_limit(raw: bytes, status: int, names: str) -> None:
    received = exchange(raw)
    assert statuses(received) == [status]
    assert names in message(received)


@pytest.mark.parametrize(
    "raw",
    [
        b"GET /" + b"a" * 25_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        GET[:-2] + b"A: " + b"b" * 40_000 + b"\r\n\r\n",
    ],
)
def test_the_messages_are_examples_in_the_openapi_description(raw: bytes) -> None:
    description = orjson.dumps(build_description(GRAPHQL_SCHEMA, None)).decode()
    assert f'"{message(exchange(raw))}"' in description


@pytest.mark.parametrize(
    "endless",
    [
        b"1;" + b"x" * 60_000,
        b"0\r\nT: " + b"x" * 60_000,
        b"1;" + b"x" * 40_000 + b"\r\na\r\n0\r\n\r\n",
        b"0\r\n" + b"a: b\r\n" * 8_000 + b"\r\n",
        (b"1;" + b"x" * 500 + b"\r\na\r\n") * 100 + b"0\r\n\r\n",
    ],
    ids=["extension", "trailer", "complete extension", "trailers", "many extensions"],
)
@pytest.mark.parametrize("at_once", [False, True])
def test_chunk_extensions_and_trailers_count_as_headers(endless: bytes, at_once: bool) -> None:
    head = GET[:-2] + b"Transfer-Encoding: chunked\r\n\r\n"
    received = exchange(head + endless) if at_once else exchange(head, echo, STEADY, endless, b"x")
    assert "32768 bytes" in message(received)


def test_a_body_in_many_small_chunks_arrives() -> None:
    head = GET[:-2] + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    received = exchange(head + b"1\r\na\r\n" * 20_000 + b"0\r\n\r\n")
    assert received.endswith(b"a" * 20_000)


@pytest.mark.parametrize(
    ("target", "path", "host"),
    [
        (b"http://maps.example/v1/units?page=2", b"/v1/units?page=2", b"maps.example"),
        (b"HTTPS://maps.example:8443", b"/?", b"maps.example:8443"),
        (b"http://[::1]?page=2", b"/?page=2", b"[::1]"),
        (b"/v1/units?next=http://evil.example/", b"/v1/units?next=http://evil.example/", b"a"),
        (b"//evil.example/", b"//evil.example/?", b"a"),
    ],
)
def test_the_host_of_an_absolute_target_counts(target: bytes, path: bytes, host: bytes) -> None:
    """As RFC 9112, 3.2.2, has it: the Host header is ignored."""

    async def show(scope: Scope, receive: Receive, send: Send) -> None:
        [found] = [value for name, value in scope["headers"] if name == b"host"]
        body = scope["raw_path"] + b"?" + scope["query_string"] + b" " + found
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    received = exchange(
        b"GET " + target + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", show
    )
    assert received.endswith(b"\r\n" + (path if b"?" in path else path + b"?") + b" " + host)


# When a connection is closed, and what is not cut off by that.


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
