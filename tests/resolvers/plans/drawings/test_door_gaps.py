"""Gaps of doors: the parts of walls that doors drawn as points open."""

from resolvers.plans.drawings.door_gaps import DoorGaps

SQUARE = ((0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0), (0.0, 0.0))
NEIGHBOUR = ((10.0, 10.0), (10.0, 0.0), (20.0, 0.0), (20.0, 10.0), (10.0, 10.0))


def test_a_door_opens_the_wall_that_two_rooms_share_once() -> None:
    gaps = DoorGaps([SQUARE, NEIGHBOUR], 1)
    assert gaps.find((10.2, 5), 4) == [((10.0, 3.0), (10.0, 7.0))]


def test_a_door_at_a_corner_of_the_outline_opens_both_sides() -> None:
    with_corner = ((0.0, 0.0), (5.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 0.0))
    found = DoorGaps([with_corner], 1).find((5, 0), 4)
    assert sorted(found) == [((3.0, 0.0), (5.0, 0.0)), ((5.0, 0.0), (7.0, 0.0))]


def test_a_gap_ends_where_its_wall_does() -> None:
    assert DoorGaps([((0, 0), (2, 0))], 1).find((1.5, 0), 3) == [((0.0, 0.0), (2.0, 0.0))]


def test_a_door_far_from_all_walls_opens_none() -> None:
    assert DoorGaps([SQUARE], 1).find((5, 5), 3) == []
    assert DoorGaps([SQUARE], 10).find((5, 5), 3) != []  # 0.5 ft away, at 10 units a foot
    assert DoorGaps([], 1).find((5, 5), 3) == []
