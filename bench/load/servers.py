"""Peers as processes: start them on their core, send requests, compare answers, stop them."""

import http.client
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson

from bench.data.directory import FIRST_ASSET_ID, Directory
from bench.data.workloads import ASSIGNMENTS, LoadRequest, Workload, build_assignment
from bench.load.generator import LoadOrder
from bench.load.machine import SERVER_CORE, pin_to_cores, sum_cpu_seconds
from bench.peers.peer import COMMAND, HOST, Peer, RecordedAnswer, write_recorded_answers
from storage.embedded import embedded_mongo, mongod_supervisor

CHECKOUT = Path(__file__).parents[2]
START_SECONDS = 60.0
STOP_SECONDS = 30.0
POLL_SECONDS = 0.05
COMPARED_REQUESTS = 5
"""Requests compared per workload; comparing all would take longer than the load."""
SHOWN_LINES = 5
FLAGS = "distances,locations-resource,unit-attributes-resource"
_CURSOR = re.compile(r"&after=[\w-]+")


class PeerError(Exception):
    """A peer did not start, or gave a wrong answer."""


class Reply(NamedTuple):
    """A peer's answer."""

    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def comparable_content(self) -> Any:
        """Return what must be equal for all peers: not the formatting, not page tokens."""
        if self.status != 200:
            return self.status
        value = orjson.loads(self.content)
        paging = value.get("paging", {}) if isinstance(value, dict) else {}
        if paging.get("next_url"):
            paging["next_url"] = _CURSOR.sub("", paging["next_url"])
        return value


@dataclass(frozen=True, slots=True)
class PeerServer:
    """A running peer."""

    peer: Peer
    directory: Directory
    pid: int
    port: int

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of every request."""
        return {
            "API-Key": self.directory.key,
            "X-Forwarded-Proto": "https",
            "Experimental-Flags": FLAGS,
        }

    def request(self, request: LoadRequest) -> Reply:
        """Send one request on a new connection."""
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
        """Return CPU seconds used so far, including its workers."""
        return sum_cpu_seconds(self.pid)

    def build_requests(self, workload: Workload) -> list[LoadRequest]:
        """Return the workload's requests; conditional ones carry this server's ETags.

        Sends what registers their documents.
        """
        self.register_documents(workload)
        requests = workload.requests(self.directory)
        if workload.is_conditional:
            requests = [self._with_etag(request) for request in requests]
        return requests

    def register_documents(self, workload: Workload) -> None:
        """Send the workload's documents, so that its requests can name them."""
        for request in workload.registrations:
            self.request(request)

    def _with_etag(self, request: LoadRequest) -> LoadRequest:
        etag = self.request(request).headers.get("etag", "")
        return msgspec.structs.replace(request, headers={**request.headers, "If-None-Match": etag})

    def build_order(
        self,
        workload: Workload,
        seconds: float,
        connections: int,
        rate: float | None = None,
        *,
        max_requests: int | None = None,
        may_refuse: bool = False,
    ) -> LoadOrder:
        """Return an order for this server."""
        requests = self.build_requests(workload)
        return LoadOrder(
            host=HOST,
            port=self.port,
            headers=self.headers,
            requests=[
                msgspec.structs.replace(request, path=self.peer.rewrite_path(request.path))
                for request in requests
            ],
            seconds=seconds,
            connections=connections,
            status=workload.status,
            max_requests=max_requests,
            rate=rate,
            may_refuse=may_refuse,
        )


@contextmanager
def start_peer(
    peer: Peer, directory: Directory, cores: Sequence[int] = (SERVER_CORE,)
) -> Iterator[PeerServer]:
    """Start a peer on these cores and wait until it answers. Raises PeerError."""
    port = _free_port()
    with tempfile.TemporaryFile() as errors:
        with pin_to_cores(*cores):
            process = subprocess.Popen(
                peer.command(port),
                cwd=peer.checkout or CHECKOUT,
                env=os.environ | peer.environment(directory),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        with stop_at_exit(process):
            server = PeerServer(peer, directory, process.pid, port)
            if not _wait_until_ready(server, process):
                errors.seek(0)
                output = errors.read().decode().strip().splitlines()
                raise PeerError(
                    "\n".join([f"{peer.title} does not start:", *output[-SHOWN_LINES:]])
                )
            yield server


@contextmanager
def serve(
    arguments: Sequence[str], settings: Mapping[str, str] | None = None
) -> Iterator[tuple[int, int, float]]:
    """Run `floorgate serve --port 0`; yield its process, its port, and the seconds until ready.

    Raises PeerError.
    """
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", *arguments],
        cwd=CHECKOUT,
        env={**os.environ, **(settings or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    with process.stdout, stop_at_exit(process):
        line = process.stdout.readline().decode()
        seconds = time.perf_counter() - begun
        if not line.startswith("ready "):
            raise PeerError(f"floorgate serve printed {line!r} instead of its ready line")
        yield process.pid, int(line.rpartition(":")[2]), seconds


@contextmanager
def stop_at_exit(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Send SIGTERM at the end, then SIGKILL if the process has not stopped in time."""
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def record_answers(server: PeerServer, workloads: Sequence[Workload]) -> None:
    """Record a server's answer to every request, for peers that replay them.

    Raises PeerError for an answer that is not 200.
    """
    answers: dict[tuple[str, bytes], RecordedAnswer] = {}
    for workload in workloads:
        server.register_documents(workload)
        for request in workload.requests(server.directory):
            if (request.path, request.body) in answers:
                continue
            reply = server.request(request)
            is_graphql = request.path.startswith("/graphql")
            if reply.status != 200 or (is_graphql and b'"errors"' in reply.content):
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
    write_recorded_answers(server.directory.answers_path, list(answers.values()))


def check_same_answers(servers: Sequence[PeerServer], workload: Workload) -> None:
    """Raise PeerError unless all servers give equal answers to the workload's requests."""
    by_server = [server.build_requests(workload)[:COMPARED_REQUESTS] for server in servers]
    for requests in zip(*by_server, strict=True):
        replies = [
            server.request(request) for server, request in zip(servers, requests, strict=True)
        ]
        for server, reply in zip(servers, replies, strict=True):
            if reply.status != workload.status:
                raise PeerError(
                    f"{server.peer.title} answers {requests[0].path} with status {reply.status}, "
                    f"not {workload.status}: {reply.content[:300]!r}"
                )
            if reply.comparable_content != replies[0].comparable_content:
                raise PeerError(
                    f"{requests[0].path}: {server.peer.title} answers {reply.content[:300]!r}, "
                    f"but {servers[0].peer.title} {replies[0].content[:300]!r}"
                )


class GatewayClient:
    """A keep-alive connection to a gateway, to write assignments and to read them."""

    def __init__(self, server: PeerServer, headers: Mapping[str, str] | None = None) -> None:
        self._headers = server.headers | {"Content-Type": "application/json"} | dict(headers or {})
        self._connection = http.client.HTTPConnection(HOST, server.port)

    def assign(self, unit_id: str, attribute: str, asset_id: str = FIRST_ASSET_ID) -> None:
        """Assign an attribute to a unit in place of its other one."""
        request = build_assignment(unit_id, attribute, asset_id)
        self.request(request.method, request.path, request.body)

    def list_assigned(self, query: str = "") -> dict[str, str]:
        """Return the attributes of units, from the list of assignments."""
        rows = orjson.loads(self.request("GET", f"{ASSIGNMENTS}{query}"))["data"]
        return {row["unit_id"]: row["attribute_id"] for row in rows}

    def request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Return the content of an answer. Raises PeerError if it is not 200."""
        self._connection.request(method, path, body, self._headers)
        response = self._connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise PeerError(f"{method} {path}: {response.status} {content[:300]!r}")
        return content

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Create a directory for a run; a mongod may use its subdirectory `data`."""
    with tempfile.TemporaryDirectory(prefix="floorgate-bench-") as scratch:
        (Path(scratch) / "data").mkdir()
        try:
            yield Path(scratch)
        finally:
            await_no_mongod(Path(scratch) / "data")


def await_no_mongod(data_dir: Path) -> None:
    """Wait until the mongod of a data directory has stopped."""
    if (home := data_dir / "mongod").exists():
        embedded_mongo.wait_for_release(home / mongod_supervisor.SERVER_LOCK)


def _wait_until_ready(server: PeerServer, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            return server.request(LoadRequest("/v1/units?per-page=100")).status == 200
        except OSError:
            time.sleep(POLL_SECONDS)
    return False


def _free_port() -> int:
    """Return a port below those that Linux gives to clients, which might take it meanwhile."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as listener, suppress(OSError):
            listener.bind((HOST, port))
            return port
