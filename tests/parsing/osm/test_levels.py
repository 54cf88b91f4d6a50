import pytest

from parsing.osm.levels import (
    UnreadableLevelError,
    expand_spans,
    find_level_in_name,
    format_level,
    normalize_levels,
    parse_levels,
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
