import pytest

from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.svg.geometry import paths
from parsing.svg.geometry.paths import Subpath, count_arc_chords, flatten_path


@pytest.mark.parametrize(
    ("data", "points"),
    [
        ("M1 2L3 4", [1 + 2j, 3 + 4j]),
        ("m1 2 3 4", [1 + 2j, 4 + 6j]),  # more pairs after a move are lines
        ("M1 2H5V6h-1v-1", [1 + 2j, 5 + 2j, 5 + 6j, 4 + 6j, 4 + 5j]),
        ("M0 0L1-.5.5", None),  # an odd number of coordinates
        ("M0,0A0 5 0 0 1 9 0", [0, 9 + 0j]),  # an arc without radius is a line
        ("M0 0a0 5 0 0110 0", [0, 10 + 0j]),  # flags need no separator
    ],
)
def test_commands_are_relative_in_lower_case(data: str, points: list[complex] | None) -> None:
    if points is None:
        with pytest.raises(InvalidMarkupError, match="d is no path at character"):
            flatten_path(data, 0.1)
    else:
        assert flatten_path(data, 0.1) == [Subpath(points, False)]


def test_closing_returns_to_the_start_and_begins_a_new_subpath() -> None:
    assert flatten_path("M0 0h4v4z l-1 0", 0.1) == [
        Subpath([0j, 4 + 0j, 4 + 4j], True),
        Subpath([0j, -1 + 0j], False),
    ]


def test_a_smaller_tolerance_needs_more_chords_up_to_a_limit() -> None:
    counts = [count_arc_chords(10, 3.14, tolerance) for tolerance in (20, 1, 0.01, 1e-30)]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, paths.MAX_CHORDS)


def test_a_path_over_the_limit_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MAX_PATH_CHARS", 5)
    with pytest.raises(DocumentRejectedError, match="d has 6 characters; at most 5 are read"):
        flatten_path("M0 0h1", 0.1)
