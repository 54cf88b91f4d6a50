"""Measure speed, memory and accuracy of routing: `python -m bench.routing`.

igraph and scipy are measured on the same graph in the same process, in turn.
"""

from __future__ import annotations

import itertools
import multiprocessing
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import igraph  # type: ignore[import-untyped]
import numpy as np
import scipy.sparse as sparse  # type: ignore[import-untyped]
import shapely
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Sheet
from scipy.sparse.csgraph import dijkstra  # type: ignore[import-untyped]

from bench.accuracy import compare_levels
from bench.data.demo_plan import build_demo
from bench.data.office_plan import build_office
from routing.costing import TravelMode
from routing.network.network import LevelNetwork, Network
from routing.network.stops import Stops
from routing.network.views import all_round, spread_views
from routing.plan import Plan
from routing.processing import ProcessedPlan, process_plan
from routing.search.router import Router

SEED = 7
MATRIX_SIZES = ((1, 50), (50, 1), (7, 7), (5, 10))
LOCATION_COUNTS = (10, 100, 1_000, 5_000)


@dataclass(frozen=True)
class Timing:
    """CPU milliseconds of one call; unlike wall time, not affected by a busy machine."""

    p50: float
    p99: float

    def __str__(self) -> str:
        return f"{self.p50:.3f} / {self.p99:.3f}"


SourcesAndTargets = tuple[list[str], list[str]]
MatrixFunction = Callable[[list[str], list[str]], Any]


def time_calls(
    functions: Sequence[MatrixFunction], questions: Sequence[SourcesAndTargets]
) -> list[Timing]:
    """Return the CPU time of each function over all `questions`.

    They take turns, so that a slower machine slows all of them down.
    """
    taken: list[list[float]] = [[] for _ in functions]
    for function in functions:
        function(*questions[0])
    for sources, targets in questions:
        for function, times in zip(functions, taken, strict=True):
            start = time.thread_time()
            function(sources, targets)
            times.append((time.thread_time() - start) * 1000)
    return [Timing(*np.percentile(times, (50, 99)).tolist()) for times in taken]


def draw_questions(
    ids: Sequence[str], rows: int, columns: int, count: int
) -> list[SourcesAndTargets]:
    """Return `count` random pairs of sources and targets."""
    generator = random.Random(SEED)
    return [(generator.sample(ids, rows), generator.sample(ids, columns)) for _ in range(count)]


def process_timed(plan: Plan) -> tuple[ProcessedPlan, float]:
    """Return the processed plan and the CPU seconds it took."""
    start = time.process_time()
    processed = process_plan(plan)
    return processed, time.process_time() - start


def process_in_subprocess(plan: Plan) -> tuple[ProcessedPlan, float, float, float]:
    """Process a plan in a new process; return peak MB before and after as well."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        before = pool.submit(peak_mb).result()
        processed, seconds = pool.submit(process_timed, plan).result()
        return processed, seconds, before, pool.submit(peak_mb).result()


def peak_mb() -> float:
    """Return the peak memory of this process; `ru_maxrss` would include its parent's."""
    status = Path("/proc/self/status").read_text()
    kilobytes = int(status.partition("VmHWM:")[2].split()[0])
    return kilobytes * 1024 / 1e6


class ReferenceGraph:
    """The whole map as one graph weighted in seconds, as users of igraph or scipy build it."""

    def __init__(self, network: Network) -> None:
        self.vertex: dict[str, int] = {}
        stops = network.locations
        portal_vertex = np.zeros(len(network.portals), dtype=np.int64)
        first, arcs = 0, [np.empty((0, 3))]
        for index, level in enumerate(network.levels):
            portal_vertex[level.portal_indexes] = first + level.first_portal
            portal_vertex[level.portal_indexes] += np.arange(len(level.portal_indexes))
            own = np.flatnonzero((stops.levels == index) & stops.are_attached)
            vertices = itertools.count(first + len(level.xy))
            ids = (network.location_ids[at] for at in own.tolist())
            self.vertex |= dict(zip(ids, vertices, strict=False))
            edges = level.graph.edges
            arcs.append(np.stack((edges.first + first, edges.second + first, edges.feet), axis=1))
            arcs.append(locate_arcs(level, stops.take(own), first))
            first += len(level.xy) + len(own)
        walks = np.concatenate(arcs)
        walks[:, 2] /= network.feet_per_second
        rides = [
            (portal_vertex[link.start], portal_vertex[link.end], link.cost.seconds)
            for link in network.links
        ]
        everything = np.concatenate((walks, walks[:, (1, 0, 2)], np.array(rides).reshape(-1, 3)))
        tails, heads = everything[:, :2].astype(np.int64).T
        weights = everything[:, 2]
        self.count = first
        self.edges = len(tails)
        self.graph: Any = igraph.Graph(
            self.count, np.stack((tails, heads), axis=1).tolist(), directed=True
        )
        self.graph.es["seconds"] = weights.tolist()
        shape = (self.count, self.count)
        self.matrix = sparse.csr_matrix((weights, (tails, heads)), shape=shape)

    def by_igraph(self, sources: Sequence[str], targets: Sequence[str]) -> NDArray[np.float64]:
        """Return seconds; igraph rejects repeated targets."""
        rows, columns = ([self.vertex[place] for place in side] for side in (sources, targets))
        return np.array(self.graph.distances(rows, columns, weights="seconds"))

    def by_scipy(self, sources: Sequence[str], targets: Sequence[str]) -> NDArray[np.float64]:
        rows, columns = ([self.vertex[place] for place in side] for side in (sources, targets))
        return np.asarray(dijkstra(self.matrix, indices=rows)[:, columns])


def locate_arcs(level: LevelNetwork, stops: Stops, first: int) -> NDArray[np.float64]:
    """Return arcs (n, 3) from locations of a level to the vertices and locations that they see.

    The level's vertices are numbered from `first`, the locations come after them.
    """
    xy = stops.near
    from_locations = spread_views(level.mesh, xy, all_round(np.arange(len(xy))))
    arcs = []
    for views, start in ((level.views, first), (from_locations, first + len(level.xy))):
        sights = views.sights(xy, level.mesh.cells[stops.triangles])
        points = np.repeat(np.arange(len(xy)), np.diff(sights.starts)) + first + len(level.xy)
        arcs.append(np.stack((points, sights.vertices + start, sights.feet), axis=1))
    return np.concatenate(arcs)


def show_processing(console: Console) -> None:
    columns = ("plan", "levels", "rooms", "vertices a level", "nodes", "edges", "CPU s", "peak MB")
    sheet = Sheet(*columns)
    plans = {
        "one floor": build_office(1, 128),
        "six floors, 500 rooms": build_office(6, 84),
        "demo building": build_demo(),
    }
    for name, plan in plans.items():
        processed, seconds, before, peak = process_in_subprocess(plan)
        foot = processed.report.reachability[0]
        free = [level.walkable_area for level in processed.networks[TravelMode.FOOT].levels]
        rooms = sum(level.rooms for level in processed.report.levels)
        largest = max(int(shapely.get_num_coordinates(area)) for area in free)
        memory = f"{peak:.0f} ({before:.0f} before)"
        figures = (len(free), rooms, largest, foot.vertices, foot.edges, f"{seconds:.2f}", memory)
        sheet.add_row(name, *map(str, figures))
    console.print("Processing, both modes with tables", sheet)


def show_matrices(console: Console, rounds: int) -> None:
    processed, _ = process_timed(build_office(6, 55))
    network = processed.networks[TravelMode.FOOT]
    peers, searching = ReferenceGraph(network), Router(processed.networks)
    title = f"50 pairs on {peers.count:,} nodes, {peers.edges:,} arcs, 6 floors: CPU ms, p50 / p99"
    sheet = Sheet("pairs", "table", "search", "igraph", "scipy", "igraph : search", title=title)
    ids = network.location_ids
    for rows, columns in MATRIX_SIZES:
        questions = draw_questions(ids, rows, columns, rounds)
        check_agreement(searching, peers, *questions[0])
        timings = time_calls([searching.matrix, peers.by_igraph, peers.by_scipy], questions)
        looked_up = time_calls([processed.router.matrix], questions)
        ratio = f"{timings[1].p50 / timings[0].p50:.1f}"
        sheet.add_row(f"{rows} x {columns}", *map(str, [*looked_up, *timings]), ratio)
    console.print(sheet)


def check_agreement(
    router: Router, peers: ReferenceGraph, sources: Sequence[str], targets: Sequence[str]
) -> None:
    """Assert that all find the same seconds."""
    own = router.matrix(sources, targets).seconds
    for other in (peers.by_igraph(sources, targets), peers.by_scipy(sources, targets)):
        np.testing.assert_allclose(own, other, rtol=1e-9)


def show_growth(console: Console, rounds: int, sizes: Sequence[int]) -> None:
    sheet = Sheet(
        "locations", "processing CPU s", "table MB a mode", "answer 7 x 7 ms", "search 7 x 7 ms"
    )
    for size in sizes:
        levels = 1 if size <= 10 else 6
        rooms = min(84, max(5, size // levels))
        per_room = -(-size // (levels * rooms))
        plan = build_office(levels, rooms, per_room)
        plan = replace(plan, locations=plan.locations[:: len(plan.locations) // size][:size])
        processed, seconds = process_timed(plan)
        ids = [location.id for location in plan.locations]
        searching = Router(processed.networks)
        questions = draw_questions(ids, 7, 7, rounds)
        timings = time_calls([processed.router.matrix, searching.matrix], questions)
        table = processed.tables.get(TravelMode.FOOT)
        size_mb = f"{(table.steps.nbytes + table.rides.nbytes) / 1e6:.2f}" if table else "none"
        sheet.add_row(f"{len(ids):,}", f"{seconds:.2f}", size_mb, *map(str, timings))
    console.print("Growth", sheet)


def show_accuracy(console: Console) -> None:
    sheet = Sheet("level", "pairs", "mean error %", "p95 %", "same nearest %", "straight line %")
    processed, _ = process_timed(build_demo())
    for row in accuracy_rows(processed.networks[TravelMode.FOOT]):
        sheet.add_row(*row)
    console.print("Demo building against the exact geodesic", sheet)


def accuracy_rows(network: Network) -> Iterator[tuple[str, ...]]:
    for level, compared in zip(network.levels, compare_levels(network), strict=True):
        errors = 100 * compared.errors
        index = network.level_index[level.id]
        stops = network.locations
        xy = stops.near[(stops.levels == index) & stops.are_attached]
        straight = np.linalg.norm(xy[None] - xy[:, None], axis=2)
        pairs = np.isfinite(compared.exact) & (compared.exact > 0)
        short = 100 * (straight[pairs] / compared.exact[pairs] - 1)
        same = 100 * compared.same_nearest.mean()
        figures = (errors.mean(), np.percentile(errors, 95))
        yield (
            level.id,
            str(len(errors)),
            *(f"{figure:.6f}" for figure in figures),
            f"{same:.1f}",
            f"{short.mean():.1f}",
        )


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=1_000, show_default=True)
@click.option(
    "--size", "sizes", type=int, multiple=True, default=LOCATION_COUNTS, show_default=True
)
def main(rounds: int, sizes: tuple[int, ...]) -> None:
    """Measure processing, matrices beside igraph and scipy, growth, and accuracy."""
    console = Console()
    show_processing(console)
    show_matrices(console, rounds)
    show_growth(console, rounds // 4 + 1, sizes)
    show_accuracy(console)


if __name__ == "__main__":
    main()
