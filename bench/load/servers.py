"""Peers as processes: started on their core, asked, and gone when the run is over."""

import http.client
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson

from bench.data.directory import Directory
from bench.data.recorded_answers import RecordedAnswer, write_recorded_answers
from bench.data.requests import LoadRequest
from bench.data.workloads import Workload
from bench.load.generator import LoadOrder
from bench.load.machine import SERVER_CORE, cpu_seconds, list_process_tree, pin_to_cores
from bench.peers.peer import HOST, Peer

CHECKOUT = Path(__file__).parents[2]
START_SECONDS = 60.0
STOP_SECONDS = 30.0
POLL_SECONDS = 0.05
COMPARED_REQUESTS = 5
"""Of each shape; comparing all of them would take longer than the load."""
SHOWN_LINES = 5
FLAGS = "distances,locations-resource,unit-attributes-resource"
_CURSOR = re.compile(r"&after=[\w-]+")


class PeerError(Exception):
    """A peer did not start, or did not answer as it should."""


class Reply(NamedTuple):
    """What a peer answered."""

    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def comparable_content(self) -> Any:
        """What must be the same whoever answers: not the form, nor a peer's own page tokens."""
        if self.status != 200:
            return self.status
        value = orjson.loads(self.content)
        paging = value.get("paging", {}) if isinstance(value, dict) else {}
        if paging.get("next_url"):
            paging["next_url"] = _CURSOR.sub("", paging["next_url"])
        return value


@dataclass(frozen=True, slots=True)
class PeerServer:
    """A peer that serves."""

    peer: Peer
    pid: int
    port: int
    headers: dict[str, str]

    def request(self, request: LoadRequest) -> Reply:
        """Asks once, by a connection of its own."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=START_SECONDS)
        try:
            connection.request(
                request.method,
                self.peer.rewrite_path(request.path),
                request.body or None,
                {**self.headers, **request.headers},
            )
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read())
        finally:
            connection.close()

    def cpu_seconds(self) -> float:
        """What it has used so far, with its workers."""
        return sum(cpu_seconds(pid) for pid in list_process_tree(self.pid))

    def build_requests(self, shape: Workload, directory: Directory) -> list[LoadRequest]:
        """The shape's requests, with this server's tags where they are conditional."""
        asked = shape.requests(directory)
        return [self._with_etag(each) for each in asked] if shape.is_conditional else asked

    def _with_etag(self, request: LoadRequest) -> LoadRequest:
        etag = self.request(request).headers.get("etag", "")
        return msgspec.structs.replace(request, headers={"If-None-Match": etag})

    def build_order(
        self,
        shape: Workload,
        directory: Directory,
        seconds: float,
        connections: int,
        rate: float | None = None,
        *,
        may_refuse: bool = False,
    ) -> LoadOrder:
        """A load for this server."""
        requests = self.build_requests(shape, directory)
        return LoadOrder(
            host=HOST,
            port=self.port,
            headers=self.headers,
            requests=[
                msgspec.structs.replace(each, path=self.peer.rewrite_path(each.path))
                for each in requests
            ],
            seconds=seconds,
            connections=connections,
            status=shape.status,
            rate=rate,
            may_refuse=may_refuse,
        )


@contextmanager
def start_peer(
    peer: Peer, directory: Directory, cores: Sequence[int] = (SERVER_CORE,)
) -> Iterator[PeerServer]:
    """The peer, answering, on these cores. Raises PeerError."""
    port = _free_port()
    headers = {
        "API-Key": directory.key,
        "X-Forwarded-Proto": "https",
        "Experimental-Flags": FLAGS,
    }
    with tempfile.TemporaryFile() as errors:
        with pin_to_cores(*cores):
            process = subprocess.Popen(
                peer.command(port),
                cwd=CHECKOUT,
                env=os.environ | peer.environment(directory),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        with stop_at_exit(process):
            server = PeerServer(peer, process.pid, port, headers)
            if not _wait_until_ready(server, process):
                errors.seek(0)
                said = errors.read().decode().strip().splitlines()
                raise PeerError("\n".join([f"{peer.title} does not start:", *said[-SHOWN_LINES:]]))
            yield server


@contextmanager
def stop_at_exit(process: subprocess.Popen[bytes]) -> Iterator[None]:
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


def record_answers(server: PeerServer, shapes: Sequence[Workload], directory: Directory) -> None:
    """Writes what a server answers to every request, for peers that have it ready.

    Raises PeerError where it does not answer.
    """
    answers: dict[tuple[str, bytes], RecordedAnswer] = {}
    for shape in shapes:
        for request in shape.requests(directory):
            if (request.path, request.body) in answers:
                continue
            reply = server.request(request)
            if reply.status != 200 or (request.path == "/graphql" and b'"errors"' in reply.content):
                raise PeerError(
                    f"{server.peer.title} answers {request.path} with status {reply.status}: "
                    f"{reply.content[:300]!r}"
                )
            answers[request.path, request.body] = RecordedAnswer(
                request.path,
                request.body,
                reply.headers["content-type"],
                reply.headers.get("etag", ""),
                reply.content,
            )
    write_recorded_answers(directory.answers_path, list(answers.values()))


def check_same_answers(
    servers: Sequence[PeerServer], shape: Workload, directory: Directory
) -> None:
    """Raises PeerError unless all answer the shape's requests, and answer the same."""
    asked = [server.build_requests(shape, directory)[:COMPARED_REQUESTS] for server in servers]
    for requests in zip(*asked, strict=True):
        replies = [
            server.request(request) for server, request in zip(servers, requests, strict=True)
        ]
        for server, reply in zip(servers, replies, strict=True):
            if reply.status != shape.status:
                raise PeerError(
                    f"{server.peer.title} answers {requests[0].path} with status {reply.status}, "
                    f"not {shape.status}: {reply.content[:300]!r}"
                )
            if reply.comparable_content != replies[0].comparable_content:
                raise PeerError(
                    f"{requests[0].path}: {server.peer.title} answers {reply.content[:300]!r}, "
                    f"but {servers[0].peer.title} {replies[0].content[:300]!r}"
                )


def _wait_until_ready(server: PeerServer, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            return server.request(LoadRequest("/v1/units?per-page=100")).status == 200
        except OSError:
            time.sleep(POLL_SECONDS)
    return False


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        port: int = listener.getsockname()[1]
        return port
