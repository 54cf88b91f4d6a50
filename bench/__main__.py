"""`make bench`: compare Floorgate with its peers, on the same MongoDB and the same data."""

import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import click
import msgspec
from rich.console import Console
from rich.progress import track

from bench import staleness
from bench.alone import measure_alone
from bench.data.directory import Directory, load_directory
from bench.data.workloads import WORKLOADS, Workload
from bench.load import machine, start_time
from bench.load.generator import LoadError, start_load_generator
from bench.load.rounds import BenchmarkSetup, RoundSettings, Sample, measure_rounds, warm_up
from bench.load.servers import PeerError, PeerServer, check_same_answers, record_answers, start_peer
from bench.load.start_time import scratch_directory
from bench.peers.floorgate import UNCACHED
from bench.peers.peer import Peer
from bench.peers.registry import all_peers
from bench.report import summary
from bench.report.alone_table import AloneSample
from bench.report.results import Memory, Results, add_results
from storage.embedded import embedded_mongo

T = TypeVar("T")

DATABASE = "floorgate"
NONE = "none"
RESULTS = Path(__file__).parents[1] / "build" / "bench" / "results.json"


@click.command()
@click.option("--units", type=click.IntRange(1_000), default=20_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--seconds",
    type=click.FloatRange(0.1),
    default=1.0,
    show_default=True,
    help="Duration of each load; there are two per round, workload and peer.",
)
@click.option("--starts", type=click.IntRange(0), default=3, show_default=True)
@click.option("--writes", type=click.IntRange(0), default=200, show_default=True)
@click.option(
    "--alone",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    help="Rounds in which each peer is started anew, for cold caches and writes.",
)
@click.option("--peer", "peer_names", multiple=True, help="Only these and Floorgate.")
@click.option("--workload", "workload_names", multiple=True, help="Only these; `none` for none.")
@click.option(
    "--add", "is_added", is_flag=True, help="Keep the figures in the file that are not measured."
)
@click.option(
    "--output", type=click.Path(path_type=Path), default=RESULTS, help="File for the figures."
)
@click.option(
    "--from",
    "earlier",
    type=click.Path(path_type=Path, exists=True),
    help="Show the figures of an earlier run instead.",
)
@click.option("--write-docs", is_flag=True, help="Write tables and chart into docs/.")
def main(
    units: int,
    rounds: int,
    seconds: float,
    starts: int,
    writes: int,
    alone: int,
    peer_names: tuple[str, ...],
    workload_names: tuple[str, ...],
    is_added: bool,
    output: Path,
    earlier: Path | None,
    write_docs: bool,
) -> None:
    """Measure speed and memory; print tables and write the figures as JSON."""
    # Exiting by an exception lets context managers stop every peer.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if earlier is not None:
        results = msgspec.json.decode(earlier.read_bytes(), type=Results)
    else:
        peers, left_out = all_peers(peer_names)
        workloads = (
            []
            if workload_names == (NONE,)
            else _select_named("--workload", WORKLOADS, workload_names)
        )
        rivals = _select_named("--peer", peers, peer_names, always=(UNCACHED.name,))
        settings = RoundSettings(rounds, seconds)
        run = _BenchmarkRun(units, settings, starts, writes, alone, rivals, workloads, left_out)
        try:
            results = run.measure()
        except (PeerError, LoadError) as error:
            raise click.ClickException(str(error)) from error
        if is_added and output.exists():
            before = msgspec.json.decode(output.read_bytes(), type=Results)
            results = add_results(before, results)
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    summary.print_report(results)
    if write_docs:
        summary.write_docs(results)
    click.echo(f"All figures: {earlier or output}")
    click.echo("More: python -m bench.growth, bench.profiling, bench.routing, bench.importing")


N = TypeVar("N", Peer, Workload)


def _select_named(
    option: str, rows: Sequence[N], names: Sequence[str], always: Sequence[str] = ()
) -> list[N]:
    known = [row.name for row in rows]
    for name in names:
        if name not in known:
            raise click.UsageError(f"{option} {name}: there are {', '.join(known)}")
    return [row for row in rows if not names or row.name in (*names, *always)]


class _BenchmarkRun(msgspec.Struct, frozen=True):
    """The settings of one run."""

    units: int
    settings: RoundSettings
    starts: int
    writes: int
    alone: int
    peers: list[Peer]
    workloads: list[Workload]
    left_out: list[str]

    def measure(self) -> Results:
        """Measure everything. Raises PeerError and LoadError."""
        with scratch_directory() as scratch:
            data_dir = scratch / "data"
            with (
                machine.pin_to_cores(machine.LOAD_CORE),
                embedded_mongo.run_embedded_mongo(data_dir) as mongo_url,
            ):
                directory = load_directory(mongo_url, DATABASE, self.units, scratch)
                samples, memory = self._measure_peers(directory)
                alone = self._measure_alone(directory, scratch)
                writes = self.writes
                stale = staleness.measure_staleness(directory, writes) if writes else None
            started = start_time.measure_starts(data_dir, self.starts)
        return Results(
            taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
            machine=machine.describe_machine(),
            units=self.units,
            rounds=self.settings.rounds,
            seconds=self.settings.seconds,
            titles={peer.name: peer.title for peer in self.peers},
            left_out=self.left_out,
            samples=samples,
            starts=started,
            memory=memory,
            staleness=stale,
            alone=alone,
        )

    def _measure_alone(self, directory: Directory, scratch: Path) -> list[AloneSample]:
        if not self.alone:
            return []
        settings = replace(self.settings, rounds=self.alone)
        with start_load_generator() as load:
            steps = measure_alone(self.peers, directory, load, settings, scratch)
            return _with_progress(steps, "Measuring alone", self.alone * 2 * len(self.peers))

    def _measure_peers(self, directory: Directory) -> tuple[list[Sample], list[Memory]]:
        with ExitStack() as stack:
            first = stack.enter_context(start_peer(UNCACHED, directory))
            record_answers(first, WORKLOADS, directory)
            if not self.workloads:
                return [], []
            others = [
                stack.enter_context(start_peer(peer, directory))
                for peer in self.peers
                if peer is not UNCACHED
            ]
            servers = [first, *others]
            idle = _measure_memory(servers, directory.mongod_pid)
            for workload in self.workloads:
                check_same_answers(
                    [x for x in servers if x.peer.serves(workload.name)], workload, directory
                )
            load = stack.enter_context(start_load_generator())
            setup = BenchmarkSetup(servers, self.workloads, directory, load)
            pairs = len(setup.list_pairs())
            _with_progress(warm_up(setup, self.settings.seconds), "Warming up", pairs)
            samples = _with_progress(
                measure_rounds(setup, self.settings), "Measuring", pairs * self.settings.rounds
            )
            after = _measure_memory(servers, directory.mongod_pid)
        return samples, [Memory(process=x, idle=idle[x], after=after[x]) for x in idle]


def _with_progress(steps: Iterable[T], what: str, total: int) -> list[T]:
    """Return all steps, with a progress bar on a terminal."""
    console = Console(stderr=True)
    quiet = not sys.stderr.isatty()
    return list(track(steps, what, total, console=console, transient=True, disable=quiet))


def _measure_memory(servers: list[PeerServer], mongod_pid: int) -> dict[str, dict[str, float]]:
    """Return megabytes of memory by process and kind."""
    processes = {server.peer.name: server.pid for server in servers} | {"mongod": mongod_pid}
    return {name: machine.sum_memory_mb(pid) for name, pid in processes.items()}


if __name__ == "__main__":
    main()
