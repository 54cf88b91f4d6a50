import pytest

from parsing.drawing import AreaGeometry, Geometry, LinesGeometry, NoteCollector, PointGeometry
from parsing.osm.tags import (
    GeoFeature,
    UnreadableLevelError,
    expand_spans,
    find_category,
    find_level_in_name,
    format_level,
    normalize_levels,
    parse_feet,
    parse_levels,
    translate_tags,
)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("0", (0,)),
        ("-1;0", (-1, 0)),
        ("0;2", (0, 2)),  # not level 1
        ("-2--1", (-2, -1)),
        ("-1-1", (-1, 0, 1)),
        ("0.5", (0.5,)),
        ("0.5-2", (0.5, 1, 2)),
        ("0-2.5", (0, 1, 2, 2.5)),
        (" 1 ; 2 ", (1, 2)),
        ("2-0", (0, 1, 2)),
    ],
)
def test_a_level_tag_names_levels_and_ranges(text: str, levels: tuple[float, ...]) -> None:
    assert expand_spans(parse_levels(text)) == levels


def test_a_range_takes_in_the_levels_known_between_its_ends() -> None:
    assert expand_spans(parse_levels("0-1"), known=(0.5, 7)) == (0, 0.5, 1)


def test_a_range_leaves_out_levels_that_do_not_exist_unless_they_are_named() -> None:
    assert expand_spans(parse_levels("12-14"), absent=(13,)) == (12, 14)
    assert expand_spans(parse_levels("13"), absent=(13,)) == (13,)


@pytest.mark.parametrize("text", ["", "ground", "1;", "1,5", "0-1-2", "1e9", "--1"])
def test_an_invalid_level_is_an_error_with_an_example(text: str) -> None:
    with pytest.raises(UnreadableLevelError, match="expected numbers such as 0"):
        parse_levels(text)


def test_a_range_over_too_many_storeys_is_an_error() -> None:
    with pytest.raises(UnreadableLevelError, match="more than 250 storeys"):
        parse_levels("0-250")
    assert len(expand_spans(parse_levels("0-249"))) == 250


@pytest.mark.parametrize(("level", "key"), [(0.0, "0"), (-0.0, "0"), (-1.0, "-1"), (0.5, "0.5")])
def test_a_level_is_written_as_its_tag_writes_it(level: float, key: str) -> None:
    assert format_level(level) == key


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("0;1", "0;1"),
        ("0;", "0"),
        ("0,5", "0.5"),
        ("0,-1", "0;-1"),  # la-defense.osm
        ("0,1,2", "0;1;2"),
        ("3~3", "3"),
        ("-1~4", "-1-4"),
        ("From -1 to -2", "-1--2"),  # la-defense.osm
        ("EG", "0"),
        ("G;1", "0;1"),
        ("1. OG, 2.OG", "1;2"),
        ("UG", "-1"),
        ("2.UG", "-2"),
        ("B1;L1", "-1;1"),
        ("P1", "P1"),  # a car park may be on any level
        ("attic", "attic"),
    ],
)
def test_other_ways_to_write_levels_are_normalized(text: str, normalized: str) -> None:
    assert normalize_levels(text) == normalized


def test_a_comma_before_a_known_level_separates_levels() -> None:
    assert normalize_levels("4,5", {"4", "5"}) == "4;5"


@pytest.mark.parametrize(
    ("path", "level"),
    [
        ("E_-1.geojson", "-1"),
        ("floor_0.json", "0"),
        ("Level 12.geojson", "12"),
        ("etage2.geojson", "2"),
        ("2F/rooms.geojson", "2"),
        ("tower/B1/rooms.geojson", "-1"),
        ("3rd_floor.geojson", "3"),
        ("house-floor-gf.geojson", "0"),
        ("plan.geojson", ""),
        ("2im_4326.geojson", ""),
    ],
)
def test_the_level_is_found_in_the_name_of_a_file_or_folder(path: str, level: str) -> None:
    assert find_level_in_name(path) == level


# Other tags and units of length mean what Simple Indoor Tagging says in its own.

AREA = AreaGeometry((((0, 0), (1, 0), (1, 1)),))
LINE = LinesGeometry((((0, 0), (1, 0)),))
POINT = PointGeometry((0, 0))


def translate(tags: dict[str, str], geometry: Geometry = AREA) -> tuple[dict[str, str], list[str]]:
    """Return the tags that are new, and the notes."""
    collector = NoteCollector()
    feature = translate_tags(GeoFeature("way/1", tags, geometry), collector)
    new = {key: value for key, value in feature.tags.items() if tags.get(key) != value}
    return new, [str(note) for note in collector.notes()]


def test_a_translation_is_noted() -> None:
    assert translate({"buildingpart": "room"}) == (
        {"indoor": "room"},
        ["buildingpart=room read as indoor=room: 1 (way/1)"],
    )


@pytest.mark.parametrize(
    ("tags", "new"),
    [
        # IndoorOSM
        ({"buildingpart": "hall", "indoor": "yes"}, {"indoor": "room"}),
        (
            {
                "buildingpart": "verticalpassage",
                "buildingpart:verticalpassage": "stairway",
                "buildingpart:verticalpassage:floorrange": "-1 to 2",
            },
            {"indoor": "room", "highway": "steps", "level": "-1 to 2"},
        ),
        (
            {
                "buildingpart": "verticalpassage",
                "buildingpart:verticalpassage:floorrange": "-1 to 2",
                "level": "1",
            },
            {"indoor": "room"},
        ),
        # values met in the wild
        ({"indoor": "Pillar"}, {"indoor": "column"}),
        ({"indoor": "arch"}, {"indoor": "door", "door": "no", "area": "yes"}),
        ({"indoor": "steps"}, {"indoor": "area", "highway": "steps"}),
        ({"indoor": "room", "type": "stairwell"}, {"highway": "steps"}),
        ({"railway": "platform", "level": "0"}, {"indoor": "area"}),
        ({"highway": "steps", "level": "0"}, {"indoor": "area"}),
        # GeoJSON of other tools
        ({"category": "walkway"}, {"indoor": "corridor"}),
        ({"category": "null", "feature_type": "unit"}, {"indoor": "room"}),
        ({"level": "1", "name": "Kitchen"}, {"indoor": "room"}),
        ({"level": "1", "room": "office"}, {"indoor": "room"}),
        ({"level": "1", "room": "restaurant", "amenity": "restaurant"}, {"indoor": "room"}),
        ({"type": "building_outline"}, {"indoor": "level"}),
        ({"level": "1", "name": "Outer Wall"}, {"indoor": "wall", "area": "yes"}),
    ],
)
def test_other_tags_mean_simple_indoor_tagging(tags: dict[str, str], new: dict[str, str]) -> None:
    assert translate(tags)[0] == new


@pytest.mark.parametrize(
    "tags",
    [
        {"indoor": "room", "level": "1", "name": "Hall"},
        {"indoor": "room", "type": "office"},
        {"indoor": "room", "type": "stairwell", "room": "storage"},
        {"building": "yes", "level": "1", "name": "Kiosk"},
        {"leisure": "pitch", "level": "1", "name": "Roof garden"},
        {"level": "1"},
        {"name": "Kitchen"},
        {"room": "no", "level": "1"},
        {"highway": "steps"},  # outdoors
        {"railway": "platform"},
        {"indoor": "room", "highway": "steps", "level": "1"},
    ],
)
def test_other_features_keep_their_tags(tags: dict[str, str]) -> None:
    assert translate(tags) == ({}, [])


def test_only_areas_are_rooms() -> None:
    assert translate({"level": "1", "name": "Kitchen"}, POINT) == ({}, [])
    assert translate({"buildingpart": "room"}, LINE) == ({}, [])
    assert translate({"category": "entrance"}, POINT)[0] == {"entrance": "yes"}


def test_a_passage_of_an_area_graph_is_a_door() -> None:
    assert translate({"osmAG:type": "passage", "level": "1"}, LINE)[0] == {"door": "yes"}


@pytest.mark.parametrize(
    ("category", "is_area", "tags"),
    [
        ("rooms", True, {"indoor": "room"}),
        ("doors", False, {"door": "yes"}),
        ("stairs", True, {"indoor": "room", "highway": "steps"}),
        ("", True, None),
        ("doors", True, {"indoor": "door", "door": "yes", "area": "yes"}),
        ("rooms", False, None),
    ],
)
def test_a_category_may_be_a_plural(
    category: str, is_area: bool, tags: dict[str, str] | None
) -> None:
    assert find_category(category, is_area) == tags


@pytest.mark.parametrize(
    ("text", "feet"),
    [
        ("0.9144", 3.0),
        ("91.44cm", 3.0),
        ("914.4 mm", 3.0),
        ("2'6\"", 2.5),
        ("2 ft 6 in", 2.5),
        ('36"', 3.0),
    ],
)
def test_a_width_is_in_metres_or_in_its_unit(text: str, feet: float) -> None:
    assert parse_feet(text) == pytest.approx(feet)


@pytest.mark.parametrize("text", ["", "wide", "-1", "1,5", "1e3", "0.9 miles"])
def test_invalid_lengths_are_none(text: str) -> None:
    assert parse_feet(text) is None
