from parsing.limits import DEFAULT_LIMITS
from parsing.svg.definitions import Definitions
from parsing.svg.geometry.clipping import ClipBox
from parsing.svg.geometry.lengths import Viewport
from parsing.svg.inheritance import InheritedStyle
from parsing.svg.style.resolving import StyleResolver

CANVAS = InheritedStyle(Viewport(40, 20))
RECT = {"x": "10", "width": "20", "height": "50%"}


def resolver(style_sheet: str = "") -> StyleResolver:
    return StyleResolver(b"", Definitions(style_sheet), lambda *_: None, DEFAULT_LIMITS)


def test_a_shape_is_drawn_with_its_own_attributes_then_those_of_its_groups() -> None:
    styles = resolver(".wall { fill: gray }")
    inside = styles.inherit("g", {"class": "wall", "stroke": "red"}, CANVAS)
    pieces, is_visible, specified = styles.draw("Path", {"d": "M0 0"}, inside, is_whole=False)
    assert pieces == (("Path", {"d": "M0 0", "stroke": "red", "fill": "gray"}),)
    assert is_visible
    assert specified == pieces[0][1]


def test_a_group_that_sets_nothing_has_the_style_around_it() -> None:
    assert resolver().inherit("g", {"id": "walls"}, CANVAS) is CANVAS


def test_the_lengths_of_a_rect_are_numbers() -> None:
    ((_, values),), _, _ = resolver().draw("Rect", RECT, CANVAS, is_whole=False)
    assert values == {"x": 10, "width": 20, "height": 10}


def test_a_unit_is_never_cut_and_what_is_cut_away_is_invisible() -> None:
    inside = CANVAS._replace(is_inner=True, clips=(ClipBox(0, 0, 5, 5),))
    _, is_cut_visible, _ = resolver().draw("Rect", RECT, inside, is_whole=False)
    _, is_unit_visible, _ = resolver().draw("Rect", RECT, inside, is_whole=True)
    assert is_unit_visible
    assert not is_cut_visible
