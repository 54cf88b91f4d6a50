from parsing.svg.geometry.lengths import Viewport
from parsing.svg.inheritance import InheritedStyle, drop_inherit
from parsing.svg.style.cascade import ElementStyle

ROOT = InheritedStyle(Viewport(200, 100))


def group(output: dict[str, str] | None = None, **controls: str) -> ElementStyle:
    return ElementStyle(output or {}, controls)


def test_paint_is_inherited_unless_the_shape_has_its_own() -> None:
    inner = ROOT.enter_group(group({"fill": "red", "stroke": "blue"}))
    assert inner.resolve_attributes({"fill": "green"}, "") == {"fill": "green", "stroke": "blue"}
    assert inner.resolve_attributes({"fill": "inherit"}, "")["fill"] == "red"


def test_opacity_multiplies_and_transforms_concatenate() -> None:
    outer = ROOT.enter_group(group({"opacity": "50%", "transform": "scale(2)"}))
    assert outer.resolve_attributes({"opacity": "0.5", "transform": "rotate(1)"}, "") == {
        "opacity": "0.25",
        "transform": "scale(2) rotate(1)",
    }


def test_current_color_is_resolved() -> None:
    assert ROOT.resolve_attributes({"fill": "currentColor"}, "red") == {"fill": "red"}


def test_display_none_hides_all_children_but_visibility_can_be_set_again() -> None:
    not_displayed = ROOT.enter_group(group(display="none")).enter_group(group(display="inline"))
    hidden = ROOT.enter_group(group(visibility="hidden"))
    assert not not_displayed.is_shape_visible({})
    assert not hidden.is_shape_visible({})
    assert hidden.is_shape_visible({"visibility": "visible"})


def test_inherit_is_dropped() -> None:
    assert drop_inherit({"fill": "inherit", "stroke": "red"}) == {"stroke": "red"}
