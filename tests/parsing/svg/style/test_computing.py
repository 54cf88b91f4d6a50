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


@pytest.mark.parametrize(
    ("declared", "transform"),
    [
        ("transform: translate(10%, 5px)", "translate(20,5)"),
        ("translate: 50% 10%", "translate(100,10)"),
        ("transform: rotate(9deg)", "rotate(9)"),
    ],
)
def test_percentages_of_translations_refer_to_the_canvas(declared: str, transform: str) -> None:
    shapes = parse_shapes(f'<path style="{declared}"/>')
    assert shapes == [{"transform": transform, "type": "Path"}]


@pytest.mark.parametrize("keyword", ["INHERIT", "Unset", "inherit"])
def test_keywords_may_be_in_capitals(keyword: str) -> None:
    sheet = f"<style>.v{{fill:{keyword}}}</style>"
    (shape,) = parse_shapes(f'{sheet}<g fill="pink"><path class="v"/></g>')
    assert shape["fill"] == "pink"


@pytest.mark.parametrize("paint", ["bogus", "#12345", " #ggg ", "url(#missing) bogus", "-moz-x"])
def test_a_paint_in_error_takes_the_one_of_the_group(paint: str) -> None:
    inner, _ = parse_shapes(f'<g fill="pink"><path fill="{paint}"/><path/></g>')
    assert inner["fill"] == "pink"
    (nested,) = parse_shapes(f'<g fill="pink"><g fill="{paint}"><path/></g></g>')
    assert nested["fill"] == "pink"
    (alone,) = parse_shapes(f'<path fill="{paint}"/>')
    assert alone["fill"] == paint.removeprefix("url(#missing) ")  # viewers draw it black


@pytest.mark.parametrize("paint", ["RED", "#1234", "CanvasText", "lab(50% 40 59)", "none"])
def test_a_paint_that_viewers_know_stays(paint: str) -> None:
    (shape,) = parse_shapes(f'<g fill="pink"><path fill="{paint}"/></g>')
    assert shape["fill"] == paint


@pytest.mark.parametrize("offset", ["none", "auto", "calc(2px)", "3"])
@pytest.mark.parametrize("dashes", ["none", "bogus", ""])
def test_an_offset_without_dashes_changes_nothing(dashes: str, offset: str) -> None:
    style = f'stroke-dasharray="{dashes}" stroke-dashoffset="{offset}"'
    (shape,) = parse_shapes(f'<path stroke="red" {style}/>')
    assert shape == {"stroke": "red", "stroke-dasharray": dashes, "type": "Path"}


@pytest.mark.parametrize(
    ("declared", "transform"),
    [
        ("--x:30px;transform:translate(var(--x),10px)", "translate(30,10)"),
        ("--d:30deg;transform:rotate(VAR(--d))", "rotate(30)"),
        ("--x:10px;transform:translateX(var(--x))", "translate(10,0)"),
        ("font-size:20px;transform:translate(1em,2vw)", "translate(20,4)"),
        ("transform:scale(50%)", "scale(0.5)"),
    ],
)
def test_transforms_are_computed_to_what_browsers_read(declared: str, transform: str) -> None:
    (shape,) = parse_shapes(f'<path transform="scale(3)" style="{declared}"/>')
    assert shape["transform"] == transform


def test_a_transform_may_be_inherited_or_reset() -> None:
    inherited, reset = parse_shapes(
        '<g style="transform:translate(20px)"><path style="transform:inherit"/></g>'
        '<path transform="scale(2)" style="transform:unset"/>'
    )
    assert inherited["transform"] == "translate(20,0) translate(20,0)"
    assert "transform" not in reset


def test_paths_may_be_variables() -> None:
    (shape,) = parse_shapes("<path style=\"--d:path('M0 0h9');d:var(--d)\"/>")
    assert shape["d"] == "M0 0h9"


def test_a_relative_length_is_inherited_as_the_group_has_it() -> None:
    group = "font-size:10px;stroke:red;stroke-width:1em;stroke-dasharray:1em 50%"
    shape, inner = parse_shapes(
        f'<g style="{group}"><path style="font-size:20px"/>'
        '<g font-size="30"><path style="stroke-width:1em"/></g></g>'
    )
    assert (shape["stroke-width"], inner["stroke-width"]) == ("10", "30")
    assert shape["stroke-dasharray"].startswith("10 ")


def test_a_variable_that_is_no_value_of_the_property_is_unset() -> None:
    (shape,) = parse_shapes('<g fill="pink"><path style="--w:12px;fill:var(--w)"/></g>')
    assert shape["fill"] == "pink"
