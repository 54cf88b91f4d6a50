"""Each template of docs/drawing is the same property, and what the pages say of mistakes is so."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from lxml import etree
from shapely import Polygon, box
from shapely.affinity import translate

from gateway.cli.parse import parse
from parsing import plans
from parsing.drawing import AreaGeometry, NoteCollector
from parsing.svg.floor_plan import read_svg_plan
from parsing.svg.unit_map import ParsedUnitMap, parse_unit_map
from resolvers.plans.translation import translate_plan
from routing.processing import process_plan
from samples.draw import SCALES
from samples.output.files import CHECKOUT
from samples.templates.elm_place import TemplateBox, build_levels
from samples.templates.inkscape import draw_inkscape
from tests.doc_pages import page, rows, section

DRAWINGS = CHECKOUT / "samples" / "drawings"
BUNDLE = json.loads((DRAWINGS / "elm-place.json").read_bytes())
LEVELS = build_levels()
UNITS = [unit["id"] for unit in BUNDLE["units"]]
each_template = pytest.mark.parametrize("name", SCALES)


def parsed_template(name: str) -> ParsedUnitMap:
    return parse_unit_map((DRAWINGS / f"{name}.svg").read_bytes())


def elements(name: str, kind: str) -> list[dict[str, Any]]:
    def walk(parent: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for element in parent.get("elements", ()):
            yield from walk(element)
            if element["type"] == kind:
                yield element

    return [*walk(parsed_template(name).to_dict())]


@each_template
def test_a_template_has_two_levels_of_the_catalog(name: str) -> None:
    found = elements(name, "Level")  # Illustrator writes blanks as underscores
    assert [(level["id"].replace("_", " "), level["tags"]) for level in found] == [
        ("Level 1", {"floor": "elm-place-floor-1"}),
        ("Level 2", {"floor": "elm-place-floor-2"}),
    ]


@each_template
def test_a_template_has_each_unit_of_the_catalog_and_a_hit_area_for_it(name: str) -> None:
    assert sorted(unit["id"] for unit in elements(name, "Unit")) == UNITS
    hit_areas = elements(name, "HitArea")
    assert sorted(area["target"]["id"] for area in hit_areas) == UNITS
    assert {area["id"] for area in hit_areas} == {f"hit{unit}" for unit in UNITS}


@each_template
def test_a_template_gives_no_warnings(name: str) -> None:
    assert [warning.code for warning in parsed_template(name).warnings if not warning.is_note] == []


@each_template
def test_units_are_where_they_are_in_the_building_at_the_scale_of_the_bundle(name: str) -> None:
    drawn = outlines_feet(name)
    planned = {each.name: to_polygon(each) for level in LEVELS for each in level.apartments}
    assert drawn.keys() == planned.keys()
    x, y = (drawn[UNITS[0]].bounds[at] - planned[UNITS[0]].bounds[at] for at in (0, 1))
    for unit, polygon in planned.items():
        assert drawn[unit].symmetric_difference(translate(polygon, x, y)).area < 0.01


def outlines_feet(name: str) -> dict[str, Polygon]:
    """Return the units of a template, read as a floor plan."""
    svg = (DRAWINGS / f"{name}.svg").read_bytes()
    scale = next(
        each["feet_per_unit"] for each in BUNDLE["maps"] if each["source"] == f"{name}.svg"
    )
    found: dict[str, Polygon] = {}
    for feature in read_svg_plan(svg, scale, NoteCollector()).features:
        if feature.unit_id:
            assert isinstance(feature.geometry, AreaGeometry)
            [ring] = feature.geometry.rings
            found[feature.unit_id] = Polygon([(x * scale, y * scale) for x, y in ring])
    return found


def to_polygon(each: TemplateBox) -> Polygon:
    return box(each.x, each.y, each.x + each.width, each.y + each.height)


def test_inkscape_keeps_the_names_styles_and_tags_that_it_was_given() -> None:
    def without_ids(svg: bytes) -> list[dict[str, str]]:
        groups = etree.fromstring(svg).iter("{*}g", "{*}rect")
        return [{str(k): str(v) for k, v in each.items() if k != "id"} for each in groups]

    saved = (DRAWINGS / "inkscape.svg").read_bytes()
    assert without_ids(saved) == without_ids(draw_inkscape(LEVELS))


def test_the_template_of_inkscape_is_routable() -> None:
    svg = (DRAWINGS / "inkscape.svg").read_bytes()
    drawing = plans.read_plan({"a.svg": svg}, feet_per_unit=SCALES["inkscape"])
    sorts = {floor["id"]: floor["sort"] for floor in BUNDLE["floors"]}
    processed = process_plan(translate_plan(drawing, "elm-place-inkscape", sorts).plan)
    assert processed.report.problems == ()
    assert [check.share for check in processed.report.reachability] == [1.0, 1.0]


def test_the_dxf_has_layers_for_each_level_and_the_number_of_each_unit() -> None:
    lines = [line.strip() for line in (DRAWINGS / "cad.dxf").read_text().splitlines()]
    entities = lines[lines.index("ENTITIES") :]
    layers = {value for code, value in pairwise(entities) if code == "8"}
    assert layers == {
        f"{name} {level}" for name in ("Labels", "Rooms", "UnitLayer") for level in (1, 2)
    }
    assert [line for line in entities if line in UNITS] == UNITS


PageChange = Callable[[str], str]


def replace(old: str, new: str) -> PageChange:
    """Change the first place of a text that the template has."""

    def change(svg: str) -> str:
        assert old in svg
        return svg.replace(old, new, 1)

    return change


def insert(element: str) -> PageChange:
    return replace("</svg>", f"{element}</svg>")


# Program, what someone did wrong, and the beginning of the warning.
MISTAKES: list[tuple[str, PageChange, str]] = [
    ("inkscape", lambda svg: re.sub("inkscape:label=.*", "", svg), "the drawing has no Level"),
    (
        "inkscape",
        replace('inkscape:label="elm-place-101"', ""),
        "a shape of a UnitLayer or HitAreaLayer has the id that the drawing program made up: "
        "<rect> 'rect10'",
    ),
    (
        "inkscape",
        replace('label="elm-place-102"', 'label="elm-place-101"'),
        "an id of a Level, Unit or HitArea is used twice: <rect> 'elm-place-101'",
    ),
    (
        "inkscape",
        replace('label="HitAreaLayer"', 'label="Clicks"'),
        "a unit has no hit area, so it cannot be clicked",
    ),
    ("inkscape", insert('<image width="9" height="9" href="a.png"/>'), "an image is left out"),
    (
        "illustrator",
        replace('id="hitelm-place-101"', 'id="elm-place-1011"'),
        "a hit area points to a unit that is not drawn: 'elm-place-1011'",
    ),
    (
        "figma",
        replace('id="elm-place-101_2"', 'id="Rectangle 1"'),
        "a shape of a UnitLayer or HitAreaLayer has no unit's id, so it is an ordinary shape",
    ),
    (
        "cad",
        replace('inkscape:label="elm-place-101"', ""),
        "a shape of a UnitLayer or HitAreaLayer has the id that the drawing program made up",
    ),
]


@pytest.mark.parametrize(("name", "change", "message"), MISTAKES)
def test_a_common_mistake_gives_the_warning_that_the_page_says(
    name: str, change: PageChange, message: str
) -> None:
    svg = change((DRAWINGS / f"{name}.svg").read_text())
    warnings = parse_unit_map(svg.encode()).warnings
    described = [
        warning.describe(place)
        for warning in warnings
        if not warning.is_note
        for place in warning.places
    ]
    assert [text for text in described if text.startswith(message)]
    mistakes = rows(section(page(f"drawing/{name}.md"), "## Common mistakes"))
    assert any(message in row[1] for row in mistakes)


@pytest.mark.parametrize("name", SCALES)
def test_the_page_shows_the_summary_of_its_template(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse.main(["--check", str(DRAWINGS / f"{name}.svg")], standalone_mode=False) is None
    summary = capsys.readouterr().out.splitlines()[-1].rpartition(".svg: ")[2]
    assert f"plan.svg: {summary}\n" in page(f"drawing/{name}.md")


@pytest.mark.parametrize(("name", "scale"), SCALES.items())
def test_the_page_gives_the_scale_of_its_template(name: str, scale: float) -> None:
    written = re.search(r'"feet_per_unit": ([0-9.]+)', page(f"drawing/{name}.md"))
    assert written is not None
    assert float(written[1]) == pytest.approx(scale, rel=1e-5)
