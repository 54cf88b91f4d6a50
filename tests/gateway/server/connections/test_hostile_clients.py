"""Clients without a key that send as much as they can do not decide how long others wait.

What a request waits is counted in CPU time of the server, from sending it to its response. All
clients have the same address.
"""

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.fixtures import World
from tests.gateway.floorgate_process import Server, run_serve_command, storage_options
from tests.gateway.server.served_application import statuses

pytestmark = pytest.mark.xdist_group("hostile-clients")

MAX_WAIT_SECONDS = 0.05
FLOOD_BYTES = 4_000_000
CONNECTIONS = 200
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


@contextmanager
def serve(world: World, folder: Path, *options: object) -> Iterator[Server]:
    storage = storage_options(world.mongo_url, world.database, folder)
    log = folder / "log"
    with run_serve_command(folder, *storage, "--log-file", log, *options) as server:
        yield server
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line for line in lines if line["level"] == "error" or "Traceback" in str(line)] == []


@pytest.fixture(scope="module")
def server(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serve(world, tmp_path_factory.mktemp("hostile")) as server:
        yield server


def find_worker(server: Server) -> int:
    pid = server.process.pid
    [worker] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(worker)


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
    """A client with a key, and what its requests have waited."""

    def __init__(self, server: Server, key: str) -> None:
        self._connection = connect(server)
        self._request = b"GET /v1/units?page=%%d HTTP/1.1\r\n%bAPI-Key: %b\r\n\r\n" % (
            HOST, key.encode(),
        )  # fmt: skip
        self._clock = (~find_worker(server) << 3) | 2  # of its CPU time: clock_getcpuclockid(3)
        self._count = 0
        self.close = self._connection.close
        self.cpu_seconds = list[float]()
        for _ in range(3):
            self.ask()
        self.usual_seconds = min(self.cpu_seconds)
        self.cpu_seconds.clear()

    def ask(self, *, is_cached: bool = False) -> None:
        self._count += not is_cached
        started = time.clock_gettime(self._clock)
        self._connection.sendall(self._request % self._count)
        head, _, body = self._connection.recv(65_536).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(body) < size:
            body += self._connection.recv(65_536)
        self.cpu_seconds.append(time.clock_gettime(self._clock) - started)

    def ask_while(self, sender: threading.Thread) -> None:
        """Ask until all is sent, and some times after that."""
        sender.start()
        for _ in range(3):
            self.ask()
        while sender.is_alive():
            self.ask()
            self.ask(is_cached=True)
        for _ in range(10):
            self.ask()

    @property
    def longest_wait(self) -> float:
        return max(self.cpu_seconds) - self.usual_seconds


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
    assert good.longest_wait <= MAX_WAIT_SECONDS
    assert CLOSE_CODES.get(kind, 1008).to_bytes(2) in received[-130:]


@pytest.mark.parametrize(
    ("path", "header", "repetitions"),
    [
        (b"/v1/units", b"", 200),
        (b"/v1/units", b"API-Key: invented\r\n", 200),
        (b"/health/live", b"", 20),  # never rejected, so it takes as long as it takes
    ],
)
def test_pipelining_clients_wait_for_others_and_are_closed(
    server: Server, world: World, path: bytes, header: bytes, repetitions: int
) -> None:
    raw = b"GET %b HTTP/1.1\r\n%b%b\r\n" % (path, HOST, header) * repetitions
    with ExitStack() as stack:
        good = stack.enter_context(closing(GoodClient(server, world.keys.full)))
        connections = [stack.enter_context(closing(connect(server))) for _ in range(CONNECTIONS)]

        def send_all() -> None:
            for connection in connections:
                send(connection, raw)

        good.ask_while(threading.Thread(target=send_all))
        assert good.longest_wait <= MAX_WAIT_SECONDS
        if path == b"/v1/units":
            received = receive_until_closed(connections[-1])
            assert received.rpartition(b"HTTP/1.1 ")[2].startswith(b"429 ")
            assert len(statuses(received)) < repetitions


def handshake(server: Server, header: bytes) -> tuple[bytes, bytes]:
    """Head and body of the response to a handshake."""
    with closing(connect(server)) as connection:
        connection.sendall(UPGRADE % header)
        received = connection.recv(65_536)
        if not received.startswith(b"HTTP/1.1 101 "):
            received += receive_until_closed(connection)
        head, _, body = received.partition(b"\r\n\r\n")
        return head, body


def test_handshakes_meet_the_limit_of_their_address(world: World, tmp_path: Path) -> None:
    with serve(world, tmp_path, "--rate-limit", 1, "--rate-burst", 1) as server:
        for header in (b"", b"Origin: http://[\r\n", b"Sec-WebSocket-Key: again\r\n"):
            responses = [handshake(server, header) for _ in range(10)]
            limited = [json.loads(body) for head, body in responses if b" 429 " in head[:13]]
            assert len(limited) > 5
            assert {error["code"] for error in limited} == {"RATE_LIMITED"}


@pytest.mark.parametrize(
    "origin",
    ["http://[", "http://a:port", "https://a.example", "null", "", "https://localhost:99999"],
)
def test_a_page_of_another_or_malformed_origin_is_refused(server: Server, origin: str) -> None:
    head, body = handshake(server, b"Origin: %b\r\n" % origin.encode())
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["code"] == "ORIGIN_NOT_ALLOWED"


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
    head, _ = handshake(server, header)
    assert head.startswith((b"HTTP/1.1 4", b"HTTP/1.1 101")), head


def test_many_empty_lines_are_no_request(server: Server) -> None:
    with closing(connect(server)) as connection:
        connection.sendall(b"\r\n" * 10_000)
        assert receive_until_closed(connection).startswith(b"HTTP/1.1 400 ")


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
