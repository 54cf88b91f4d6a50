"""Doors join the two spaces beside them; those that a plan does not show are inferred."""

from collections.abc import Mapping

import pytest
from shapely import LineString, Point, Polygon, affinity, box
from shapely.geometry.base import BaseGeometry

from routing.issues import IssueKind, PlanIssue
from routing.plan import Barrier, Connector, ConnectorKind, Door, Level, Plan, Space, SpaceKind
from routing.space.door_inference import (
    ONE_OF_SEVERAL_CORRIDORS,
    ONLY_CORRIDOR,
    TO_HUB,
    TO_ROOM,
    WITHOUT_WAY_IN,
    SharedEdge,
    find_shared_edge,
)
from routing.space.doors import DoorOrigin, Opening, fit_doors, misfit_issue
from routing.space.floor import FloorSurface, build_floor
from routing.space.walkable import WalkableLevel, build_walkable_levels

GROUND = Level("0", 0)


def lay(*spaces: Space, barriers: tuple[Barrier, ...] = ()) -> FloorSurface:
    return build_floor(GROUND, spaces, barriers)[0]


def room(name: str, shape: Polygon) -> Space:
    return Space(name, "0", shape)


def thin_walls() -> FloorSurface:
    """Two rooms and a corridor that share their edges."""
    corridor = Space("hall", "0", box(0, 20, 40, 30), SpaceKind.CORRIDOR)
    return lay(room("a", box(0, 0, 20, 20)), room("b", box(20, 0, 40, 20)), corridor)


def thick_walls(feet: float) -> FloorSurface:
    yard = Space("yard", "0", box(100, 0, 120, 20), SpaceKind.AREA)
    return lay(room("a", box(0, 0, 20, 20)), room("b", box(20 + feet, 0, 40, 20)), yard)


def fit(
    floor: FloorSurface, shape: BaseGeometry, width_feet: float | None = None
) -> Opening | PlanIssue:
    assert isinstance(shape, Point | LineString | Polygon)
    openings, misfits, _ = fit_doors(floor, [Door("d", "0", shape, width_feet)])
    assert len(openings) + len(misfits) == 1
    return openings[0] if openings else misfit_issue(floor, misfits[0])


def joined(floor: FloorSurface, opening: Opening | PlanIssue) -> set[str | None]:
    assert isinstance(opening, Opening)
    return {floor.pieces[index].room_id for index in opening.piece_indexes}


@pytest.mark.parametrize("beyond_feet", [0.0, 0.051, 0.055, 0.1, 0.3])
def test_a_door_that_reaches_a_hair_into_a_third_space_does_not_open_it(beyond_feet: float) -> None:
    floor = thin_walls()
    opening = fit(floor, box(17, 19, 20 + beyond_feet, 21))
    assert joined(floor, opening) == {"a", None}
    assert isinstance(opening, Opening)
    [third] = [piece.polygon for piece in floor.pieces if piece.room_id == "b"]
    assert not opening.shape.intersects(third)


@pytest.mark.parametrize(
    "shape",
    [
        Point(10, 20),  # a node of the room's outline, as OpenStreetMap has doors
        LineString([(8, 20), (12, 20)]),  # along the wall, as an IMDF opening
        LineString([(10, 19), (10, 21)]),  # across the wall
        box(8.5, 19.5, 11.5, 20.5),  # across the wall, as a drawing has it
        box(8.5, 20, 11.5, 20),  # a drawing's rectangle of no height
    ],
)
def test_a_door_of_any_geometry_joins_both_sides_of_its_wall(shape: BaseGeometry) -> None:
    floor = thin_walls()
    opening = fit(floor, shape)
    assert joined(floor, opening) == {"a", None}
    assert isinstance(opening, Opening)
    assert opening.origin is DoorOrigin.AS_DRAWN


def test_a_door_that_is_cut_off_at_a_third_space_leaves_no_slit_in_the_wall() -> None:
    """It would lead to the door of the next two rooms, which begins where this one was drawn to."""
    floor = lay(*(room(f"{x} {y}", box(x, y, x + 20, y + 20)) for x in (0, 20) for y in (0, 20)))
    doors = [Door("one", "0", box(18, 19.8, 22, 20.2)), Door("next", "0", box(22, 19.8, 25, 20.2))]
    (one, other), _, _ = fit_doors(floor, doors)
    assert [joined(floor, one), joined(floor, other)] == [{"0 0", "0 20"}, {"20 0", "20 20"}]
    assert one.shape.bounds[2] < 20.05
    assert not one.shape.intersects(other.shape)


@pytest.mark.parametrize("wall_feet", [0.5, 1.0, 1.6])
def test_a_door_in_the_middle_of_a_thick_wall_is_extended_to_both_sides(wall_feet: float) -> None:
    floor = thick_walls(wall_feet)
    opening = fit(floor, Point(20 + wall_feet / 2, 10))
    assert joined(floor, opening) == {"a", "b"}
    assert isinstance(opening, Opening)
    assert opening.origin is DoorOrigin.REPAIRED


def test_a_door_farther_than_half_a_metre_from_a_side_joins_nothing() -> None:
    found = fit(thick_walls(5), Point(20, 10))
    assert isinstance(found, PlanIssue)
    assert found.kind is IssueKind.DOOR_JOINS_NOTHING


def test_a_door_in_a_wall_across_a_corridor_joins_its_two_halves() -> None:
    corridor = Space("hall", "0", box(0, 0, 40, 10), SpaceKind.CORRIDOR)
    floor = lay(corridor, barriers=(Barrier("0", LineString([(20, -1), (20, 11)])),))
    opening = fit(floor, Point(20, 5))
    assert isinstance(opening, Opening)
    assert set(opening.piece_indexes) == {0, 1}


@pytest.mark.parametrize(
    ("shape", "stated_feet", "width_feet"),
    [
        (Point(10, 20), None, 3.0),
        (Point(10, 20), 2.5, 2.5),
        (LineString([(8, 20), (12, 20)]), None, 4.0),
        (box(8.5, 19.5, 11, 20.5), None, 2.5),
        (box(9.5, 18, 10.5, 22), None, 1.0),  # deeper than wide: the wall is thick
        (box(8.5, 19.5, 11.5, 20.5), 2.0, 2.0),  # what a door says counts, not how it is drawn
        (LineString([(10, 19), (10, 21)]), None, 3.0),  # across the wall: its length is no width
        (Point(10, 20).buffer(0.01), None, 3.0),  # a dot marks a place and has no width
        (box(9.7, 19.7, 10.3, 20.3), None, 3.0),
    ],
)
def test_the_width_is_the_stated_or_the_drawn_one(
    shape: BaseGeometry, stated_feet: float | None, width_feet: float
) -> None:
    opening = fit(thin_walls(), shape, stated_feet)
    assert isinstance(opening, Opening)
    assert opening.width_feet == pytest.approx(width_feet)


@pytest.mark.parametrize(
    "shape",
    [
        Point(20, 20),
        Point(19.95, 20),
        Point(20, 20).buffer(0.01),
        box(18, 18, 22, 22),
        affinity.rotate(box(18.5, 18.5, 21.5, 21.5), 3),
        Point(20, 20).buffer(2),
    ],
)
def test_a_door_at_the_corner_of_two_rooms_leads_to_the_corridor_and_is_reported(
    shape: BaseGeometry,
) -> None:
    floor = thin_walls()
    [opening], _, [issue] = fit_doors(floor, [Door("d", "0", shape)])  # type: ignore[arg-type]
    assert None in joined(floor, opening)
    assert issue.kind is IssueKind.DOOR_AMBIGUOUS
    assert all(name in issue.message for name in ("room 'a'", "room 'b'", "a corridor or area"))
    # Nor is there a way from one room to the other.
    rooms = [piece.polygon for piece in floor.pieces if piece.room_id is not None]
    assert sum(opening.shape.intersects(room) for room in rooms) == 1


def test_at_a_corner_the_longer_side_of_a_door_says_which_wall_it_is_in() -> None:
    upright, lying = box(19.5, 17, 20.5, 20.3), box(17, 19.5, 20.3, 20.5)
    assert joined(thin_walls(), fit(thin_walls(), upright)) == {"a", "b"}
    assert joined(thin_walls(), fit(thin_walls(), lying)) == {"a", None}


def test_a_door_half_a_foot_from_a_corner_is_certain() -> None:
    _, _, issues = fit_doors(thin_walls(), [Door("d", "0", Point(19.5, 20))])
    assert issues == []


HALL = Space("hall", "0", box(0, 20, 40, 30), SpaceKind.CORRIDOR)
SIDE_BY_SIDE = Space("a", "0", box(0, 0, 20, 20)), Space("b", "0", box(20, 0, 40, 20))


def build(
    *doors: Door, barriers: tuple[Barrier, ...] = ()
) -> tuple[WalkableLevel, list[PlanIssue]]:
    (built,), issues = build_walkable_levels(
        Plan((Level("0", 0),), (HALL, *SIDE_BY_SIDE), barriers, doors)
    )
    return built, issues


@pytest.mark.parametrize("y", [18.2, 21.8])
def test_a_door_beside_the_wall_is_moved_into_it_and_reported_once(y: float) -> None:
    built, issues = build(Door("d", "0", Point(10, y)), Door("other", "0", Point(30, 20)))
    opening = next(opening for opening in built.openings if opening.door_id == "d")
    assert {built.floor.pieces[index].room_id for index in opening.piece_indexes} == {"a", None}
    assert (opening.origin, opening.confidence) == (DoorOrigin.REPAIRED, 0.8)
    assert opening.shape.centroid.distance(Point(10, 20)) < 0.2
    assert [(issue.kind, issue.part) for issue in issues] == [(IssueKind.DOOR_MOVED, "d")]
    assert "moved by 1.8 ft to join" in issues[0].message


def test_a_moved_door_stands_in_the_wall_with_all_of_its_width() -> None:
    built, _ = build(Door("d", "0", Point(17.6, 18)), Door("other", "0", Point(30, 20)))
    moved = next(opening for opening in built.openings if opening.door_id == "d")
    [other] = [piece.polygon for piece in built.floor.pieces if piece.room_id == "b"]
    assert not moved.shape.intersects(other)
    assert moved.shape.area > 0.2


def test_a_door_in_a_room_that_has_one_stays_where_it_is() -> None:
    doors = [Door(f"{x}", "0", Point(x, 20)) for x in (10, 30)]
    built, issues = build(*doors, Door("extra", "0", Point(5, 18.2)))
    assert len(built.openings) == 2
    assert [issue.kind for issue in issues] == [IssueKind.DOOR_NOT_NEEDED]


@pytest.mark.parametrize(
    "at",
    [
        Point(20, 22),  # as near to the wall of the one room as to that of the other
        Point(10, 10),  # in the middle of a room
    ],
)
def test_a_door_that_may_stand_in_several_walls_or_in_none_is_not_moved(at: Point) -> None:
    built, issues = build(Door("d", "0", at))
    assert all(opening.origin is DoorOrigin.INFERRED for opening in built.openings)
    assert issues[0].part == "d"


def test_a_door_in_the_middle_of_a_room_without_another_is_not_called_needless() -> None:
    _, issues = build(Door("d", "0", Point(10, 10)), Door("other", "0", Point(30, 20)))
    assert [issue.kind for issue in issues] == [
        IssueKind.DOOR_JOINS_NOTHING,
        IssueKind.DOOR_INFERRED,
    ]


def test_a_door_is_not_moved_into_a_wall_that_is_drawn() -> None:
    wall = Barrier("0", box(-1, 19.9, 41, 20.1))
    built, issues = build(Door("d", "0", Point(10, 18.2)), barriers=(wall,))
    assert {frozenset(o.piece_indexes) for o in built.openings if o.door_id == "d"} == set()
    assert IssueKind.DOOR_MOVED not in {issue.kind for issue in issues}


LONG_HALL = Space("hall", "0", box(0, 20, 60, 30), SpaceKind.CORRIDOR)
SHOPS = [Space(f"shop {at}", "0", box(20 * at, 0, 20 * at + 20, 20)) for at in range(3)]
BACK = Space("back office", "0", box(0, -20, 20, 0))


def infer_level(
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
    found = inferred(infer_level(LONG_HALL, *SHOPS, yard)[0])
    assert [found[shop.id].confidence for shop in SHOPS] == [
        *(ONE_OF_SEVERAL_CORRIDORS, ONE_OF_SEVERAL_CORRIDORS, ONLY_CORRIDOR)
    ]


@pytest.mark.parametrize(("rooms", "confidence"), [(11, TO_ROOM), (12, TO_HUB)])
def test_a_room_that_touches_many_is_likely_the_way_to_each(rooms: int, confidence: float) -> None:
    hub = Space("hub", "0", box(0, 20, 20 * rooms, 30))
    around = [Space(f"{at}", "0", box(20 * at, 0, 20 * at + 20, 20)) for at in range(rooms)]
    found = inferred(infer_level(hub, *around)[0])
    assert {opening.confidence for opening in found.values()} == {confidence * WITHOUT_WAY_IN}


def joined_by(built: WalkableLevel, opening: Opening) -> set[str | None]:
    return {built.floor.pieces[at].room_id for at in opening.piece_indexes}


def doors_into(*rooms: Space) -> tuple[Door, ...]:
    """A door from the hall into each shop."""
    return tuple(Door(f"door {r.id}", "0", Point(r.polygon.centroid.x, 20)) for r in rooms)


# Which doors


def test_an_inferred_door_stands_in_the_middle_of_the_longest_shared_edge_and_says_where() -> None:
    built, [issue] = infer_level(LONG_HALL, SHOPS[1])
    [opening] = built.openings
    assert opening.shape.centroid.distance(Point(30, 20)) < 0.1
    assert issue.message == (
        "a door was inferred between room 'shop 1' and a corridor or area with confidence 0.9; "
        "draw the real one"
    )
    assert issue.at == pytest.approx((30, 20), abs=0.1)


def test_a_room_that_touches_only_rooms_opens_to_one_that_is_entered() -> None:
    built, _ = infer_level(LONG_HALL, *SHOPS, BACK)
    assert joined_by(built, inferred(built)["back office"]) == {"back office", "shop 0"}


def test_a_room_behind_a_room_with_a_drawn_door_opens_even_if_no_room_touches_a_corridor() -> None:
    hall_as_room = Space("mall", "0", LONG_HALL.polygon)
    built, issues = infer_level(hall_as_room, *SHOPS, doors=doors_into(SHOPS[0]))
    assert set(inferred(built)) == {"shop 1", "shop 2"}
    assert IssueKind.ROOM_ENCLOSED not in {issue.kind for issue in issues}


def test_rooms_among_themselves_are_joined_to_the_one_that_touches_most() -> None:
    lobby = Space("lobby", "0", LONG_HALL.polygon)
    built, _ = infer_level(lobby, *SHOPS)
    assert [joined_by(built, opening) for opening in inferred(built).values()] == [
        {"lobby", shop.id} for shop in SHOPS
    ]
    assert {opening.confidence for opening in built.openings} == {0.3}


def test_of_two_corridors_a_room_opens_to_the_one_that_more_rooms_touch() -> None:
    balcony = Space("balcony", "0", box(0, -8, 20, 0), SpaceKind.AREA)
    built, _ = infer_level(LONG_HALL, *SHOPS, balcony)
    opening = inferred(built)["shop 0"]
    assert opening.shape.centroid.y == pytest.approx(20, abs=0.1)


def test_an_area_a_little_apart_is_joined_along_all_of_its_edge() -> None:
    court = Space("court", "0", box(0, 30.6, 60, 50), SpaceKind.AREA)
    built, [issue] = infer_level(LONG_HALL, court)
    [opening] = built.openings
    assert opening.shape.bounds[0] < 1 and opening.shape.bounds[2] > 59
    assert (opening.confidence, issue.part) == (0.6, "0")


def test_two_buildings_with_nothing_drawn_between_them_are_not_joined() -> None:
    far = Space("far", "0", box(500, 0, 520, 20))
    built, issues = infer_level(LONG_HALL, *SHOPS, far)
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
    built, issues = infer_level(LONG_HALL, SHOPS[0], barriers=(Barrier("0", wall),))
    assert built.openings == ()
    assert [issue.kind for issue in issues] == [IssueKind.ROOM_ENCLOSED]


def test_a_gap_in_a_wall_is_the_door() -> None:
    walls = (
        Barrier("0", LineString([(-1, 20), (3, 20)])),
        Barrier("0", LineString([(6, 20), (21, 20)])),
    )
    built, _ = infer_level(LONG_HALL, *SHOPS, barriers=walls, doors=doors_into(*SHOPS[1:]))
    opening = inferred(built)["shop 0"]
    assert 3 < opening.shape.centroid.x < 6
    assert opening.confidence == 0.9


def test_on_a_level_that_shows_its_doors_an_inferred_one_has_half_the_confidence() -> None:
    built, _ = infer_level(LONG_HALL, *SHOPS, doors=doors_into(*SHOPS[1:]))
    assert {room: o.confidence for room, o in inferred(built).items()} == {"shop 0": 0.45}


def test_a_room_with_a_door_to_the_street_may_have_no_other() -> None:
    built, _ = infer_level(LONG_HALL, *SHOPS, doors=(Door("street", "0", Point(10, 0)),))
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
    built, issues = infer_level(LONG_HALL, *SHOPS, room, doors=doors_into(*SHOPS))
    assert inferred(built) == {}
    assert [(issue.kind, issue.part) for issue in issues] == [(IssueKind.ROOM_ENCLOSED, "shaft")]
    # Elsewhere nothing tells it from other rooms.
    assert "shaft" in inferred(infer_level(LONG_HALL, *SHOPS, room)[0])


def test_the_shaft_of_a_lift_is_entered_even_if_it_shows_no_door() -> None:
    shaft = Space("shaft", "0", box(60, 20, 68, 30), needs_door=False)
    lift = Connector("lift", ConnectorKind.ELEVATOR, {"0": shaft.polygon})
    built, _ = infer_level(LONG_HALL, *SHOPS, shaft, doors=doors_into(*SHOPS), connectors=(lift,))
    assert set(inferred(built)) == {"shaft"}


def test_nothing_is_inferred_into_what_a_locked_door_leads_to() -> None:
    locked = Door("locked", "0", Point(10, 20), is_locked=True)
    inner = Door("inner", "0", Point(10, 0))
    built, issues = infer_level(LONG_HALL, *SHOPS, BACK, doors=(locked, inner))
    assert set(inferred(built)) == {"shop 1", "shop 2"}
    built, issues = infer_level(LONG_HALL, SHOPS[0], doors=(locked,))
    assert [(issue.kind, issue.part) for issue in issues] == [(IssueKind.ROOM_ENCLOSED, "shop 0")]


def test_an_inferred_door_shortens_no_route() -> None:
    """Every group of rooms gets one, so that nobody walks through it."""
    lane = Space("lane", "0", box(0, -10, 60, 0), SpaceKind.CORRIDOR)
    built, _ = infer_level(LONG_HALL, lane, *SHOPS)
    rooms = [room for opening in built.openings for room in joined_by(built, opening)]
    assert sorted(filter(None, rooms)) == [shop.id for shop in SHOPS]


def lay_beside_hall(room: Polygon, *walls: LineString | Polygon) -> FloorSurface:
    """The hall as piece 0, the room as piece 1."""
    barriers = [Barrier("0", wall) for wall in walls]
    return build_floor(Level("0", 0), [LONG_HALL, Space("room", "0", room)], barriers)[0]


def shared(room: Polygon, *walls: LineString | Polygon) -> SharedEdge | None:
    return find_shared_edge(lay_beside_hall(room, *walls), 1, 0)


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
