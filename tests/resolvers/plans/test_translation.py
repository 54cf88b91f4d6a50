import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from parsing import plans
from resolvers.plans.translation import TranslatedPlan, translate_plan
from routing.plan import ConnectorKind, Direction, SpaceKind
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
