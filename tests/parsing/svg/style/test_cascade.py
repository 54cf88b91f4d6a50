import pytest

from parsing.errors import DocumentRejectedError
from parsing.limits import DEFAULT_LIMITS, DocumentLimits
from parsing.svg.style.cascade import Cascade, ElementStyle
from parsing.svg.style.matching import OUTSIDE
from parsing.svg.style.styles import NO_DECLARATIONS
from tests.parsing.svg.report.drawings import messages_of, warnings_of


def style(sheet: str, **attributes: str) -> ElementStyle:
    names = {name.replace("_", "-"): value for name, value in attributes.items()}
    return Cascade(sheet, DEFAULT_LIMITS).compute_style("rect", names, OUTSIDE)


def test_rules_win_over_attributes_and_style_over_both() -> None:
    assert style("rect{fill:red}", fill="blue").output == {"fill": "red"}
    assert style("rect{fill:red}", fill="blue", style="fill:green").output == {"fill": "green"}
    assert style("rect{fill:red!important}", style="fill:green").output == {"fill": "red"}


def test_the_more_specific_rule_wins() -> None:
    sheet = "#a{fill:red} .b{fill:green} rect{fill:blue} *{fill:black}"
    assert style(sheet).output == {"fill": "blue"}
    assert style(sheet, **{"class": "b"}).output == {"fill": "green"}
    assert style(sheet, id="a", **{"class": "b"}).output == {"fill": "red"}


def test_values_of_a_class_stand_where_the_class_is_written() -> None:
    sheet = ".st0{opacity:0.5;fill:red}"
    with_class = style(sheet, x="1", **{"class": "st0"}, points="0,0")
    with_attributes = style("", x="1", opacity="0.5", fill="red", points="0,0")
    assert [*with_class.output.items()] == [*with_attributes.output.items()]


def test_a_value_of_a_class_that_is_an_attribute_too_stays_in_its_place() -> None:
    overridden = style(".st0{fill:red}", fill="blue", x="1", **{"class": "st0"}, y="2")
    assert [*overridden.output.items()] == [("fill", "red"), ("x", "1"), ("y", "2")]


def test_rendering_properties_are_kept_apart() -> None:
    assert style("rect{display:none;fill:red}") == ElementStyle(
        {"fill": "red"}, {"display": "none"}
    )


def test_a_transform_of_a_rule_replaces_the_attribute_and_is_computed_later() -> None:
    ruled = style("rect{transform:none}", transform="scale(2)")
    assert (ruled.output, ruled.controls) == ({"transform": ""}, {"transform": "none"})


def test_elements_without_a_rule_have_no_declarations() -> None:
    cascade = Cascade("rect{fill:red} #a{fill:red} .b{fill:red}", DEFAULT_LIMITS)
    for name, attributes in [("rect", {}), ("path", {"id": "a"}), ("path", {"class": "b"})]:
        assert cascade.match_rules(name, attributes, OUTSIDE).declarations.normal == {"fill": "red"}
    others = cascade.match_rules("path", {"id": "b", "class": "a"}, OUTSIDE)
    assert others.declarations is NO_DECLARATIONS


def test_styles_are_cached_by_what_is_around_the_element() -> None:
    cascade = Cascade("g rect{fill:red}", DEFAULT_LIMITS)
    inside = cascade.match_rules("g", {}, OUTSIDE).inside
    assert cascade.compute_style("rect", {}, inside).output == {"fill": "red"}
    assert cascade.compute_style("rect", {}, OUTSIDE).output == {}


def test_too_many_rules_are_rejected() -> None:
    with pytest.raises(DocumentRejectedError, match="more than 2 style rules"):
        Cascade("a,b,c{fill:red}", DocumentLimits(style_rules=2))


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        ("transform:rotateX(9deg)", "transform: rotateX(9deg)"),
        ("rotate:x 9deg", "rotate: x 9deg"),
    ],
)
def test_transforms_in_three_dimensions_are_reported(style: str, shown: str) -> None:
    drawing = f'<rect width="9" height="9" style="{style}"/>'
    assert messages_of(drawing, "style") == [f"style is not read or not applied: {shown}"]


def test_flat_transforms_are_not_reported() -> None:
    style = "transform:translateZ(0) rotate(9deg);rotate:none"
    assert "style" not in warnings_of(f'<rect width="9" height="9" style="{style}"/>')
