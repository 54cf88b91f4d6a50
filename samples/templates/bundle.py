"""Build the catalog of the templates: a table of apartments, and a bundle with all drawings."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from io import StringIO

from samples.output.bundle import CatalogMember, format_members
from samples.templates import figma, illustrator, inkscape
from samples.templates.elm_place import ASSET_ID, Box, Level

CAD_FEET_PER_UNIT = 25.4 / 96
"""Inkscape takes a unit of a DXF file for a millimetre, and writes 96 pixels an inch."""
SCALES = {
    "inkscape": inkscape.FEET_PER_UNIT,
    "illustrator": illustrator.FEET_PER_UNIT,
    "figma": figma.FEET_PER_UNIT,
    "cad": CAD_FEET_PER_UNIT,
}
"""Feet per unit by the name of the drawing."""


TABLE_HEADER = ("Property", "Floor", "Unit #", "Bed", "Bath", "Rent", "Status", "PMS Unit ID")


def make_template_table(levels: Iterable[Level]) -> str:
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


def unit_name(box: Box) -> str:
    return box.name.removeprefix(f"{ASSET_ID}-")


def make_template_bundle(levels: Iterable[Level]) -> str:
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
