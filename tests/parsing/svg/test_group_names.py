"""Which unit a shape stands for: by `data-type` and ids, or by the names of layers and objects."""

from typing import Any

import pytest

from parsing.svg import group_names
from parsing.svg.group_names import NamedType, read_layer_name, suggest_name
from parsing.svg.unit_map import parse_unit_map
from tests.parsing.parsed_maps import (
    DEMO,
    MADE,
    Members,
    elements_of,
    parse_content,
    parse_drawing,
    shapes_of,
)

GENERATOR = "<!-- Generator: Adobe Illustrator 27.0.0, SVG Export Plug-In -->"


def only_shape(layer: str, attributes: str, comment: str = "") -> Members:
    """Return the one shape of a drawing's HitAreaLayer or UnitLayer."""
    markup = f'{comment}<g data-type="{layer}"><path {attributes}/></g>'
    (shape,) = shapes_of(parse_drawing(markup))
    return shape


@pytest.mark.parametrize(
    ("attributes", "unit_id"),
    [
        ('id="101"', "101"),
        ('id="a b/%é"', "a b/%é"),
        ('id="x" data-id="101"', "101"),
        ('id="101" data-id=""', "101"),
        # Ids are opaque: only Illustrator's are read as made from others.
        ('id="12_1_"', "12_1_"),
        ('id="101" data-name="Studio with balcony"', "101"),
        # Illustrator's "Export As" keeps the layer's name beside the id it made of it.
        ('id="_101" data-name="101"', "101"),
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
    assert only_shape("UnitLayer", f'id="{written}"', GENERATOR)["id"] == unit_id


def test_data_id_is_exact_even_from_illustrator() -> None:
    assert only_shape("UnitLayer", 'id="x" data-id="12_1_"', GENERATOR)["id"] == "12_1_"


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


INKSCAPE = 'xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape"'


def parse(content: str, prolog: str = "") -> dict[str, Any]:
    svg = f'{prolog}<svg xmlns="http://www.w3.org/2000/svg" {INKSCAPE} viewBox="0 0 400 200">'
    return parse_unit_map(f"{svg}{content}</svg>".encode()).to_dict()


def outline(content: str, prolog: str = "") -> list[str]:
    """Return the type and id of each element, and the target of hit areas."""
    return [
        " ".join(filter(None, (each["type"], each.get("id"), each.get("target", {}).get("id"))))
        for each in elements_of(parse(content, prolog))
    ]


def units_of(content: str, layer: str = "UnitLayer") -> list[str]:
    """Return what the content of a layer of this name becomes."""
    return outline(f'<g id="{layer}">{content}</g>')[1:]


FIGMA = """<g id="Level 2"><g id="UnitLayer">
  <g id="101"><rect id="Rectangle 1" width="100" height="80"/><text id="101_2">101</text></g>
  <rect id="102" x="110" width="100" height="80"/>
</g><g id="HitAreaLayer">
  <rect id="hit101" width="100" height="80"/><rect id="Hit102" x="110" width="100" height="80"/>
</g></g>"""


def test_a_drawing_of_figma_has_levels_units_and_hit_areas() -> None:
    assert outline(FIGMA) == [
        "Level Level 2",
        "UnitLayer",
        "Layer",
        "Unit 101",
        "Unit 102",
        "HitAreaLayer",
        "HitArea hit101 101",
        "HitArea hit102 102",
    ]


def test_a_drawing_of_inkscape_is_read_by_its_labels() -> None:
    assert outline(
        '<g inkscape:groupmode="layer" inkscape:label="Level: floor=2" id="layer1">'
        '<g inkscape:groupmode="layer" inkscape:label="UnitLayer" id="layer2">'
        '<rect inkscape:label="101" id="rect847" width="9" height="9"/>'
        '<path inkscape:label="102" id="path12-3" d="M0 0"/></g></g>'
    ) == ["Level", "UnitLayer", "Unit 101", "Unit 102"]


def test_a_drawing_of_illustrator_is_read_by_its_escaped_ids() -> None:
    content = (
        '<g id="Level_x3A__floor_x3D_2"><g id="UnitLayer"><rect id="_x31_01_1_"/></g>'
        '<g id="HitAreaLayer_1_"><rect id="hit101_2_"/></g></g>'
    )
    assert outline(content, "<!-- Generator: Adobe Illustrator 27.0.0 -->") == [
        "Level",
        "UnitLayer",
        "Unit 101",
        "HitAreaLayer",
        "HitArea hit101 101",
    ]


def test_a_drawing_of_illustrators_export_is_read_by_its_data_names() -> None:
    assert outline(
        '<g id="Unit_Layer-2" data-name="Unit Layer"><rect id="_101-2" data-name="101"/></g>'
    ) == ["UnitLayer", "Unit 101"]


@pytest.mark.parametrize(
    ("content", "elements"),
    [
        # A group named after a unit: its first shape without a name is the unit's.
        ('<g id="101"><rect/><rect/></g>', ["Layer", "Unit 101", "Rect"]),
        # Figma numbers what has the name of another object.
        ('<g id="101"><rect id="101_2"/></g>', ["Layer", "Unit 101"]),
        ('<g id="101"><rect id="Vector"/><path id="101_3"/></g>', ["Layer", "Unit 101", "Path"]),
        # Shapes with names of their own are units of their own.
        (
            '<g id="East"><g id="101"><rect/></g><rect id="102"/></g>',
            ["Layer", "Layer", "Unit 101", "Unit 102"],
        ),
        # A layer of Inkscape is not an object.
        (
            '<g inkscape:groupmode="layer" inkscape:label="East" id="layer3"><rect/></g>',
            ["Layer", "Rect"],
        ),
        # Names that programs make up are none.
        ('<rect id="rect847"/><path id="path12-3"/>', ["Rect", "Path"]),
        # A number at the end belongs to the name, if nothing has the name without it.
        ('<rect id="A_2"/>', ["Unit A_2"]),
        # Neither if what has the name comes later: Figma numbers the second.
        ('<rect id="A_2"/><rect id="A"/>', ["Unit A_2", "Unit A"]),
        # Neither if a shape of the layer has the name without it.
        (
            '<g id="101"><rect/></g><g id="101_2"><rect/></g>',
            ["Layer", "Unit 101", "Layer", "Unit 101_2"],
        ),
        # A group within the group of its unit is no other.
        (
            '<g id="101"><rect/><g id="101_2"><rect/></g></g>',
            ["Layer", "Unit 101", "Layer", "Rect"],
        ),
        # A label that was made up is no name.
        ('<rect inkscape:label="Rectangle" id="106"/>', ["Unit 106"]),
        # The panel of Inkscape shows labels, whatever the id.
        # An id may have entities.
        ('<g id="Mom &amp; Pop"><rect id="Mom &amp; Pop_2"/></g>', ["Layer", "Unit Mom & Pop"]),
        # data-id is always taken as it is.
        ('<rect data-id="Rectangle 1"/>', ["Unit Rectangle 1"]),
        ('<use id="101" href="#a"/><defs><rect id="a"/></defs>', ["Unit 101"]),
    ],
)
def test_names_in_a_unit_layer(content: str, elements: list[str]) -> None:
    assert units_of(content) == elements


@pytest.mark.parametrize("name", ["hit101", "Hit101", "hit 101", "HIT-101", "hit_101", "101"])
def test_hit_may_be_left_out_or_written_in_any_way(name: str) -> None:
    assert units_of(f'<rect id="{name}"/>', "HitAreaLayer") == ["HitArea hit101 101"]


def test_hit_areas_of_units_that_differ_in_a_number_are_told_apart() -> None:
    content = '<rect id="hit-A"/><rect id="hit-A_2"/>'
    assert units_of(content, "HitAreaLayer") == ["HitArea hitA A", "HitArea hitA_2 A_2"]


def test_a_label_of_a_text_elsewhere_does_not_change_the_name_of_a_unit() -> None:
    content = '<g id="Labels"><text id="101">101</text></g><g id="UnitLayer"><rect id="101_2"/></g>'
    assert outline(content) == ["Layer", "UnitLayer", "Unit 101"]


def test_types_do_not_nest() -> None:
    assert outline('<g id="Level 1"><g id="Level 2"/></g>') == ["Level Level 1", "Layer"]
    assert outline('<g id="UnitLayer"><g id="HitAreaLayer"/></g>') == ["UnitLayer", "Layer"]


@pytest.mark.parametrize("kind", ["Level", "UnitLayer", "HitAreaLayer"])
def test_where_attributes_are_the_markup_names_are_none(kind: str) -> None:
    typed = f'<g data-type="{kind}"/>'
    assert outline(f'{typed}<g id="UnitLayer"><rect id="101"/></g>') == [kind, "Layer", "Rect"]


def test_a_georeference_as_attributes_goes_with_names() -> None:
    content = (
        '<g data-type="Georeference" data-latitude="1" data-longitude="2"/><g id="UnitLayer"/>'
    )
    assert outline(content) == ["Georeference", "UnitLayer"]


def test_a_comment_that_is_never_closed_costs_no_more_than_its_length() -> None:
    content = f"<desc><![CDATA[{'<!--' * 80_000}]]></desc><g data-type='Level'/>"
    assert parse_unit_map(f"<svg>{content}</svg>".encode()).summary.levels == 1


@pytest.mark.parametrize(
    "content",
    [
        '<!-- <g data-type="Level"> -->',
        '<desc><![CDATA[<g data-type="Level"/>]]></desc>',
        '<desc>write data-type="Level" here</desc>',
        '<g id="a > b" class="x"/><rect data-type="Level"/>',
        '<text data-type="Level"/>',
    ],
)
def test_a_type_elsewhere_than_on_a_group_is_none(content: str) -> None:
    assert "UnitLayer" in outline(f'{content}<g id="UnitLayer"/>')


@pytest.mark.parametrize(
    "group", ['<g data-type="Level"/>', "<g class='a > b'\n data-type = 'Level' />"]
)
def test_a_type_on_a_group_is_one(group: str) -> None:
    assert outline(f'{group}<g id="UnitLayer"/>') == ["Level", "Layer"]


def test_a_label_is_the_name_where_inkscape_made_up_the_id_in_drawings_with_types_too() -> None:
    content = (
        '<g data-type="UnitLayer"><rect inkscape:label="101" id="rect847"/>'
        '<rect inkscape:label="Gym" id="102"/><rect id="rect848"/></g>'
    )
    assert outline(content) == ["UnitLayer", "Unit 101", "Unit 102", "Unit rect848"]


@pytest.mark.parametrize("path", [*MADE, *DEMO], ids=lambda path: path.stem)
def test_a_drawing_with_a_type_keeps_its_bytes_whatever_its_names(path: Any) -> None:
    """What one group with a type says: names of the others have no effect."""
    svg = path.read_bytes()
    head, body = svg[: svg.rindex(b"</svg>")], b"</svg>"
    typed = head + b'<g data-type="Level"/>' + body
    renamed = typed.replace(b"<g>", b'<g id="UnitLayer" data-name="HitAreaLayer">')
    assert parse_unit_map(renamed).json == parse_unit_map(typed).json


def test_of_many_names_the_first_are_compared_with_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    monkeypatch.setattr(group_names, "suggest_name", compared.append)
    parse("".join(f'<g id="unit lyers {n}"/>' for n in range(700)))
    assert compared == [f"unit lyers {n}" for n in range(500)]


def test_hostile_names_are_read_in_linear_time() -> None:
    names = [f"Level {'9' * n}: {'a=b;' * n}{'_' * n}" for n in range(0, 1_600, 20)]
    names += ["unit" + " -_" * 3_000, "hit" * 3_000, "_2" * 2_000]
    content = "".join(f'<g id="{name}"><rect id="{name}_2"/></g>' for name in names)
    assert parse_content(f'<g id="UnitLayer">{content}</g>{content}')


# The rules by which the name of a group says what it is.


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("UnitLayer", "UnitLayer"),
        ("unit layer", "UnitLayer"),
        ("UnitLayer_2", "UnitLayer"),  # the second of a Figma file
        ("UnitLayer-2", "UnitLayer"),  # of Illustrator's "Export As"
        ("UnitLayer copy", "UnitLayer"),  # a layer that was duplicated in Inkscape
        ("Unit Layer copy 3", "UnitLayer"),
        ("HitAreaLayer", "HitAreaLayer"),
        ("HIT-AREA-LAYER", "HitAreaLayer"),
    ],
)
def test_case_blanks_hyphens_and_copy_numbers_of_layers_do_not_matter(name: str, kind: str) -> None:
    assert read_layer_name(name) == NamedType(kind)


@pytest.mark.parametrize(
    ("name", "level_id", "tags"),
    [
        ("Level", "", None),
        ("Level 2", "Level 2", None),
        ("Level -1", "Level -1", None),
        ("Level B1", "Level B1", None),
        ("Level 2.5", "Level 2.5", None),
        ("Level Mezzanine", "Level Mezzanine", None),
        ("Floor B1", "Floor B1", None),
        ("Storey 3", "Storey 3", None),
        ("2nd Floor", "2nd Floor", None),
        ("First floor", "First floor", None),
        ("Lower ground floor", "Lower ground floor", None),
        ("Level: floor=second", "", {"floor": "second"}),
        (
            "Level 2 : floor = second ; building = 1",
            "Level 2",
            {"floor": "second", "building": "1"},
        ),
    ],
)
def test_a_level_may_have_a_storey_and_tags(
    name: str, level_id: str, tags: dict[str, str] | None
) -> None:
    assert read_layer_name(name) == NamedType("Level", level_id, tags)


def test_illustrator_writes_blanks_as_underscores() -> None:
    name = "Level_2:_floor=second_floor;_building=1"
    assert read_layer_name(name, illustrator=True) == NamedType(
        "Level", "Level_2", {"floor": "second_floor", "building": "1"}
    )


def test_a_georeference_has_its_numbers_in_its_name() -> None:
    named = read_layer_name("Georeference: latitude=41.88; longitude=-87.62")
    assert named == NamedType("Georeference", "", {"latitude": "41.88", "longitude": "-87.62"})


@pytest.mark.parametrize(
    "name",
    [
        "Furniture",
        "Levels",
        "Level crossing",
        "My UnitLayer",
        "Hit Layer",
        "Level: ground floor",
        "Level 4 East",
        "Floor",
        "Georeference",
        "Georeference: latitude=1; longitude=x",
        "",
    ],
)
def test_every_other_group_is_a_layer(name: str) -> None:
    assert read_layer_name(name) is None


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("Unit Layers", "UnitLayer"),
        ("UintLayer", "UnitLayer"),
        ("Level: ground floor", "Level: floor=2"),
        ("Level 4 East", "Level 4"),
        ("UnitLayer Level 2", "UnitLayer"),
        ("unit layer (copy)", "UnitLayer"),
        ("Top Floor", "Level: floor=<id of the floor>"),
        ("Eleventh Floor", "Level: floor=<id of the floor>"),
        ("Level 1000", "Level: floor=<id of the floor>"),
        ("Levels 2", "Level: floor=<id of the floor>"),
        ("2. Floor", "Level 2"),
        ("Level 1 floor=ground", "Level 1: floor=ground"),
        ("2nd Floor (new)", "2nd Floor"),
        ("L2", "Level 2"),
        (
            "Georeference: latitude=1; longitude=x",
            "Georeference: latitude=41.88; longitude=-87.62; zoom=18",
        ),
        ("Level crossing", ""),
        ("Floor tiles 2", ""),
        ("Furniture", ""),
        ("united", ""),
    ],
)
def test_a_name_that_is_almost_markup_is_noticed(name: str, suggestion: str) -> None:
    assert suggest_name(name) == suggestion
