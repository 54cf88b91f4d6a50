"""Measure what grows with the directory: `python -m bench.growth`.

The CPU time of the gateway and of mongod for the same requests, in directories with more and more
units and assets, for keys that see all assets, one, and ten thousand, and how many index keys and
documents MongoDB examines for one. `--data` keeps the directories for the next run.
"""

import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import click
import msgspec
from pymongo import MongoClient
from rich.console import Console

from bench.data.directory import Directory
from bench.data.grown_directory import (
    Size,
    find_key_before_last,
    load_grown_directory,
    name_map,
)
from bench.data.requests import LoadRequest
from bench.data.workloads import UNIT, WORKLOADS, Workload
from bench.load import machine
from bench.load.generator import LoadError, LoadGenerator, start_load_generator
from bench.load.rounds import BenchmarkSetup, RoundSettings, Sample, measure_rounds, warm_up
from bench.load.servers import PeerError, PeerServer, start_peer
from bench.load.start_time import scratch_directory
from bench.peers.floorgate import CACHE_OFF, with_settings
from bench.report import pages
from bench.report.tables import ReportTable, format_figure
from storage.catalog import UNITS
from storage.embedded import embedded_mongo
from storage.records.paging import BY_KEY, PageCursor, digest_list

SIZES = ("10000:1", "10000:1000", "1000000:1", "1000000:1000", "1000000:100000")
LARGEST = "10000000:100000"
KEYS = (None, 1, 10_000)
"""Assets of a key; None for all."""
PER_PAGE = 100
FAR_PAGES = 200
"""Last pages that are asked for by number in turn: more than the small cache holds."""
MAX_RATIO = 1.5
PATIENT = {"FLOORGATE_REQUEST_SECONDS": "30"}
"""Some requests of the largest directories take long if eight are sent at a time."""
UNCACHED = with_settings("floorgate", "Floorgate, cache off", **CACHE_OFF, **PATIENT)
BOOKMARKED = with_settings(
    "floorgate-bookmarks", "Floorgate, cache of 1 MB", FLOORGATE_CACHE_MB="1", **PATIENT
)
"""Has bookmarks of pages, and no page of the list in its cache when it is asked for again."""
BY_NUMBER = "last pages, by number"
CACHE_GB = 4.0
"""MongoDB's cache: the embedded one has 0.25 GB, but large directories are on servers that keep
what is read in memory."""
PROFILE = "system.profile"
CHANGED = "updated-since=2026-01-01T00:00:00Z"
"""Which all are."""
WIDTH = 200
MAX_TRIES = 100
RESULTS = Path(__file__).parents[1] / "build" / "bench" / "growth.json"


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """What MongoDB reads for one request."""

    commands: int
    keys: int
    documents: int


class GrowthResult(msgspec.Struct, frozen=True, kw_only=True):
    """Measurements with one key in one directory."""

    units: int
    assets: int
    key_assets: int | None
    samples: list[Sample]
    examined: dict[str, Examined]
    """By workload."""


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
@click.option(
    "--cache-gb", type=float, default=CACHE_GB, show_default=True, help="Cache of MongoDB."
)
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS)
@click.option("--write-docs", is_flag=True, help="Write the tables into docs/performance.md.")
def main(
    sizes: tuple[str, ...],
    seconds: float,
    data: Path | None,
    cache_gb: float,
    output: Path,
    write_docs: bool,
) -> None:
    """Measure what grows with the directory."""
    # Exiting by an exception lets context managers stop every gateway.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    wanted = [Size(*map(int, text.split(":"))) for text in sizes]
    grown: list[GrowthResult] = []
    try:
        for result in iter_measurements(wanted, seconds, data, cache_gb):
            grown.append(result)
            for table in build_tables([result], cache_gb):
                Console(stderr=True, width=WIDTH).print(table.to_rich_table())
    except (PeerError, LoadError) as error:
        raise click.ClickException(str(error)) from error
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(msgspec.json.format(msgspec.json.encode(grown)))
    tables = build_tables(grown, cache_gb)
    for table in tables:
        Console(width=None if sys.stdout.isatty() else WIDTH).print(table.to_rich_table())
    if write_docs:
        text = "\n\n".join(f"### {table.title}\n\n{table.to_markdown()}" for table in tables)
        pages.rewrite_section(pages.PERFORMANCE_PAGE, "growth", text)


def iter_measurements(
    sizes: Sequence[Size], seconds: float, data: Path | None, cache_gb: float
) -> Iterator[GrowthResult]:
    """Yield the measurements of each directory with each key that it has assets for."""
    with (
        scratch_directory() as scratch,
        machine.pin_to_cores(machine.LOAD_CORE),
        embedded_mongo.run_embedded_mongo(data or scratch / "data") as mongo_url,
        start_load_generator() as load,
    ):
        _set_cache(mongo_url, cache_gb)
        for size in sizes:
            for key_assets in KEYS:
                if (key_assets or 0) > size.assets:
                    continue
                directory = load_grown_directory(mongo_url, size, key_assets, scratch)
                measured = [*_measure_key(size, key_assets, directory, load, seconds)]
                yield GrowthResult(
                    units=size.units,
                    assets=size.assets,
                    key_assets=key_assets,
                    samples=[sample for sample, _ in measured],
                    examined={sample.workload: examined for sample, examined in measured},
                )


def _set_cache(mongo_url: str, gigabytes: float) -> None:
    """Give MongoDB a cache of this size until it stops."""
    with MongoClient[dict[str, Any]](mongo_url) as client:
        setting = f"cache_size={round(gigabytes * 1024)}M"
        client.admin.command("setParameter", 1, wiredTigerEngineRuntimeConfig=setting)


def _measure_key(
    size: Size,
    key_assets: int | None,
    directory: Directory,
    load: LoadGenerator,
    seconds: float,
) -> Iterator[tuple[Sample, Examined]]:
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
            _await_bookmarks(server, workloads[-1].requests(directory)[-1])
            for _ in warm_up(setup, seconds / 2):
                pass
            samples = [*measure_rounds(setup, RoundSettings(1, seconds))]
            for workload, sample in zip(workloads, samples, strict=True):
                yield sample, _examine(server, directory, workload)


def _await_bookmarks(server: PeerServer, request: LoadRequest) -> None:
    """Send a request until it is answered within its deadline: each time, more is bookmarked."""
    for _ in range(MAX_TRIES):
        if server.request(request).status == HTTPStatus.OK:
            return
    raise PeerError(f"{server.peer.title} does not answer {request.path}")


def _examine(server: PeerServer, directory: Directory, workload: Workload) -> Examined:
    """Return what MongoDB reads for the last request of a workload."""
    request = workload.requests(directory)[-1]
    with MongoClient[dict[str, Any]](directory.mongo_url) as client:
        database = client[directory.database]
        database.command("profile", 2)
        try:
            server.request(request)
        finally:
            database.command("profile", 0)
        notes = [*database[PROFILE].find({"keysExamined": {"$exists": True}})]
        database.drop_collection(PROFILE)
    return Examined(
        commands=len(notes),
        keys=sum(note["keysExamined"] for note in notes),
        documents=sum(note["docsExamined"] for note in notes),
    )


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
        "100 units by name": f"/v1/units?order-by=name&per-page={PER_PAGE}",
        "100 units changed since": f"/v1/units?{CHANGED}&per-page={PER_PAGE}",
        "20 units by a word": "/v1/units?search=1&per-page=20",
        "20 units on a floor": f"/v1/units?floor={asset}-floor-0&per-page=20",
        "units counted": "/v1/units?per-page=1&total-count=true",
        "units of an asset counted": f"/v1/units?asset={asset}&per-page=1&total-count=true",
        "level tags": f"/v1/maps/{name_map(asset)}/levels/tags",
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


def build_tables(grown: Sequence[GrowthResult], cache_gb: float) -> list[ReportTable]:
    """Return the tables of costs, and of what MongoDB reads.

    Each workload is a row, so that directories are next to each other. Costs over MAX_RATIO times
    those in the first directory are marked.
    """
    names = [sample.workload for sample in grown[0].samples]
    header = ("request", *map(_describe, grown))
    loads = [sample.load_average for result in grown for sample in result.samples]
    return [
        ReportTable(
            "CPU ms per request: gateway; mongod",
            header,
            [(name, *(_format_cost(grown, result, name) for result in grown)) for name in names],
            note=(
                f"`*`: in sum more than {MAX_RATIO} times the same request in the first directory."
                f" MongoDB has a cache of {cache_gb:g} GB. Load average {min(loads):.0f} to"
                f" {max(loads):.0f}, so ratios count."
            ),
        ),
        ReportTable(
            "Index keys; documents that MongoDB examines for a request",
            header,
            [(name, *(_format_examined(result, name) for result in grown)) for name in names],
        ),
    ]


def _describe(result: GrowthResult) -> str:
    key = "all" if result.key_assets is None else f"{result.key_assets:,}"
    return f"{result.units:,} units, {result.assets:,} assets, key for {key}"


def _format_cost(grown: Sequence[GrowthResult], result: GrowthResult, name: str) -> str:
    sample, first = _find_sample(result, name), _find_sample(grown[0], name)
    text = f"{format_figure(sample.cpu_ms)}; {format_figure(sample.mongod_cpu_ms)}"
    is_over = _sum_cost(sample) > MAX_RATIO * _sum_cost(first)
    return f"{text} *" if is_over else text


def _format_examined(result: GrowthResult, name: str) -> str:
    examined = result.examined[name]
    return f"{examined.keys:,}; {examined.documents:,}"


def _find_sample(result: GrowthResult, name: str) -> Sample:
    return next(sample for sample in result.samples if sample.workload == name)


def _sum_cost(sample: Sample) -> float:
    return sample.cpu_ms + sample.mongod_cpu_ms


if __name__ == "__main__":
    main()
