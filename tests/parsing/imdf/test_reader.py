"""A venue of IMDF becomes levels, rooms, doors and connectors in the terms of OpenStreetMap."""

import json
from typing import Any

import pytest

from parsing.archives import unzip
from parsing.drawing import AreaGeometry, LinesGeometry, PointGeometry
from parsing.imdf.terms import OPENING_TAGS, UNIT_TAGS, find_tags
from parsing.plans import read_plan
from samples.venue import make_archive, make_venue
from tests.parsing.imdf.venues import Change, changed, feature_of, read_imdf, set_property


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


def set_categories(count: int) -> Change:
    """A change that makes the first openings ones for vehicles."""

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
