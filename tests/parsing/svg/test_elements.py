"""The parts of a drawing, as its readers are called back with them, and their attributes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsing.drawing import NoteCollector
from parsing.errors import InvalidMarkupError, ParsingError
from parsing.svg.elements import (
    DrawingHandler,
    DrawnGeoreference,
    DrawnGroup,
    DrawnShape,
    RejectedShape,
    ShapeContainer,
    format_tags,
    parse_georeference,
    parse_tags,
)
from parsing.svg.floor_plan import read_svg_plan
from parsing.svg.unit_map import parse_unit_map
from parsing.svg.walk_drawing import walk_drawing
from tests.parsing.parsed_maps import parse_drawing
from tests.parsing.strategies import broken_drawings, drawings

END = "end"


class Parts(DrawingHandler):
    """A handler that keeps the parts of a drawing in order."""

    def __init__(self) -> None:
        self.all: list[Any] = []

    def set_canvas_size(self, width: int, height: int) -> None:
        self.all.append((width, height))

    def start_group(self, group: DrawnGroup) -> None:
        self.all.append(group)

    def end_group(self) -> None:
        self.all.append(END)

    def add_georeference(self, georeference: DrawnGeoreference) -> None:
        self.all.append(georeference)

    def add_shape(self, shape: DrawnShape) -> None:
        self.all.append(shape)

    def reject_shape(self, error: InvalidMarkupError, shape: RejectedShape) -> None:
        raise error


def to_bytes(body: str) -> bytes:
    return f'<svg viewBox="0 0 40 20">{body}</svg>'.encode()


def parts_of(body: str) -> list[Any]:
    parts = Parts()
    walk_drawing(to_bytes(body), parts)
    return parts.all


def shapes_of(body: str) -> list[DrawnShape]:
    return [part for part in parts_of(body) if isinstance(part, DrawnShape)]


def test_a_handler_is_called_in_document_order_the_canvas_first() -> None:
    assert parts_of(
        '<g data-type="Georeference" data-latitude="1" data-longitude="2.5"/>'
        '<g data-type="Level" id="one"><g><path d="M0 0"/></g></g>'
    ) == [
        (40, 20),
        DrawnGeoreference(1, 2.5, 0, 0, 0),
        DrawnGroup("Level", "one"),
        DrawnGroup("Layer"),
        DrawnShape(
            "Path",
            {"d": "M0 0"},
            {"d": "M0 0"},
            ShapeContainer(DrawnGroup("Level", "one")),
            None,
            True,
            ordinal=5,
        ),
        END,
        END,
    ]


@pytest.mark.parametrize(
    ("attributes", "group"),
    [
        ("", DrawnGroup("Layer")),
        ('id="a" data-tags="a=1"', DrawnGroup("Layer")),  # only a Level has a name and tags
        ('data-type="UnitLayer" id="a"', DrawnGroup("UnitLayer")),
        ('data-type="HitAreaLayer" data-tags="a=1"', DrawnGroup("HitAreaLayer")),
        ('data-type="Level" id="a"', DrawnGroup("Level", "a")),
        ('data-type="Level" id="a" data-name="b"', DrawnGroup("Level", "a")),
        (
            'data-type="Level" id="a" data-tags="a=1;b=2"',
            DrawnGroup("Level", "a", {"a": "1", "b": "2"}),
        ),
        ('data-type="Level" data-tags=""', DrawnGroup("Level", "", None)),
    ],
)
def test_a_group_has_a_kind_and_a_level_also_an_id_and_tags(
    attributes: str, group: DrawnGroup
) -> None:
    assert parts_of(f"<g {attributes}/>")[1:] == [group, END]


@pytest.mark.parametrize(
    ("body", "level", "layer"),
    [
        ("<path/>", None, ""),
        ('<g data-type="Level" id="a"><g><path/></g></g>', "a", ""),
        ('<g data-type="Level" id="a"><g data-type="UnitLayer"/><path/></g>', "a", ""),
        (
            '<g data-type="Level" id="a"><g data-type="HitAreaLayer"><g><path/></g></g></g>',
            "a",
            "HitAreaLayer",
        ),
        ('<g data-type="Level" id="a"/><g data-type="Level" id="b"><path/></g>', "b", ""),
        ('<g data-type="Level" id="a"/><path/>', None, ""),
    ],
)
def test_a_shape_knows_the_level_and_layer_around_it(
    body: str, level: str | None, layer: str
) -> None:
    ((around, found, _),) = (shape.container for shape in shapes_of(body))
    assert (around.id if around else None, found) == (level, layer)


def test_the_shapes_of_a_level_share_its_group() -> None:
    """Two levels with equal contents stay two: readers compare groups by identity."""
    one = '<g data-type="Level" id="a"><path/><g><path/></g></g>'
    first, second, third, fourth = (shape.container.level for shape in shapes_of(one * 2))
    assert first is second and third is fourth
    assert first is not third and first == third


@pytest.mark.parametrize(
    ("body", "attributes", "source"),
    [
        ('<path d="M0 0" id="a"/>', {"d": "M0 0"}, {"d": "M0 0", "id": "a"}),
        (
            '<style>.a{fill:red}</style><path class="a" data-tags="b=1"/>',
            {"fill": "red"},
            {"class": "a", "data-tags": "b=1"},
        ),
        (
            '<g fill="red" transform="scale(2)"><path/></g>',
            {"fill": "red", "transform": "scale(2)"},
            {},
        ),
        ('<rect width="50%"/>', {"width": 20}, {"width": "50%"}),
    ],
)
def test_a_shape_has_the_attributes_of_the_output_and_those_that_are_written(
    body: str, attributes: dict[str, object], source: dict[str, str]
) -> None:
    (shape,) = shapes_of(body)
    assert (dict(shape.attributes), dict(shape.source)) == (attributes, source)


@pytest.mark.parametrize(
    "hiding",
    [
        'display="none"',
        'visibility="hidden"',
        'style="visibility:collapse"',
        'requiredExtensions="http://example.org/"',
        'systemLanguage="tlh"',
    ],
)
def test_a_hidden_shape_is_a_part_for_the_reader_to_judge(hiding: str) -> None:
    """The floor-plan reader takes it where the unit-map writer does not."""
    shape = '<rect width="9" height="9" data-tags="indoor=room"/>'
    for body in (shape.replace("/>", f" {hiding}/>"), f"<g {hiding}>{shape}</g>"):
        assert [shape.is_visible for shape in shapes_of(body + shape)] == [False, True]
        level = f'<g data-type="Level">{body}</g>'
        assert len(read_svg_plan(to_bytes(level), 1.0, NoteCollector()).features) == 1
        assert b"Rect" not in parse_unit_map(to_bytes(level)).json


@given(drawings() | broken_drawings())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_drawing_has_one_canvas_first_and_an_end_for_each_group(svg: bytes) -> None:
    parts, is_complete = Parts(), False
    with suppress(ParsingError):
        walk_drawing(svg, parts)
        is_complete = True
    if not parts.all:
        assert not is_complete
        return
    width, height = parts.all[0]
    assert width >= 1 and height >= 1
    depth = 0
    for part in parts.all[1:]:
        assert isinstance(part, DrawnGroup | DrawnGeoreference | DrawnShape) or part == END
        depth += isinstance(part, DrawnGroup) - (part == END)
        assert depth >= 0
    assert depth == 0 or not is_complete


def test_zoom_bearing_and_pitch_are_zero_by_default() -> None:
    attributes = {"data-latitude": " 56.5 ", "data-longitude": "1e1"}
    assert parse_georeference(attributes, 1_000) == DrawnGeoreference(56.5, 10, 0, 0, 0)


@pytest.mark.parametrize(
    ("longitude", "reason"),
    [
        (None, "a Georeference needs data-longitude, a number"),
        ("10px", "data-longitude is '10px'; expected a number"),
        ("1001", "data-longitude is too large a number; at most 1,000 is read"),
    ],
)
def test_an_invalid_number_is_an_error_with_its_attribute(
    longitude: str | None, reason: str
) -> None:
    attributes = {"data-latitude": "1"} | ({"data-longitude": longitude} if longitude else {})
    with pytest.raises(InvalidMarkupError, match=reason):
        parse_georeference(attributes, 1_000)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        (" building = 1 ;\n floor = 2 ; ", {"building": "1", "floor": "2"}),
        ("name=A=B", {"name": "A=B"}),
        ("name=a\\;b;c=d", {"name": "a;b", "c": "d"}),
        ("name=", {"name": ""}),
        ("svg:id=\\n", {"svg:id": "\\n"}),
        ("", {}),
    ],
)
def test_tags_are_pairs(text: str, tags: dict[str, str]) -> None:
    assert parse_tags(text) == tags


@given(st.text(st.sampled_from("ab=; \\"), max_size=12))
def test_tags_survive_being_written(text: str) -> None:
    try:
        tags = parse_tags(text)
    except InvalidMarkupError:
        return
    assert parse_tags(format_tags(tags)) == tags


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("building", "data-tags has 'building'; expected key=value pairs joined by ;"),
        ("a=1;=2", "data-tags has '=2'"),
        ("a=1;a=2", "data-tags gives 'a' twice"),
    ],
)
def test_an_invalid_pair_is_an_error_with_its_position(text: str, reason: str) -> None:
    with pytest.raises(InvalidMarkupError) as caught:
        parse_drawing(f'\n<g data-type="Level" data-tags="{text}"/>')
    assert reason in caught.value.message
    assert (caught.value.line, caught.value.column) == (2, 1)


def test_tags_of_shapes_are_not_shown_and_not_checked() -> None:
    assert parse_drawing('<path data-tags="what ever"/>')["elements"] == [{"type": "Path"}]
