"""Peers as processes: started on their core, asked, and gone when the run is over."""

import http.client
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.directory import Directory
from bench.load import Order
from bench.machine import SERVER_CORE, pinned_to
from bench.peers.peer import HOST, Peer
from bench.shapes import Shape

CHECKOUT = Path(__file__).parents[1]
START_SECONDS = 60.0
STOP_SECONDS = 30.0
POLL_SECONDS = 0.05
COMPARED_PATHS = 5
"""Of each shape; comparing all of them would take longer than the load."""
SHOWN_LINES = 5


class PeerError(Exception):
    """A peer did not start, or did not answer as it should."""


@dataclass(frozen=True, slots=True)
class Server:
    """A peer that serves."""

    peer: Peer
    pid: int
    port: int
    headers: dict[str, str]

    def get(self, path: str) -> tuple[int, str, bytes]:
        """Status, content type and body."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=START_SECONDS)
        try:
            connection.request("GET", path, headers=self.headers)
            response = connection.getresponse()
            return response.status, response.headers["content-type"], response.read()
        finally:
            connection.close()

    def order(
        self, paths: list[str], seconds: float, connections: int, rate: float | None = None
    ) -> Order:
        """A load for this server."""
        return Order(
            host=HOST,
            port=self.port,
            headers=self.headers,
            paths=paths,
            seconds=seconds,
            connections=connections,
            rate=rate,
        )


@contextmanager
def serving(peer: Peer, directory: Directory) -> Iterator[Server]:
    """The peer, answering, on the server's core. Raises PeerError."""
    port = _free_port()
    headers = {"API-Key": directory.key, "X-Forwarded-Proto": "https"}
    with tempfile.TemporaryFile() as errors:
        with pinned_to(SERVER_CORE):
            process = subprocess.Popen(
                peer.command(port),
                cwd=CHECKOUT,
                env=os.environ | peer.environment(directory),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        with stopped_at_the_end(process):
            server = Server(peer, process.pid, port, headers)
            if not _answers(server, process):
                errors.seek(0)
                said = errors.read().decode().strip().splitlines()
                raise PeerError("\n".join([f"{peer.title} does not start:", *said[-SHOWN_LINES:]]))
            yield server


@contextmanager
def stopped_at_the_end(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ends a process kindly, and by force where that does not help."""
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def agree(servers: Sequence[Server], shape: Shape, directory: Directory) -> None:
    """Raises PeerError unless all answer the shape's requests with the same bytes."""
    for path in shape.paths(directory)[:COMPARED_PATHS]:
        first, *others = [server.get(path) for server in servers]
        if first[0] != 200:
            raise PeerError(f"{servers[0].peer.title} answers {path} with status {first[0]}")
        for server, answer in zip(servers[1:], others, strict=True):
            if answer != first:
                raise PeerError(
                    f"{path}: {server.peer.title} answers {answer[2][:300]!r}, "
                    f"but {servers[0].peer.title} {first[2][:300]!r}"
                )


def _answers(server: Server, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            return server.get("/v1/units?per-page=1")[0] == 200
        except OSError:
            time.sleep(POLL_SECONDS)
    return False


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        port: int = listener.getsockname()[1]
        return port
