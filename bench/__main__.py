"""`make bench`: Floorgate beside its peers, on the same MongoDB and the same data."""

import signal
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec
from pymongo import MongoClient
from rich.console import Console
from rich.progress import track

from bench import machine, report, starting
from bench.directory import Directory, fill
from bench.load import LoadError
from bench.peers.by_hand import BY_HAND
from bench.peers.floorgate import FLOORGATE
from bench.rates import Effort, Sample, measure, warm_up
from bench.report import Memory, Results
from bench.serving import PeerError, Server, agree, serving
from bench.shapes import SHAPES
from bench.starting import scratch_directory
from storage import embedded

PEERS = (FLOORGATE, BY_HAND)
REFERENCE = BY_HAND
DATABASE = "floorgate"
RESULTS = Path(__file__).parents[1] / "build" / "bench" / "results.json"


@click.command()
@click.option("--units", type=click.IntRange(1), default=10_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=7, show_default=True)
@click.option("--seconds", type=click.FloatRange(0.1), default=2.0, show_default=True)
@click.option("--starts", type=click.IntRange(0), default=5, show_default=True)
@click.option(
    "--output", type=click.Path(path_type=Path), default=RESULTS, help="Where the figures go."
)
def main(units: int, rounds: int, seconds: float, starts: int, output: Path) -> None:
    """Measure speed and memory; print tables and write the figures as JSON."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leaves no peer behind
    effort = Effort(rounds, seconds, warm_up_seconds=seconds)
    try:
        with scratch_directory() as scratch:
            results = _run(scratch, units, effort, starts)
    except (PeerError, LoadError) as error:
        raise click.ClickException(str(error)) from error
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    report.show(results, SHAPES, {peer.name: peer.title for peer in PEERS})
    click.echo(f"All figures: {output}")


def _run(scratch: Path, units: int, effort: Effort, starts: int) -> Results:
    data_dir = scratch / "data"
    with machine.pinned_to(machine.LOAD_CORE), embedded.running(data_dir) as mongo_url:
        directory = fill(mongo_url, DATABASE, units, scratch / "bundle.ndjson")
        samples, memory = _compare(directory, effort)
    return Results(
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine.described(),
        units=units,
        reference=REFERENCE.name,
        samples=samples,
        starts=starting.starts(data_dir, starts),
        memory=memory,
    )


def _compare(directory: Directory, effort: Effort) -> tuple[list[Sample], list[Memory]]:
    mongod_pid = _mongod_pid(directory.mongo_url)
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(peer, directory)) for peer in PEERS]
        idle = _memory(servers, mongod_pid)
        for shape in SHAPES:
            agree(servers, shape, directory)
        warm_up(servers, SHAPES, directory, effort.warm_up_seconds)
        samples = list(
            track(
                measure(servers, SHAPES, directory, effort, mongod_pid),
                "Measuring",
                total=effort.rounds * len(SHAPES) * len(servers),
                console=Console(stderr=True),
                transient=True,
                disable=not sys.stderr.isatty(),
            )
        )
        after = _memory(servers, mongod_pid)
    return samples, [Memory(process=name, idle=idle[name], after=after[name]) for name in idle]


def _memory(servers: list[Server], mongod_pid: int) -> dict[str, dict[str, float]]:
    processes = {server.peer.name: server.pid for server in servers} | {"mongod": mongod_pid}
    return {name: machine.memory_mb(pid) for name, pid in processes.items()}


def _mongod_pid(mongo_url: str) -> int:
    with MongoClient[dict[str, Any]](mongo_url) as client:
        pid: int = client.admin.command("serverStatus")["pid"]
        return pid


if __name__ == "__main__":
    main()
