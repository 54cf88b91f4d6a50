"""Each log line of a request has the address of its client, however the request ends."""

import logging
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from gateway.cache.fast_path import FastResponse
from gateway.exchange import get_client_address
from gateway.server.admission import Admission
from tests.gateway.log_lines import LogLines, capture_log_lines
from tests.gateway.server.exchanges import SHORT, exchange
from tests.gateway.server.served_application import GET, HOST, LAST_GET, statuses

FOUND = FastResponse(200, b"content-length: 0\r\n", b"", "/", "key")
FORWARDED = b"X-Forwarded-For: 203.0.113.9, [2001:DB8::1]:5\r\n"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    body = get_client_address(scope).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def send_to_server(raw: bytes, proxy_hops: int = 0, **options: Any) -> bytes:
    """What a client at 127.0.0.3 is sent."""
    return exchange(raw, app, SHORT, source="127.0.0.3", proxy_hops=proxy_hops, **options)


@pytest.mark.parametrize(
    ("proxy_hops", "client"), [(0, "127.0.0.3"), (1, "2001:db8::1"), (2, "203.0.113.9")]
)
@pytest.mark.parametrize("is_cached", [False, True])
def test_a_request_is_of_the_client_that_the_proxies_vouch_for(
    proxy_hops: int, client: str, is_cached: bool, lines: LogLines
) -> None:
    send_to_server(
        GET[:-2] + FORWARDED + b"\r\n" + LAST_GET[:-2] + FORWARDED + b"\r\n",
        proxy_hops,
        fast_path=(lambda *_: FOUND) if is_cached else None,
    )
    assert [f'"client":"{client}"' in line for line in lines.texts] == [True, True]


def test_the_application_sees_the_same_address() -> None:
    assert send_to_server(LAST_GET[:-2] + FORWARDED + b"\r\n", 1).endswith(b"2001:db8::1")


@pytest.mark.parametrize(
    ("raw", "status", "client"),
    [
        (b"\x16\x03\x01\x02\x00", 400, "127.0.0.3"),
        (b"GET / HTTP/1.1\r\n" + HOST, 408, "127.0.0.3"),
        (b"GET / HTTP/2.0\r\n" + HOST + FORWARDED + b"\r\n", 505, "127.0.0.3"),
        # The head was complete: what the proxy says is known.
        (GET[:-2] + FORWARDED + b"Transfer-Encoding: chunked\r\n\r\nz", 400, "2001:db8::1"),
    ],
)
def test_a_rejected_request_has_an_address_too(
    raw: bytes, status: int, client: str, lines: LogLines
) -> None:
    assert statuses(send_to_server(raw, 1))[:1] in ([status], [200])
    assert lines.last()["client"] == client


def test_a_request_without_the_header_is_of_the_proxy(lines: LogLines) -> None:
    send_to_server(GET[:-2] + FORWARDED + b"\r\n" + LAST_GET, 1)
    clients = [line.split('"client":"')[1].split('"')[0] for line in lines.texts]
    assert clients == ["2001:db8::1", "127.0.0.3"]


def test_the_line_that_counts_rejections_names_a_client() -> None:
    with capture_log_lines(logging.getLogger("floorgate.admission"), logging.INFO) as lines:
        received = send_to_server(
            GET[:-2] + FORWARDED + b"\r\n" + LAST_GET, 1, admission=Admission(0, 0)
        )
    assert statuses(received) == [503, 503]
    assert lines.last()["client"] == "2001:db8::1"
