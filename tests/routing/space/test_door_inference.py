"""Doors that a plan does not show are inferred: one a room, the likeliest, with its confidence."""

from collections.abc import Mapping

import pytest
from shapely import LineString, Point, Polygon, box

from routing.issues import IssueKind, PlanIssue
from routing.plan import (
    Barrier,
    Connector,
    ConnectorKind,
    Door,
    Level,
    Plan,
    Space,
    SpaceKind,
)
from routing.space.door_inference import (
    ONE_OF_SEVERAL_CORRIDORS,
    ONLY_CORRIDOR,
    TO_HUB,
    TO_ROOM,
    WITHOUT_WAY_IN,
    SharedEdge,
    find_shared_edge,
)
from routing.space.doors import DoorOrigin, Opening
from routing.space.floor import FloorSurface, build_floor
from routing.space.walkable import WalkableLevel, build_walkable_levels

HALL = Space("hall", "0", box(0, 20, 60, 30), SpaceKind.CORRIDOR)
SHOPS = [Space(f"shop {at}", "0", box(20 * at, 0, 20 * at + 20, 20)) for at in range(3)]
BACK = Space("back office", "0", box(0, -20, 20, 0))


def build(
    *spaces: Space,
    doors: tuple[Door, ...] = (),
    barriers: tuple[Barrier, ...] = (),
    connectors: tuple[Connector, ...] = (),
) -> tuple[WalkableLevel, list[PlanIssue]]:
    plan = Plan((Level("0", 0),), spaces, barriers, doors, connectors)
    (built,), issues = build_walkable_levels(plan)
    return built, issues


def inferred(built: WalkableLevel) -> Mapping[str, Opening]:
    """The inferred openings by the room that they are for."""
    return {
        opening.door_id.removeprefix("inferred:"): opening
        for opening in built.openings
        if opening.origin is DoorOrigin.INFERRED
    }


def test_open_floor_that_two_rooms_touch_may_be_their_corridor() -> None:
    yard = Space("yard", "0", box(0, -10, 30, 0), SpaceKind.AREA)
    found = inferred(build(HALL, *SHOPS, yard)[0])
    assert [found[shop.id].confidence for shop in SHOPS] == [
        *(ONE_OF_SEVERAL_CORRIDORS, ONE_OF_SEVERAL_CORRIDORS, ONLY_CORRIDOR)
    ]


@pytest.mark.parametrize(("rooms", "confidence"), [(11, TO_ROOM), (12, TO_HUB)])
def test_a_room_that_touches_many_is_likely_the_way_to_each(rooms: int, confidence: float) -> None:
    hub = Space("hub", "0", box(0, 20, 20 * rooms, 30))
    around = [Space(f"{at}", "0", box(20 * at, 0, 20 * at + 20, 20)) for at in range(rooms)]
    found = inferred(build(hub, *around)[0])
    assert {opening.confidence for opening in found.values()} == {confidence * WITHOUT_WAY_IN}


def joined(built: WalkableLevel, opening: Opening) -> set[str | None]:
    return {built.floor.pieces[at].room_id for at in opening.piece_indexes}


def doors_into(*rooms: Space) -> tuple[Door, ...]:
    """A door from the hall into each shop."""
    return tuple(Door(f"door {r.id}", "0", Point(r.polygon.centroid.x, 20)) for r in rooms)


# Which doors


def test_an_inferred_door_stands_in_the_middle_of_the_longest_shared_edge_and_says_where() -> None:
    built, [issue] = build(HALL, SHOPS[1])
    [opening] = built.openings
    assert opening.shape.centroid.distance(Point(30, 20)) < 0.1
    assert issue.message == (
        "a door was inferred between room 'shop 1' and a corridor or area with confidence 0.9; "
        "draw the real one"
    )
    assert issue.at == pytest.approx((30, 20), abs=0.1)


def test_a_room_that_touches_only_rooms_opens_to_one_that_is_entered() -> None:
    built, _ = build(HALL, *SHOPS, BACK)
    assert joined(built, inferred(built)["back office"]) == {"back office", "shop 0"}


def test_a_room_behind_a_room_with_a_drawn_door_opens_even_if_no_room_touches_a_corridor() -> None:
    hall_as_room = Space("mall", "0", HALL.polygon)
    built, issues = build(hall_as_room, *SHOPS, doors=doors_into(SHOPS[0]))
    assert set(inferred(built)) == {"shop 1", "shop 2"}
    assert IssueKind.ROOM_ENCLOSED not in {issue.kind for issue in issues}


def test_rooms_among_themselves_are_joined_to_the_one_that_touches_most() -> None:
    lobby = Space("lobby", "0", HALL.polygon)
    built, _ = build(lobby, *SHOPS)
    assert [joined(built, opening) for opening in inferred(built).values()] == [
        {"lobby", shop.id} for shop in SHOPS
    ]
    assert {opening.confidence for opening in built.openings} == {0.3}


def test_of_two_corridors_a_room_opens_to_the_one_that_more_rooms_touch() -> None:
    balcony = Space("balcony", "0", box(0, -8, 20, 0), SpaceKind.AREA)
    built, _ = build(HALL, *SHOPS, balcony)
    opening = inferred(built)["shop 0"]
    assert opening.shape.centroid.y == pytest.approx(20, abs=0.1)


def test_an_area_a_little_apart_is_joined_along_all_of_its_edge() -> None:
    court = Space("court", "0", box(0, 30.6, 60, 50), SpaceKind.AREA)
    built, [issue] = build(HALL, court)
    [opening] = built.openings
    assert opening.shape.bounds[0] < 1 and opening.shape.bounds[2] > 59
    assert (opening.confidence, issue.part) == (0.6, "0")


def test_two_buildings_with_nothing_drawn_between_them_are_not_joined() -> None:
    far = Space("far", "0", box(500, 0, 520, 20))
    built, issues = build(HALL, *SHOPS, far)
    assert set(inferred(built)) == {shop.id for shop in SHOPS}
    assert [issue.part for issue in issues if issue.kind is IssueKind.ROOM_ENCLOSED] == ["far"]


# Which not


@pytest.mark.parametrize(
    "wall",
    [
        LineString([(-1, 20), (21, 20)]),
        box(-1, 19.8, 21, 20.2),
        LineString([(-1, 20.02), (21, 19.98)]),
    ],
)
def test_no_door_is_inferred_through_a_wall(wall: LineString | Polygon) -> None:
    built, issues = build(HALL, SHOPS[0], barriers=(Barrier("0", wall),))
    assert built.openings == ()
    assert [issue.kind for issue in issues] == [IssueKind.ROOM_ENCLOSED]


def test_a_gap_in_a_wall_is_the_door() -> None:
    walls = (
        Barrier("0", LineString([(-1, 20), (3, 20)])),
        Barrier("0", LineString([(6, 20), (21, 20)])),
    )
    built, _ = build(HALL, *SHOPS, barriers=walls, doors=doors_into(*SHOPS[1:]))
    opening = inferred(built)["shop 0"]
    assert 3 < opening.shape.centroid.x < 6
    assert opening.confidence == 0.9


def test_on_a_level_that_shows_its_doors_an_inferred_one_has_half_the_confidence() -> None:
    built, _ = build(HALL, *SHOPS, doors=doors_into(*SHOPS[1:]))
    assert {room: o.confidence for room, o in inferred(built).items()} == {"shop 0": 0.45}


def test_a_room_with_a_door_to_the_street_may_have_no_other() -> None:
    built, _ = build(HALL, *SHOPS, doors=(Door("street", "0", Point(10, 0)),))
    confidence = {room: opening.confidence for room, opening in inferred(built).items()}
    assert confidence == {"shop 0": 0.45, "shop 1": 0.9, "shop 2": 0.9}


@pytest.mark.parametrize(
    "room",
    [
        Space("shaft", "0", box(60, 20, 70, 30), needs_door=False),
        Space("shaft", "0", box(60, 20, 62, 23)),  # too small to stand in
    ],
)
def test_a_shaft_stays_enclosed_where_doors_are_shown(room: Space) -> None:
    built, issues = build(HALL, *SHOPS, room, doors=doors_into(*SHOPS))
    assert inferred(built) == {}
    assert [(issue.kind, issue.part) for issue in issues] == [(IssueKind.ROOM_ENCLOSED, "shaft")]
    # Elsewhere nothing tells it from other rooms.
    assert "shaft" in inferred(build(HALL, *SHOPS, room)[0])


def test_the_shaft_of_a_lift_is_entered_even_if_it_shows_no_door() -> None:
    shaft = Space("shaft", "0", box(60, 20, 68, 30), needs_door=False)
    lift = Connector("lift", ConnectorKind.ELEVATOR, {"0": shaft.polygon})
    built, _ = build(HALL, *SHOPS, shaft, doors=doors_into(*SHOPS), connectors=(lift,))
    assert set(inferred(built)) == {"shaft"}


def test_nothing_is_inferred_into_what_a_locked_door_leads_to() -> None:
    locked = Door("locked", "0", Point(10, 20), is_locked=True)
    inner = Door("inner", "0", Point(10, 0))
    built, issues = build(HALL, *SHOPS, BACK, doors=(locked, inner))
    assert set(inferred(built)) == {"shop 1", "shop 2"}
    built, issues = build(HALL, SHOPS[0], doors=(locked,))
    assert [(issue.kind, issue.part) for issue in issues] == [(IssueKind.ROOM_ENCLOSED, "shop 0")]


def test_an_inferred_door_shortens_no_route() -> None:
    """Every group of rooms gets one, so that nobody walks through it."""
    lane = Space("lane", "0", box(0, -10, 60, 0), SpaceKind.CORRIDOR)
    built, _ = build(HALL, lane, *SHOPS)
    rooms = [room for opening in built.openings for room in joined(built, opening)]
    assert sorted(filter(None, rooms)) == [shop.id for shop in SHOPS]


LONG_HALL = Space("hall", "0", box(0, 20, 60, 30), SpaceKind.CORRIDOR)


def lay(room: Polygon, *walls: LineString | Polygon) -> FloorSurface:
    """The hall as piece 0, the room as piece 1."""
    barriers = [Barrier("0", wall) for wall in walls]
    return build_floor(Level("0", 0), [LONG_HALL, Space("room", "0", room)], barriers)[0]


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
