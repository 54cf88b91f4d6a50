import pytest

from parsing.osm.levels import UnreadableLevelError, expand_spans, format_level, parse_levels


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("0", (0,)),
        ("-1;0", (-1, 0)),
        ("0;2", (0, 2)),  # not level 1
        ("0-3", (0, 1, 2, 3)),
        ("-2--1", (-2, -1)),
        ("-1-1", (-1, 0, 1)),
        ("0.5", (0.5,)),
        ("0.5-2", (0.5, 1, 2)),
        (" 1 ; 2 ", (1, 2)),
        ("2-0", (0, 1, 2)),
        ("1;1", (1,)),
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
        parse_levels("0-9999")


@pytest.mark.parametrize(("level", "key"), [(0.0, "0"), (-0.0, "0"), (-1.0, "-1"), (0.5, "0.5")])
def test_a_level_is_written_as_its_tag_writes_it(level: float, key: str) -> None:
    assert format_level(level) == key
