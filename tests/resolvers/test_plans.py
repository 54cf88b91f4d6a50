import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from shapely import Point

from parsing import plans
from resolvers.errors import InvalidInput
from resolvers.plan_places import Place
from resolvers.plans import PlanReading, plan_of
from routing.plan import Connector, ConnectorKind, Direction, SpaceKind
from samples.venue import feature_id, make_venue
from tests.parsing.geography import Metres, Sketchbook, box, read_caserne

DEMO = Path(__file__).parents[2] / "samples/demo"
FLOORS = {"f1": 10, "f2": 20}


def of_osm(book: Sketchbook) -> PlanReading:
    return plan_of(plans.read({"plan.osm": book.osm()}), "m")


def of_svg(
    *levels: str, floors: Mapping[str, int] | None = None, feet_per_unit: float = 0.5
) -> PlanReading:
    """Levels f1, f2, ... with these shapes."""
    body = "".join(
        f'<g data-type="Level" data-tags="floor=f{number}">{shapes}</g>'
        for number, shapes in enumerate(levels, 1)
    )
    svg = f'<svg viewBox="0 0 100 100">{body}</svg>'.encode()
    drawing = plans.read({"plan.svg": svg}, feet_per_unit=feet_per_unit)
    return plan_of(drawing, "m", FLOORS if floors is None else floors)


def rect(x: float, y: float, width: float, height: float, tags: str, more: str = "") -> str:
    size = f'x="{x}" y="{y}" width="{width}" height="{height}"'
    return f'<rect {size} data-tags="{tags}" {more}/>'


def place_of(reading: PlanReading, name: str) -> Place:
    return next(place for place in reading.places if place.name == name)


def described(reading: PlanReading) -> list[str]:
    return [str(note) for note in reading.notes]


# Spaces, barriers, doors


def test_rooms_corridors_areas_and_outlines_are_in_feet_on_their_floor() -> None:
    reading = of_svg(
        rect(0, 0, 20, 10, "indoor=room;name=Gym", 'id="gym"')
        + rect(0, 10, 20, 4, "indoor=corridor")
        + rect(0, 14, 20, 4, "indoor=area")
        + rect(0, 0, 50, 50, "indoor=level")
    )
    plan = reading.plan
    assert [space.kind for space in plan.spaces] == [
        SpaceKind.ROOM,
        SpaceKind.CORRIDOR,
        SpaceKind.AREA,
    ]
    gym = plan.spaces[0]
    assert (gym.id, gym.level_id, gym.name) == ("gym", "f1", "Gym")
    assert gym.polygon.bounds == (0.0, 0.0, 10.0, 5.0)
    assert plan.levels[0].outline is not None
    assert plan.levels[0].outline.area == 625


def test_a_ring_in_a_path_is_a_hole_by_either_fill_rule() -> None:
    ring = 'd="M0 0h30v30h-30z M10 10v10h10v-10z" data-tags="indoor=corridor"'
    (space,) = of_svg(f"<path {ring}/>", feet_per_unit=1.0).plan.spaces
    assert space.polygon.area == 800
    same_way = 'd="M0 0h30v30h-30z M10 10h10v10h-10z" data-tags="indoor=corridor"'
    nonzero, evenodd = of_svg(
        f'<path {same_way}/><path fill-rule="evenodd" {same_way}/>', feet_per_unit=1.0
    ).plan.spaces
    assert (nonzero.polygon.area, evenodd.polygon.area) == (900, 800)


def test_rings_that_leave_nothing_between_them_are_noted() -> None:
    ring = "M0 0h9v9h-9z"
    nothing = f'<path d="{ring} {ring}" fill-rule="evenodd" data-tags="indoor=area;amenity=bar"/>'
    reading = of_svg(nothing + rect(0, 0, 9, 9, "indoor=room"))
    assert len(reading.plan.spaces) == 1
    assert described(reading) == ["outline that encloses nothing: 1 (f1#1)"]


def test_several_shapes_of_a_unit_are_one_space_and_one_location() -> None:
    units = '<g data-type="UnitLayer"><rect id="u1" width="10" height="10"/>'
    reading = of_svg(units + '<rect data-id="u1" x="10" width="10" height="4"/></g>')
    (space,) = reading.plan.spaces
    assert (space.id, space.polygon.area) == ("u1", 35)
    assert [place.unit_id for place in reading.places] == ["u1"]


def test_walls_columns_kiosks_and_pools_are_barriers_but_a_gate_is_not() -> None:
    reading = of_svg(
        '<line x2="9" data-tags="indoor=wall"/>'
        + rect(0, 0, 1, 1, "indoor=column")
        + rect(3, 0, 1, 1, "barrier=kiosk")
        + rect(6, 0, 1, 1, "leisure=swimming_pool")
        + rect(8, 0, 1, 1, "barrier=gate")
        + rect(9, 0, 1, 1, "indoor=area;barrier=no")
    )
    assert [barrier.geometry.geom_type for barrier in reading.plan.barriers] == [
        "LineString", "Polygon", "Polygon", "Polygon",
    ]  # fmt: skip
    assert described(reading) == ["not used, barrier=gate: 1 (f1#5)"]


@pytest.mark.parametrize(
    ("tags", "width_feet", "wheelchair", "locked"),
    [
        ({"door": "hinged"}, None, None, False),
        ({"door": "no", "width": "0.9144"}, 3.0, None, False),
        ({"entrance": "yes", "width": "3'6\"".replace('"', "&quot;")}, 3.5, None, False),
        ({"door": "yes", "wheelchair": "no"}, None, False, False),
        ({"door": "yes", "wheelchair": "yes"}, None, True, False),
        ({"door": "yes", "access": "no"}, None, None, True),
        ({"door": "yes", "access": "private"}, None, None, False),
        ({"door": "yes", "locked": "yes"}, None, None, True),
        ({"entrance": "emergency"}, None, None, True),
    ],
)
def test_doors_tell_width_access_and_whether_a_wheelchair_passes(
    tags: dict[str, str], width_feet: float | None, wheelchair: bool | None, locked: bool
) -> None:
    (door,) = of_svg(rect(0, 0, 2, 2, ";".join(f"{k}={v}" for k, v in tags.items()))).plan.doors
    expected = None if width_feet is None else pytest.approx(width_feet)
    assert (door.width_feet, door.wheelchair, door.locked) == (expected, wheelchair, locked)


def test_a_door_drawn_along_its_wall_is_as_wide_as_it_is_long() -> None:
    (door,) = of_svg('<line x1="1" x2="7" data-tags="door=yes"/>').plan.doors
    assert door.width_feet == 3.0


def test_a_feature_on_two_levels_is_a_part_of_each() -> None:
    book = Sketchbook()
    shop = book.way(box(0, 0, 9, 9), indoor="room", level="0;2", shop="clothes")
    door = book.node((9, 5), door="yes", level="0-2")
    book.way(box(20, 0, 29, 9), indoor="room", level="1")
    plan = of_osm(book).plan
    assert [level.id for level in plan.levels] == ["m-level-0", "m-level-1", "m-level-2"]
    assert [(s.id, s.level_id) for s in plan.spaces if s.id.startswith(shop)] == [
        (f"{shop}@m-level-0", "m-level-0"),
        (f"{shop}@m-level-2", "m-level-2"),
    ]
    assert [d.id for d in plan.doors] == [f"{door}@m-level-{n}" for n in (0, 1, 2)]


def test_a_footway_drawn_as_a_line_is_as_wide_as_it_says() -> None:
    book = Sketchbook()
    book.way([(0, 0), (30, 0)], highway="footway", indoor="yes", level="0", width="2")
    (path,) = of_osm(book).plan.spaces
    assert path.kind is SpaceKind.AREA
    assert path.polygon.area == pytest.approx(60 / 0.3048**2, rel=0.01)


def mall(**tags: str) -> Sketchbook:
    """Two buildings with a room each on grounds of 60 by 20 metres, a kiosk and a roof between."""
    book = Sketchbook()
    for west in (0, 40):
        book.way(box(west, 0, west + 20, 20), building="retail")
        book.way(box(west, 0, west + 20, 20), indoor="room", level="0")
    book.way(box(24, 8, 28, 12), building="kiosk", amenity="cafe", name="Kiosk")
    book.way(box(30, 0, 32, 20), building="roof")
    book.way(box(0, 0, 60, 20), name="Mall", **tags)
    return book


@pytest.mark.parametrize("tags", [{"shop": "mall"}, {"amenity": "hospital"}, {"place": "square"}])
def test_the_grounds_between_the_buildings_of_a_site_can_be_walked_on(tags: dict[str, str]) -> None:
    reading = of_osm(mall(**tags))
    (grounds,) = [space for space in reading.plan.spaces if space.kind is SpaceKind.AREA]
    assert (grounds.level_id, grounds.name) == ("m-level-0", "Mall")
    square_metres = grounds.polygon.area * 0.3048**2
    assert square_metres == pytest.approx(20 * 20 - 4 * 4, rel=0.01)
    kiosk = place_of(reading, "Kiosk")
    assert kiosk.unit_id is None
    assert kiosk.tags["amenity"] == "cafe"
    assert "Mall" not in {place.name for place in reading.places}


@pytest.mark.parametrize("tags", [{"landuse": "retail"}, {"shop": "mall", "building": "yes"}])
def test_what_is_no_site_adds_no_grounds(tags: dict[str, str]) -> None:
    kinds = {space.kind for space in of_osm(mall(**tags)).plan.spaces}
    assert kinds == {SpaceKind.ROOM}


def test_a_site_elsewhere_adds_no_grounds_and_is_noted() -> None:
    book = Sketchbook()
    book.way([(0, 0), (30, 0), (30, 30), (0, 0)], indoor="room", level="0")
    square = book.way([(0, 10), (0, 30), (10, 30), (0, 10)], place="square")
    reading = of_osm(book)
    assert len(reading.plan.spaces) == 1
    assert described(reading) == [f"grounds on which no room lies: 1 ({square})"]


def test_a_footway_does_not_keep_the_floor_between_rooms_from_being_walked_on() -> None:
    book = Sketchbook()
    book.way(box(0, 0, 50, 50), indoor="level", level="0")
    book.way([(0, 9), (30, 9)], highway="footway", level="0")
    assert of_osm(book).plan.spaces == ()


# Connectors


def only_connector(reading: PlanReading) -> Connector:
    (connector,) = reading.plan.connectors
    return connector


@pytest.mark.parametrize(
    ("tags", "kind"),
    [
        ("highway=elevator", ConnectorKind.ELEVATOR),
        ("indoor=room;elevator=yes", ConnectorKind.ELEVATOR),
        ("indoor=room;room=elevator", ConnectorKind.ELEVATOR),
        ("highway=steps", ConnectorKind.STEPS),
        ("indoor=corridor;stairs=yes", ConnectorKind.STEPS),
        ("indoor=room;room=stairs", ConnectorKind.STEPS),
        ("highway=steps;conveying=yes", ConnectorKind.ESCALATOR),
        ("conveying=forward", ConnectorKind.ESCALATOR),
        ("indoor=area;ramp=yes", ConnectorKind.RAMP),
    ],
)
def test_shapes_of_one_ref_are_one_connector_on_every_level(tags: str, kind: str) -> None:
    shape = rect(0, 0, 4, 4, f"{tags};ref=a;name=North")
    connector = only_connector(of_svg(shape, rect(40, 40, 4, 4, f"{tags};ref=a")))
    assert (connector.kind, connector.name) == (kind, "North")
    assert {level: place.bounds[0] for level, place in connector.places.items()} == {
        "f1": 0,
        "f2": 20,
    }


def test_shapes_of_different_refs_are_different_connectors() -> None:
    lifts = [rect(x, 0, 4, 4, f"highway=elevator;ref={x}") for x in (0, 4)]
    reading = of_svg("".join(lifts), "".join(lifts))
    assert len(reading.plan.connectors) == 2


def test_shapes_without_ref_are_one_where_they_stand_above_one_another() -> None:
    lift = rect(0, 0, 4, 4, "highway=elevator")
    apart = rect(40, 0, 4, 4, "highway=elevator")
    reading = of_svg(lift + apart, lift)
    assert sorted(len(c.places) for c in reading.plan.connectors) == [1, 2]
    assert described(reading) == ["connectors joined by their position: 1 (f2#1)"]


def test_a_lift_drawn_as_shaft_and_as_node_is_one_lift() -> None:
    book = Sketchbook()
    book.way(box(0, 0, 2, 2), indoor="room", elevator="yes", level="-1;0", wheelchair="no")
    book.node((1, 1), highway="elevator", level="-1;0")
    connector = only_connector(of_osm(book))
    assert {place.geom_type for place in connector.places.values()} == {"Polygon"}
    assert connector.wheelchair is False


def test_refs_of_two_towers_do_not_join_their_lifts() -> None:
    book = Sketchbook()
    book.node((1, 1), highway="elevator", level="0;1", ref="1")
    book.node((90, 1), highway="elevator", level="0;1", ref="1")
    book.node((1, 1.5), highway="elevator", level="2", ref="1")
    plan = of_osm(book).plan
    assert sorted(len(connector.places) for connector in plan.connectors) == [2, 3]


def stairs_between(start: Metres, end: Metres, **tags: str) -> Connector:
    """A flight drawn from start to end; the ground floor lies west, the upper one east."""
    book = Sketchbook()
    book.way(box(0, 0, 10, 10), indoor="corridor", level="0")
    book.way(box(20, 0, 30, 10), indoor="corridor", level="1")
    book.way([start, (15, 5), end], **{"highway": "steps", "level": "0;1", **tags})
    return only_connector(of_osm(book))


WEST, EAST = (9.0, 5.0), (21.0, 5.0)


@pytest.mark.parametrize(
    ("start", "end", "incline", "is_low_in_the_west"),
    [
        (WEST, EAST, "", True),  # each end fits one floor only
        (EAST, WEST, "", True),
        (WEST, EAST, "up", True),
        (WEST, EAST, "down", False),
        (WEST, EAST, "-30%", False),
        (EAST, WEST, "up", False),
    ],
)
def test_a_flight_drawn_as_a_line_ends_where_it_lands(
    start: Metres, end: Metres, incline: str, is_low_in_the_west: bool
) -> None:
    tags = {"incline": incline} if incline else {}
    places = stairs_between(start, end, **tags).places
    low, high = places["m-level-0"], places["m-level-1"]
    assert isinstance(low, Point)
    assert isinstance(high, Point)
    assert (low.x < high.x) == is_low_in_the_west


@pytest.mark.parametrize(
    ("start", "end", "conveying", "direction"),
    [
        (WEST, EAST, "forward", Direction.UP),
        (EAST, WEST, "forward", Direction.DOWN),
        (WEST, EAST, "backward", Direction.DOWN),
        (WEST, EAST, "reversible", None),
        (WEST, EAST, "yes", None),
    ],
)
def test_an_escalator_moves_the_way_that_it_is_drawn(
    start: Metres, end: Metres, conveying: str, direction: Direction | None
) -> None:
    connector = stairs_between(start, end, conveying=conveying)
    assert (connector.kind, connector.direction) == (ConnectorKind.ESCALATOR, direction)


def test_a_footway_between_levels_is_a_ramp_and_a_moving_walkway_on_one_is_none() -> None:
    assert stairs_between(WEST, EAST, highway="footway").kind is ConnectorKind.RAMP
    book = Sketchbook()
    book.way([(0, 0), (9, 0)], highway="footway", conveying="forward", level="0")
    assert of_osm(book).plan.connectors == ()


@pytest.mark.parametrize("fault", ["access=no", "disused=yes", "operational_status=out_of_order"])
def test_a_lift_out_of_order_is_out_of_service(fault: str) -> None:
    lift = rect(0, 0, 4, 4, "highway=elevator;ref=a")
    broken = rect(0, 0, 4, 4, f"highway=elevator;ref=a;{fault}")
    assert only_connector(of_svg(lift, lift)).in_service
    assert not only_connector(of_svg(lift, broken)).in_service


# Floors


def test_the_sort_of_the_floors_orders_the_levels_and_counts_storeys() -> None:
    lift = rect(0, 0, 4, 4, "highway=elevator;ref=a")
    reading = of_svg(lift, lift, floors={"f1": 30, "f2": -7, "f3": 4})
    assert [(level.id, level.ordinal) for level in reading.plan.levels] == [("f2", 0), ("f1", 2)]


def test_a_level_of_no_floor_is_an_error_that_lists_the_floors() -> None:
    with pytest.raises(InvalidInput, match="names the floor 'f1', which the asset does not have"):
        of_svg(rect(0, 0, 4, 4, "indoor=room"), floors={"a": 0, "b": 1})
    nameless = (
        b'<svg><g data-type="Level"><rect width="1" height="1" data-tags="indoor=room"/></g></svg>'
    )
    drawing = plans.read({"a.svg": nameless}, feet_per_unit=1.0)
    with pytest.raises(InvalidInput, match=r"data-tags need floor=<id>; the floors are: a, b"):
        plan_of(drawing, "m", {"a": 0, "b": 1})
    assert plan_of(drawing, "m", {"a": 0}).plan.levels[0].id == "a"


def test_a_lift_between_floors_of_equal_height_is_an_error() -> None:
    lift = rect(0, 0, 4, 4, "highway=elevator;ref=a;name=Lift")
    with pytest.raises(InvalidInput, match="Lift joins the floors 'f1' and 'f2', which both have"):
        of_svg(lift, lift, floors={"f1": 0, "f2": 0})
    apart = rect(0, 0, 4, 4, "indoor=room")
    assert of_svg(apart, apart, floors={"f1": 0, "f2": 0}).plan.spaces


# Locations


def test_a_unit_is_a_location_inside_its_shape_in_the_units_of_the_map() -> None:
    hook = '<g data-type="UnitLayer"><path id="u1" d="M0 0h40v4h-36v36h-4z"/></g>'
    (place,) = of_svg(hook).places
    assert place.tags == {"svc:id": "u1", "svc:type": "unit", "indoor": "room"}
    assert (place.id, place.unit_id, place.levels) == ("m-u1", "u1", ("f1",))
    assert place.x <= 4 or place.y <= 4
    assert min(place.x, place.y) > 0


def test_amenities_are_locations_with_their_own_tags_and_other_rooms_are_none() -> None:
    reading = of_svg(
        rect(0, 0, 10, 4, "indoor=room;name=Gym;leisure=fitness_centre")
        + rect(0, 4, 10, 4, "indoor=room;room=technical")
        + rect(0, 8, 10, 4, "indoor=area;amenity=lounge")
        + rect(0, 0, 1, 1, "door=yes;amenity=no")
    )
    gym, lounge = reading.places
    assert gym.tags == {"svc:amenity": "yes", "indoor": "room", "leisure": "fitness_centre"}
    assert (gym.name, gym.x, gym.y, gym.unit_id) == ("Gym", 5, 2, None)
    assert lounge.name == "lounge"


def test_the_location_of_a_plan_is_the_place_in_feet_and_in_its_space() -> None:
    reading = of_svg(rect(10, 10, 10, 10, "indoor=room;amenity=gym", 'id="gym"'))
    (location,) = reading.plan.locations
    assert (location.id, location.space_id, location.level_id) == ("m-gym", "gym", "f1")
    assert (location.x, location.y) == (7.5, 7.5)


def test_a_location_stands_clear_of_what_is_in_its_room() -> None:
    pillar = rect(40, 0, 20, 10, "indoor=wall")
    (place,) = of_svg(rect(0, 0, 100, 10, "indoor=area;amenity=bar") + pillar).places
    assert not 40 <= place.x <= 60


def test_of_geographic_plans_every_room_but_lifts_and_stairs_is_a_unit() -> None:
    book = Sketchbook()
    shop = book.way(box(0, 0, 9, 9), indoor="room", level="0;1", shop="tea", name="Tea")
    book.way(box(9, 0, 12, 9), indoor="room", level="0;1", stairs="yes")
    book.way(box(0, 9, 12, 12), indoor="corridor", level="0")
    cash = book.node((3, 10), amenity="atm", level="0")
    reading = of_osm(book)
    tea, machine = place_of(reading, "Tea"), place_of(reading, "atm")
    assert len(reading.places) == 2
    assert tea.tags == {
        "svc:id": "m-way-1", "svc:type": "unit", "indoor": "room", "svc:amenity": "yes",
        "osm:id": shop, "shop": "tea",
    }  # fmt: skip
    assert tea.levels == ("m-level-0", "m-level-1")
    assert machine.tags == {"svc:amenity": "yes", "osm:id": cash, "amenity": "atm"}


@pytest.mark.parametrize(
    ("tags", "name", "is_of_interest"),
    [
        ({"room": "disused"}, "way/", False),
        ({"room": "shop", "shop": "vacant", "name": "Books"}, "Books", False),
        ({"room": "shop", "shop": "vacant"}, "shop", False),
        ({"room": "shop", "disused:shop": "books", "ref": "12"}, "12", False),
        ({"room": "shop", "shop": "books"}, "shop", True),
    ],
)
def test_a_vacant_shop_is_a_room_without_anything_of_interest(
    tags: dict[str, str], name: str, is_of_interest: bool
) -> None:
    book = Sketchbook()
    book.way(box(0, 0, 9, 9), indoor="room", level="0", **tags)
    (place,) = of_osm(book).places
    assert place.name.startswith(name)
    assert ("svc:amenity" in place.tags) is is_of_interest


def test_a_point_of_interest_far_from_the_plan_is_noted_and_left_out() -> None:
    book = Sketchbook()
    book.way(box(0, 0, 9, 9), indoor="room", level="0")
    far = book.node((90, 0), shop="kiosk", level="0")
    reading = of_osm(book)
    assert len(reading.places) == 1
    assert described(reading) == [f"point of interest outside the plan: 1 ({far})"]


# Whole plans


def demo() -> tuple[PlanReading, dict[str, list[Any]]]:
    bundle = json.loads((DEMO / "bundle.json").read_bytes())
    floors = {f["id"]: f["sort"] for f in bundle["floors"] if f["asset_id"] == "alder-court"}
    drawing = plans.read({"a.svg": (DEMO / "alder-court.svg").read_bytes()}, feet_per_unit=0.1)
    return plan_of(drawing, "alder-court-floor-plates", floors), bundle


def test_the_demo_property_has_every_room_door_connector_and_amenity() -> None:
    reading, bundle = demo()
    plan = reading.plan
    assert [level.ordinal for level in plan.levels] == [0, 1, 2, 3, 4]
    assert Counter(space.kind for space in plan.spaces) == {
        SpaceKind.ROOM: 140,
        SpaceKind.AREA: 15,
        SpaceKind.CORRIDOR: 5,
    }
    assert len(plan.doors) == 146
    assert [(c.kind, c.name, len(c.places)) for c in plan.connectors] == [
        (ConnectorKind.ELEVATOR, "Lift 1", 5),
        (ConnectorKind.ELEVATOR, "Lift 2", 5),
        (ConnectorKind.STEPS, "Stair A", 5),
        (ConnectorKind.STEPS, "Stair B", 5),
    ]
    units = {unit["id"] for unit in bundle["units"] if unit["asset_id"] == "alder-court"}
    assert {place.unit_id for place in reading.places} - {None} == units
    amenities = Counter(place.name for place in reading.places if place.unit_id is None)
    drawn = [tag for location in bundle["locations"] for tag in location["tags"]]
    assert amenities.total() == sum(tag["key"] == "svc:amenity" for tag in drawn)


def test_the_venue_has_a_lift_stairs_and_an_escalator_that_only_goes_up() -> None:
    plan = plan_of(plans.read(make_venue()), "hall").plan
    connectors = {connector.kind: connector for connector in plan.connectors}
    assert {kind: len(c.places) for kind, c in connectors.items()} == {
        ConnectorKind.ELEVATOR: 2,
        ConnectorKind.STEPS: 2,
        ConnectorKind.ESCALATOR: 2,
    }
    assert connectors[ConnectorKind.ESCALATOR].direction is Direction.UP
    exits = [door.id for door in plan.doors if door.locked]
    assert exits == [feature_id("opening", "emergency-exit")]
    narrow = [door.width_feet for door in plan.doors if (door.width_feet or 9) < 0.8 / 0.3048]
    assert len(narrow) == 1
    assert len(plan.barriers) == 5  # two columns, the void, a counter and a kiosk


def test_the_shopping_centre_has_its_lifts_and_stairs() -> None:
    reading = plan_of(plans.read({"c.osm": read_caserne("osm")}), "c")
    plan = reading.plan
    assert [level.ordinal for level in plan.levels] == [-1, 0, 1, 2]
    served = Counter((connector.kind, len(connector.places)) for connector in plan.connectors)
    assert served == {(ConnectorKind.ELEVATOR, 2): 3, (ConnectorKind.STEPS, 2): 3}
    assert len(plan.doors) == 10
    (street,) = [space for space in plan.spaces if space.kind is SpaceKind.AREA]
    assert street.name == "Caserne de Bonne"
    assert "not used, highway=service: 3" in " ".join(described(reading))
