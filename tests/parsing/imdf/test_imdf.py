"""A venue of IMDF becomes levels, rooms, doors and connectors, which its relationships join."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from parsing.archives import unzip
from parsing.drawing import (
    AreaGeometry,
    Drawing,
    Feature,
    Geometry,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
    iter_coordinates,
)
from parsing.errors import InvalidPlanError
from parsing.geo.geojson import GeoJsonFeature
from parsing.imdf.records import (
    ImdfRecord,
    parse_language,
    parse_records,
    pick_label,
    strip_folders,
)
from parsing.imdf.relationships import derive_connector_tags, derive_door_tags
from parsing.osm.tags import OPENING_TAGS, UNIT_TAGS, find_tags
from parsing.plans import read_plan
from samples.venue import feature_id, make_archive, make_venue
from tests.parsing.geography import box, lon_lat

ORDINALS = {"ground": 0.0, "first": 1.0}


def record(kind: str, name: str, geometry: Geometry | None = None, **properties: Any) -> ImdfRecord:
    return ImdfRecord(f"{kind}.geojson", kind, name, properties, geometry)


def unit_feature(name: str, category: str, level: str) -> ImdfRecord:
    return record("unit", name, category=category, level_id=level)


def relate(category: str, direction: str, *units: str, through: str = "") -> ImdfRecord:
    ends = [{"id": unit, "feature_type": "unit"} for unit in units]
    return record(
        "relationship",
        " to ".join(units),
        category=category,
        direction=direction,
        origin=ends[0],
        intermediary=[{"id": through, "feature_type": "opening"}] if through else [],
        destination=ends[-1],
    )


UNITS = {
    record.id: record
    for record in (
        unit_feature("a", "elevator", "ground"),
        unit_feature("b", "elevator", "first"),
        unit_feature("c", "elevator", "first"),
        unit_feature("up", "escalator", "ground"),
        unit_feature("top", "escalator", "first"),
        unit_feature("shop", "room", "ground"),
    )
}


def derive_connectors(
    *relationships: ImdfRecord,
) -> tuple[Mapping[str, Mapping[str, str]], list[str]]:
    collector = NoteCollector()
    records = {"unit": UNITS, "relationship": {record.id: record for record in relationships}}
    tags = derive_connector_tags(records, ORDINALS, collector)
    return tags, [note.message for note in collector.notes()]


def test_relationships_with_a_common_unit_make_one_connector() -> None:
    tags, _ = derive_connectors(
        relate("elevator", "undirected", "b", "c"), relate("elevator", "undirected", "a", "b")
    )
    assert tags == {name: {"ref": "a"} for name in "abc"}


def test_a_directed_escalator_has_the_incline_of_its_levels() -> None:
    up, _ = derive_connectors(relate("escalator", "directed", "up", "top"))
    down, _ = derive_connectors(relate("escalator", "directed", "top", "up"))
    assert up["up"] == {"ref": "top", "incline": "up", "conveying": "forward"}
    assert down["up"]["incline"] == "down"


def test_a_relationship_that_joins_no_two_connectors_is_noted() -> None:
    assert derive_connectors(relate("elevator", "undirected", "a", "shop")) == (
        {},
        ["elevator that joins no two units"],
    )


def test_a_relationship_with_an_unknown_unit_is_left_out() -> None:
    assert derive_connectors(relate("elevator", "undirected", "a", "x")) == (
        {},
        ["left out, reference to nothing"],
    )


HALL = AreaGeometry((tuple(lon_lat(at) for at in box(0, 0, 10, 10)[:-1]),))
SHOP = AreaGeometry((tuple(lon_lat(at) for at in box(10.5, 0, 20, 10)[:-1]),))
"""East of the hall, behind a wall."""


DOOR = LinesGeometry(((lon_lat((10.2, 4)), lon_lat((10.2, 6))),))
SLANTED = LinesGeometry(((lon_lat((10, 4)), lon_lat((10.5, 6))),))


def traverse(*ends: tuple[str, str], direction: str = "directed", through: str = "door") -> Any:
    """Return a traversal for each pair of units."""
    return [relate("traversal", direction, *pair, through=through) for pair in ends]


def derive_doors(
    relationships: list[ImdfRecord], door: Geometry = DOOR
) -> tuple[dict[str, dict[str, str]], list[str]]:
    collector = NoteCollector()
    records = {
        "unit": {"hall": record("unit", "hall", HALL), "shop": record("unit", "shop", SHOP)},
        "opening": {"door": record("opening", "door", door)},
        "relationship": {each.id: each for each in relationships},
    }
    return derive_door_tags(records, collector), [note.message for note in collector.notes()]


@pytest.mark.parametrize(
    ("ends", "door", "bearing"),
    [
        (("hall", "shop"), DOOR, "90.0"),
        (("shop", "hall"), DOOR, "270.0"),
        (("hall", "shop"), SLANTED, "104.0"),
    ],
)
def test_the_direction_leads_away_from_the_origin(
    ends: tuple[str, str], door: Geometry, bearing: str
) -> None:
    tags, notes = derive_doors(traverse(ends), door)
    assert tags == {"door": {"oneway": "yes", "direction": bearing}}
    assert notes == []


def test_a_door_that_is_traversed_both_ways_is_no_one_way_door() -> None:
    both = [("hall", "shop"), ("shop", "hall")]
    assert derive_doors(traverse(*both)) == ({}, [])
    assert derive_doors(traverse(both[0], direction="undirected")) == ({}, [])
    undirected = traverse(both[1], direction="undirected")
    assert derive_doors([*traverse(both[0]), *undirected]) == ({}, [])


@pytest.mark.parametrize(
    ("relationships", "door", "note"),
    [
        (traverse(("hall", "shop"), through="no door"), DOOR, "traversal without an opening"),
        (
            traverse(("hall", "shop")),
            PointGeometry(lon_lat((10.2, 5))),
            "one-way traversal, read as one in both ways",
        ),
        (traverse(("cellar", "shop")), DOOR, "one-way traversal, read as one in both ways"),
    ],
)
def test_a_traversal_of_unknown_direction_is_noted(
    relationships: list[ImdfRecord], door: Geometry, note: str
) -> None:
    assert derive_doors(relationships, door) == ({}, [note])


def test_the_door_of_an_archive_has_the_direction() -> None:
    members = make_venue()
    relationships = json.loads(members["relationship.geojson"])
    [added] = traverse((feature_id("unit", "bakery"), feature_id("unit", "concourse")))
    door = feature_id("opening", "bakery-door")
    added.properties["intermediary"][0]["id"] = door
    relationships["features"].append(
        {
            "type": "Feature",
            "feature_type": "relationship",
            "id": "8a7c3f4e-0000-4000-8000-000000000001",
            "geometry": None,
            "properties": added.properties,
        }
    )
    members["relationship.geojson"] = json.dumps(relationships).encode()
    [tags] = [feature.tags for feature in read_plan(members, "imdf").features if feature.id == door]
    assert (tags["oneway"], tags["direction"]) == ("yes", "180.0")


VenueFiles = dict[str, bytes]
VenueChange = Callable[[list[Any]], object]


def read_imdf(members: VenueFiles, *, strict: bool = False) -> Drawing:
    return read_plan(members, "imdf", strict=strict)


def changed(kind: str, change: VenueChange) -> VenueFiles:
    """Return the sample venue with a change made to the features of one type."""
    members = make_venue()
    collection = json.loads(members[f"{kind}.geojson"])
    change(collection["features"])
    return members | {f"{kind}.geojson": json.dumps(collection).encode()}


def make_feature(kind: str, index: int) -> dict[str, Any]:
    feature: dict[str, Any] = json.loads(make_venue()[f"{kind}.geojson"])["features"][index]
    return feature


def feature_of(drawing: Drawing, kind: str, name: str) -> Feature:
    return next(f for f in drawing.features if f.id == feature_id(kind, name))


def set_property(position: int, key: str, value: Any) -> VenueChange:
    return lambda features: features[position]["properties"].__setitem__(key, value)


def set_member(position: int, key: str, value: Any) -> VenueChange:
    return lambda features: features[position].__setitem__(key, value)


def test_units_of_an_outdoor_level_are_outdoors() -> None:
    drawing = read_imdf(changed("level", set_property(1, "outdoor", True)))
    outdoors = {f.levels[0] for f in drawing.features if f.tags.get("outdoor") == "yes"}
    assert outdoors == {drawing.levels[1].id}


def test_folder_and_zip_are_the_same_venue() -> None:
    members = make_venue()
    folder = {f"harbour-hall/{name}": content for name, content in members.items()}
    clutter = {"__MACOSX/harbour-hall/._unit.geojson": b"\0", "harbour-hall/.DS_Store": b"\0"}
    drawing = read_imdf(members)
    assert read_imdf(folder | clutter) == drawing
    assert read_imdf(unzip(make_archive(members))) == drawing
    assert drawing.name == "Harbour Hall"
    assert drawing.id_key == "imdf:id"


def test_levels_have_their_ordinals_and_names() -> None:
    levels = read_imdf(make_venue()).levels
    assert [(level.ordinal, level.name) for level in levels] == [
        (0, "Ground floor"),
        (1, "Gallery floor"),
    ]


def test_lengths_are_true_to_scale_within_a_thousandth() -> None:
    bounds = read_imdf(make_venue()).bounds
    assert bounds[:2] == (0, 0)
    assert bounds[2:] == pytest.approx((60 / 0.3048, 30 / 0.3048), rel=1e-4)


@pytest.mark.parametrize(
    ("name", "tags"),
    [
        ("bakery", {"indoor": "room", "name": "Harbour Bakery"}),
        ("lift-0", {"indoor": "room", "highway": "elevator"}),
        ("stairs-1", {"indoor": "room", "highway": "steps"}),
        ("escalator-0", {"highway": "steps", "conveying": "forward", "incline": "up"}),
        ("toilets-0", {"indoor": "room", "amenity": "toilets", "wheelchair": "yes"}),
        ("plant-room", {"indoor": "room", "access": "private"}),
        ("column-1", {"indoor": "wall"}),
        ("terrace", {"indoor": "area"}),
    ],
)
def test_unit_categories_become_indoor_terms(name: str, tags: dict[str, str]) -> None:
    assert tags.items() <= feature_of(read_imdf(make_venue()), "unit", name).tags.items()


def test_units_that_a_relationship_joins_have_one_ref() -> None:
    drawing = read_imdf(make_venue())
    refs = {
        name: feature_of(drawing, "unit", name).tags.get("ref")
        for name in ("lift-0", "lift-1", "stairs-0", "stairs-1", "bakery")
    }
    assert refs["lift-0"] == refs["lift-1"] != refs["stairs-0"] == refs["stairs-1"]
    assert refs["bakery"] is None


def test_openings_are_doors_as_lines_and_an_emergency_exit_says_so() -> None:
    drawing = read_imdf(make_venue())
    door = feature_of(drawing, "opening", "bakery-door")
    assert isinstance(door.geometry, LinesGeometry)
    assert door.tags["door"] == "sliding"
    assert feature_of(drawing, "opening", "main-entrance").tags["entrance"] == "main"
    assert feature_of(drawing, "opening", "emergency-exit").tags["entrance"] == "emergency"


def test_an_opening_out_of_service_has_no_access() -> None:
    def close(openings: list[Any]) -> None:
        openings[2]["properties"]["access_control"] = ["outofservice"]

    drawing = read_imdf(changed("opening", close))
    assert feature_of(drawing, "opening", "bakery-door").tags["access"] == "no"


def test_fixtures_and_kiosks_are_barriers() -> None:
    drawing = read_imdf(make_venue())
    assert feature_of(drawing, "fixture", "counter").tags["barrier"] == "fixture"
    kiosk = feature_of(drawing, "kiosk", "coffee")
    assert isinstance(kiosk.geometry, AreaGeometry)
    assert kiosk.tags["name"] == "Coffee kiosk"


def test_amenities_are_on_the_level_of_their_unit_and_occupants_at_their_anchor() -> None:
    drawing = read_imdf(make_venue())
    ground, gallery = (level.id for level in drawing.levels)
    desk = feature_of(drawing, "amenity", "desk")
    shop = feature_of(drawing, "occupant", "bakery-shop")
    assert (desk.levels, desk.tags["tourism"]) == ((gallery,), "information")
    assert (shop.levels, shop.tags["occupant"]) == ((ground,), "bakery")
    assert isinstance(shop.geometry, PointGeometry)
    assert shop.geometry.position == pytest.approx((7.5 / 0.3048, 5 / 0.3048), rel=1e-3)


def test_a_level_is_outlined() -> None:
    drawing = read_imdf(make_venue())
    assert feature_of(drawing, "level", "0").tags == {"indoor": "level"}


def test_names_are_in_the_language_of_the_manifest() -> None:
    def translate(units: list[Any]) -> None:
        units[1]["properties"]["name"] = {"en": "Bakery", "da": "Bageri"}

    members = changed("unit", translate)
    manifest = {"version": "1.0.0", "language": "da"}
    danish = members | {"manifest.json": json.dumps(manifest).encode()}
    assert feature_of(read_imdf(members), "unit", "bakery").tags["name"] == "Bakery"
    assert feature_of(read_imdf(danish), "unit", "bakery").tags["name"] == "Bageri"


def set_categories(count: int) -> VenueChange:
    """Return a change that makes the first openings ones for vehicles."""

    def change(openings: list[Any]) -> None:
        for opening in openings[:count]:
            opening["properties"]["category"] = "automobile"

    return change


def test_openings_for_vehicles_are_locked_and_counted() -> None:
    drawing = read_imdf(changed("opening", set_categories(1)))
    doors = [feature for feature in drawing.features if feature.tags.get("access") == "no"]
    assert [door.tags["imdf:category"] for door in doors] == ["automobile"]
    assert [(note.message, note.count) for note in drawing.notes] == [
        ("doors locked because of category automobile", 1)
    ]


def test_where_all_openings_are_for_vehicles_people_use_them() -> None:
    openings = json.loads(make_venue()["opening.geojson"])["features"]
    drawing = read_imdf(changed("opening", set_categories(len(openings))))
    doors = [feature for feature in drawing.features if "door" in feature.tags]
    assert len(doors) == len(openings)
    assert all("access" not in door.tags for door in doors)
    (note,) = drawing.notes
    assert note.message == (
        f"{len(openings)} of {len(openings)} openings have category automobile, "
        "read as doors for people"
    )


def test_a_venue_in_one_file_is_read_like_an_archive() -> None:
    members = make_venue()
    features = [
        feature
        for name, content in members.items()
        if name.endswith(".geojson")
        for feature in json.loads(content)["features"]
    ]
    for feature in features:
        feature["properties"]["feature_type"] = feature.pop("feature_type")
    content = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    drawing = read_plan({"hall.geojson": content})
    assert drawing.features == read_imdf(members).features
    assert drawing.id_key == "imdf:id"


def test_a_feature_without_type_in_such_a_file_is_a_unit() -> None:
    features = [
        feature
        for kind in ("level", "unit")
        for feature in json.loads(make_venue()[f"{kind}.geojson"])["features"]
    ]
    del features[-1]["feature_type"]
    content = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    drawing = read_plan({"hall.geojson": content})
    assert features[-1]["id"] in {feature.id for feature in drawing.features}
    assert [fault.cause for fault in drawing.faults] == ["no feature_type"]


def test_a_level_without_ordinal_takes_that_in_its_name() -> None:
    def change(levels: list[Any]) -> None:
        del levels[0]["properties"]["ordinal"]
        levels[0]["properties"]["short_name"] = {"en": "B2"}

    drawing = read_imdf(changed("level", change))
    assert drawing.levels[0].ordinal == -2
    (fault,) = drawing.faults
    assert fault.message.endswith("expected a number; read as -2 because of its name")


@pytest.mark.parametrize(
    ("category", "amenity"),
    [("restroom", "toilets"), ("restroom.female.wheelchair", "toilets"), ("office", None)],
)
def test_a_suffix_means_the_same_as_its_parent_category(category: str, amenity: str | None) -> None:
    tags = find_tags(UNIT_TAGS, category)
    assert tags is not None
    assert tags.get("amenity") == amenity


def test_a_row_of_its_own_wins_over_the_parent_category() -> None:
    assert find_tags(OPENING_TAGS, "pedestrian.principal") == {"entrance": "main"}
    assert find_tags(OPENING_TAGS, "pedestrian.transit") == {}


@pytest.mark.parametrize("category", ["", "ballroom", "ballroom.large"])
def test_an_unknown_category_has_no_tags(category: str) -> None:
    assert find_tags(UNIT_TAGS, category) is None


@pytest.mark.parametrize("category", ["bedroom", "residence", "livingroom", "residential.studio"])
def test_homes_are_private(category: str) -> None:
    assert find_tags(UNIT_TAGS, category) == {"indoor": "room", "access": "private"}


# What is wrong with a venue is named with its place, and the rest is read.

NOWHERE = {"id": "nowhere", "feature_type": "unit"}


@pytest.mark.parametrize(
    ("kind", "change", "note"),
    [
        ("unit", set_property(1, "category", "ballroom"), "unit category ballroom, read as a room"),
        ("unit", set_property(1, "category", None), "unit category missing, read as a room"),
        ("opening", set_property(2, "category", "hatch"), "opening category hatch, read as a door"),
        ("amenity", set_property(0, "unit_ids", []), "amenity on no unit"),
        ("occupant", set_property(0, "anchor_id", None), "occupant without anchor"),
        ("relationship", set_property(0, "category", "slide"), "relationship slide"),
    ],
)
def test_unknown_terms_are_noted_with_their_id(kind: str, change: VenueChange, note: str) -> None:
    members = changed(kind, change)
    ids = {feature["id"] for feature in json.loads(members[f"{kind}.geojson"])["features"]}
    (found,) = read_imdf(members).notes
    assert found.message == note
    assert ids.issuperset(found.examples)


def test_files_that_are_not_read_are_named() -> None:
    drawing = read_imdf(make_venue() | {"section.geojson": b"", "readme.txt": b""})
    assert [str(note) for note in drawing.notes] == [
        "file not read: 2 (readme.txt, section.geojson)"
    ]


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("unit", set_property(0, "level_id", "attic"), "level_id is 'attic', which no level has"),
        ("unit", set_member(0, "geometry", None), "geometry is missing; a unit has one"),
        ("unit", lambda units: units.clear(), "refers to unit '.*', which is not there"),
        ("level", set_property(0, "ordinal", "first"), "ordinal is 'first'; expected a number"),
        ("opening", set_property(0, "level_id", "attic"), "level_id is 'attic'"),
        ("amenity", set_property(0, "unit_ids", ["x"]), "refers to unit 'x', which is not there"),
        ("occupant", set_property(0, "anchor_id", "x"), "refers to anchor 'x', which is not there"),
        ("anchor", set_property(0, "unit_id", "x"), "refers to unit 'x', which is not there"),
        ("anchor", set_member(0, "geometry", None), "geometry is missing; expected a Point"),
        ("relationship", set_property(0, "origin", NOWHERE), "refers to unit 'nowhere'"),
    ],
)
def test_a_broken_venue_is_an_error_with_file_and_feature(
    kind: str, change: VenueChange, message: str
) -> None:
    members = changed(kind, change)
    with pytest.raises(InvalidPlanError, match=message) as error:
        read_imdf(members, strict=True)
    assert re.match(r".*\.geojson(, line \d+)?: ", str(error.value), re.DOTALL)


def test_a_broken_feature_does_not_end_the_reading() -> None:
    members = changed("occupant", set_property(0, "anchor_id", "x"))
    whole, drawing = read_imdf(make_venue()), read_imdf(members)
    (lost,) = {f.id for f in whole.features} - {f.id for f in drawing.features}
    (fault,) = drawing.faults
    assert (fault.part, fault.file) == (lost, "occupant.geojson")
    assert fault.message == f"occupant {lost} refers to anchor 'x', which is not there"
    assert [str(note) for note in drawing.notes] == [f"left out, reference to nothing: 1 ({lost})"]


def test_a_fault_has_the_position_and_the_level_of_its_feature() -> None:
    whole = read_imdf(make_venue())
    without_level = read_imdf(changed("opening", set_property(0, "level_id", "attic")))
    (fault,) = without_level.faults
    opening = next(feature for feature in whole.features if feature.id == fault.part)
    assert fault.position in list(iter_coordinates(opening.geometry))
    assert fault.levels == ()
    unit = make_feature("unit", 0)
    (fault,) = read_imdf(changed("unit", set_member(0, "geometry", None))).faults[:1]
    assert fault.levels == (unit["properties"]["level_id"],)


def test_the_fault_of_what_is_in_a_unit_has_the_level_of_the_unit() -> None:
    whole, drawing = (
        read_imdf(each)
        for each in (make_venue(), changed("anchor", set_member(0, "geometry", None)))
    )
    (lost,) = (feature for feature in whole.features if feature not in drawing.features)
    assert {fault.part: fault.levels for fault in drawing.faults} == {lost.id: lost.levels}


def test_all_that_is_on_a_level_that_is_left_out_is_one_fault() -> None:
    def disorder(levels: list[Any]) -> None:
        levels[0]["properties"] |= {"ordinal": None, "name": {"en": "Hall"}, "short_name": None}

    whole, drawing = (read_imdf(each) for each in (make_venue(), changed("level", disorder)))
    level = make_feature("level", 0)
    first, second = drawing.faults
    assert first.message == f"level {level['id']} (Hall): ordinal is None; expected a number"
    lost = {feature.id for feature in whole.features} - {feature.id for feature in drawing.features}
    assert second.elements == len(lost - {level["id"]}) > 2
    assert second.message == (
        f"unit {second.part} ({second.name}) and {second.elements - 1} more: level_id is "
        f"{level['id']!r}, but level {level['id']} (Hall) is left out"
    )
    [_, note] = [note for note in drawing.notes if note.message.startswith("left out")]
    assert note.count == second.elements


@pytest.mark.parametrize("name", ["level.geojson", "unit.geojson"])
def test_a_missing_member_is_an_error_that_names_it(name: str) -> None:
    members = make_venue()
    del members[name]
    with pytest.raises(InvalidPlanError, match=f"{name} is missing; an IMDF archive has"):
        read_imdf(members)


@pytest.mark.parametrize("name", ["manifest.json", "venue.geojson"])
def test_a_missing_member_that_is_not_needed_is_named(name: str) -> None:
    members = make_venue()
    del members[name]
    assert [str(fault) for fault in read_imdf(members).faults] == [f"{name} is missing"]


def test_two_venues_in_one_archive_are_an_error() -> None:
    one = {f"a/{name}": content for name, content in make_venue().items()}
    with pytest.raises(InvalidPlanError, match="is there twice; an archive holds one venue"):
        read_imdf(one | {"b/unit.geojson": b""})


@pytest.mark.parametrize("name", ["manifest.json", "venue.geojson", "amenity.geojson"])
def test_a_broken_file_that_archives_may_lack_is_left_out(name: str) -> None:
    drawing = read_imdf(make_venue() | {name: b'{"type": "Feat'})
    (fault,) = drawing.faults
    assert (fault.cause, fault.file) == ("left out, broken file", name)
    assert drawing.features


def test_all_files_that_are_missing_or_broken_are_named_at_once() -> None:
    members = make_venue() | {"unit.geojson": b"{"}
    del members["level.geojson"]
    with pytest.raises(InvalidPlanError) as error:
        read_imdf(members)
    assert re.match(r"(?s)level.geojson is missing.*\nunit.geojson: not JSON", str(error.value))


@pytest.mark.parametrize(
    ("labels", "language", "label"),
    [
        ({"da": "Bageri", "en": "Bakery"}, "da", "Bageri"),
        ({"da": "Bageri", "en": "Bakery"}, "de", "Bakery"),
        ({"da": "Bageri"}, "de", "Bageri"),
        (None, "de", ""),
    ],
)
def test_a_label_falls_back_to_english_then_to_the_first(
    labels: dict[str, str] | None, language: str, label: str
) -> None:
    assert pick_label(labels, language) == label


def test_folders_and_files_of_operating_systems_are_stripped() -> None:
    members = {"hall/unit.geojson": b"1", "__MACOSX/unit.geojson": b"", "hall/.DS_Store": b""}
    assert strip_folders(members) == {"unit.geojson": b"1"}
    assert strip_folders({"hall\\unit.geojson": b"1"}) == {"unit.geojson": b"1"}


def test_properties_of_another_type_count_as_missing() -> None:
    record = ImdfRecord(
        "a", "unit", "u1", {"category": 3, "accessibility": ["wheelchair", None]}, None
    )
    assert record.get_text("category") == ""
    assert record.get_texts("accessibility") == ["wheelchair"]
    assert record.get_texts("category") == []


def unit(**changes: Any) -> GeoJsonFeature:
    written = {"type": "Feature", "id": "u1", "feature_type": "unit", "properties": {}, **changes}
    return GeoJsonFeature("unit.geojson", "features[0]", written)


def test_records_are_returned_by_id() -> None:
    record = ImdfRecord("unit.geojson", "unit", "u1", {}, None)
    assert parse_records([unit()], "unit", NoteCollector()) == {"u1": record}
    assert parse_records([], "unit", NoteCollector()) == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"feature_type": "level"}, "unit.geojson: u1 has feature_type 'level'; expected 'unit'"),
        ({"id": None}, "unit.geojson: features[0] has no id"),
        (
            {"id": None, "properties": {"name": {"en": "Bar"}}},
            "unit.geojson: 'Bar' (features[0]) has no id",
        ),
        ({"properties": None}, "unit.geojson: u1 has no properties"),
    ],
)
def test_a_faulty_feature_is_left_out_and_named(changes: dict[str, Any], message: str) -> None:
    collector = NoteCollector()
    records = parse_records([unit(id="u2"), unit(**changes)], "unit", collector)
    assert list(records) == ["u2"]
    assert [str(fault) for fault in collector.faults] == [message]


def test_the_first_feature_of_an_id_counts() -> None:
    collector = NoteCollector()
    features = [unit(properties={"category": "room"}), unit()]
    assert parse_records(features, "unit", collector)["u1"].get_text("category") == "room"
    assert [str(f) for f in collector.faults] == ["unit.geojson: u1 is there twice; ids are unique"]


def test_the_type_of_a_feature_may_be_among_its_properties() -> None:
    feature = unit(feature_type=None, properties={"feature_type": "unit"})
    assert list(parse_records([feature], "unit", NoteCollector())) == ["u1"]


def test_the_manifest_gives_the_language() -> None:
    manifest = b'{"version": "1.0.0", "language": "da"}'
    assert parse_language(manifest, NoteCollector()) == "da"
    with pytest.raises(InvalidPlanError, match=r"version is 2.0.0; 1.0.0 is read"):
        parse_language(b'{"version": "2.0.0"}', NoteCollector())


@pytest.mark.parametrize("manifest", [b"[]", b"{}", b'{"version": 1}'])
def test_a_manifest_without_version_is_a_fault(manifest: bytes) -> None:
    collector = NoteCollector()
    assert parse_language(manifest, collector) == ""
    assert str(collector.faults[0]).startswith("manifest.json: version is missing; expected")
