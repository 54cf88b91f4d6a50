"""Profile the CPU time of requests: `python -m bench.profiling --workload units-1000`.

The gateway runs under cProfile, which makes calls more expensive than they are: read the shares,
and take milliseconds from `make bench`. It records only the event loop's thread, not those in which
Motor reads sockets and decodes BSON.
"""

import os
import pstats
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from bench.data.directory import Directory, load_directory
from bench.data.workloads import LIST, WORKLOADS, Workload
from bench.load import machine
from bench.load.generator import LatencySummary, LoadGenerator, start_load_generator
from bench.load.servers import CHECKOUT, start_peer
from bench.load.start_time import scratch_directory
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.peer import Peer
from bench.report.tables import ReportTable, format_figure
from storage.embedded import embedded_mongo

WORKER_SCRIPT = """
import cProfile, signal
profile = cProfile.Profile()
signal.signal(signal.SIGUSR1, lambda *_: profile.enable())
from gateway.server.worker import main
try:
    main()
finally:
    profile.disable()
    profile.dump_stats({path!r})
"""
"""Records only after the signal, to leave out the start of the gateway."""
PROFILER_SCRIPT = """
import sys
from gateway.server import supervisor as worker_process
worker_process.WORKER_PROGRAM = sys.argv.pop(1)
from gateway.cli.main import main
main()
"""
SETTLING_SECONDS = 0.2


@click.command()
@click.option(
    "--workload", "name", type=click.Choice([workload.name for workload in WORKLOADS]), default=LIST
)
@click.option("--cache/--no-cache", default=False, show_default=True)
@click.option("--units", type=click.IntRange(1_000), default=20_000, show_default=True)
@click.option("--seconds", type=click.FloatRange(0.1), default=3.0, show_default=True)
@click.option("--rows", type=click.IntRange(1), default=30, show_default=True)
def main(name: str, cache: bool, units: int, seconds: float, rows: int) -> None:
    """Show the functions that take most of the time of a workload's requests."""
    workload = next(workload for workload in WORKLOADS if workload.name == name)
    peer = CACHED if cache else UNCACHED
    with (
        scratch_directory() as scratch,
        machine.pin_to_cores(machine.LOAD_CORE),
        embedded_mongo.run_embedded_mongo(scratch / "data") as mongo_url,
        start_load_generator() as load,
    ):
        directory = load_directory(mongo_url, "floorgate", units, scratch)
        path = scratch / "profile"
        answered = _run_profiled(_with_profiler(peer, path), workload, directory, load, seconds)
        sheet = summarize_profile(path, f"{peer.title}: {workload.title}", answered.requests, rows)
    Console(width=None if sys.stdout.isatty() else 140).print(sheet.to_rich_table())


def _with_profiler(peer: Peer, path: Path) -> Peer:
    def command(port: int) -> list[str]:
        _, _, _, *arguments = peer.command(port)
        worker = WORKER_SCRIPT.format(path=str(path))
        return [sys.executable, "-c", PROFILER_SCRIPT, worker, *arguments]

    return replace(peer, command=command)


def _run_profiled(
    peer: Peer, workload: Workload, directory: Directory, load: LoadGenerator, seconds: float
) -> LatencySummary:
    with start_peer(peer, directory) as server:
        load.run(server.build_order(workload, directory, seconds / 3, workload.connections))
        order = server.build_order(workload, directory, seconds, workload.connections)
        _, worker = machine.list_process_tree(server.pid)
        os.kill(worker, signal.SIGUSR1)
        time.sleep(SETTLING_SECONDS)
        return load.run(order).answered


def summarize_profile(path: Path, title: str, requests: int, rows: int) -> ReportTable:
    """Return the functions with the most time of their own, per request."""
    stats = pstats.Stats(str(path)).get_stats_profile()
    functions = sorted(stats.func_profiles.items(), key=lambda item: item[1].tottime, reverse=True)
    return ReportTable(
        f"{title}: {requests:,} requests, profiled",
        ("function", "where", "calls a request", "own ms", "with callees ms"),
        [
            (
                function,
                _format_location(profile.file_name, profile.line_number),
                format_figure(_parse_call_count(profile.ncalls) / requests),
                format_figure(1000 * profile.tottime / requests),
                format_figure(1000 * profile.cumtime / requests),
            )
            for function, profile in functions[:rows]
        ],
        text_columns=2,
    )


def _parse_call_count(calls: str) -> int:
    """Parse cProfile's `3/1`: three calls, one of them not recursive."""
    return int(calls.partition("/")[0])


def _format_location(file: str, line: int) -> str:
    path = Path(file)
    if not path.is_absolute():
        return file
    if path.is_relative_to(CHECKOUT) and ".venv" not in path.parts:
        return f"{path.relative_to(CHECKOUT)}:{line}"
    return f"{'/'.join(path.parts[-2:])}:{line}"


if __name__ == "__main__":
    main()
