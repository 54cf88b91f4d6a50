"""`make soak`: hours of mixed load with overload in between; memory and descriptors must be flat.

Each period has a steady load, an overload, a write that invalidates cached responses, and a rest,
after which memory and open descriptors of each process are read. The first quarter of the periods
is a warm-up: caches fill, and allocators grow to what the load needs. In the last quarter, the
median of each process must be close to that of the second.
"""

import statistics
import sys
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import click

from bench.comparison import find_workloads
from bench.data.directory import ATTRIBUTE_IDS
from bench.data.workloads import MATRIX, UNIT, LoadRequest, Workload, build_workload
from bench.harness import start_run
from bench.load import machine
from bench.load.generator import LoadError, LoadGenerator
from bench.load.servers import Client, PeerServer, start_peer
from bench.peers.peer import CACHED

MIXED = (UNIT, "units-100", "locations", MATRIX, "graphql-unit", "graphql-units-100")
KEYLESS = (LoadRequest("/v1/openapi.json"), LoadRequest("/health/ready"))
UNITS, WORKERS = 5_000, 2
STEADY, OVERLOAD = (0.6, 16), (0.2, 400)
"""The share of each period under either load, and connections; in the remainder nothing is sent."""
MAX_RSS_GROWTH, MAX_RSS_GROWTH_MB = 0.05, 5.0
"""Allowed together."""
MAX_DESCRIPTOR_GROWTH = 5
MIN_SAMPLES = 4


class ProcessSample(NamedTuple):
    """The memory and descriptors that a process has at one time."""

    rss_mb: float
    descriptors: int


def read_process(pid: int) -> ProcessSample:
    """Return the memory and open descriptors of a process."""
    return ProcessSample(machine.memory_mb(pid)["rss"], len([*Path(f"/proc/{pid}/fd").iterdir()]))


def find_growth(name: str, samples: list[ProcessSample]) -> list[str]:
    """Return a sentence for each figure of a process that grew from the second quarter to the last.

    >>> find_growth("worker", [ProcessSample(100.0, 50)] * 3 + [ProcessSample(120.0, 50)])
    ['worker: memory grew from 100.0 to 120.0 MB']
    """
    quarter = len(samples) // 4
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    early_mb, late_mb = (statistics.median(s.rss_mb for s in part) for part in (early, late))
    early_open, late_open = (
        statistics.median(s.descriptors for s in part) for part in (early, late)
    )
    growth = []
    if late_mb > early_mb * (1 + MAX_RSS_GROWTH) + MAX_RSS_GROWTH_MB:
        growth.append(f"{name}: memory grew from {early_mb:.1f} to {late_mb:.1f} MB")
    if late_open > early_open + MAX_DESCRIPTOR_GROWTH:
        growth.append(f"{name}: open descriptors grew from {early_open:g} to {late_open:g}")
    return growth


def build_mix(server: PeerServer) -> Workload:
    """Return all requests in turn, so that many of one workload do not crowd out the others."""
    requests = [*(server.build_requests(each) for each in find_workloads(MIXED)), KEYLESS]
    longest = max(map(len, requests))
    return build_workload(
        "mixed", [each[turn % len(each)] for turn in range(longest) for each in requests]
    )


def run_soak(
    server: PeerServer, load: LoadGenerator, minutes: float, period_seconds: float
) -> dict[str, list[ProcessSample]]:
    """Run all periods, print a line for each, and return the samples of each process.

    Raises LoadError for an answer other than 200, 429 or 503, and if a process was replaced.
    """
    _, *workers = machine.list_process_tree(server.pid)
    processes = {"supervisor": server.pid, "mongod": server.directory.mongod_pid}
    processes |= {f"worker {number}": pid for number, pid in enumerate(workers, 1)}
    samples: dict[str, list[ProcessSample]] = {name: [] for name in processes}
    mixed = build_mix(server)
    for period in range(max(MIN_SAMPLES, round(minutes * 60 / period_seconds))):
        ends = time.monotonic() + period_seconds
        loads = [
            server.measure(load, mixed, share * period_seconds, connections, may_refuse=True)
            for share, connections in (STEADY, OVERLOAD)
        ]
        with closing(Client(server)) as client:
            client.assign(server.directory.unit_ids[0], ATTRIBUTE_IDS[period % len(ATTRIBUTE_IDS)])
        time.sleep(max(0.0, ends - time.monotonic()))
        if machine.list_process_tree(server.pid)[1:] != workers:
            raise LoadError("a worker has died and was replaced")
        figures = []
        for name, pid in processes.items():
            samples[name].append(read_process(pid))
            figures.append(
                f"{name} {samples[name][-1].rss_mb:.0f} MB {samples[name][-1].descriptors}"
            )
        refused = sum(each.outcome.refused.requests for each in loads)
        click.echo(
            f"{datetime.now(UTC):%H:%M:%S}  answered/s "
            f"{'  overload '.join(f'{each.per_second:.0f}' for each in loads)}  "
            f"refused {refused}  {'  '.join(figures)}"
        )
    return samples


@click.command()
@click.option("--minutes", type=click.FloatRange(0.1), default=60.0, show_default=True)
@click.option("--period", type=click.FloatRange(5.0), default=60.0, help="Seconds between samples.")
def main(minutes: float, period: float) -> None:
    """Load a gateway for an hour; fail if memory or descriptors of a process grow."""
    with start_run() as run, machine.pin_to_cores(*machine.CORES):
        directory = run.load_directory(UNITS)
        peer = replace(CACHED, arguments=("--workers", str(WORKERS)))
        with start_peer(peer, directory, machine.CORES) as server:
            samples = run_soak(server, run.load, minutes, period)
    growth = [line for name, each in samples.items() for line in find_growth(name, each)]
    click.echo("\n".join(growth) or "flat: no process grew")
    sys.exit(bool(growth))


if __name__ == "__main__":
    main()
