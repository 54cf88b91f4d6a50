import json
import re
from pathlib import Path

import pytest

from parsing.drawing import AreaGeometry, Drawing, LinesGeometry, NoteCollector
from parsing.errors import InvalidPlanError
from parsing.svg import floor_plan

DEMO = Path(__file__).parents[3] / "samples/demo"


def read(body: str, feet_per_unit: float = 0.1) -> Drawing:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">{body}</svg>'
    return floor_plan.read_svg_plan(svg.encode(), feet_per_unit, NoteCollector(), file="hall.svg")


def level(body: str, tags: str = "floor=f1") -> str:
    return f'<g data-type="Level" data-tags="{tags}">{body}</g>'


def test_shapes_with_tags_are_features_on_the_floor_of_their_level() -> None:
    drawing = read(
        level('<rect id="lobby" width="10" height="5" data-tags="indoor=area;name=Tea\\;coffee"/>')
    )
    (lobby,) = drawing.features
    assert lobby.id == "lobby"
    assert lobby.levels == ("f1",)
    assert lobby.tags == {"indoor": "area", "name": "Tea;coffee"}
    assert lobby.geometry == AreaGeometry((((0, 0), (10, 0), (10, 5), (0, 5)),), nonzero=True)
    assert drawing.levels[0].floor_id == "f1"
    assert drawing.feet_per_unit == 0.1


def test_shapes_of_the_unit_layer_are_rooms_of_their_units() -> None:
    drawing = read(
        level(
            '<g data-type="UnitLayer"><rect id="u101" width="5" height="5"/>'
            '<rect data-id="u 102" x="5" width="5" height="5" data-tags="wheelchair=no"/></g>'
            '<g data-type="HitAreaLayer"><rect id="hitu101" width="5" height="5"/></g>'
        )
    )
    assert [(f.unit_id, f.tags) for f in drawing.features] == [
        ("u101", {"indoor": "room"}),
        ("u 102", {"wheelchair": "no", "indoor": "room"}),
    ]
    assert drawing.notes == ()


def test_names_are_markup_of_plans_too() -> None:
    drawing = read(
        '<g id="Level 2: floor=f2"><g id="Unit Layer"><g id="u101"><rect width="5" height="5"/>'
        '</g></g></g><g id="Level 3"><rect width="5" height="5" data-tags="indoor=room"/></g>'
    )
    assert [(level.id, level.floor_id) for level in drawing.levels] == [
        ("f2", "f2"),
        ("Level 3", None),
    ]
    assert drawing.features[0].unit_id == "u101"
    [note] = drawing.notes
    assert str(note) == (
        "group read by its name: 3 (Level 2: floor=f2, line 1, Unit Layer, line 1, Level 3, line 1)"
    )


def test_transforms_are_applied_from_the_outside_in() -> None:
    drawing = read(
        '<g transform="translate(100,0)">'
        + level('<g transform="scale(2)"><path transform="rotate(90)" d="M0 0h4v2z"'
                ' data-tags="indoor=area"/></g>')
        + "</g>"
    )  # fmt: skip
    (area,) = drawing.features
    assert isinstance(area.geometry, AreaGeometry)
    assert [tuple(map(round, at)) for at in area.geometry.rings[0]] == [(100, 0), (100, 8), (96, 8)]


def test_the_view_box_starts_at_the_origin() -> None:
    svg = b"""<svg viewBox="100 200 50 50"><g data-type="Level" data-tags="floor=f">
        <line x1="100" y1="200" x2="110" y2="200" data-tags="indoor=wall"/></g></svg>"""
    (wall,) = floor_plan.read_svg_plan(svg, 1.0, NoteCollector()).features
    assert wall.geometry == LinesGeometry((((0, 0), (10, 0)),))


def test_curves_are_within_a_centimetre_at_any_scale() -> None:
    circle = '<g transform="scale(10)"><circle r="3" data-tags="indoor=area"/></g>'
    for feet_per_unit in (0.01, 1.0):
        (column,) = read(level(circle), feet_per_unit).features
        assert isinstance(column.geometry, AreaGeometry)
        ring = column.geometry.rings[0]
        x, y = ((a + b) / 2 for a, b in zip(ring[0], ring[1], strict=True))
        off_feet = (30 - (x * x + y * y) ** 0.5) * feet_per_unit
        assert 0 < off_feet <= 0.0329


@pytest.mark.parametrize(
    ("shape", "is_area"),
    [
        ('<polyline points="0,0 9,0 9,9" data-tags="indoor=room"/>', True),
        ('<polyline points="0,0 9,0 9,9" data-tags="indoor=wall"/>', False),
        ('<polygon points="0,0 9,0 9,9" data-tags="indoor=wall"/>', True),
        ('<polygon points="0,0 9,0 9,9" fill="none" data-tags="indoor=wall"/>', False),
        ('<path d="M0 0L9 0" data-tags="door=yes"/>', False),
        ('<path d="M0 0L9 0L9 9z" data-tags="door=yes"/>', True),
    ],
)
def test_spaces_and_closed_shapes_are_areas_and_walls_without_fill_are_lines(
    shape: str, is_area: bool
) -> None:
    (feature,) = read(level(shape)).features
    assert isinstance(feature.geometry, AreaGeometry) == is_area


def test_the_fill_rule_goes_along() -> None:
    ring = 'd="M0 0h9v9h-9z M3 3h3v3h-3z" data-tags="indoor=corridor"'
    drawing = read(level(f'<path {ring}/><path fill-rule="evenodd" {ring}/>'))
    areas = [f.geometry for f in drawing.features if isinstance(f.geometry, AreaGeometry)]
    assert [area.nonzero for area in areas] == [True, False]


def test_a_level_without_a_floor_goes_by_its_id() -> None:
    room = '<rect width="5" height="5" data-tags="indoor=room"/>'
    assert [(level.id, level.floor_id) for level in read(room).levels] == [("", None)]
    drawing = read(f'<g data-type="Level" id="ground">{room}</g>' + level(room, ""))
    assert [(level.id, level.floor_id) for level in drawing.levels] == [
        ("ground", None),
        ("Level 2", None),
    ]


def test_features_without_an_id_are_numbered_within_their_level() -> None:
    rooms = '<rect width="5" height="5" data-tags="indoor=room"/>' * 2
    again = '<rect id="a" width="5" height="5" data-tags="indoor=room"/>' * 2
    assert [f.id for f in read(level(rooms + again)).features] == ["f1#1", "f1#2", "a", "a#2"]


def test_shapes_outside_the_plan_are_noted() -> None:
    room = '<rect width="5" height="5" data-tags="indoor=room"/>'
    drawing = read(
        level(
            room + '<rect width="9" height="9"/><circle data-tags="indoor=room" id="dot"/>'
            '<g data-type="UnitLayer"><rect width="5" height="5"/></g>'
        )
        + level(room)
        + '<rect id="out" width="5" height="5" data-tags="indoor=area"/>'
    )
    assert [str(note) for note in drawing.notes] == [
        "shape without data-tags: 1",
        "shape without extent: 1 (dot)",
        "shape of a UnitLayer that names no unit: 1",
        "Levels of one floor, read as one: 1 (f1)",
        "data-tags outside of every Level: 1 (out)",
    ]
    assert [level.id for level in drawing.levels] == ["f1"]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ('<rect id="a" data-tags="room"/>', "Rect 'a': .* expected key=value"),
        ('<path d="M0 0 L 9" data-tags="indoor=wall"/>', "a Path: d is no path at character"),
        (
            '<rect width="1" height="1" transform="turn(3)" data-tags="indoor=room"/>',
            "a Rect: .* expected a list of matrix",
        ),
        (
            '<rect width="1e99" height="1" data-tags="indoor=room"/>',
            "a Rect: 1e99 is too large a number",
        ),
        (
            '<rect width="x" height="1" data-tags="indoor=room"/>',
            "a Rect: width is 'x'; expected a length",
        ),
    ],
)
def test_a_shape_that_cannot_be_read_is_left_out_and_named(shape: str, message: str) -> None:
    room = '<rect id="room" width="5" height="5" data-tags="indoor=room"/>'
    drawing = read(level(f"{room}\n{shape}"))
    assert [feature.id for feature in drawing.features] == ["room"]
    (fault,) = drawing.faults
    assert re.match(message, fault.message)
    assert (fault.cause, fault.line, fault.levels) == ("left out, invalid attribute", 2, ("f1",))
    assert [note.message for note in drawing.notes] == ["left out, invalid attribute"]


@pytest.mark.parametrize(
    ("shape", "position"),
    [
        ('<rect x="3" y="4" width="1" height="1" data-tags="room"/>', (16, 8)),
        ('<line x1="3" y1="4" x2="9" data-tags="room"/>', (16, 8)),
        ('<path d="m3,4 L" data-tags="indoor=wall"/>', (16, 8)),
        ('<polygon points="3-4 1e300 1e300" data-tags="indoor=room"/>', (16, -8)),
        ('<circle cx="3" cy="east" r="1" data-tags="indoor=room"/>', None),
        ('<rect x="3" transform="turn(3)" data-tags="room"/>', None),
        ('<rect x="3" width="1e99" data-tags="room"/>', None),
    ],
)
def test_a_shape_that_is_left_out_has_the_place_where_it_starts_if_that_can_be_read(
    shape: str, position: tuple[float, float] | None
) -> None:
    room = '<rect id="room" width="5" height="5" data-tags="indoor=room"/>'
    group = f'<g transform="translate(10 0) scale(2)">{shape}</g>'
    (fault,) = read(level(room + group)).faults
    assert (fault.position, fault.file) == (position, "hall.svg")


@pytest.mark.parametrize("feet_per_unit", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_cannot_be_is_an_error(feet_per_unit: float) -> None:
    with pytest.raises(InvalidPlanError, match="expected a number above 0"):
        read(level('<rect width="5" height="5" data-tags="indoor=room"/>'), feet_per_unit)


def test_the_demo_property_reads_completely() -> None:
    drawing = floor_plan.read_svg_plan(
        (DEMO / "alder-court.svg").read_bytes(), 0.1, NoteCollector()
    )
    bundle = json.loads((DEMO / "bundle.json").read_bytes())
    units = {unit["id"] for unit in bundle["units"] if unit["asset_id"] == "alder-court"}
    all_tags = [feature.tags for feature in drawing.features]
    assert [level.floor_id for level in drawing.levels] == [
        f"alder-court-floor-{number}" for number in range(1, 6)
    ]
    assert {feature.unit_id for feature in drawing.features} - {None} == units
    assert sum("door" in tags for tags in all_tags) == 146
    assert [note.message for note in drawing.notes] == ["shape without data-tags"]
