"""What grows with the directory: the same requests in directories with more units and assets."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from bench.comparison import BenchmarkSetup, find_workloads, measure_rounds, warm_up
from bench.data.directory import (
    FIRST_ASSET_ID,
    MAP_ID,
    Directory,
    get_asset_id,
    get_floor_id,
    get_unit_id,
)
from bench.data.workloads import UNIT, LoadRequest, Workload
from bench.harness import Results, Row, Run, describe_record, experiment
from bench.load.servers import PeerError, PeerServer, start_peer
from bench.peers.peer import CACHE_OFF, with_settings
from bench.report import ReportTable, format_figure
from storage.catalog import UNITS
from storage.records.paging import BY_KEY, PageCursor, digest_list

SIZES = ("10000:1", "10000:1000", "1000000:1", "1000000:1000", "1000000:100000")
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
PROFILE = "system.profile"
CHANGED = "updated-since=2026-01-01T00:00:00Z"
"""Which all are."""
MAX_TRIES = 100


def build_tables(results: Results) -> list[ReportTable]:
    """Return the tables of costs, and of what MongoDB reads.

    Each workload is a row, so that directories are next to each other. Costs over MAX_RATIO times
    those in the first directory are marked.
    """
    record = results["growth"]
    cells = {(row["where"], row["workload"]): row for row in record.rows}
    wheres = [*dict.fromkeys(where for where, _ in cells)]
    names = [*dict.fromkeys(name for _, name in cells)]

    def format_cost(where: str, name: str) -> str:
        row, first = cells[where, name], cells[wheres[0], name]
        text = f"{format_figure(row['cpu_ms'])}; {format_figure(row['mongod_cpu_ms'])}"
        return f"{text} *" if _sum_cost(row) > MAX_RATIO * _sum_cost(first) else text

    def format_examined(where: str, name: str) -> str:
        return "{keys:,}; {documents:,}".format_map(cells[where, name])

    note = (
        f"`*`: in sum more than {MAX_RATIO} times the same request in the first directory. MongoDB "
        "has a cache of {cache_gb:g} GB. Load average {load}, so ratios count."
    )
    return [
        ReportTable(
            title,
            ("request", *wheres),
            [(name, *(cell(where, name) for where in wheres)) for name in names],
            note=shown,
        )
        for title, cell, shown in (
            (
                "CPU ms per request: gateway; mongod",
                format_cost,
                note.format_map(describe_record(record)),
            ),
            ("Index keys; documents that MongoDB examines for a request", format_examined, ""),
        )
    ]


def _sum_cost(row: Row) -> float:
    return float(row["cpu_ms"] + row["mongod_cpu_ms"])


@experiment(report=build_tables)
def growth(
    run: Run,
    size: tuple[str, ...] = SIZES,
    seconds: float = 2.0,
    data: Path | None = None,
    cache_gb: float = 4.0,
) -> Iterator[Row]:
    """Measure what grows with the directory.

    The CPU time of the gateway and of mongod for the same requests, in directories of UNITS:ASSETS,
    for keys that see all assets, one, and ten thousand, and how many index keys and documents
    MongoDB examines for one. `--data` keeps the directories for the next run: a million units take
    five minutes. The embedded mongod has a cache of 0.25 GB otherwise, but large directories are on
    servers that keep what is read in memory.
    """
    with MongoClient[dict[str, Any]](run.mongo_url) as client:
        setting = f"cache_size={round(cache_gb * 1024)}M"
        client.admin.command("setParameter", 1, wiredTigerEngineRuntimeConfig=setting)
    for text in size:
        units, assets = map(int, text.split(":"))
        directory = run.load_directory(units, units // assets, name=f"grown-{units}-{assets}")
        for key_assets in KEYS:
            if (key_assets or 0) <= assets:
                key = "all" if key_assets is None else f"{key_assets:,}"
                where = f"{units:,} units, {assets:,} assets, key for {key}"
                for row in _measure_key(run, directory, assets, key_assets, seconds):
                    yield {"where": where, **row}


def _measure_key(
    run: Run, directory: Directory, assets: int, key_assets: int | None, seconds: float
) -> Iterator[Row]:
    per_asset = len(directory.unit_ids) // assets
    count = key_assets or assets
    seen = [number * assets // count for number in range(count)]  # spread over all
    scope = None if key_assets is None else [get_asset_id(asset) for asset in seen]
    [key] = directory.create_keys([scope])
    units = (asset * per_asset + number for asset in seen for number in range(per_asset))
    unit_ids = sorted(map(get_unit_id, units))
    own = replace(directory, key=key, unit_ids=unit_ids)
    for peer in (UNCACHED, BOOKMARKED):
        with start_peer(peer, own) as server:
            is_far = peer is BOOKMARKED
            workloads = [_list_far_pages(len(unit_ids))] if is_far else _list_workloads(unit_ids)
            _await_bookmarks(server, workloads[-1].requests(own)[-1])
            setup = BenchmarkSetup([server], workloads, own, run.load)
            warm_up(setup, seconds / 2)
            for workload, row in zip(workloads, measure_rounds(setup, 1, seconds), strict=True):
                yield row | _examine(server, own, workload)


def _await_bookmarks(server: PeerServer, request: LoadRequest) -> None:
    """Send a request until it is answered within its deadline: each time, more is bookmarked."""
    for _ in range(MAX_TRIES):
        if server.request(request).status == HTTPStatus.OK:
            return
    raise PeerError(f"{server.peer.title} does not answer {request.path}")


def _examine(server: PeerServer, directory: Directory, workload: Workload) -> Row:
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
    return {
        "keys": sum(note["keysExamined"] for note in notes),
        "documents": sum(note["docsExamined"] for note in notes),
    }


def _list_workloads(unit_ids: Sequence[str]) -> list[Workload]:
    pages = max(-(-len(unit_ids) // PER_PAGE), 2)
    before_last = unit_ids[-min(PER_PAGE + 1, len(unit_ids))]
    cursor = _build_cursor(before_last, pages)
    asset = FIRST_ASSET_ID
    paths = {
        "floors of an asset": f"/v1/assets/{asset}/floors",
        "100 units of an asset": f"/v1/units?asset={asset}&per-page={PER_PAGE}",
        "100 units": f"/v1/units?per-page={PER_PAGE}",
        "1,000 units": "/v1/units?per-page=1000",
        "last 100, by link": f"/v1/units?after={cursor}",
        "100 units by name": f"/v1/units?order-by=name&per-page={PER_PAGE}",
        "100 units changed since": f"/v1/units?{CHANGED}&per-page={PER_PAGE}",
        "20 units by a word": "/v1/units?search=1&per-page=20",
        "20 units on a floor": f"/v1/units?floor={get_floor_id(0, 0)}&per-page=20",
        "units counted": "/v1/units?per-page=1&total-count=true",
        "units of an asset counted": f"/v1/units?asset={asset}&per-page=1&total-count=true",
        "level tags": f"/v1/maps/{MAP_ID}/levels/tags",
    }
    return [*find_workloads([UNIT]), *(_workload(title, [path]) for title, path in paths.items())]


def _list_far_pages(visible: int) -> Workload:
    last = -(-visible // PER_PAGE)
    numbers = range(max(last - FAR_PAGES, 0) + 1, last + 1)
    return _workload(BY_NUMBER, [f"/v1/units?per-page={PER_PAGE}&page={n}" for n in numbers])


def _workload(title: str, paths: Sequence[str]) -> Workload:
    return Workload(title, title, lambda _: [LoadRequest(path) for path in paths])


def _build_cursor(key: str, page: int) -> str:
    return PageCursor(digest_list((UNITS.name, ()), BY_KEY), page, PER_PAGE, (key,)).encode()
