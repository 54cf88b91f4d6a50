"""Floor plans drawn in ASCII, one character a cell, and reports on them."""

from collections.abc import Iterator
from textwrap import dedent

import shapely
from shapely import Polygon, box

from routing.issues import ProblemGroup
from routing.plan import (
    Connector,
    ConnectorKind,
    Direction,
    Door,
    Level,
    Plan,
    PlanLocation,
    Space,
    SpaceKind,
)
from routing.processing import ProcessedPlan, process_plan
from routing.space.plan_repair import make_valid

CELL_FEET = 4.0
KINDS = {
    "e": ConnectorKind.ELEVATOR,
    "s": ConnectorKind.STEPS,
    "m": ConnectorKind.ESCALATOR,
    "r": ConnectorKind.RAMP,
}
ONE_WAY = {">": (1.0, 0.0), "<": (-1.0, 0.0), "^": (0.0, -1.0), "v": (0.0, 1.0)}
DOORS = "+nx?p" + "".join(ONE_WAY)
NARROW_FEET = 2.5

Cell = tuple[int, int]


def draw_plan(*storeys: str) -> Plan:
    """One drawing a level, from the lowest; levels are named "0", "1", ..."""
    levels: list[Level] = []
    spaces: list[Space] = []
    doors: list[Door] = []
    locations: list[PlanLocation] = []
    places: dict[str, dict[str, Polygon]] = {}
    for ordinal, drawing in enumerate(storeys):
        level_id = str(ordinal)
        levels.append(Level(level_id, ordinal))
        cells = read_cells(drawing)
        spaces += find_spaces(level_id, cells)
        for (column, row), sign in cells.items():
            square = cell_square(column, row)
            if sign in DOORS:
                doors.append(draw_door(level_id, sign, column, row))
            elif sign.isupper():
                at = square.centroid
                locations.append(PlanLocation(sign, level_id, at.x, at.y, sign))
            elif sign in KINDS:
                places.setdefault(f"{sign}{column},{row}", {})[level_id] = square
    connectors = [
        Connector(ref, KINDS[ref[0]], own, direction=Direction.UP if ref[0] == "m" else None)
        for ref, own in places.items()
    ]
    return Plan(tuple(levels), tuple(spaces), (), tuple(doors), tuple(connectors), tuple(locations))


def process_drawing(*storeys: str) -> ProcessedPlan:
    return process_plan(draw_plan(*storeys))


def read_cells(drawing: str) -> dict[Cell, str]:
    lines = dedent(drawing).strip("\n").splitlines()
    return {
        (column, row): sign
        for row, line in enumerate(lines)
        for column, sign in enumerate(line)
        if sign not in "# "
    }


def cell_square(column: int, row: int) -> Polygon:
    x, y = column * CELL_FEET, row * CELL_FEET
    return box(x, y, x + CELL_FEET, y + CELL_FEET)


def draw_door(level_id: str, sign: str, column: int, row: int) -> Door:
    width = NARROW_FEET if sign == "n" else CELL_FEET
    return Door(
        f"{level_id}:{column},{row}",
        level_id,
        cell_square(column, row),
        width,
        False if sign == "?" else None,
        is_locked=sign == "x",
        one_way=ONE_WAY.get(sign),
        is_private=sign == "p",
    )


def find_spaces(level_id: str, cells: dict[Cell, str]) -> Iterator[Space]:
    left = {cell for cell, sign in cells.items() if sign not in DOORS}
    while left:
        region = flood(min(left), left)
        left -= region
        signs = [cells[cell] for cell in sorted(region)]
        name = next((sign for sign in signs if sign.isupper()), f"{level_id}:{min(region)}")
        polygon = make_valid(shapely.union_all([cell_square(*cell) for cell in region]))
        kind = SpaceKind.CORRIDOR if "," in signs else SpaceKind.ROOM
        yield Space(f"room {name}", level_id, polygon, kind, name, is_private=";" in signs)


def flood(start: Cell, cells: set[Cell]) -> set[Cell]:
    region, edge = {start}, [start]
    while edge:
        column, row = edge.pop()
        around = {(column + 1, row), (column - 1, row), (column, row + 1), (column, row - 1)}
        edge += around & cells - region
        region |= around & cells
    return region


def groups_of(plan: Plan) -> dict[str, ProblemGroup]:
    """Return the groups of a plan's problems by cause, in the report's order."""
    return {group.cause.value: group for group in process_plan(plan).report.groups}


def groups_drawn(*storeys: str) -> dict[str, ProblemGroup]:
    return groups_of(draw_plan(*storeys))


def messages(group: ProblemGroup) -> list[str]:
    return [problem.message for problem in group.problems]
