"""Clients without a key that send as much as they can are closed, and others are served.

All clients have the same address.
"""

import itertools
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.fixtures import World
from tests.gateway.floorgate_process import Server, run_serve_command, storage_options

pytestmark = pytest.mark.xdist_group("hostile-clients")

FLOOD_BYTES = 200_000
HOST = b"Host: localhost\r\n"
UPGRADE = (
    b"GET /graphql HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"Sec-WebSocket-Protocol: graphql-transport-ws\r\n%b\r\n"
)
MASK = bytes(4)
FRAMES = {
    "pongs": b"\x8a\x80" + MASK,
    "pings": b"\x89\x80" + MASK,
    "continuations": b"\x00\x80" + MASK,
    "texts": b"\x81\x81" + MASK + b"x",
    "binaries": b"\x82\x80" + MASK,
    "pings with bytes": b"\x89\xfd" + MASK + bytes(125),
    "unmasked": b"\x8a\x00",
    "unknown": b"\x83\x80" + MASK,
}
CLOSE_CODES = {"unmasked": 1002, "unknown": 1002}
FIRST_FRAMES = {"continuations": b"\x01\x80" + MASK}


@pytest.fixture(scope="module")
def server(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A gateway that logs no fault of its own until its end."""
    folder = tmp_path_factory.mktemp("hostile")
    storage = storage_options(world.mongo_url, world.database, folder)
    log = folder / "log"
    with run_serve_command(folder, *storage, "--log-file", log) as server:
        yield server
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line for line in lines if line["level"] == "error" or "Traceback" in str(line)] == []


def connect(server: Server) -> ssl.SSLSocket:
    port = int(server.address.rpartition(":")[2])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    plain = socket.create_connection(("127.0.0.1", port), timeout=60)
    return context.wrap_socket(plain)


def receive_until_closed(connection: ssl.SSLSocket) -> bytes:
    """All that the server has sent, whichever way it closes the connection."""
    received = b""
    try:
        while piece := connection.recv(65_536):
            received += piece
    except OSError:
        pass
    return received


class GoodClient:
    """A client with a key, which asks for pages that are cached and others that are not."""

    def __init__(self, server: Server, key: str) -> None:
        self._connection = connect(server)
        self._request = b"GET /v1/units?page=%%d HTTP/1.1\r\n%bAPI-Key: %b\r\n\r\n" % (
            HOST, key.encode(),
        )  # fmt: skip
        self.close = self._connection.close

    def ask(self, page: int) -> None:
        self._connection.sendall(self._request % page)
        head, _, body = self._connection.recv(65_536).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(body) < size:
            body += self._connection.recv(65_536)

    def ask_while(self, sender: threading.Thread) -> None:
        """Ask until all is sent, and some times after that."""
        sender.start()
        pages = itertools.count(1)
        while sender.is_alive():
            self.ask(next(pages))
            self.ask(1)
        for _ in range(5):
            self.ask(next(pages))


def send(connection: ssl.SSLSocket, raw: bytes) -> None:
    try:
        for start in range(0, len(raw), 65_536):
            connection.sendall(raw[start : start + 65_536])
    except OSError:  # closed
        pass


@pytest.mark.parametrize("kind", FRAMES)
def test_a_websocket_that_sends_nothing_but_frames_is_closed(
    server: Server, world: World, kind: str
) -> None:
    frame = FRAMES[kind]
    raw = FIRST_FRAMES.get(kind, b"") + frame * (FLOOD_BYTES // len(frame))
    with (
        closing(GoodClient(server, world.keys.full)) as good,
        closing(connect(server)) as connection,
    ):
        connection.sendall(UPGRADE % b"")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 101 ")
        good.ask_while(threading.Thread(target=send, args=(connection, raw)))
        received = receive_until_closed(connection)
    assert CLOSE_CODES.get(kind, 1008).to_bytes(2) in received[-130:]


@pytest.mark.parametrize(
    "header",
    [
        b"Sec-WebSocket-Key: again\r\n",
        b"Sec-WebSocket-Protocol: \xff{\r\n",
        b"Sec-WebSocket-Extensions: ;\r\n",
        b"Origin: a\r\nOrigin: b\r\n",
        b"X: %b\r\n" % (b"x" * 9_000),
        b"X: x\r\n" * 10_000,
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
    ],
)
def test_a_malformed_handshake_is_an_error_of_the_client(server: Server, header: bytes) -> None:
    with closing(connect(server)) as connection:
        connection.sendall(UPGRADE % header)
        assert connection.recv(65_536).startswith((b"HTTP/1.1 4", b"HTTP/1.1 101"))


@pytest.mark.parametrize(
    "frames",
    [
        b"\x81\x81" + MASK + b"\xff",
        b"\x01\x81" + MASK + b"\xc3" + b"\x80\x81" + MASK + b"x",
    ],
)
def test_text_that_is_not_utf_8_closes_a_websocket(server: Server, frames: bytes) -> None:
    with closing(connect(server)) as connection:
        connection.sendall(UPGRADE % b"" + frames)
        assert (1007).to_bytes(2) in receive_until_closed(connection)


def test_what_comes_before_the_answer_of_a_handshake_is_read_after_it(server: Server) -> None:
    ping = b'{"type":"ping"}'
    text = b"\x81" + bytes([0x80 | len(ping)]) + MASK + ping
    with closing(connect(server)) as connection:
        connection.sendall(UPGRADE % b"" + text + b"\x88\x80" + MASK)
        received = receive_until_closed(connection)
    assert received.startswith(b"HTTP/1.1 101 ")
