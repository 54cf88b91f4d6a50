"""Measure speed, memory and accuracy of routing: `python -m bench.routing`.

igraph and scipy are measured on the same graph in the same process, in turn.
"""

from __future__ import annotations

import mmap
import multiprocessing
import random
import tempfile
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
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Sheet
from scipy.sparse.csgraph import dijkstra  # type: ignore[import-untyped]

from bench.accuracy import compare_levels
from bench.data.demo_plan import build_demo
from bench.data.large_plans import build_comb, build_hall
from bench.data.office_plan import build_office
from resolvers.networks.routable_maps import (
    Placement,
    RoutableMap,
    deserialize_routable_map,
    serialize_routable_map,
)
from routing.archive import serialize_router
from routing.costing import TravelMode
from routing.network.network import Network
from routing.network.views import all_round, spread_views
from routing.plan import Plan
from routing.processing import ProcessedPlan, process_plan
from routing.search.router import Position, Router, TravelMatrix

SEED = 7
TURN_QUESTIONS = 20
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

    They take turns of TURN_QUESTIONS, so that a slower machine slows all of them down, and none
    finds the processor's caches as another has left them.
    """
    taken: list[list[float]] = [[] for _ in functions]
    for function in functions:
        function(*questions[0])
    turns = [questions[at : at + TURN_QUESTIONS] for at in range(0, len(questions), TURN_QUESTIONS)]
    for turn in turns:
        for function, times in zip(functions, taken, strict=True):
            for sources, targets in turn:
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
        levels, stops = network.levels, network.locations
        attached = np.flatnonzero(stops.are_attached)
        first = len(levels.xy)
        self.vertex = {network.location_ids[at]: first + at for at in attached.tolist()}
        lines = levels.xy[levels.edges[:, 1]] - levels.xy[levels.edges[:, 0]]
        walks = np.concatenate(
            (
                np.column_stack((levels.edges, np.hypot(*lines.T))),
                *(locate_arcs(network, level, attached) for level in network.level_numbers),
            )
        )
        walks[:, 2] /= network.feet_per_second
        vertices = find_portal_vertices(network)
        rides = [
            (vertices[link.start], vertices[link.end], link.cost.seconds) for link in network.links
        ]
        everything = np.concatenate((walks, walks[:, (1, 0, 2)], np.array(rides).reshape(-1, 3)))
        tails, heads = everything[:, :2].astype(np.int64).T
        weights = everything[:, 2]
        self.count = first + len(stops)
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


def find_portal_vertices(network: Network) -> dict[int, int]:
    """Return the vertex of each portal."""
    levels = network.levels
    return {
        portal: vertex
        for level in network.level_numbers.tolist()
        for portal, vertex in zip(
            levels.portals[level], levels.portal_vertices(level), strict=False
        )
    }


def locate_arcs(network: Network, level: int, attached: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return arcs (n, 3) from the locations of a level to the vertices and locations they see.

    Locations are numbered after all vertices.
    """
    levels, stops = network.levels, network.locations
    own = attached[stops.levels[attached] == level]
    xy, numbers = stops.near[own], own + len(levels.xy)
    cells = levels.mesh.cells[stops.triangles[own]]
    from_locations = spread_views(levels.mesh, xy, all_round(np.arange(len(xy))), level)
    vertices = np.arange(len(levels.xy))
    arcs = []
    for views, ends in ((levels.views, vertices), (from_locations, numbers)):
        sights = views.sights(xy, cells)
        points = np.repeat(numbers, np.diff(sights.starts))
        arcs.append(np.column_stack((points, ends[sights.vertices], sights.feet)))
    return np.concatenate(arcs)


def show_processing(console: Console) -> None:
    columns = ("plan", "levels", "rooms", "vertices", "edges", "CPU s", "peak MB", "archive MB")
    sheet = Sheet(*columns)
    plans = {
        "one floor": build_office(1, 128),
        "six floors, 504 rooms": build_office(6, 84),
        "demo building": build_demo(),
        "long corridors, 100 rooms": build_comb(100),
        "long corridors, 200 rooms": build_comb(200),
        "long corridors, 400 rooms": build_comb(400),
        "six floors of 500 rooms": build_comb(500, 6),
        "hall, 144 pillars": build_hall(12),
        "hall, 2,500 pillars": build_hall(50),
    }
    for name, plan in plans.items():
        processed, seconds, before, peak = process_in_subprocess(plan)
        foot = processed.report.reachability[0]
        rooms = sum(level.rooms for level in processed.report.levels)
        levels = len(processed.report.levels)
        size_mb = len(serialize_router(processed.router)) / 1e6
        memory = f"{peak:.0f} ({before:.0f} before)"
        figures = (levels, rooms, foot.vertices, foot.edges)
        sheet.add_row(name, *map(str, figures), f"{seconds:.2f}", memory, f"{size_mb:.2f}")
    console.print("Processing, both modes with tables", sheet)


def show_matrices(console: Console, rounds: int) -> None:
    """Measure 50 pairs of ids, of the same places as coordinates, and in the peers' graphs.

    The peers' graphs have the places as vertices, which coordinates are not.
    """
    processed, _ = process_timed(build_office(6, 84))
    network = processed.networks[TravelMode.FOOT]
    peers, searching = ReferenceGraph(network), Router(processed.networks)
    title = f"50 pairs on {peers.count:,} nodes, {peers.edges:,} arcs, 6 floors: CPU ms, p50 / p99"
    columns = ("pairs", "ids", "coordinates", "igraph", "scipy", "igraph : coordinates")
    sheet = Sheet(*columns, title=title)
    ids = network.location_ids
    stops = network.locations
    places = {
        location_id: Position(network.levels.ids[level], x, y)
        for location_id, level, (x, y) in zip(ids, stops.levels, stops.near.tolist(), strict=True)
    }

    def by_coordinates(sources: Sequence[str], targets: Sequence[str]) -> TravelMatrix:
        return searching.matrix([places[end] for end in sources], [places[end] for end in targets])

    for rows, columns_ in MATRIX_SIZES:
        questions = draw_questions(ids, rows, columns_, rounds)
        check_agreement(by_coordinates, peers, *questions[0])
        timings = time_calls([by_coordinates, peers.by_igraph, peers.by_scipy], questions)
        looked_up = time_calls([processed.router.matrix], questions)
        ratio = f"{timings[1].p50 / timings[0].p50:.1f}"
        sheet.add_row(f"{rows} x {columns_}", *map(str, [*looked_up, *timings]), ratio)
    console.print(sheet)


def check_agreement(
    matrix: Callable[[Sequence[str], Sequence[str]], TravelMatrix],
    peers: ReferenceGraph,
    sources: Sequence[str],
    targets: Sequence[str],
) -> None:
    """Assert that all find the same seconds."""
    own = matrix(sources, targets).seconds
    for other in (peers.by_igraph(sources, targets), peers.by_scipy(sources, targets)):
        np.testing.assert_allclose(own, other, rtol=1e-9)


def show_loaded_maps(console: Console, count: int) -> None:
    """Measure the memory of a process that holds many maps and has used them in every way."""
    processed, _ = process_timed(build_office(6, 84))
    placements = [
        Placement(place.id, place.name, place.x, place.y, (place.level_id,))
        for place in processed.plan.locations
    ]
    archive = serialize_routable_map(processed.router, placements)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        before, after, milliseconds = pool.submit(load_maps, archive, count).result()
    console.print(
        f"{count} maps of 504 rooms: archives of {len(archive) / 1e6:.2f} MB, loaded in "
        f"{milliseconds:.1f} ms each; memory {after:.0f} MB, {before:.0f} MB without maps"
    )


def load_maps(archive: bytes, count: int) -> tuple[float, float, float]:
    """Return the memory before and after loading maps and asking each, and CPU ms of loading."""
    before = proportional_mb()
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
    return before, proportional_mb(), milliseconds


def map_archive(archive: bytes) -> RoutableMap:
    with tempfile.TemporaryFile() as file:
        file.write(archive)
        file.flush()
        return deserialize_routable_map(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def proportional_mb() -> float:
    """Return the memory of this process, mapped files included."""
    memory = Path("/proc/self/smaps_rollup").read_text()
    return int(memory.partition("Pss:")[2].split()[0]) * 1024 / 1e6


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
    levels, stops = network.levels, network.locations
    compared_levels = zip(network.level_numbers.tolist(), compare_levels(network), strict=True)
    for level, compared in compared_levels:
        errors = 100 * compared.errors
        xy = stops.near[(stops.levels == level) & stops.are_attached]
        straight = np.linalg.norm(xy[None] - xy[:, None], axis=2)
        pairs = np.isfinite(compared.exact) & (compared.exact > 0)
        short = 100 * (straight[pairs] / compared.exact[pairs] - 1)
        same = 100 * compared.same_nearest.mean()
        figures = (errors.mean(), np.percentile(errors, 95))
        yield (
            levels.ids[level],
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
@click.option("--maps", type=click.IntRange(1), default=500, show_default=True)
def main(rounds: int, sizes: tuple[int, ...], maps: int) -> None:
    """Measure processing, matrices beside igraph and scipy, memory, growth, and accuracy."""
    console = Console()
    show_processing(console)
    show_matrices(console, rounds)
    show_loaded_maps(console, maps)
    show_growth(console, rounds // 4 + 1, sizes)
    show_accuracy(console)


if __name__ == "__main__":
    main()
