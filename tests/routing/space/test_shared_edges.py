"""Pieces share an edge where they lie along each other and no wall is drawn between."""

import pytest
from shapely import LineString, Polygon, box

from routing.plan import Barrier, Level, Space, SpaceKind
from routing.space.floor import FloorSurface, build_floor
from routing.space.shared_edges import SharedEdge, find_shared_edge

HALL = Space("hall", "0", box(0, 20, 60, 30), SpaceKind.CORRIDOR)


def lay(room: Polygon, *walls: LineString | Polygon) -> FloorSurface:
    """The hall as piece 0, the room as piece 1."""
    barriers = [Barrier("0", wall) for wall in walls]
    return build_floor(Level("0", 0), [HALL, Space("room", "0", room)], barriers)[0]


def shared(room: Polygon, *walls: LineString | Polygon) -> SharedEdge | None:
    return find_shared_edge(lay(room, *walls), 1, 0)


@pytest.mark.parametrize("gap_feet", [0.0, 0.3, 1.0, 1.5])
def test_rooms_share_an_edge_across_the_thickness_of_a_wall(gap_feet: float) -> None:
    edge = shared(box(0, 0, 20, 20 - gap_feet))
    assert edge is not None
    assert edge.gap_feet == pytest.approx(gap_feet + 0.05)
    assert edge.length_feet == pytest.approx(20, abs=0.2)
    assert not edge.is_wall_opening


def test_rooms_farther_apart_or_at_a_corner_share_none() -> None:
    assert shared(box(0, 0, 20, 18)) is None
    assert shared(box(60, 0, 80, 20)) is None


def test_an_edge_behind_a_wall_is_not_shared() -> None:
    assert shared(box(0, 0, 20, 20), LineString([(-1, 20), (21, 20)])) is None
    assert shared(box(0, 0, 20, 19), LineString([(-1, 19.5), (21, 19.5)])) is None
    assert shared(box(0, 0, 20, 19), box(-1, 19, 21, 20)) is None


def test_a_gap_in_a_wall_is_an_opening_and_a_wall_across_is_not() -> None:
    edge = shared(
        box(0, 0, 20, 20), LineString([(-1, 20), (12, 20)]), LineString([(16, 20), (21, 20)])
    )
    assert edge is not None
    assert edge.is_wall_opening
    assert 3 < edge.length_feet < 4
    assert 12 < edge.stretches[0].centroid.x < 16
    across = shared(box(0, 0, 20, 20), LineString([(10, 20), (10, 26)]))
    assert across is not None
    assert not across.is_wall_opening
    assert len(across.stretches) == 2
