"""Measure what grows with the directory: `python -m bench.growth`.

The same requests at each size, to one worker and to two; the first and the last page of a list,
reached by links and by number; memory; and an overload of four times saturation.
"""

import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
import msgspec
import orjson
from rich.console import Console
from rich.progress import Progress

from bench.data.directory import Directory, load_directory
from bench.data.requests import LoadRequest
from bench.data.workloads import LIST, NESTED, UNIT, WORKLOADS, Workload
from bench.load import machine
from bench.load.generator import LoadError, LoadGenerator, start_load_generator
from bench.load.overload import CONNECTIONS_PER_WORKER, OVERLOAD_FACTOR, Overload, measure_overload
from bench.load.rounds import BenchmarkSetup, RoundSettings, Sample, measure_rounds, warm_up
from bench.load.servers import PeerError, PeerServer, start_peer
from bench.load.start_time import scratch_directory
from bench.peers.floorgate import CACHED, UNCACHED, with_workers
from bench.peers.peer import BASE_URL, Peer
from bench.report import pages
from bench.report.tables import ReportTable, format_figure
from storage.embedded import embedded_mongo

SIZES = (10_000, 100_000, 1_000_000)
WORKERS = (1, 2)
PER_PAGE = 1_000
MEASURED_WORKLOADS = tuple(
    workload
    for workload in WORKLOADS
    if workload.name in (UNIT, "units-100", LIST, "locations", NESTED)
)
OVERLOAD_WORKLOAD = next(workload for workload in WORKLOADS if workload.name == UNIT)
RESULTS = Path(__file__).parents[1] / "build" / "bench" / "growth.json"


class GrowthResult(msgspec.Struct, frozen=True, kw_only=True):
    """Measurements of one gateway at one size."""

    units: int
    workers: int
    peer: str
    samples: list[Sample]
    pages: list[Sample]
    """Samples of the list's first and last pages, with one worker and no cache."""
    worker_mb: list[float]
    """Resident memory of each worker after the runs."""
    overload: Overload


@click.command()
@click.option("--sizes", "size", type=click.IntRange(1_000), multiple=True, default=SIZES)
@click.option("--workers", "counts", type=click.IntRange(1), multiple=True, default=WORKERS)
@click.option("--seconds", type=click.FloatRange(0.1), default=2.0, show_default=True)
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS)
@click.option("--write-docs", is_flag=True, help="Write the tables into docs/performance.md.")
def main(
    size: tuple[int, ...],
    counts: tuple[int, ...],
    seconds: float,
    output: Path,
    write_docs: bool,
) -> None:
    """Measure what grows with the directory; --sizes and --workers may be given several times."""
    # Exiting by an exception lets context managers stop every gateway.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        grown = _measure_with_progress(size, counts, seconds)
    except (PeerError, LoadError) as error:
        raise click.ClickException(str(error)) from error
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(msgspec.json.format(msgspec.json.encode(grown)))
    tables = build_tables(grown)
    for table in tables:
        Console(width=None if sys.stdout.isatty() else 140).print(table.to_rich_table())
    if write_docs:
        shown = [f"### {sheet.title}\n\n{sheet.to_markdown()}" for sheet in tables]
        pages.rewrite_section(pages.PERFORMANCE_PAGE, "growth", "\n\n".join(shown))


def _measure_with_progress(
    sizes: Sequence[int], counts: Sequence[int], seconds: float
) -> list[GrowthResult]:
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("Growing", total=len(sizes) * len(counts) * 2)
        grown = []
        for result in _iter_measurements(sizes, counts, seconds):
            grown.append(result)
            progress.update(task, advance=1, description=f"{result.units:,} units")
    return grown


def _iter_measurements(
    sizes: Sequence[int], counts: Sequence[int], seconds: float
) -> Iterator[GrowthResult]:
    for units in sizes:
        with (
            scratch_directory() as scratch,
            machine.pin_to_cores(machine.LOAD_CORE),
            embedded_mongo.run_embedded_mongo(scratch / "data") as mongo_url,
            start_load_generator() as load,
        ):
            directory = load_directory(mongo_url, "floorgate", units, scratch)
            for workers in counts:
                for peer in (UNCACHED, CACHED):
                    yield _measure_gateway(peer, workers, directory, load, seconds)


def _measure_gateway(
    peer: Peer, workers: int, directory: Directory, load: LoadGenerator, seconds: float
) -> GrowthResult:
    # Several workers may use every core, including the one of the load and mongod.
    cores = (machine.SERVER_CORE,) if workers == 1 else machine.CORES
    with start_peer(with_workers(peer, workers), directory, cores) as server:
        walks = workers == 1 and peer.name == UNCACHED.name
        paged = _page_workloads(server) if walks else []
        setup = BenchmarkSetup([server], [*MEASURED_WORKLOADS, *paged], directory, load)
        for _ in warm_up(setup, seconds / 2):
            pass
        samples = list(measure_rounds(setup, RoundSettings(1, seconds)))
        shed = measure_overload(server, workers, OVERLOAD_WORKLOAD, directory, load, seconds)
        _, *children = machine.list_process_tree(server.pid)
        memory = [machine.memory_mb(pid)["rss"] for pid in children or [server.pid]]
    names = {workload.name for workload in paged}
    return GrowthResult(
        units=len(directory.unit_ids),
        workers=workers,
        peer=peer.name,
        samples=[sample for sample in samples if sample.workload not in names],
        pages=[sample for sample in samples if sample.workload in names],
        worker_mb=memory,
        overload=shed,
    )


def _page_workloads(server: PeerServer) -> list[Workload]:
    """Return the first page, the last one by link, and the middle and last ones by number."""
    first = f"/v1/units?per-page={PER_PAGE}"
    last, number = first, 1
    while following := _next_path(server, last):
        last, number = following, number + 1
    by_number = f"{first}&page="
    paths = {
        "first page": first,
        "last page, by next_url": last,
        "middle page, by number": f"{by_number}{-(-number // 2)}",
        "last page, by number": f"{by_number}{number}",
    }
    return [_page_workload(title, path) for title, path in paths.items()]


def _page_workload(title: str, path: str) -> Workload:
    return Workload(title, title, lambda _: [LoadRequest(path)])


def _next_path(server: PeerServer, path: str) -> str | None:
    reply = server.request(LoadRequest(path))
    if reply.status != 200:
        raise PeerError(f"{path} is answered {reply.status}: {reply.content[:300]!r}")
    next_url: str | None = orjson.loads(reply.content)["paging"]["next_url"]
    return next_url.removeprefix(BASE_URL) if next_url else None


def build_tables(grown: Sequence[GrowthResult]) -> list[ReportTable]:
    """Return the tables of requests, pages, overload and memory."""
    titles = {workload.name: workload.title for workload in MEASURED_WORKLOADS}
    return [
        ReportTable(
            "By size: server CPU ms per request; requests per second at saturation",
            ("units", "workers", "cache", *titles.values()),
            [
                (
                    *_row_labels(result),
                    *(
                        f"{format_figure(x.cpu_ms)}; {format_figure(x.requests_per_second)}"
                        for x in _samples_in_order(result, titles)
                    ),
                )
                for result in grown
            ],
            note="Two workers share both cores with the load and mongod.",
        ),
        ReportTable(
            f"Pages of {PER_PAGE:,} units: CPU ms per request of the gateway and of mongod; p50 ms",
            ("units", "page", "gateway", "mongod", "p50 ms"),
            [
                (
                    f"{result.units:,}",
                    x.workload,
                    format_figure(x.cpu_ms),
                    format_figure(x.mongod_cpu_ms),
                    format_figure(x.p50_ms),
                )
                for result in grown
                for x in result.pages
            ],
            text_columns=2,
        ),
        ReportTable(
            f"{OVERLOAD_FACTOR} times saturation, {OVERLOAD_WORKLOAD.title}",
            (
                *("units", "workers", "cache", "saturation, 1/s", "answered, 1/s"),
                *("p50 ms", "p99 ms", "503, 1/s", "p99 ms of 503"),
            ),
            [
                (
                    *_row_labels(result),
                    *(format_figure(x) for x in msgspec.structs.astuple(result.overload)),
                )
                for result in grown
            ],
            note=(
                f"{CONNECTIONS_PER_WORKER} connections to a worker, which answers 100 requests at "
                "a time."
            ),
        ),
        ReportTable(
            "Resident memory of a worker, MB, after the runs",
            ("units", "workers", "cache", "MB"),
            [
                (*_row_labels(result), ", ".join(f"{x:.0f}" for x in result.worker_mb))
                for result in grown
            ],
        ),
    ]


def _samples_in_order(grown: GrowthResult, names: Iterable[str]) -> list[Sample]:
    by_workload = {sample.workload: sample for sample in grown.samples}
    return [by_workload[name] for name in names]


def _row_labels(grown: GrowthResult) -> tuple[str, str, str]:
    cache = "on" if grown.peer == CACHED.name else "off"
    return f"{grown.units:,}", str(grown.workers), cache


if __name__ == "__main__":
    main()
