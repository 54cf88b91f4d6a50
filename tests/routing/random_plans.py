"""Random plans for property tests: rooms in a grid with doors between, pillars and locations."""

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from shapely import Point, box
from shapely.affinity import rotate, scale
from shapely.geometry.base import BaseGeometry

from routing.plan import (
    Barrier,
    Connector,
    ConnectorKind,
    Door,
    Level,
    Plan,
    PlanLocation,
    Polygonal,
    Space,
    SpaceKind,
)

SIDES_FEET = st.integers(12, 40)


def draw_fewer(divisor: int) -> settings:
    """Draw one of so many examples, as each takes that much longer than usual."""
    default = settings.default
    assert default is not None
    return settings(
        max_examples=max(1, default.max_examples // divisor),
        suppress_health_check=[HealthCheck.too_slow],
    )


@st.composite
def plans(draw: st.DrawFn, min_levels: int = 1, max_levels: int = 2) -> Plan:
    """Up to twelve rooms a level, each with a location and a door that is drawn.

    Nothing stands in a pillar, whose nearest floor may be on either side of it.
    """
    columns = edges(draw(st.lists(SIDES_FEET, min_size=2, max_size=4)))
    rows = edges(draw(st.lists(SIDES_FEET, min_size=2, max_size=3)))
    levels = draw(st.integers(min_levels, max_levels))
    built = [draw(storeys(str(at), columns, rows)) for at in range(levels)]
    spaces, barriers, doors, locations = zip(*built, strict=True)
    lifts = draw(connectors(levels, columns, rows))
    taken: list[BaseGeometry] = [Point(p.x, p.y) for p in chain.from_iterable(locations)]
    taken += [place for lift in lifts for place in lift.entrances.values()]
    pillars = [
        pillar
        for pillar in chain.from_iterable(barriers)
        if all(pillar.geometry.distance(place) > 0.1 for place in taken)
    ]
    return Plan(
        tuple(Level(str(at), at) for at in range(levels)),
        tuple(chain.from_iterable(spaces)),
        tuple(pillars),
        tuple(chain.from_iterable(doors)),
        tuple(lifts),
        tuple(chain.from_iterable(locations)),
    )


def edges(sides: list[int]) -> list[float]:
    return [float(sum(sides[:at])) for at in range(len(sides) + 1)]


@st.composite
def storeys(
    draw: st.DrawFn, level: str, columns: list[float], rows: list[float]
) -> tuple[list[Space], list[Barrier], list[Door], list[PlanLocation]]:
    spaces: list[Space] = []
    barriers: list[Barrier] = []
    doors: list[Door] = []
    locations: list[PlanLocation] = []
    corridor = draw(st.integers(0, len(rows) - 2))
    for row in range(len(rows) - 1):
        for column in range(len(columns) - 1):
            name = f"{level}.{column}.{row}"
            cell = box(columns[column], rows[row], columns[column + 1], rows[row + 1])
            kind = SpaceKind.CORRIDOR if row == corridor else SpaceKind.ROOM
            spaces.append(Space(name, level, cell, kind))
            locations.append(PlanLocation(name, level, *draw(spots(cell))))
            if draw(st.booleans()):
                x, y = draw(spots(cell))
                barriers.append(Barrier(level, box(x - 1, y - 1, x + 1, y + 2)))
            if row != corridor:
                towards = row + 1 if row < corridor else row
                door_x = draw(st.integers(3, int(columns[column + 1] - columns[column]) - 3))
                at = Point(columns[column] + door_x, rows[towards])
                width = draw(st.sampled_from([None, 2.0, 3.0, 5.0]))
                doors.append(Door(f"door {name}", level, at, width))
    return spaces, barriers, doors, locations


@st.composite
def spots(draw: st.DrawFn, cell: Polygonal) -> tuple[float, float]:
    """A place in a cell, off its walls."""
    left, top, right, bottom = (int(bound) for bound in cell.bounds)
    return draw(st.integers(left + 3, right - 3)) + 0.5, draw(
        st.integers(top + 3, bottom - 3)
    ) + 0.5


@st.composite
def connectors(
    draw: st.DrawFn, levels: int, columns: list[float], rows: list[float]
) -> list[Connector]:
    kinds = draw(st.lists(st.sampled_from(ConnectorKind), max_size=3))
    site = box(columns[0], rows[0], columns[-1], rows[-1])
    return [
        Connector(
            f"{kind.value} {at}",
            kind,
            # Some lead to another place above.
            {str(level): Point(ends[level % len(ends)]) for level in range(levels)},
        )
        for at, kind in enumerate(kinds)
        for ends in [draw(st.lists(spots(site), min_size=1, max_size=2))]
    ]


def turned(plan: Plan, degrees: float) -> Plan:
    """The plan turned about its origin."""
    return moved(plan, lambda shape: rotate(shape, degrees, origin=(0, 0)))


def scaled(plan: Plan, factor: float) -> Plan:
    """The plan with every length, doors included, times `factor`."""
    plan = moved(plan, lambda shape: scale(shape, factor, factor, origin=(0, 0)))
    doors = [replace(d, width_feet=(d.width_feet or 3.0) * factor) for d in plan.doors]
    return replace(plan, doors=tuple(doors))


def moved(plan: Plan, move: Callable[[Any], Any]) -> Plan:
    """Every geometry of the plan, moved alike."""

    def place(at: PlanLocation) -> PlanLocation:
        point = move(Point(at.x, at.y)).centroid
        return replace(at, x=point.x, y=point.y)

    return Plan(
        plan.levels,
        tuple(replace(space, polygon=move(space.polygon)) for space in plan.spaces),
        tuple(replace(barrier, geometry=move(barrier.geometry)) for barrier in plan.barriers),
        tuple(replace(door, geometry=move(door.geometry)) for door in plan.doors),
        tuple(
            replace(c, entrances={level: move(place) for level, place in c.entrances.items()})
            for c in plan.connectors
        ),
        tuple(place(location) for location in plan.locations),
    )
