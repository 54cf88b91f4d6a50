"""Drawings without `data-type`: the names of layers and objects are the markup."""

from typing import Any

import pytest

from parsing.svg.unit_map import parse_unit_map
from tests.cpu_cost import measure_cost
from tests.parsing.sources import DEMO, MADE
from tests.parsing.tree import elements_of, parse_content

INKSCAPE = 'xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape"'


def parse(content: str, prolog: str = "") -> dict[str, Any]:
    svg = f'{prolog}<svg xmlns="http://www.w3.org/2000/svg" {INKSCAPE} viewBox="0 0 400 200">'
    return parse_unit_map(f"{svg}{content}</svg>".encode()).to_dict()


def outline(content: str, prolog: str = "") -> list[str]:
    """The type and id of each element, and the target of hit areas."""
    return [
        " ".join(filter(None, (each["type"], each.get("id"), each.get("target", {}).get("id"))))
        for each in elements_of(parse(content, prolog))
    ]


def units_of(content: str, layer: str = "UnitLayer") -> list[str]:
    """What the content of a layer of this name becomes."""
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


def test_tags_of_a_level_may_be_in_its_name() -> None:
    [level] = parse('<g id="Level 2: floor=second; building=1"/>')["elements"]
    assert (level["id"], level["tags"]) == ("Level 2", {"floor": "second", "building": "1"})


def test_a_georeference_may_be_in_a_name() -> None:
    [georeference] = parse(
        '<g id="Georeference: latitude=41.88; longitude=-87.62; zoom=18"><rect width="1"/></g>'
    )["elements"]
    assert (georeference["latitude"], georeference["zoom"]) == (41.88, 18)


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
        ('<g id="Group 5"><rect id="Rectangle 1"/></g>', ["Layer", "Rect"]),
        ('<rect id="rect847"/><path id="path12-3"/>', ["Rect", "Path"]),
        ('<path id="_Path_" data-name="&lt;Path&gt;"/>', ["Path"]),
        ('<rect id=" "/>', ["Rect"]),
        # A number at the end belongs to the name, if nothing has the name without it.
        ('<rect id="A_2"/>', ["Unit A_2"]),
        # Neither if what has the name comes later: Figma numbers the second.
        ('<rect id="A_2"/><rect id="A"/>', ["Unit A_2", "Unit A"]),
        # Neither if a shape of the layer has the name without it.
        ('<rect id="A"/><rect id="A_2"/>', ["Unit A", "Unit A_2"]),
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
        ('<rect inkscape:label="rect9" id="105"/>', ["Unit 105"]),
        ('<rect inkscape:label="Rectangle" id="106"/>', ["Unit 106"]),
        # The panel of Inkscape shows labels, whatever the id.
        ('<rect inkscape:label="102" id="101-1"/>', ["Unit 102"]),
        ('<path inkscape:label="102" id="Path_3"/>', ["Unit 102"]),
        ('<path inkscape:label="102"/>', ["Unit 102"]),
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


def test_targets_may_be_attributes() -> None:
    content = '<rect id="door" data-target-id="101" data-target-type="Room"/>'
    assert units_of(content, "HitAreaLayer") == ["HitArea door 101"]


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


def test_names_that_resemble_markup_cost_little() -> None:
    groups = "".join(f'<g id="unit lyers {n}"/><g data-type="Unit{n}"/>' for n in range(20_000))
    assert measure_cost(lambda: parse_content(groups)) < 1_000


def test_hostile_names_cost_little() -> None:
    names = [f"Level {'9' * n}: {'a=b;' * n}{'_' * n}" for n in range(0, 1_600, 20)]
    names += ["unit" + " -_" * 3_000, "hit" * 3_000, "_2" * 2_000]
    content = "".join(f'<g id="{name}"><rect id="{name}_2"/></g>' for name in names)
    assert measure_cost(lambda: parse_content(f'<g id="UnitLayer">{content}</g>{content}')) < 200
