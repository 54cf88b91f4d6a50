"""Generate the demo property, templates of drawings, and pictures: `python -m samples.draw`."""

import csv
from collections.abc import Iterable
from io import StringIO
from pathlib import Path

from samples.buildings.alder_court import build_alder_court
from samples.buildings.birch_house import build_birch_house
from samples.output.bundle import CatalogMember, drawing_name, format_members, make_bundle
from samples.output.files import write_files
from samples.output.svg import draw_building, draw_sheet
from samples.templates import exports, inkscape
from samples.templates.elm_place import ASSET_ID, TemplateBox, TemplateLevel, build_levels
from samples.templates.exports import draw_figma, draw_illustrator
from samples.templates.panel import draw_panel

# Build the catalog of the templates: a table of apartments, and a bundle with all drawings.

CAD_FEET_PER_UNIT = 25.4 / 96
"""Inkscape takes a unit of a DXF file for a millimetre, and writes 96 pixels an inch."""
SCALES = {
    "inkscape": inkscape.FEET_PER_UNIT,
    "illustrator": exports.FEET_PER_POINT,
    "figma": exports.FEET_PER_PIXEL,
    "cad": CAD_FEET_PER_UNIT,
}
"""Feet per unit by the name of the drawing."""


TABLE_HEADER = ("Property", "Floor", "Unit #", "Bed", "Bath", "Rent", "Status", "PMS Unit ID")


def make_template_table(levels: Iterable[TemplateLevel]) -> str:
    """Return the apartments as CSV, with columns as property managers have them."""
    text = StringIO()
    table = csv.writer(text)
    table.writerow(TABLE_HEADER)
    homes = [(level.number, unit_name(box)) for level in levels for box in level.apartments]
    for index, (floor, unit) in enumerate(homes):
        beds = index % 3
        status = "Occupied" if index % 4 else "Vacant"
        row = ("Elm Place", floor, unit, beds, max(1, beds), 1400 + 300 * beds, status)
        table.writerow((*row, f"P{index + 1:04}"))
    return text.getvalue()


def unit_name(box: TemplateBox) -> str:
    return box.name.removeprefix(f"{ASSET_ID}-")


def make_template_bundle(levels: Iterable[TemplateLevel]) -> str:
    """Return the bundle as JSON, one member a line."""
    levels = list(levels)
    kinds: dict[str, list[CatalogMember]] = {
        "assets": [{"id": ASSET_ID, "name": "Elm Place"}],
        "floors": [
            {"id": level.floor_id, "asset_id": ASSET_ID, "name": f"Floor {level.number}"}
            | {"short_label": str(level.number), "sort": level.number}
            for level in levels
        ],
        "units": [
            {"id": box.name, "asset_id": ASSET_ID, "floor_id": level.floor_id}
            | {"name": unit_name(box)}
            for level in levels
            for box in level.apartments
        ],
        "maps": [
            {"id": f"{ASSET_ID}-{name}", "asset_id": ASSET_ID, "name": f"Floor plates ({name})"}
            | {"feet_per_unit": scale, "source": f"{name}.svg"}
            for name, scale in SCALES.items()
        ],
    }
    return format_members(kinds)


DEMO = Path("samples/demo")
DRAWINGS = Path("samples/drawings")
PANELS = Path("docs/drawing/pictures")
SHEET = Path("docs/pictures/alder-court.svg")


def make_files() -> dict[Path, bytes]:
    """Return file contents by path below the checkout; the same on every run."""
    main, other = build_alder_court(), build_birch_house()
    drawings = {
        DEMO / drawing_name(building): draw_building(building) for building in (main, other)
    }
    bundle = make_bundle(main, other).encode()
    return {DEMO / "bundle.json": bundle, **drawings, SHEET: draw_sheet(main), **make_templates()}


def make_templates() -> dict[Path, bytes]:
    """Return the templates but those that a program has saved, and pictures of two programs."""
    levels = build_levels()
    return {
        DRAWINGS / "illustrator.svg": draw_illustrator(levels),
        DRAWINGS / "figma.svg": draw_figma(levels),
        DRAWINGS / "elm-place.csv": make_template_table(levels).encode(),
        DRAWINGS / "elm-place.json": make_template_bundle(levels).encode(),
        PANELS / "illustrator-layers.svg": draw_panel(levels),
        PANELS / "figma-layers.svg": draw_panel(levels, "Elm Place (frame)"),
    }


if __name__ == "__main__":
    write_files(make_files())
