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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson

from bench.data.directory import FIRST_ASSET_ID, Directory
from bench.data.workloads import ASSIGNMENTS, LoadRequest, Workload, build_assignment
from bench.load import machine
from bench.load.generator import LoadGenerator, LoadOrder, LoadOutcome
from bench.peers.peer import HOST, Peer, RecordedAnswer, write_recorded_answers
from storage.embedded import embedded_mongo, mongod_supervisor

CHECKOUT = Path(__file__).parents[2]
START_SECONDS = 60.0
STOP_SECONDS = 30.0
POLL_SECONDS = 0.01
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


class Client:
    """A keep-alive connection to a peer."""

    def __init__(self, server: "PeerServer") -> None:
        self._server = server
        self._connection = http.client.HTTPConnection(HOST, server.port, timeout=START_SECONDS)

    def send(self, request: LoadRequest) -> Reply:
        """Send a request, and return the answer."""
        self._connection.request(
            request.method,
            self._server.peer.rewrite_path(request.path),
            request.body or None,
            {**self._server.headers, **request.headers},
        )
        response = self._connection.getresponse()
        return Reply(response.status, response.headers, response.read())

    def assign(self, unit_id: str, attribute: str, asset_id: str = FIRST_ASSET_ID) -> None:
        """Assign an attribute to a unit in place of its other one. Raises PeerError."""
        self._send_successfully(build_assignment(unit_id, attribute, asset_id))

    def list_assigned(self) -> dict[str, str]:
        """Return the attributes of units, from the list of assignments. Raises PeerError."""
        rows = orjson.loads(self._send_successfully(LoadRequest(ASSIGNMENTS)).content)["data"]
        return {row["unit_id"]: row["attribute_id"] for row in rows}

    def _send_successfully(self, request: LoadRequest) -> Reply:
        reply = self.send(request)
        if reply.status != 200:
            raise PeerError(describe_wrong_answer(self._server, request, reply))
        return reply

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def describe_wrong_answer(
    server: "PeerServer", request: LoadRequest, reply: Reply, status: int = 200
) -> str:
    """Return a sentence about an answer that does not have this status, or is an error."""
    wrong = str(reply.status) if reply.status == status else f"{reply.status}, not {status}"
    answer = f"{server.peer.title} answers {request.path} with status {wrong}"
    return f"{answer}: {reply.content[:300]!r}"


class Sample(NamedTuple):
    """The result of a load, and the CPU time that it took."""

    outcome: LoadOutcome
    cpu_seconds: float
    """Seconds of the server and its workers."""
    mongod_cpu_seconds: float

    @property
    def requests(self) -> int:
        """Return the number of requests that were answered and not refused."""
        return self.outcome.answered.requests

    @property
    def per_second(self) -> float:
        """Return the requests answered per second."""
        return self.requests / self.outcome.seconds

    @property
    def figures(self) -> dict[str, float]:
        """Return the figures for a row: costs of a request, and latencies."""
        return {
            "requests": self.requests,
            "cpu_ms": self.cpu_seconds * 1000 / self.requests,
            "mongod_cpu_ms": self.mongod_cpu_seconds * 1000 / self.requests,
            "requests_per_second": self.per_second,
            "p50_ms": self.outcome.answered.p50_ms,
            "p99_ms": self.outcome.answered.p99_ms,
        }


@dataclass(frozen=True, slots=True)
class PeerServer:
    """A running peer."""

    peer: Peer
    directory: Directory
    pid: int
    port: int
    ready_seconds: float = 0.0
    """Seconds from the start of its process to its first answer."""

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
        with closing(Client(self)) as client:
            return client.send(request)

    def cpu_seconds(self) -> float:
        """Return CPU seconds used so far, including its workers."""
        return machine.sum_cpu_seconds(self.pid)

    def memory_mb(self) -> dict[str, float]:
        """Return the memory of the server and its workers."""
        return machine.sum_memory_mb(self.pid)

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
        self, workload: Workload, seconds: float, connections: int | None = None, **limits: Any
    ) -> LoadOrder:
        """Return an order for this server, with other fields of `LoadOrder` as they are given."""
        return LoadOrder(
            host=HOST,
            port=self.port,
            headers=self.headers,
            requests=[
                msgspec.structs.replace(request, path=self.peer.rewrite_path(request.path))
                for request in self.build_requests(workload)
            ],
            seconds=seconds,
            connections=connections or workload.connections,
            status=workload.status,
            **limits,
        )

    def measure(
        self,
        load: LoadGenerator,
        workload: Workload,
        seconds: float,
        connections: int | None = None,
        **limits: Any,
    ) -> Sample:
        """Run a load as `build_order` takes it. Raises LoadError."""
        return self.run(load, self.build_order(workload, seconds, connections, **limits))

    def run(self, load: LoadGenerator, order: LoadOrder) -> Sample:
        """Run an order. Raises LoadError."""
        mongod_pid = self.directory.mongod_pid
        before = self.cpu_seconds(), machine.cpu_seconds(mongod_pid)
        outcome = load.run(order)
        after = self.cpu_seconds(), machine.cpu_seconds(mongod_pid)
        return Sample(outcome, *(end - start for start, end in zip(before, after, strict=True)))


@contextmanager
def start_peer(
    peer: Peer, directory: Directory, cores: Sequence[int] = (machine.SERVER_CORE,)
) -> Iterator[PeerServer]:
    """Start a peer on these cores and wait until it answers. Raises PeerError."""
    port = find_free_port()
    with tempfile.TemporaryFile() as errors:
        begun = time.perf_counter()
        with machine.pin_to_cores(*cores):
            process = subprocess.Popen(
                [*peer.command(port), *peer.arguments],
                cwd=peer.checkout or CHECKOUT,
                env={**os.environ, **peer.environment(directory), **peer.settings},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        server = PeerServer(peer, directory, process.pid, port)
        try:
            if not _wait_until_ready(server, process):
                errors.seek(0)
                output = errors.read().decode().strip().splitlines()
                raise PeerError(
                    "\n".join([f"{peer.title} does not start:", *output[-SHOWN_LINES:]])
                )
            yield replace(server, ready_seconds=time.perf_counter() - begun)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def start_peers(peers: Iterable[Peer], directory: Directory) -> Iterator[list[PeerServer]]:
    """Start several peers, one after another. Raises PeerError."""
    with ExitStack() as stack:
        yield [stack.enter_context(start_peer(peer, directory)) for peer in peers]


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
                raise PeerError(describe_wrong_answer(server, request, reply))
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
                raise PeerError(describe_wrong_answer(server, requests[0], reply, workload.status))
            if reply.comparable_content != replies[0].comparable_content:
                raise PeerError(
                    f"{requests[0].path}: {server.peer.title} answers {reply.content[:300]!r}, "
                    f"but {servers[0].peer.title} {replies[0].content[:300]!r}"
                )


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


def find_free_port() -> int:
    """Return a port below those that Linux gives to clients, which might take it meanwhile."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as listener, suppress(OSError):
            listener.bind((HOST, port))
            return port
