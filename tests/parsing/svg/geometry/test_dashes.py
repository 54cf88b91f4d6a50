import pytest

from parsing.svg.geometry.dashes import shift_dashes, split_dashes
from tests.parsing.tree import parse_shapes


@pytest.mark.parametrize(
    ("dashes", "offset", "shifted"),
    [
        ([10, 20], 0, "10 20 0 0"),
        ([10, 20], 4, "6 20 4 0"),
        ([10, 20], 14, "0 16 10 4"),
        ([10, 20], 34, "6 20 4 0"),
        ([10, 20], -10, "0 10 10 10"),
        ([5], 2, "3 5 2 0"),
        ([0, 0], 2, "none"),
        ([-1, 5], 2, "none"),
    ],
)
def test_dashes_begin_within_the_pattern(dashes: list[float], offset: float, shifted: str) -> None:
    assert shift_dashes(dashes, offset) == shifted


def test_lists_of_dashes_have_commas_or_spaces() -> None:
    assert split_dashes(" 1, 2 3px") == ["1", "2", "3px"]
    assert split_dashes("none") == []


def test_an_offset_is_part_of_the_dashes() -> None:
    dashed = '<path stroke-dasharray="1em 20" stroke-dashoffset="4" font-size="10"/>'
    (shape,) = parse_shapes(dashed)
    assert shape == {"stroke-dasharray": "6 20 4 0", "type": "Path"}
