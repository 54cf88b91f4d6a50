"""Measure what grows with the directory: `python -m bench.growth`.

The CPU time of the gateway and of mongod for the same requests, in directories with more and more
units and assets, for keys that see all assets, one, and ten thousand. `--data` keeps the
directories for the next run.
"""

import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click
import msgspec
from rich.console import Console

from bench.data.directory import Directory
from bench.data.grown_directory import Size, find_key_before_last, load_grown_directory
from bench.data.requests import LoadRequest
from bench.data.workloads import UNIT, WORKLOADS, Workload
from bench.load import machine
from bench.load.generator import LoadError, LoadGenerator, start_load_generator
from bench.load.rounds import BenchmarkSetup, RoundSettings, Sample, measure_rounds, warm_up
from bench.load.servers import PeerError, start_peer
from bench.load.start_time import scratch_directory
from bench.peers.floorgate import UNCACHED, with_settings
from bench.report import pages
from bench.report.tables import ReportTable, format_figure
from storage.embedded import embedded_mongo
from storage.records.paging import BY_KEY, PageCursor, digest_list
from storage.units import UNITS

SIZES = ("10000:1", "10000:1000", "1000000:1", "1000000:1000", "1000000:100000")
LARGEST = "10000000:100000"
KEYS = (None, 1, 10_000)
"""Assets of a key; None for all."""
PER_PAGE = 100
FAR_PAGES = 200
"""Last pages that are asked for by number in turn: more than the small cache holds."""
MAX_RATIO = 1.5
BOOKMARKED = with_settings(
    "floorgate-bookmarks", "Floorgate, cache of 1 MB", FLOORGATE_CACHE_MB="1"
)
"""Has bookmarks of pages, and no page of the list in its cache when it is asked for again."""
BY_NUMBER = "last pages, by number"
RESULTS = Path(__file__).parents[1] / "build" / "bench" / "growth.json"


class GrowthResult(msgspec.Struct, frozen=True, kw_only=True):
    """Measurements with one key in one directory."""

    units: int
    assets: int
    key_assets: int | None
    samples: list[Sample]


@click.command()
@click.option(
    "--size",
    "sizes",
    multiple=True,
    default=SIZES,
    show_default=True,
    help=f"UNITS:ASSETS; may be given several times. {LARGEST} takes half an hour to fill.",
)
@click.option("--seconds", type=click.FloatRange(0.1), default=2.0, show_default=True)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Directory of the embedded MongoDB; what is there already is used again.",
)
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS)
@click.option("--write-docs", is_flag=True, help="Write the table into docs/performance.md.")
def main(
    sizes: tuple[str, ...], seconds: float, data: Path | None, output: Path, write_docs: bool
) -> None:
    """Measure what grows with the directory."""
    # Exiting by an exception lets context managers stop every gateway.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    wanted = [Size(*map(int, text.split(":"))) for text in sizes]
    grown: list[GrowthResult] = []
    try:
        for result in iter_measurements(wanted, seconds, data):
            grown.append(result)
            Console(stderr=True).print(build_table([result]).to_rich_table())
    except (PeerError, LoadError) as error:
        raise click.ClickException(str(error)) from error
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(msgspec.json.format(msgspec.json.encode(grown)))
    table = build_table(grown)
    Console(width=None if sys.stdout.isatty() else 160).print(table.to_rich_table())
    if write_docs:
        pages.rewrite_section(pages.PERFORMANCE_PAGE, "growth", table.to_markdown())


def iter_measurements(
    sizes: Sequence[Size], seconds: float, data: Path | None
) -> Iterator[GrowthResult]:
    """Yield the measurements of each directory with each key that it has assets for."""
    with (
        scratch_directory() as scratch,
        machine.pin_to_cores(machine.LOAD_CORE),
        embedded_mongo.run_embedded_mongo(data or scratch / "data") as mongo_url,
        start_load_generator() as load,
    ):
        for size in sizes:
            for key_assets in KEYS:
                if (key_assets or 0) > size.assets:
                    continue
                directory = load_grown_directory(mongo_url, size, key_assets, scratch)
                samples = [*_measure_key(size, key_assets, directory, load, seconds)]
                yield GrowthResult(
                    units=size.units, assets=size.assets, key_assets=key_assets, samples=samples
                )


def _measure_key(
    size: Size,
    key_assets: int | None,
    directory: Directory,
    load: LoadGenerator,
    seconds: float,
) -> Iterator[Sample]:
    visible = size.units if key_assets is None else key_assets * (size.units // size.assets)
    for peer in (UNCACHED, BOOKMARKED):
        with start_peer(peer, directory) as server:
            setup = BenchmarkSetup([server], [], directory, load)
            workloads = (
                _list_workloads(directory, size, key_assets, visible)
                if peer is UNCACHED
                else [_list_far_pages(visible)]
            )
            setup = replace(setup, workloads=workloads)
            for _ in warm_up(setup, seconds / 2):
                pass
            yield from measure_rounds(setup, RoundSettings(1, seconds))


def _list_workloads(
    directory: Directory, size: Size, key_assets: int | None, visible: int
) -> list[Workload]:
    unit = next(workload for workload in WORKLOADS if workload.name == UNIT)
    [asset] = size.choose_assets(1) or ()
    before_last = find_key_before_last(directory, size.choose_assets(key_assets), PER_PAGE)
    cursor = _build_cursor(before_last, max(-(-visible // PER_PAGE), 2))
    paths = {
        "floors of an asset": f"/v1/assets/{asset}/floors",
        "100 units of an asset": f"/v1/units?asset={asset}&per-page={PER_PAGE}",
        "100 units": f"/v1/units?per-page={PER_PAGE}",
        "1,000 units": "/v1/units?per-page=1000",
        "last 100, by link": f"/v1/units?after={cursor}",
    }
    return [unit, *(_workload(title, [path]) for title, path in paths.items())]


def _list_far_pages(visible: int) -> Workload:
    last = -(-visible // PER_PAGE)
    numbers = range(max(last - FAR_PAGES, 0) + 1, last + 1)
    return _workload(BY_NUMBER, [f"/v1/units?per-page={PER_PAGE}&page={n}" for n in numbers])


def _workload(title: str, paths: Sequence[str]) -> Workload:
    return Workload(title, title, lambda _: [LoadRequest(path) for path in paths])


def _build_cursor(key: str, page: int) -> str:
    return PageCursor(digest_list((UNITS.name, ()), BY_KEY), page, PER_PAGE, (key,)).encode()


def build_table(grown: Sequence[GrowthResult]) -> ReportTable:
    """Return the table of costs; those over MAX_RATIO times the smallest are marked."""
    names = [sample.workload for sample in grown[0].samples]
    return ReportTable(
        "CPU ms per request: gateway; mongod",
        ("units", "assets", "assets of the key", *names),
        [
            (
                f"{result.units:,}",
                f"{result.assets:,}",
                "all" if result.key_assets is None else f"{result.key_assets:,}",
                *(_format_cost(grown, result, name) for name in names),
            )
            for result in grown
        ],
        note=f"`*`: in sum more than {MAX_RATIO} times the same request in the first directory.",
    )


def _format_cost(grown: Sequence[GrowthResult], result: GrowthResult, name: str) -> str:
    sample, first = _find_sample(result, name), _find_sample(grown[0], name)
    text = f"{format_figure(sample.cpu_ms)}; {format_figure(sample.mongod_cpu_ms)}"
    is_over = _sum_cost(sample) > MAX_RATIO * _sum_cost(first)
    return f"{text} *" if is_over else text


def _find_sample(result: GrowthResult, name: str) -> Sample:
    return next(sample for sample in result.samples if sample.workload == name)


def _sum_cost(sample: Sample) -> float:
    return sample.cpu_ms + sample.mongod_cpu_ms


if __name__ == "__main__":
    main()
