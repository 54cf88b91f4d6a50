import pytest

from tests.parsing.tree import parse_shapes


@pytest.mark.parametrize(
    ("origin", "x", "y"),
    [
        ("center", 100, 50),
        ("left top", 0, 0),
        ("bottom", 100, 100),
        ("top right", 200, 0),
        ("25% 10px", 50, 10),
        ("1in", 96, 50),
    ],
)
def test_a_transform_turns_around_its_origin(origin: str, x: int, y: int) -> None:
    (shape,) = parse_shapes(f'<path transform="rotate(9)" transform-origin="{origin}"/>')
    around = f"translate({x} {y}) rotate(9) translate({-x} {-y})" if x or y else "rotate(9)"
    assert shape["transform"] == around


def test_the_origin_may_lie_in_the_shapes_own_box() -> None:
    (shape,) = parse_shapes(
        '<rect x="10" y="20" width="40" height="60" transform="scale(2)"'
        ' style="transform-box:fill-box;transform-origin:center"/>'
    )
    assert shape["transform"] == "translate(30 50) scale(2) translate(-30 -50)"


def test_an_origin_of_a_group_moves_its_shapes() -> None:
    (shape,) = parse_shapes('<g transform="rotate(9)" transform-origin="1 2"><path/></g>')
    assert shape["transform"] == "translate(1 2) rotate(9) translate(-1 -2)"


def test_single_transforms_come_before_the_list() -> None:
    style = "scale:50%;rotate:.25turn;translate:3px 4px;transform:skewX(1deg)"
    (shape,) = parse_shapes(f'<path style="{style}"/>')
    assert shape["transform"] == "translate(3,4) rotate(90) scale(0.5) skewX(1)"


@pytest.mark.parametrize(
    ("declared", "transform"),
    [
        ("rotate:z 30deg", "rotate(30)"),
        ("rotate:30deg z", "rotate(30)"),
        ("rotate:0 0 1 30deg", "rotate(30)"),
        ("scale:2", "scale(2)"),
        ("scale:2 3 4", "scale(2,3)"),
        ("translate:3px 4px 5px", "translate(3,4)"),
        ("translate:1em", "translate(16,0)"),
    ],
)
def test_single_transforms_may_name_the_third_axis(declared: str, transform: str) -> None:
    (shape,) = parse_shapes(f'<path style="{declared}"/>')
    assert shape["transform"] == transform


@pytest.mark.parametrize(
    "declared",
    [
        "rotate:50%",
        "rotate:var(--no,)",
        "rotate:x 30deg",
        "translate:5",
        "scale:2,3",
        "scale:1 2 3 4",
        "rotate:none",
    ],
)
def test_single_transforms_in_error_or_space_do_nothing(declared: str) -> None:
    assert parse_shapes(f'<path style="{declared}"/>') == [{"type": "Path"}]
