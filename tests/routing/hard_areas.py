"""Areas and plans that are hard to measure exactly, as real plans are, and plans to measure on."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray
from shapely import Polygon, box
from shapely.affinity import rotate, translate

from parsing import plans
from resolvers.plans.translation import translate_plan
from routing.costing import TravelMode
from routing.network.mesh import grow
from routing.network.network import Network
from routing.network.restrictions import Restrictions, close_connectors, close_floor
from routing.plan import Barrier, Door, Level, Plan, PlanLocation, Polygonal, Space, SpaceKind
from routing.processing import ProcessedPlan, process_plan
from routing.space.plan_repair import extract_polygons, make_valid, to_polygonal
from samples.buildings.generated_plans import build_demo
from tests.routing.random_plans import moved, turned

Floats = NDArray[np.float64]
Jitter = Callable[[Floats], Floats]
"""Moves each of some coordinates (n, 2) a little."""
Walls = Callable[[Jitter], list[Polygon]]

HALL = box(0, 0, 120, 80)
JITTERS_FEET = (0.0, 1e-12, 1e-9, 1e-7, 4e-6, 3e-5, 1e-3)


def jitter_by(jitter_feet: float, random: np.random.Generator) -> Jitter:
    return lambda xy: xy + random.uniform(-jitter_feet, jitter_feet, xy.shape)


def boxes(shaky: Jitter, corners: Sequence[tuple[float, float, float, float]]) -> list[Polygon]:
    return [Polygon(shaky(shapely.get_coordinates(box(*corner))[:-1])) for corner in corners]


def teeth(shaky: Jitter) -> list[Polygon]:
    """Door posts of one wall: all of them see one another along it."""
    posts = [(float(x), 40.0, x + 3.0, 60.0) for x in range(15, 105, 8)]
    return [*boxes(shaky, posts), *boxes(shaky, [(10, 55, 110, 65)])]


def pillars(shaky: Jitter) -> list[Polygon]:
    """A grid, with corners in a line in many directions."""
    return boxes(shaky, [(x, y, x + 6, y + 6) for x in range(12, 108, 16) for y in (14, 36, 58)])


def arc(shaky: Jitter) -> list[Polygon]:
    """A curved wall of sixty points a side."""
    at = np.linspace(0.2, np.pi - 0.2, 60)
    round_about = np.stack((np.cos(at), np.sin(at)), axis=1)
    centre = np.array((60.0, 10.0))
    outer, inner = centre + 50 * round_about, centre + 49 * round_about[::-1]
    return [Polygon(shaky(np.concatenate((outer, inner))))]


def bulge(shaky: Jitter) -> list[Polygon]:
    """A wall that is straight but for two thousandths of a foot."""
    x = np.linspace(15, 105, 31)
    y = 30 - 0.002 * (1 - ((x - 60) / 45) ** 2)
    far = np.array(((105.0, 60.0), (15.0, 60.0)))
    return [Polygon(shaky(np.concatenate((np.stack((x, y), axis=1), far))))]


def run(shaky: Jitter) -> list[Polygon]:
    """A straight wall of many points, and a second one in its line."""
    x = np.linspace(15, 60, 25)
    wall = np.concatenate((np.stack((x, np.full(25, 30.0)), axis=1), [(60.0, 70.0), (15.0, 70.0)]))
    return [Polygon(shaky(wall)), *boxes(shaky, [(70, 30, 105, 50)])]


def stairs(shaky: Jitter) -> list[Polygon]:
    """Steps with all corners on one slanting line."""
    steps = [(10.0 + 9 * at, 10.0 + 6 * at, 100.0, 18.0 + 6 * at) for at in range(9)]
    return boxes(shaky, steps)


def neighbours(shaky: Jitter) -> list[Polygon]:
    """Walls that share corners and sides."""
    row = [(20, 20, 40, 40), (40, 25, 60, 40), (60, 20, 80, 40), (60, 40, 80, 55), (80, 20, 90, 24)]
    return boxes(shaky, row)


WALLS = (teeth, pillars, arc, bulge, run, stairs, neighbours)


def build_area(walls: Walls, jitter_feet: float, degrees: float, offset_feet: float) -> Polygonal:
    """The hall without these walls, shaken, turned and moved."""
    shaky = jitter_by(jitter_feet, np.random.default_rng(7))
    standing = shapely.union_all([make_valid(wall) for wall in walls(shaky)])
    turned = rotate(HALL.difference(standing), degrees, origin=(0, 0))
    return to_polygonal(extract_polygons(translate(turned, offset_feet, -offset_feet / 3)))


def build_plan(walls: Walls, jitter_feet: float, degrees: float, offset_feet: float) -> Plan:
    """The hall with these walls as barriers, and rooms along it that share corners.

    Each has a door at a corner: in line with its side wall, or right across the corner.
    """
    random = np.random.default_rng(7)
    shaky = jitter_by(jitter_feet, random)
    rooms = boxes(shaky, [(x, 80, x + 20, 96) for x in range(0, 120, 20)])
    doors = boxes(shaky, [(x + x % 3, 79, x + x % 3 + 3.5, 81) for x in range(0, 120, 20)])
    spots = [(x + 10.0, 90.0) for x in range(0, 120, 20)]
    spots += random.uniform((0, 0), (120, 80), (12, 2)).tolist()
    barriers = [make_valid(wall) for wall in walls(shaky)]
    standing = shapely.union_all(barriers).buffer(0.5)
    spots = [spot for spot in spots if not shapely.intersects_xy(standing, *spot)]
    plan = Plan(
        (Level("0", 0),),
        (
            Space("hall", "0", HALL, SpaceKind.CORRIDOR),
            *(Space(f"room {at}", "0", room) for at, room in enumerate(rooms)),
        ),
        tuple(Barrier("0", wall) for wall in barriers),
        tuple(Door(f"door {at}", "0", door) for at, door in enumerate(doors)),
        (),
        tuple(PlanLocation(f"place {at}", "0", *spot) for at, spot in enumerate(spots)),
    )
    turn = turned(plan, degrees)
    return moved(turn, lambda shape: translate(shape, offset_feet, -offset_feet / 3))


def places_in(area: Polygonal, count: int) -> tuple[Floats, Floats]:
    """Places in `area`: anywhere, at corners, and on walls; and the same a hair within it.

    A place on a wall lies up to a foot from its corner, and off the wall by rounding.
    """
    random = np.random.default_rng(11)
    left, top, right, bottom = area.bounds
    anywhere = random.uniform((left, top), (right, bottom), (20 * count, 2))
    inside = anywhere[shapely.contains_xy(area, anywhere[:, 0], anywhere[:, 1])][:count]
    rings = [shapely.get_coordinates(ring) for ring in shapely.get_rings(shapely.get_parts(area))]
    starts = np.concatenate([ring[:-1] for ring in rings])
    walls = np.concatenate([np.diff(ring, axis=0) for ring in rings])
    some = (walls != 0).any(axis=1)
    starts, walls = starts[some], walls[some]
    length = np.linalg.norm(walls, axis=1, keepdims=True)
    own = random.choice(len(starts), 3 * count)
    along, away = walls[own] / length[own], random.choice((3e-4, 1e-2, 0.3), (3 * count, 1))
    on_walls = starts[own] + np.minimum(away, length[own] / 2) * along
    hair = 1e-8 * np.stack((along[:, 1], -along[:, 0]), axis=1)
    sides = [on_walls + hair, on_walls - hair]
    within = [shapely.contains_xy(area, side[:, 0], side[:, 1]) for side in sides]
    clear = np.flatnonzero(within[0] != within[1])[:count]
    beside = np.where(within[0][:, None], *sides)
    at_corners = random.choice(starts, 3)
    return (
        np.concatenate((inside, at_corners, on_walls[clear])),
        np.concatenate((inside, at_corners, beside[clear])),
    )


def are_clear(area: Polygonal, starts: Floats, ends: Floats) -> NDArray[np.bool_]:
    """Whether straight lines, from (n, 2) to (n, 2), stay in an area or within a hair of it."""
    sight_area = grow(area)
    shapely.prepare(sight_area)
    return np.asarray(shapely.covers(sight_area, shapely.linestrings(np.stack((starts, ends), 1))))


CASERNE = Path(os.environ.get("FLOORGATE_PLANS", "../shared/data")) / "caserne" / "caserne.osm"


@cache
def process_demo() -> ProcessedPlan:
    return process_plan(build_demo())


@cache
def process_caserne() -> ProcessedPlan:
    """The shopping centre; skips the test where its file is absent."""
    if not CASERNE.exists():
        pytest.skip(f"{CASERNE} is absent")
    drawing = plans.read_plan({CASERNE.name: CASERNE.read_bytes()})
    return process_plan(translate_plan(drawing, "caserne").plan)


def restrict_networks(
    networks: Mapping[TravelMode, Network], restrictions: Restrictions
) -> dict[TravelMode, Network]:
    """Return the networks of a map without what is restricted.

    Only levels where floor is closed are built again. A network that loses nothing is the same
    object.
    """
    return close_connectors(close_floor(networks, restrictions), restrictions)
