"""Build the bundle of the templates: one property, and a map for each drawing of it."""

from __future__ import annotations

from collections.abc import Iterable

from samples.output.bundle import CatalogMember, format_members
from samples.templates import figma, illustrator, inkscape
from samples.templates.elm_place import ASSET_ID, Level

CAD_FEET_PER_UNIT = 25.4 / 96
"""Inkscape takes a unit of a DXF file for a millimetre, and writes 96 pixels an inch."""
SCALES = {
    "inkscape": inkscape.FEET_PER_UNIT,
    "illustrator": illustrator.FEET_PER_UNIT,
    "figma": figma.FEET_PER_UNIT,
    "cad": CAD_FEET_PER_UNIT,
}
"""Feet per unit by the name of the drawing."""


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
            | {"name": box.name.removeprefix(f"{ASSET_ID}-")}
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
