import pytest

from tests.parsing.tree import parse_shapes


def test_lengths_follow_the_font_size_around_them() -> None:
    circle, rect = parse_shapes(
        '<g font-size="20"><circle r="1em" stroke-width=".1em" stroke-dasharray="1em 2ex"/>'
        '<rect width="2em" height="10vh" font-size="150%"/></g>'
    )
    assert (circle["r"], circle["stroke-width"], circle["stroke-dasharray"]) == ("20", "2", "20 20")
    assert (rect["width"], rect["height"]) == (60, 10)


@pytest.mark.parametrize("style", ["stroke", "markers stroke", "stroke fill markers"])
def test_a_stroke_below_the_fill_is_a_shape_by_itself(style: str) -> None:
    stroke, fill = parse_shapes(f'<path fill="red" stroke="blue" paint-order="{style}"/>')
    assert (stroke["fill"], stroke["stroke"]) == ("none", "blue")
    assert (fill["fill"], fill["stroke"]) == ("red", "none")


@pytest.mark.parametrize("style", ["normal", "fill", "fill stroke", "stroke stroke", "stroke x"])
def test_any_other_order_is_the_usual_one(style: str) -> None:
    assert len(parse_shapes(f'<path stroke="blue" paint-order="{style}"/>')) == 1


def test_rules_set_paths() -> None:
    (shape,) = parse_shapes('<path d="M0 0" style="d:path(&quot;M1 1h2&quot;)"/>')
    assert shape["d"] == "M1 1h2"


def test_rules_for_print_do_not_count() -> None:
    sheet = '<style media="print">path{fill:red}</style><style>@media print{path{stroke:red}} '
    (shape,) = parse_shapes(sheet + "@media screen{path{fill:blue}}</style><path/>")
    assert shape == {"fill": "blue", "type": "Path"}


def test_a_text_without_anything_to_compute_stays_as_written() -> None:
    (shape,) = parse_shapes('<circle r=" 1.50 " stroke-width="25%" fill="URGB"/>')
    assert shape == {"r": " 1.50 ", "stroke-width": "25%", "fill": "URGB", "type": "Circle"}
