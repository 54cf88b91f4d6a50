"""Speed and memory of routing, without a gateway."""

import mmap
import multiprocessing
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from bench.harness import Row, Run, T, experiment
from bench.load import machine
from bench.report import ReportTable, tabulate
from resolvers.routable_maps import (
    Placement,
    RoutableMap,
    deserialize_routable_map,
    serialize_routable_map,
)
from routing.archive import serialize_router
from routing.costing import TravelMode
from routing.plan import Plan
from routing.processing import ProcessedPlan, process_plan
from routing.search.router import Position, Router, TravelMatrix
from samples.buildings.generated_plans import build_comb, build_demo, build_hall, build_office

SEED = 7
MATRIX_SIZES = ((1, 50), (50, 1), (7, 7), (5, 10))
PROCESSED_PLANS: dict[str, Callable[[], Plan]] = {
    "one floor": lambda: build_office(1, 128),
    "six floors, 504 rooms": lambda: build_office(6, 84),
    "demo building": build_demo,
    "long corridors, 100 rooms": lambda: build_comb(100),
    "long corridors, 200 rooms": lambda: build_comb(200),
    "long corridors, 400 rooms": lambda: build_comb(400),
    "six floors of 500 rooms": lambda: build_comb(500, 6),
    "hall, 144 pillars": lambda: build_hall(12),
    "hall, 2,500 pillars": lambda: build_hall(50),
}
SourcesAndTargets = tuple[list[str], list[str]]


def time_calls(
    function: Callable[[list[str], list[str]], Any], questions: Sequence[SourcesAndTargets]
) -> tuple[float, ...]:
    """Return the CPU milliseconds, p50 and p99, of a function over all questions.

    Unlike wall time, a busy machine hardly affects it.
    """
    taken = []
    function(*questions[0])
    for sources, targets in questions:
        start = time.thread_time()
        function(sources, targets)
        taken.append((time.thread_time() - start) * 1000)
    return tuple(np.percentile(taken, (50, 99)).tolist())


def draw_questions(
    ids: Sequence[str], rows: int, columns: int, count: int
) -> list[SourcesAndTargets]:
    """Return `count` random pairs of sources and targets."""
    generator = random.Random(SEED)
    return [(generator.sample(ids, rows), generator.sample(ids, columns)) for _ in range(count)]


def process_timed(plan: Plan) -> tuple[ProcessedPlan, float, float]:
    """Return the processed plan, the CPU seconds it took, and the peak of memory in megabytes.

    The peak is that of this process; `ru_maxrss` would include its parent's.
    """
    start = time.process_time()
    processed = process_plan(plan)
    seconds = time.process_time() - start
    kilobytes = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
    return processed, seconds, kilobytes * 1024 / 1e6


def run_in_process(function: Callable[..., T], *arguments: Any) -> tuple[T, float]:
    """Call a function in a process of its own, and return the megabytes that it had before."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        before = pool.submit(measure_memory_mb).result()
        return pool.submit(function, *arguments).result(), before


def measure_memory_mb() -> float:
    """Return the memory of this process, mapped files included."""
    return machine.memory_mb(os.getpid())["pss"]


def measure_processing() -> Iterator[Row]:
    """Yield what processing each plan takes, in a process of its own."""
    for name, build in PROCESSED_PLANS.items():
        (processed, seconds, peak), before = run_in_process(process_timed, build())
        foot = processed.report.reachability[0]
        yield {
            "plan": name,
            "levels": len(processed.report.levels),
            "rooms": sum(level.rooms for level in processed.report.levels),
            "vertices": foot.vertices,
            "edges": foot.edges,
            "CPU s": seconds,
            "peak MB": peak,
            "MB before": before,
            "archive MB": len(serialize_router(processed.router)) / 1e6,
        }


def measure_matrices(rounds: int) -> Iterator[Row]:
    """Yield figures of 50 pairs of ids, and of the same places as coordinates."""
    processed = process_plan(build_office(6, 84))
    network, searching = processed.networks[TravelMode.FOOT], Router(processed.networks)
    ids, stops = network.location_ids, network.locations
    places = {
        location_id: Position(network.levels.ids[level], x, y)
        for location_id, level, (x, y) in zip(ids, stops.levels, stops.near.tolist(), strict=True)
    }

    def by_coordinates(sources: Sequence[str], targets: Sequence[str]) -> TravelMatrix:
        return searching.matrix([places[end] for end in sources], [places[end] for end in targets])

    for rows, columns in MATRIX_SIZES:
        questions = draw_questions(ids, rows, columns, rounds)
        yield {
            "pairs": f"{rows} x {columns}",
            "ids": time_calls(processed.router.matrix, questions),
            "coordinates": time_calls(by_coordinates, questions),
        }


def measure_loaded_maps(count: int) -> Row:
    """Return the memory of a process that holds many maps and has used them in every way."""
    processed = process_plan(build_office(6, 84))
    placements = [
        Placement(place.id, place.name, place.x, place.y, (place.level_id,))
        for place in processed.plan.locations
    ]
    archive = serialize_routable_map(processed.router, placements)
    (milliseconds, after), before = run_in_process(load_maps, archive, count)
    archive_mb = len(archive) / 1e6
    figures = {"archive MB": archive_mb, "ms to load": milliseconds}
    return {"maps": count, **figures, "MB": after, "MB without maps": before}


def load_maps(archive: bytes, count: int) -> tuple[float, float]:
    """Load maps and ask each; return CPU ms of loading one, and the memory afterwards."""
    start = time.process_time()
    loaded = [map_archive(archive) for _ in range(count)]
    milliseconds = (time.process_time() - start) / count * 1000
    for router in (routable.router for routable in loaded):
        network = router.networks[TravelMode.FOOT]
        ids, levels = network.location_ids, network.levels
        places = [Position(level, 20.0 + 5 * at, 21.0) for level in levels.ids for at in range(8)]
        for mode in router.networks:
            router.matrix(ids[:7], ids[-7:], mode)
            router.matrix(places, [*places, *ids[::10]], mode)
            router.route(ids[0], ids[-1], mode)
    return milliseconds, measure_memory_mb()


def map_archive(archive: bytes) -> RoutableMap:
    with tempfile.TemporaryFile() as file:
        file.write(archive)
        file.flush()
        return deserialize_routable_map(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


MINUTES = (0.5, 1.0, 2.0, 4.0)
ISOCHRONE_PLANS: dict[str, Callable[[], Plan]] = {
    "six floors, 504 rooms": lambda: build_office(6, 84),
    "two floors, 800 rooms on long corridors": lambda: build_comb(400, 2),
    "a hall, 100 round pillars": lambda: build_hall(10),
    "a hall, 225 round pillars": lambda: build_hall(15),
}


def measure_areas(router: Router, source: str, minutes: float) -> tuple[list[float], int]:
    """Return the CPU milliseconds of each floor's area, and the points of all of them."""
    isochrone, taken, points = router.isochrone(source, 60 * minutes), [], 0
    for level_id in isochrone.level_ids:
        start = time.thread_time()
        area = isochrone.area(level_id)
        taken.append((time.thread_time() - start) * 1000)
        points += int(shapely.get_num_coordinates(area))
    return taken, points


def measure_isochrones(rounds: int) -> Iterator[Row]:
    """Yield the areas within reach of random locations on large plans."""
    for name, build in ISOCHRONE_PLANS.items():
        processed, generator = process_plan(build()), random.Random(SEED)
        ids = [location.id for location in processed.plan.locations]
        for minutes in MINUTES:
            measured = [
                measure_areas(processed.router, generator.choice(ids), minutes)
                for _ in range(rounds)
            ]
            floors = np.concatenate([taken for taken, _ in measured])
            yield {
                "areas of": name,
                "minutes": minutes,
                "ms a floor: median / most": (float(np.median(floors)), float(floors.max())),
                "ms in all: median": float(np.median([sum(taken) for taken, _ in measured])),
                "points": float(np.median([count for _, count in measured])),
            }


TITLES = {
    "plan": "Processing, both modes with tables",
    "pairs": "50 pairs on 6 floors: CPU ms, p50 / p99",
    "maps": "Maps of 504 rooms in a process",
    "areas of": "Areas within reach",
}
"""The titles of the tables by the first field of their rows."""


def build_tables(rows: Sequence[Row]) -> list[ReportTable]:
    """Return a table for each kind of row."""
    return [
        tabulate(title, [row for row in rows if first in row]) for first, title in TITLES.items()
    ]


@experiment(report=build_tables)
def routing(run: Run, rounds: int = 1_000, maps: int = 500, isochrones: int = 20) -> Iterator[Row]:
    """Measure processing, matrices, memory, and areas within reach."""
    yield from measure_processing()
    yield from measure_matrices(rounds)
    yield measure_loaded_maps(maps)
    yield from measure_isochrones(isochrones)
