"""Which unit a shape stands for."""

import pytest

from tests.parsing.tree import Members, parse_drawing, shapes_of

ILLUSTRATOR = "<!-- Generator: Adobe Illustrator 27.0.0, SVG Export Plug-In -->"


def only_shape(layer: str, attributes: str, comment: str = "") -> Members:
    """The one shape of a drawing's HitAreaLayer or UnitLayer."""
    markup = f'{comment}<g data-type="{layer}"><path {attributes}/></g>'
    (shape,) = shapes_of(parse_drawing(markup))
    return shape


@pytest.mark.parametrize(
    ("attributes", "unit_id"),
    [
        ('id="101"', "101"),
        ('id="a b/%é"', "a b/%é"),
        ('id="x" data-id="101"', "101"),
        ('data-id="101"', "101"),
        ('id="101" data-id=""', "101"),
        # Ids are opaque: only Illustrator's are read as made from others.
        ('id="12_1_"', "12_1_"),
        ('id="_x31_2"', "_x31_2"),
        ('id="101" data-name="Studio with balcony"', "101"),
        # Illustrator's "Export As" keeps the layer's name beside the id it made of it.
        ('id="_101" data-name="101"', "101"),
        ('id="_101-2" data-name="101"', "101"),
        ('id="A_1" data-name="A 1"', "A 1"),
    ],
)
def test_a_unit_is_named_by_its_id(attributes: str, unit_id: str) -> None:
    unit = only_shape("UnitLayer", attributes)
    assert (unit["type"], unit["id"]) == ("Unit", unit_id)


@pytest.mark.parametrize(
    ("written", "unit_id"),
    [
        ("_x31_01", "101"),
        ("_x31_01_1_", "101"),
        ("_x0031_01", "101"),
        ("A_x20_1", "A 1"),
        ("A_12_", "A"),
        ("12_1", "12_1"),
        ("_xd800_", "_xd800_"),
        ("_x00_", "_x00_"),
    ],
)
def test_ids_that_illustrator_wrote_are_read_back(written: str, unit_id: str) -> None:
    assert only_shape("UnitLayer", f'id="{written}"', ILLUSTRATOR)["id"] == unit_id


def test_data_id_is_exact_even_from_illustrator() -> None:
    assert only_shape("UnitLayer", 'id="x" data-id="12_1_"', ILLUSTRATOR)["id"] == "12_1_"


@pytest.mark.parametrize(
    ("attributes", "area_id", "target"),
    [
        ('id="hit101"', "hit101", {"id": "101", "type": "Unit"}),
        ('id="hithit"', "hithit", {"id": "hit", "type": "Unit"}),
        ('id="hit1" data-target-id="2"', "hit1", {"id": "2", "type": "Unit"}),
        ('id="pool" data-target-id="2"', "pool", {"id": "2", "type": "Unit"}),
        ('data-target-id="2"', "hit2", {"id": "2", "type": "Unit"}),
        ('id="x" data-id="hit3"', "hit3", {"id": "3", "type": "Unit"}),
        ('id="x" data-id="3"', "3", {"id": "3", "type": "Unit"}),
        ('id="hit4" data-target-type="Amenity"', "hit4", {"id": "4", "type": "Amenity"}),
    ],
)
def test_a_hit_area_has_a_target(attributes: str, area_id: str, target: Members) -> None:
    area = only_shape("HitAreaLayer", attributes)
    assert (area["type"], area["id"], area["target"]) == ("HitArea", area_id, target)


@pytest.mark.parametrize("attributes", ["", 'id="hit"', 'id="pool"', 'data-target-type="Unit"'])
def test_a_shape_without_target_is_no_hit_area(attributes: str) -> None:
    assert only_shape("HitAreaLayer", attributes) == {"type": "Path"}
