"""Drawings become plans, and drawn geometry shapes in feet."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import shapely
from shapely import Point

from parsing import plans
from parsing.drawing import (
    AreaGeometry,
    Bounds,
    Coordinates,
    Drawing,
    DrawnLevel,
    NoteCollector,
    ReadingFault,
)
from parsing.plans import read_plan
from resolvers.plans import shapes
from resolvers.plans.shapes import ShapeIndex, TooManyRingsError, label_point, to_shape
from resolvers.plans.translation import (
    TranslatedPlan,
    assign_floors,
    is_one_way,
    order_storeys,
    parse_direction,
    translate_plan,
)
from resolvers.request.errors import InvalidInputError
from routing.costing import TravelMode
from routing.plan import Connector, ConnectorKind, Direction, SpaceKind
from routing.processing import process_plan
from samples.venue import feature_id, make_venue
from tests.parsing.geography import OsmPlanBuilder, box
from tests.resolvers.small_plans import (
    candidate_named,
    notes_of,
    rect,
    translate_osm,
    translate_svg,
)

DEMO = Path(__file__).parents[3] / "samples/demo"
# Spaces, barriers, doors


def test_rooms_corridors_areas_and_outlines_are_in_feet_on_their_floor() -> None:
    translated = translate_svg(
        rect(0, 0, 20, 10, "indoor=room;name=Gym", 'id="gym"')
        + rect(0, 10, 20, 4, "indoor=corridor")
        + rect(0, 14, 20, 4, "indoor=area")
        + rect(0, 0, 50, 50, "indoor=level")
    )
    plan = translated.plan
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


def test_units_are_private_but_lifts_and_rooms_that_say_otherwise() -> None:
    tags = ("", "access=yes", "highway=elevator", "access=private", "access=no")
    units = (f'<rect id="u{n}" width="9" height="9" data-tags="{t}"/>' for n, t in enumerate(tags))
    rooms = (rect(9, 9, 9, 9, f"indoor=room;{tag}") for tag in tags)
    translated = translate_svg(f'<g data-type="UnitLayer">{"".join(units)}</g>{"".join(rooms)}')
    private = {space.id: space.is_private for space in translated.plan.spaces}
    assert [private.pop(f"u{number}") for number in range(5)] == [True, False, False, True, True]
    assert sorted(private.values()) == [False, False, False, True, True]


def test_private_doors_are_such_unless_all_of_many_are() -> None:
    private = [
        f'<line x1="{n}" x2="{n + 3}" data-tags="door=yes;access=private"/>' for n in range(10)
    ]
    assert not any(door.is_private for door in translate_svg("".join(private)).plan.doors)
    mixed = translate_svg("".join(private) + '<line x1="50" x2="53" data-tags="door=yes"/>')
    assert sum(door.is_private for door in mixed.plan.doors) == 10


def test_a_ring_in_a_path_is_a_hole_by_either_fill_rule() -> None:
    ring = 'd="M0 0h30v30h-30z M10 10v10h10v-10z" data-tags="indoor=corridor"'
    (space,) = translate_svg(f"<path {ring}/>", feet_per_unit=1.0).plan.spaces
    assert space.polygon.area == 800
    same_way = 'd="M0 0h30v30h-30z M10 10h10v10h-10z" data-tags="indoor=corridor"'
    nonzero, evenodd = translate_svg(
        f'<path {same_way}/><path fill-rule="evenodd" {same_way}/>', feet_per_unit=1.0
    ).plan.spaces
    assert (nonzero.polygon.area, evenodd.polygon.area) == (900, 800)


def test_rings_that_leave_nothing_between_them_are_noted() -> None:
    ring = "M0 0h9v9h-9z"
    nothing = f'<path d="{ring} {ring}" fill-rule="evenodd" data-tags="indoor=area;amenity=bar"/>'
    translated = translate_svg(nothing + rect(0, 0, 9, 9, "indoor=room"))
    assert len(translated.plan.spaces) == 1
    assert notes_of(translated) == ["outline that encloses nothing: 1 (f1#1)"]


def test_several_shapes_of_a_unit_are_one_space_and_one_location() -> None:
    units = '<g data-type="UnitLayer"><rect id="u1" width="10" height="10"/>'
    translated = translate_svg(units + '<rect data-id="u1" x="10" width="10" height="4"/></g>')
    (space,) = translated.plan.spaces
    assert (space.id, space.polygon.area) == ("u1", 35)
    assert [place.unit_id for place in translated.candidates] == ["u1"]


@pytest.mark.parametrize(
    ("tags", "is_private"),
    [(("", ""), True), (("access=yes", ""), False), (("", "access=yes"), False)],
)
def test_a_unit_is_private_if_all_its_shapes_are(tags: tuple[str, str], is_private: bool) -> None:
    shapes = "".join(
        f'<rect data-id="u1" x="{10 * at}" width="10" height="4" data-tags="{tag}"/>'
        for at, tag in enumerate(tags)
    )
    (space,) = translate_svg(f'<g data-type="UnitLayer">{shapes}</g>').plan.spaces
    assert space.is_private is is_private


def test_walls_columns_kiosks_and_pools_are_barriers_but_a_gate_is_not() -> None:
    translated = translate_svg(
        '<line x2="9" data-tags="indoor=wall"/>'
        + rect(0, 0, 1, 1, "indoor=column")
        + rect(3, 0, 1, 1, "barrier=kiosk")
        + rect(6, 0, 1, 1, "leisure=swimming_pool")
        + rect(8, 0, 1, 1, "barrier=gate")
        + rect(9, 0, 1, 1, "indoor=area;barrier=no")
    )
    assert [barrier.geometry.geom_type for barrier in translated.plan.barriers] == [
        "LineString", "Polygon", "Polygon", "Polygon",
    ]  # fmt: skip
    assert notes_of(translated) == ["not used, barrier=gate: 1 (f1#5)"]


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
def test_doors_have_width_access_and_whether_wheelchairs_pass(
    tags: dict[str, str], width_feet: float | None, wheelchair: bool | None, locked: bool
) -> None:
    (door,) = translate_svg(
        rect(0, 0, 2, 2, ";".join(f"{k}={v}" for k, v in tags.items()))
    ).plan.doors
    expected = None if width_feet is None else pytest.approx(width_feet)
    assert (door.width_feet, door.wheelchair, door.is_locked) == (expected, wheelchair, locked)


def test_a_door_drawn_as_a_line_has_no_width_of_its_own() -> None:
    """Only where it is fitted is it known whether the line lies along the wall or across it."""
    (door,) = translate_svg('<line x1="1" x2="7" data-tags="door=yes"/>').plan.doors
    assert door.width_feet is None
    assert door.geometry.length == 3.0


def test_doors_are_locked_unless_the_plan_locks_every_one_of_many() -> None:
    locked = [f'<line x1="{x}" x2="{x + 1}" data-tags="door=yes;access=no"/>' for x in range(10)]
    few = translate_svg("".join(locked[:9]))
    assert all(door.is_locked for door in few.plan.doors)
    many = translate_svg("".join(locked))
    assert not any(door.is_locked for door in many.plan.doors)
    assert "door locked as all others are, read as open: 10" in " ".join(notes_of(many))
    mixed = translate_svg("".join(locked) + '<line x1="50" x2="53" data-tags="door=yes"/>')
    assert sum(door.is_locked for door in mixed.plan.doors) == 10


@pytest.mark.parametrize("tags", ["railway=platform", "public_transport=platform"])
def test_a_platform_is_open_floor(tags: str) -> None:
    key, _, value = tags.partition("=")
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 50, 5), level="0", **{key: value})
    builder.add_way([(0, 9), (50, 9)], level="0", **{key: value})
    assert [space.kind for space in translate_osm(builder).plan.spaces] == [SpaceKind.AREA] * 2


@pytest.mark.parametrize(
    ("tags", "needs_door"),
    [
        ({}, True),
        ({"room": "office"}, True),
        ({"access": "private"}, True),
        ({"access": "no"}, False),
        ({"room": "shaft"}, False),
        ({"room": "technical"}, False),
    ],
)
def test_shafts_and_utility_rooms_need_no_door(tags: dict[str, str], needs_door: bool) -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 5, 5), indoor="room", level="0", **tags)
    assert [space.needs_door for space in translate_osm(builder).plan.spaces] == [needs_door]


def test_a_feature_on_two_levels_is_a_part_of_each() -> None:
    builder = OsmPlanBuilder()
    shop = builder.add_way(box(0, 0, 9, 9), indoor="room", level="0;2", shop="clothes")
    door = builder.add_node((9, 5), door="yes", level="0-2")
    builder.add_way(box(20, 0, 29, 9), indoor="room", level="1")
    plan = translate_osm(builder).plan
    assert [level.id for level in plan.levels] == ["m-level-0", "m-level-1", "m-level-2"]
    assert [(s.id, s.level_id) for s in plan.spaces if s.id.startswith(shop)] == [
        (f"{shop}@m-level-0", "m-level-0"),
        (f"{shop}@m-level-2", "m-level-2"),
    ]
    assert [d.id for d in plan.doors] == [f"{door}@m-level-{n}" for n in (0, 1, 2)]


def test_a_footway_drawn_as_a_line_is_as_wide_as_it_says() -> None:
    builder = OsmPlanBuilder()
    builder.add_way([(0, 0), (30, 0)], highway="footway", indoor="yes", level="0", width="2")
    (path,) = translate_osm(builder).plan.spaces
    assert path.kind is SpaceKind.AREA
    assert path.polygon.area == pytest.approx(60 / 0.3048**2, rel=0.01)


def mall(**tags: str) -> OsmPlanBuilder:
    """Two buildings with a room each on grounds of 60 by 20 metres, a kiosk and a roof between."""
    builder = OsmPlanBuilder()
    for west in (0, 40):
        builder.add_way(box(west, 0, west + 20, 20), building="retail")
        builder.add_way(box(west, 0, west + 20, 20), indoor="room", level="0")
    builder.add_way(box(24, 8, 28, 12), building="kiosk", amenity="cafe", name="Kiosk")
    builder.add_way(box(30, 0, 32, 20), building="roof")
    builder.add_way(box(0, 0, 60, 20), name="Mall", **tags)
    return builder


@pytest.mark.parametrize("tags", [{"shop": "mall"}, {"amenity": "hospital"}, {"place": "square"}])
def test_the_grounds_between_the_buildings_of_a_site_can_be_walked_on(tags: dict[str, str]) -> None:
    translated = translate_osm(mall(**tags))
    (grounds,) = [space for space in translated.plan.spaces if space.kind is SpaceKind.AREA]
    assert (grounds.level_id, grounds.name) == ("m-level-0", "Mall")
    square_metres = grounds.polygon.area * 0.3048**2
    assert square_metres == pytest.approx(20 * 20 - 4 * 4, rel=0.01)
    kiosk = candidate_named(translated, "Kiosk")
    assert kiosk.unit_id is None
    assert kiosk.tags["amenity"] == "cafe"
    assert "Mall" not in {place.name for place in translated.candidates}
    outdoors = [space.id for space in translated.plan.spaces if space.is_outdoors]
    assert outdoors == [grounds.id]


@pytest.mark.parametrize("tags", [{"landuse": "retail"}, {"shop": "mall", "building": "yes"}])
def test_what_is_no_site_adds_no_grounds(tags: dict[str, str]) -> None:
    kinds = {space.kind for space in translate_osm(mall(**tags)).plan.spaces}
    assert kinds == {SpaceKind.ROOM}


def test_a_site_elsewhere_adds_no_grounds_and_is_noted() -> None:
    builder = OsmPlanBuilder()
    builder.add_way([(0, 0), (30, 0), (30, 30), (0, 0)], indoor="room", level="0")
    square = builder.add_way([(0, 10), (0, 30), (10, 30), (0, 10)], place="square")
    translated = translate_osm(builder)
    assert len(translated.plan.spaces) == 1
    assert notes_of(translated) == [f"grounds on which no room lies: 1 ({square})"]


def test_a_footway_does_not_keep_the_floor_between_rooms_from_being_walked_on() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 50, 50), indoor="level", level="0")
    builder.add_way([(0, 9), (30, 9)], highway="footway", level="0")
    assert translate_osm(builder).plan.spaces == ()


@pytest.mark.parametrize(
    ("tags", "is_outdoors"),
    [
        ({"indoor": "room"}, False),
        ({"indoor": "room", "outdoor": "yes"}, True),  # a roof terrace
        ({"indoor": "area", "location": "outdoor"}, True),
        ({"highway": "footway"}, True),
        ({"highway": "footway", "indoor": "yes"}, False),
        ({"highway": "footway", "tunnel": "building_passage"}, False),
        ({"highway": "corridor"}, False),
    ],
)
def test_spaces_say_whether_they_are_outdoors(tags: dict[str, str], is_outdoors: bool) -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 9, 9), level="0", **tags)
    if "highway" in tags:
        builder.add_way([(0, 20), (9, 20)], level="0", **tags)
    spaces = translate_osm(builder).plan.spaces
    assert [each.is_outdoors for each in spaces] == [is_outdoors] * (1 + ("highway" in tags))


# Locations


def test_a_unit_is_a_location_inside_its_shape_in_the_units_of_the_map() -> None:
    hook = '<g data-type="UnitLayer"><path id="u1" d="M0 0h40v4h-36v36h-4z"/></g>'
    (place,) = translate_svg(hook).candidates
    assert place.tags == {"svc:id": "u1", "svc:type": "unit", "indoor": "room"}
    assert (place.id, place.unit_id, place.levels) == ("m-u1", "u1", ("f1",))
    assert place.x <= 4 or place.y <= 4
    assert min(place.x, place.y) > 0


def test_amenities_are_locations_with_their_own_tags_and_other_rooms_are_none() -> None:
    translated = translate_svg(
        rect(0, 0, 10, 4, "indoor=room;name=Gym;leisure=fitness_centre")
        + rect(0, 4, 10, 4, "indoor=room;room=technical")
        + rect(0, 8, 10, 4, "indoor=area;amenity=lounge")
        + rect(0, 0, 1, 1, "door=yes;amenity=no")
    )
    gym, lounge = translated.candidates
    assert gym.tags == {"svc:amenity": "yes", "indoor": "room", "leisure": "fitness_centre"}
    assert (gym.name, gym.x, gym.y, gym.unit_id) == ("Gym", 5, 2, None)
    assert lounge.name == "lounge"


def test_a_location_stands_clear_of_what_is_in_its_room() -> None:
    pillar = rect(40, 0, 20, 10, "indoor=wall")
    (place,) = translate_svg(rect(0, 0, 100, 10, "indoor=area;amenity=bar") + pillar).candidates
    assert not 40 <= place.x <= 60


def test_of_geographic_plans_every_room_but_lifts_and_stairs_is_a_unit() -> None:
    builder = OsmPlanBuilder()
    shop = builder.add_way(box(0, 0, 9, 9), indoor="room", level="0;1", shop="tea", name="Tea")
    builder.add_way(box(9, 0, 12, 9), indoor="room", level="0;1", stairs="yes")
    builder.add_way(box(0, 9, 12, 12), indoor="corridor", level="0")
    cash = builder.add_node((3, 10), amenity="atm", level="0")
    translated = translate_osm(builder)
    tea, machine = candidate_named(translated, "Tea"), candidate_named(translated, "atm")
    assert len(translated.candidates) == 2
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
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 9, 9), indoor="room", level="0", **tags)
    (place,) = translate_osm(builder).candidates
    assert place.name.startswith(name)
    assert ("svc:amenity" in place.tags) is is_of_interest


# Whole plans


def demo() -> tuple[TranslatedPlan, dict[str, list[Any]]]:
    bundle = json.loads((DEMO / "bundle.json").read_bytes())
    floors = {f["id"]: f["sort"] for f in bundle["floors"] if f["asset_id"] == "alder-court"}
    drawing = plans.read_plan({"a.svg": (DEMO / "alder-court.svg").read_bytes()}, feet_per_unit=0.1)
    return translate_plan(drawing, "alder-court-floor-plates", floors), bundle


def test_the_demo_property_has_every_room_door_connector_and_amenity() -> None:
    translated, bundle = demo()
    plan = translated.plan
    assert [level.ordinal for level in plan.levels] == [0, 1, 2, 3, 4]
    assert Counter(space.kind for space in plan.spaces) == {
        SpaceKind.ROOM: 140,
        SpaceKind.AREA: 15,
        SpaceKind.CORRIDOR: 5,
    }
    assert len(plan.doors) == 146
    assert [(c.kind, c.name, len(c.entrances)) for c in plan.connectors] == [
        (ConnectorKind.ELEVATOR, "Lift 1", 5),
        (ConnectorKind.ELEVATOR, "Lift 2", 5),
        (ConnectorKind.STEPS, "Stair A", 5),
        (ConnectorKind.STEPS, "Stair B", 5),
    ]
    units = {unit["id"] for unit in bundle["units"] if unit["asset_id"] == "alder-court"}
    assert {place.unit_id for place in translated.candidates} - {None} == units
    amenities = Counter(place.name for place in translated.candidates if place.unit_id is None)
    drawn = [tag for location in bundle["locations"] for tag in location["tags"]]
    assert amenities.total() == sum(tag["key"] == "svc:amenity" for tag in drawn)


def test_the_venue_has_a_lift_stairs_and_an_escalator_that_only_goes_up() -> None:
    plan = translate_plan(plans.read_plan(make_venue()), "hall").plan
    connectors = {connector.kind: connector for connector in plan.connectors}
    assert {kind: len(c.entrances) for kind, c in connectors.items()} == {
        ConnectorKind.ELEVATOR: 2,
        ConnectorKind.STEPS: 2,
        ConnectorKind.ESCALATOR: 2,
    }
    assert connectors[ConnectorKind.ESCALATOR].direction is Direction.UP
    exits = [door.id for door in plan.doors if door.is_locked]
    assert exits == [feature_id("opening", "emergency-exit")]
    narrow = [door.id for door in plan.doors if door.geometry.length < 0.8 / 0.3048]
    assert len(narrow) == 1
    assert len(plan.barriers) == 5  # two columns, the void, a counter and a kiosk


SORTS = {"lobby": 1, "mezzanine": 4, "roof": 9}


def assign(
    drawn: Drawing, floor_sorts: dict[str, int] | None = None, notes: NoteCollector | None = None
) -> Drawing:
    return assign_floors(drawn, "map", floor_sorts, notes or NoteCollector())


def drawing(*levels: DrawnLevel) -> Drawing:
    return Drawing(levels, (), 1.0, Bounds(0, 0, 1, 1))


def test_levels_take_their_floors_ids_and_ranks_from_the_lowest() -> None:
    drawn = drawing(DrawnLevel("b", "B", floor_id="roof"), DrawnLevel("lobby", "A"))
    levels = assign(drawn, SORTS).levels
    assert [(level.id, level.ordinal) for level in levels] == [("lobby", 0), ("roof", 2)]


def test_a_single_level_needs_no_floor_if_there_is_one_only() -> None:
    [level] = assign(drawing(DrawnLevel("x", "")), {"lobby": 1}).levels
    assert level.id == "lobby"


@pytest.mark.parametrize(
    "name", ["Level 2", "level_2", "LEVEL-2", "Level2", "Lvl 2", "Floor 2", "Storey 2", "2"]
)
def test_a_level_may_be_named_after_the_id_of_its_floor(name: str) -> None:
    [level] = assign(drawing(DrawnLevel(name, name)), {"1": 1, "2": 2}).levels
    assert level.id == "2"


def test_a_floor_whose_id_is_the_whole_name_comes_first() -> None:
    [level] = assign(drawing(DrawnLevel("Level 2", "")), {"Level 2": 1, "2": 2}).levels
    assert level.id == "Level 2"


def test_without_floors_ids_are_made_up_and_ordinals_stay() -> None:
    [level] = assign(drawing(DrawnLevel("-1", "", -1.0)), None).levels
    assert (level.id, level.ordinal) == ("map-level--1", -1.0)


def number(*names: str) -> tuple[dict[str, float | None], list[str]]:
    """The ordinals by name of levels that have none, and the notes."""
    notes = NoteCollector()
    levels = assign(drawing(*(DrawnLevel(name, name) for name in names)), None, notes).levels
    return {each.name: each.ordinal for each in levels}, [str(note) for note in notes.notes()]


@pytest.mark.parametrize(
    ("names", "ordinals"),
    [
        (("oak-2", "oak-1"), (2, 1)),
        (("F1", "F2"), (1, 2)),
        (("1", "3"), (1, 3)),
        (("EG", "OG1"), (0, 1)),
        (("B1", "L1"), (-1, 1)),
        (("level-1", "level-2"), (1, 2)),
    ],
)
def test_levels_without_ordinals_have_the_numbers_of_their_names(
    names: tuple[str, str], ordinals: tuple[float, float]
) -> None:
    found, [note] = number(*names)
    assert found == dict(zip(names, ordinals, strict=True))
    assert note.startswith(f"level numbered by its name: 2 ({names[0]} is {ordinals[0]}, ")


@pytest.mark.parametrize("names", [("cellar", "attic"), ("north 1", "south 1"), ("1", "attic")])
def test_levels_with_other_names_are_drawn_from_the_lowest(names: tuple[str, str]) -> None:
    found, [note] = number(*names)
    assert found == {names[0]: 0, names[1]: 1}
    assert "in the order of the drawing from the lowest: 2" in note


def test_a_single_level_needs_no_number() -> None:
    assert number("attic") == ({"attic": 0}, [])


def connector(*floors: str) -> Connector:
    return Connector("s", ConnectorKind.STEPS, {floor: Point(0, 0) for floor in floors})


def test_a_connector_between_levels_of_one_ordinal_is_left_out() -> None:
    notes = NoteCollector()
    drawn = drawing(
        *(DrawnLevel(name, "", ordinal) for name, ordinal in (("a", 1), ("b", 1), ("c", 2)))
    )
    upright, flat = connector("a", "c"), connector("a", "b")
    assert [*order_storeys([upright, flat], drawn, None, notes)] == [upright]
    [note] = notes.notes()
    assert note.message == "left out, connects levels of the same ordinal"
    with pytest.raises(InvalidInputError, match="the higher one needs the greater sort"):
        [*order_storeys([flat], drawn, {"a": 1, "b": 1, "c": 2}, notes)]


def test_faults_are_on_the_floors_of_their_levels() -> None:
    fault = ReadingFault("left out", "way/1 is broken", levels=("-1", "7"))
    drawn = replace(drawing(DrawnLevel("-1", "", -1.0)), faults=(fault,))
    [found] = assign(drawn, None).faults
    assert found.levels == ("map-level--1",)


@pytest.mark.parametrize(
    ("name", "floor"),
    [
        ("Level -1", "-1"),
        ("Level_-1", "-1"),
        ("Level-1", "1"),
        ("Level B1", "-1"),
        ("Level 1", "1"),
        ("2nd Floor", "oak-floor-2"),
        ("Second floor", "oak-floor-2"),
        ("Floor 2", "oak-floor-2"),
        ("Ground Floor", "oak-ground"),
        ("Level ground", "oak-ground"),
    ],
)
def test_a_level_shows_the_only_floor_of_its_storey(name: str, floor: str) -> None:
    sorts = {"-1": -1, "oak-ground": 0, "1": 1, "oak-floor-2": 2}
    [level] = assign(drawing(DrawnLevel(name, "")), sorts).levels
    assert level.id == floor


def test_the_place_of_a_level_in_the_drawing_says_nothing_of_its_storey() -> None:
    numbered = DrawnLevel("Level 1", "Level 1", is_numbered=True)
    with pytest.raises(InvalidInputError, match="does not say which floor it shows"):
        assign(drawing(numbered), {"cellar": -1, "oak-floor-1": 1})


def test_a_storey_of_two_towers_is_not_guessed() -> None:
    with pytest.raises(InvalidInputError, match="does not say which floor it shows"):
        assign(drawing(DrawnLevel("Level 2", "")), {"east-floor-2": 2, "west-floor-2": 2})


@pytest.mark.parametrize(
    ("level", "message"),
    [
        (DrawnLevel("x", "Attic"), "'Attic' does not say which floor it shows"),
        (DrawnLevel("x", "Attic", floor_id="cellar"), "'cellar', which the asset does not have"),
    ],
)
def test_unknown_floors_are_rejected_with_the_known_ones(level: DrawnLevel, message: str) -> None:
    with pytest.raises(InvalidInputError, match=r"lobby, mezzanine, roof") as caught:
        assign(drawing(level), SORTS)
    assert message in str(caught.value)


NOTE = "joined by a straight line to the footway beside it"


def concourse() -> OsmPlanBuilder:
    """A footway of 60 m, drawn as a line."""
    builder = OsmPlanBuilder()
    builder.add_way([(0, 0), (60, 0)], highway="footway", indoor="yes", level="0")
    return builder


def share_reached(builder: OsmPlanBuilder) -> float:
    report = process_plan(translate_osm(builder).plan).report
    return next(check.share for check in report.reachability if check.mode is TravelMode.FOOT)


def test_a_point_of_interest_beside_a_footway_is_reached_in_a_straight_line() -> None:
    builder = concourse()
    for x in (10, 50):
        builder.add_node((x, 8), amenity="vending_machine", level="0")
    translated = translate_osm(builder)
    assert any(note.startswith(f"{NOTE}: 2") for note in notes_of(translated))
    router = process_plan(translated.plan).router
    one, other = (location.id for location in translated.plan.locations)
    route_feet = router.matrix([one], [other]).feet[0, 0]
    assert route_feet == pytest.approx((8 + 40 + 8) / 0.3048, abs=10)


@pytest.mark.parametrize("metres", [0.1, 20.0])
def test_what_stands_on_the_footway_or_far_from_it_has_no_branch(metres: float) -> None:
    builder = concourse()
    builder.add_node((10, metres), amenity="bench", level="0")
    assert NOTE not in " ".join(notes_of(translate_osm(builder)))


def test_a_branch_crosses_no_wall_and_no_room() -> None:
    builder = concourse()
    builder.add_node((10, 8), amenity="bench", level="0")
    builder.add_way([(5, 4), (15, 4)], indoor="wall", level="0")
    builder.add_node((40, 8), amenity="bench", level="0")
    builder.add_way(box(35, 3, 45, 6), indoor="room", level="0")
    translated = translate_osm(builder)
    assert NOTE not in " ".join(notes_of(translated))


def test_a_door_that_faces_the_hall_leads_to_the_footway() -> None:
    builder = concourse()
    for x in (10, 40):
        builder.add_way(box(x, 6, x + 8, 12), indoor="room", shop="kiosk", level="0")
        builder.add_node((x + 4, 6), door="yes", level="0")
    assert share_reached(builder) == 1.0
    branches = [space for space in translate_osm(builder).plan.spaces if "branch" in space.id]
    assert len(branches) == 2


SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 60">
<g data-type="Level" data-tags="building=1;floor=f1">
<rect x="0" y="30" width="40" height="20" data-tags="indoor=corridor"/>
<rect x="18" y="28" width="4" height="4" data-tags="barrier=turnstile;{tags}"/>
<g data-type="UnitLayer"><rect id="a" x="0" y="0" width="40" height="30"/></g></g></svg>"""


@pytest.mark.parametrize(
    ("direction", "expected"),
    [("0", (0, -1)), ("90", (1, 0)), ("S", (0, 1)), ("nw", (-math.sqrt(0.5), -math.sqrt(0.5)))],
)
def test_directions_are_clockwise_from_north_or_points_of_the_compass(
    direction: str, expected: tuple[float, float]
) -> None:
    assert parse_direction({"oneway": "yes", "direction": direction}) == pytest.approx(expected)
    against = parse_direction({"oneway": "-1", "direction": direction})
    assert against == pytest.approx([-part for part in expected])


@pytest.mark.parametrize("direction", ["", "up", "nan", "inf", "forward", "90;180"])
def test_other_directions_are_none(direction: str) -> None:
    assert parse_direction({"oneway": "yes", "direction": direction}) is None


@pytest.mark.parametrize(
    ("tags", "expected"),
    [({"oneway": "yes"}, True), ({"oneway:foot": "-1"}, True), ({"oneway": "no"}, False)],
)
def test_doors_are_one_way_if_they_say_so(tags: dict[str, str], expected: bool) -> None:
    assert is_one_way(tags) is expected


def test_a_turnstile_lets_people_out_and_not_back_in() -> None:
    plan = read_svg("oneway=yes;direction=S")
    assert plan.plan.doors[0].one_way == (0.0, 1.0)
    network = next(iter(process_plan(plan.plan).networks.values()))
    ways = [(network.portals[link.start].y, network.portals[link.end].y) for link in network.links]
    assert ways
    assert all(start < end for start, end in ways)


def test_a_one_way_door_without_direction_is_passed_both_ways_and_noted() -> None:
    plan = read_svg("oneway=yes")
    assert plan.plan.doors[0].one_way is None
    assert any("one-way door without a direction" in str(note) for note in plan.notes)


def read_svg(tags: str) -> TranslatedPlan:
    files = {"plan.svg": SVG.format(tags=tags).encode()}
    return translate_plan(read_plan(files, feet_per_unit=1.0), "m", None)


def square(size: float, *, clockwise: bool = False) -> Coordinates:
    corners = ((0.0, 0.0), (size, 0.0), (size, size), (0.0, size))
    return corners[::-1] if clockwise else corners


def test_shapes_are_scaled_to_feet() -> None:
    assert to_shape(AreaGeometry((square(2),)), feet_per_unit=3).area == 36


def test_rings_are_filled_by_their_rule() -> None:
    inner = tuple((x + 1, y + 1) for x, y in square(1))
    assert to_shape(AreaGeometry((square(3), inner), nonzero=True), 1).area == 9
    assert to_shape(AreaGeometry((square(3), inner), nonzero=False), 1).area == 8
    opposite = inner[::-1]
    assert to_shape(AreaGeometry((square(3), opposite), nonzero=True), 1).area == 8


def test_rings_that_would_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    star = tuple(((0.0, 0.0), (9.0, float(n)), (9.0, n + 0.5)) for n in range(101))
    with pytest.raises(TooManyRingsError, match="101 corners meet in one point"):
        to_shape(AreaGeometry(star), 1)
    assert to_shape(AreaGeometry(star[:100]), 1).area == pytest.approx(225)
    monkeypatch.setattr(shapes, "MAX_FACE_CORNERS", 5)
    with pytest.raises(TooManyRingsError, match="2 rings enclose 2 faces"):
        to_shape(AreaGeometry(star[:2]), 1)


def test_a_label_stands_inside_even_where_the_centroid_does_not() -> None:
    bent = shapely.Polygon([(0, 0), (9, 0), (9, 1), (1, 1), (1, 9), (0, 9)])
    assert not bent.contains(bent.centroid)
    assert bent.contains(label_point(bent))


def test_an_index_measures_to_the_nearest_shape_and_subtracts_overlaps() -> None:
    index = ShapeIndex([shapely.box(0, 0, 1, 1), shapely.box(10, 0, 11, 1)])
    assert index.distance_to(shapely.Point(8, 0)) == 2
    assert index.subtract_from(shapely.box(0, 0, 2, 1)).area == 1
    assert ShapeIndex([]).distance_to(shapely.Point(0, 0)) == float("inf")
