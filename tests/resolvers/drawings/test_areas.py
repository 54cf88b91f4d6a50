"""Rings become valid areas, in bounded work."""

import math
from typing import Any

import pytest
import shapely

from parsing.drawing import Coordinates
from resolvers.drawings import areas
from resolvers.drawings.areas import AreaBuilder

SQUARE = ((0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0))
HOLE = ((1.0, 1.0), (1.0, 3.0), (3.0, 3.0), (3.0, 1.0))


def star(points: int, step: int) -> Coordinates:
    """A line that crosses itself: a pentagram is `star(5, 2)`."""
    angles = [2 * math.pi * step * number / points for number in range(points)]
    return tuple((math.cos(angle), math.sin(angle)) for angle in angles)


@pytest.mark.parametrize(
    ("rings", "nonzero", "area"),
    [
        ([SQUARE], True, 16.0),
        ([SQUARE, HOLE], True, 12.0),
        ([SQUARE, HOLE[::-1]], True, 16.0),  # it turns the same way, so it is filled
        ([SQUARE, HOLE[::-1]], False, 12.0),
        ([SQUARE, tuple((x + 9, y) for x, y in SQUARE)], True, 32.0),
        ([((0, 0), (2, 2), (2, 0), (0, 2))], True, 2.0),
    ],
)
def test_rings_are_filled_by_their_rule(
    rings: list[Coordinates], nonzero: bool, area: float
) -> None:
    [built] = AreaBuilder().build([rings], nonzero=nonzero)
    assert built is not None
    assert (built.is_valid, built.area) == (True, area)


def test_the_middle_of_a_star_is_filled() -> None:
    [built] = AreaBuilder().build([[star(5, 2)]])
    assert built is not None
    assert built.contains(shapely.Point(0, 0))


@pytest.mark.parametrize("rings", [[], [((0, 0), (1, 1))], [((0, 0), (1, 1), (2, 2))]])
def test_lines_have_no_area(rings: list[Coordinates]) -> None:
    assert AreaBuilder().build([rings]) == [None]


def test_what_would_take_too_much_work_gets_its_hull(monkeypatch: pytest.MonkeyPatch) -> None:
    repaired = []
    make_valid = shapely.make_valid

    def count(shape: Any, **options: Any) -> Any:
        repaired.append(shape)
        return make_valid(shape, **options)

    monkeypatch.setattr(shapely, "make_valid", count)
    probe = AreaBuilder()
    probe.build([[star(101, 50)]])
    pairs = areas.MAX_MEETING_EDGES - probe.remaining_edges
    assert 2_000 < pairs < 101 * 101 / 2
    repaired.clear()
    builder = AreaBuilder(max_meeting_edges=3 * pairs)
    built = builder.build([[star(101, 50)] for _ in range(20)])
    assert len(repaired) == 3
    assert all(each is not None and each.is_valid for each in built)
    assert builder.remaining_edges == 0
    [tangle] = AreaBuilder(max_meeting_edges=1).build([[star(7, 3), star(9, 4)]])
    assert tangle is not None
    assert tangle.is_valid


def test_a_ring_with_a_hole_needs_no_repair() -> None:
    diamond = ((4.0, 0.0), (0.0, 4.0), (-4.0, 0.0), (0.0, -4.0))
    hole = tuple((x / 2, y / 2) for x, y in reversed(diamond))
    [built] = AreaBuilder(max_meeting_edges=0).build([[diamond, hole]])
    assert built is not None
    assert built.area == 32 - 8


def test_a_union_that_would_take_too_much_work_is_the_hull() -> None:
    corner = [shapely.box(0, 0, 2, 1), shapely.box(0, 0, 1, 2)]
    exact, hull = AreaBuilder().unite(corner), AreaBuilder(max_union_work=10).unite(corner)
    assert exact is not None
    assert hull is not None
    assert (exact.area, hull.area) == (3.0, 3.5)
    many = [shapely.box(x, 0, x + 1, 1) for x in range(areas.MAX_UNITED + 1)]
    builder = AreaBuilder()
    assert builder.unite(many) is not None
    assert builder.remaining_union_work == areas.MAX_UNION_WORK


def test_large_shapes_that_hardly_cross_themselves_are_repaired() -> None:
    """Such as all walls of a building in one path."""
    walls = [tuple((x + 9.0 * n, y) for x, y in SQUARE) for n in range(1_000)]
    [built] = AreaBuilder(max_meeting_edges=2 * len(walls)).build([walls])
    assert built is not None
    assert built.area == 16.0 * len(walls)
