"""What a peer takes that has just been started, and what it takes when attributes are assigned.

Each round starts every peer anew and runs it alone: writes of one are work for the caches of
another. First it gets many addresses, each once, so that no cache has a response. Then it gets the
mix of `bench.data.mix`, assignments between the reads of several keys.
"""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import msgspec
import orjson

from bench.data.directory import Directory
from bench.data.mix import MIX, list_reads, list_writes
from bench.data.requests import LoadRequest
from bench.data.workloads import SEED, Workload
from bench.load.generator import LoadGenerator
from bench.load.machine import load_average
from bench.load.rounds import RoundSettings
from bench.load.servers import PeerError, PeerServer, check_same_answers, start_peer
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.peer import Peer
from bench.peers.raw import RAW
from bench.report.alone_table import AloneSample

COLD_UNITS, COLD_PAGES, PAGE_UNITS = 1_000, 100, 100
MAX_SECONDS = 300.0
"""Longer than any peer takes for the requests of a load without an end of its own."""
COUNTERS_SECONDS = 30.0
POLL_SECONDS = 0.3
"""Several reports of the counters."""
REPORTING_SCRIPT = """
import sys
from gateway.server import supervisor as worker_process
worker_process.WORKER_PROGRAM = (
    "from gateway import response_cache; response_cache.REPORT_INTERVAL_SECONDS = 0.1\\n"
    + worker_process.WORKER_PROGRAM
)
from gateway.cli.main import main
main()
"""
"""Logs the counters of the response cache ten times a second."""


def measure_alone(
    peers: Sequence[Peer],
    directory: Directory,
    load: LoadGenerator,
    settings: RoundSettings,
    scratch: Path,
) -> Iterator[AloneSample]:
    """Yield the samples of every peer but the raw bytes. Raises PeerError and LoadError."""
    served = [peer for peer in peers if peer is not RAW]
    _check_mix([peer for peer in served if peer.serves(MIX.name)], directory)
    for number in range(settings.rounds):
        for peer in served if number % 2 == 0 else served[::-1]:
            yield from _measure_peer(peer, directory, load, settings.seconds, number, scratch)


def list_cold_requests(directory: Directory) -> list[LoadRequest]:
    """Return addresses of units and of pages of units, all different, in a random order."""
    # The first page is what shows that a peer is ready.
    pages = range(2, min(COLD_PAGES, len(directory.unit_ids) // PAGE_UNITS) + 1)
    paths = [
        *(f"/v1/units/{id}" for id in directory.unit_ids[:COLD_UNITS]),
        *(f"/v1/units?per-page={PAGE_UNITS}&page={page}" for page in pages),
    ]
    random.Random(SEED).shuffle(paths)
    return [LoadRequest(path) for path in paths]


COLD = Workload("cold", "each address once", list_cold_requests)


def _check_mix(peers: Sequence[Peer], directory: Directory) -> None:
    compared = Workload(
        MIX.name, MIX.title, lambda _: [list_writes(directory)[0], *list_reads(directory)[:4]]
    )
    with ExitStack() as stack:
        servers = [stack.enter_context(start_peer(peer, directory)) for peer in peers]
        check_same_answers(servers, compared, directory)
        check_same_answers(servers, COLD, directory)


def _measure_peer(
    peer: Peer,
    directory: Directory,
    load: LoadGenerator,
    seconds: float,
    round: int,
    scratch: Path,
) -> Iterator[AloneSample]:
    log = scratch / f"{peer.name}-{round}.log"
    with start_peer(_with_counters(peer, log), directory) as server:
        cold = len(list_cold_requests(directory))
        yield _measure(server, COLD, directory, load, round, max_requests=cold)
        if not peer.serves(MIX.name):
            return
        # Once through the mix, so that caches have what they can have.
        count = len(MIX.requests(directory))
        _measure(server, MIX, directory, load, round, max_requests=count)
        before = _read_counters(log) if peer is CACHED else None
        sample = _measure(server, MIX, directory, load, round, seconds=seconds)
        if before is not None:
            hits, misses = (
                after - earlier for after, earlier in zip(_read_counters(log), before, strict=True)
            )
            sample = msgspec.structs.replace(sample, hit_rate=hits / (hits + misses))
        yield sample


def _measure(
    server: PeerServer,
    workload: Workload,
    directory: Directory,
    load: LoadGenerator,
    round: int,
    *,
    seconds: float = MAX_SECONDS,
    max_requests: int | None = None,
) -> AloneSample:
    order = server.build_order(workload, directory, seconds, workload.connections)
    before = server.cpu_seconds()
    outcome = load.run(msgspec.structs.replace(order, max_requests=max_requests))
    answered = outcome.answered
    return AloneSample(
        round=round,
        peer=server.peer.name,
        load=workload.name,
        requests=answered.requests,
        cpu_ms=(server.cpu_seconds() - before) * 1000 / answered.requests,
        requests_per_second=answered.requests / outcome.seconds,
        p50_ms=answered.p50_ms,
        p99_ms=answered.p99_ms,
        load_average=load_average(),
    )


def _with_counters(peer: Peer, log: Path) -> Peer:
    """Return a gateway that logs its counters to a file, and any other peer as it is."""
    if peer not in (UNCACHED, CACHED):
        return peer

    def command(port: int) -> list[str]:
        python, option, _, *arguments = peer.command(port)
        return [python, option, REPORTING_SCRIPT, *arguments]

    def environment(directory: Directory) -> dict[str, str]:
        return peer.environment(directory) | {"FLOORGATE_LOG_FILE": str(log)}

    return replace(peer, command=command, environment=environment)


def _read_counters(log: Path) -> tuple[int, int]:
    """Return hits and misses when no more are reported. Raises PeerError if none are at all."""
    deadline = time.monotonic() + COUNTERS_SECONDS
    last: list[str] = []
    while time.monotonic() < deadline:
        lines = [line for line in log.read_text().splitlines() if '"floorgate.cache"' in line]
        if lines and lines == last:
            counters = orjson.loads(lines[-1])
            return counters["hits"], counters["misses"]
        last = lines
        time.sleep(POLL_SECONDS)
    raise PeerError(f"{log}: no counters of the response cache for {COUNTERS_SECONDS:.0f} s")
