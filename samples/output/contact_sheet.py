"""Draw a contact sheet: the storeys of a building side by side, with a legend."""

from __future__ import annotations

from collections import Counter
from xml.etree.ElementTree import Element, SubElement

from samples.buildings.apartments import APARTMENT_TYPES
from samples.buildings.frame import PlanPosition
from samples.buildings.plan import Building
from samples.buildings.rows import AMENITY_FILL, SERVICE_FILL
from samples.output.svg import (
    UNITS_PER_FOOT,
    add_text,
    draw_level,
    draw_site,
    format_feet,
    svg_root,
    to_bytes,
)

COLUMNS = 2
GAP_FEET, TITLE_FEET = 10.0, 12.0
PAPER_FILL = "#ffffff"


def draw_sheet(building: Building) -> bytes:
    """Return an SVG for people, without ids and tags: two storeys a row, then the legend."""
    cells = len(building.storeys) + 1
    rows = -(-cells // COLUMNS)
    root = svg_root(
        (COLUMNS * (building.width_feet + GAP_FEET) + GAP_FEET) * UNITS_PER_FOOT,
        (rows * (building.height_feet + TITLE_FEET + GAP_FEET)) * UNITS_PER_FOOT,
    )
    SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": PAPER_FILL})
    for index, storey in enumerate(building.storeys):
        cell = add_cell(root, building, index)
        add_text(cell, PlanPosition(0, -3), storey.label, 60, "bold", PAPER_FILL, "start")
        draw_site(cell, building)
        strip_metadata(draw_level(cell, building, storey))
    add_legend(add_cell(root, building, len(building.storeys)), building)
    return to_bytes(root)


def add_cell(root: Element, building: Building, index: int) -> Element:
    row, column = divmod(index, COLUMNS)
    x = GAP_FEET + column * (building.width_feet + GAP_FEET)
    y = TITLE_FEET + row * (building.height_feet + TITLE_FEET + GAP_FEET)
    return SubElement(root, "g", {"transform": f"translate({format_feet(x)} {format_feet(y)})"})


def strip_metadata(level: Element) -> None:
    """Remove hit areas, ids and tags, which only programs read."""
    for parent in [level, *level]:
        for child in list(parent):
            if child.get("data-type") == "HitAreaLayer":
                parent.remove(child)
    for element in level.iter():
        for name in ("id", "data-tags", "data-type", "data-name"):
            element.attrib.pop(name, None)


def add_legend(cell: Element, building: Building) -> None:
    flats = building.apartments
    counts = Counter(flat.kind for flat in flats)
    add_text(cell, PlanPosition(0, 14), building.name, 90, "bold", PAPER_FILL, "start")
    summary = f"{len(flats)} apartments on {len(building.storeys)} floors"
    add_text(cell, PlanPosition(0, 24), summary, 50, "normal", PAPER_FILL, "start")
    entries = [(kind.fill, f"{kind.name} ({counts[kind.key]})") for kind in APARTMENT_TYPES]
    entries += [(AMENITY_FILL, "Amenity"), (SERVICE_FILL, "Service, stair, lift")]
    for index, (fill, text) in enumerate(entries):
        y = 36 + index * 13
        box = {"x": "0", "y": format_feet(y), "width": "120", "height": "80", "fill": fill}
        SubElement(cell, "rect", {**box, "stroke": "#3f4855", "stroke-width": "4"})
        add_text(cell, PlanPosition(16, y + 6), text, 50, "normal", PAPER_FILL, "start")
    y = 36 + len(entries) * 13 + 6
    top, middle, bottom = format_feet(y - 2), format_feet(y), format_feet(y + 2)
    bar = f"M0,{top} V{bottom} M0,{middle} H500 M500,{top} V{bottom}"
    SubElement(cell, "path", {"d": bar, "stroke": "#2c333d", "stroke-width": "6", "fill": "none"})
    add_text(cell, PlanPosition(54, y + 1.5), "50 feet", 45, "normal", PAPER_FILL, "start")
