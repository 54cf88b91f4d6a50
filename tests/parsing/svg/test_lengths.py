"""Lengths, percentages, opacities and dashes."""

import pytest

from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.svg import lengths
from parsing.svg.lengths import (
    LengthCache,
    Viewport,
    format_number,
    int_if_whole,
    parse_length,
    parse_opacity,
    parse_user_units,
    shift_dashes,
    split_dashes,
)
from tests.parsing.parsed_maps import parse_shapes


@pytest.mark.parametrize(
    ("text", "px"),
    [
        ("12", 12), (" 1.5px ", 1.5), ("1in", 96), ("72pt", 96), ("25.4MM", 96),
        ("50%", 100), ("2em", None), ("", None), ("auto", None), ("1 2", None), ("3furlongs", None),
    ],
)  # fmt: skip
def test_lengths_are_in_px(text: str, px: float | None) -> None:
    assert parse_length(text, hundred_percent=200) == (None if px is None else pytest.approx(px))


@pytest.mark.parametrize(("name", "value"), [("width", 30), ("cy", 40), ("r", 35.355339)])
def test_percentages_refer_to_width_height_or_diagonal(name: str, value: float) -> None:
    assert Viewport(30, 40).hundred_percent(name) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "opacity"), [(".5", 0.5), ("50%", 0.5), ("7", 1), ("-1", 0), ("x", 1)]
)
def test_opacity_is_clamped(text: str, opacity: float) -> None:
    assert parse_opacity(text) == opacity


def test_whole_numbers_become_integers() -> None:
    assert repr([int_if_whole(10.0), int_if_whole(0.5)]) == "[10, 0.5]"
    assert parse_user_units("50%", 30, "x", 100) == 15
    assert format_number(1 / 3) == "0.333333333333"


def test_a_length_over_the_limit_is_an_error_that_names_it() -> None:
    with pytest.raises(InvalidMarkupError, match="x is too large a number; at most 100 is read"):
        parse_user_units("101", 0, "x", 100)
    with pytest.raises(DocumentRejectedError):
        parse_length("1" * 101, 0)


def test_the_cache_leaves_percentages_open_and_stays_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lengths, "MAX_CACHED_LENGTHS", 2)
    cache = LengthCache(1_000)
    assert [cache["1in"], cache["10%"], cache["x"]] == [96, None, None]
    assert len(cache) == 1


@pytest.mark.parametrize(
    ("dashes", "offset", "shifted"),
    [
        ([10, 20], 0, "10 20 0 0"),
        ([10, 20], 4, "6 20 4 0"),
        ([10, 20], 14, "0 16 10 4"),
        ([10, 20], 34, "6 20 4 0"),
        ([10, 20], -10, "0 10 10 10"),
        ([5], 2, "3 5 2 0"),
        ([0, 5], 2, "0 3 0 2"),
        ([0, 0], 2, "none"),
        ([-1, 5], 2, "none"),
    ],
)
def test_dashes_begin_within_the_pattern(dashes: list[float], offset: float, shifted: str) -> None:
    assert shift_dashes(dashes, offset) == shifted


def test_lists_of_dashes_have_commas_or_spaces() -> None:
    assert split_dashes(" 1, 2 3px") == ["1", "2", "3px"]
    assert split_dashes("none") == []
    assert [len(split_dashes("1 " * number)) for number in (1_000, 1_001)] == [1_000, 0]


def test_an_offset_is_part_of_the_dashes() -> None:
    dashed = '<path stroke-dasharray="1em 20" stroke-dashoffset="4" font-size="10"/>'
    (shape,) = parse_shapes(dashed)
    assert shape == {"stroke-dasharray": "6 20 4 0", "type": "Path"}
