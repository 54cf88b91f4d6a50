"""Draw a building as unit-map SVG: one Level per storey, all in the same coordinates.

One user unit is a tenth of a foot. A browser shows the building from above, because every storey
covers the one below.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from parsing.svg.elements import format_tags
from samples.buildings.apartments import APARTMENT_TYPES
from samples.buildings.plan import (
    Apartment,
    Building,
    CircleShape,
    DrawnSpace,
    PlanPosition,
    Polyline,
    Storey,
)
from samples.buildings.rows import AMENITY_FILL, SERVICE_FILL


def opaque_id(prefix: str, *parts: object) -> str:
    """Return `prefix` and ten letters or digits derived from `parts`."""
    name = "/".join(str(part) for part in parts)
    digest = hashlib.sha256(name.encode()).digest()
    return prefix + base64.b32encode(digest)[:10].decode().lower()


def number_from(*parts: object) -> int:
    """Return a five-digit number derived from `parts`."""
    name = "/".join(str(part) for part in parts)
    return 10_000 + int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % 90_000


def unit_id(asset_id: str, number: str) -> str:
    return opaque_id("u", asset_id, "unit", number)


UNITS_PER_FOOT = 10
FEET_PER_UNIT = 1 / UNITS_PER_FOOT
WALL_FILL, INK, LAWN_FILL, DOOR_FILL = "#3f4855", "#2c333d", "#e6ecdc", "#fffdf8"
BALCONY_FILL = "#efe6d6"
FONT = "Helvetica, Arial, sans-serif"

STROKES: dict[str, dict[str, str]] = {
    "paths": {"stroke": "#eadfc8", "stroke-width": "60"},
    "partitions": {"stroke": WALL_FILL, "stroke-width": "3.5", "stroke-linecap": "square"},
    "furniture": {"stroke": INK, "stroke-width": "1.2", "stroke-opacity": "0.35"},
    "treads": {"stroke": INK, "stroke-width": "1.5", "stroke-opacity": "0.6"},
    "swings": {"stroke": INK, "stroke-width": "1.2", "stroke-opacity": "0.6"},
    "windows": {"stroke": "#d9edf7", "stroke-width": "5"},
}


def format_feet(value_feet: float) -> str:
    """Format a length in feet as user units, to a tenth."""
    return f"{round(value_feet * UNITS_PER_FOOT, 1):g}"


def format_point(point: PlanPosition) -> str:
    return f"{format_feet(point.x)},{format_feet(point.y)}"


def format_points(line: Polyline) -> str:
    return " ".join(format_point(point) for point in line)


def path_data(lines: Iterable[Polyline]) -> str:
    return " ".join("M" + " L".join(format_point(point) for point in line) for line in lines)


def draw_building(building: Building) -> bytes:
    """Return the SVG document of a building in UTF-8."""
    root = svg_root(building.width_feet * UNITS_PER_FOOT, building.height_feet * UNITS_PER_FOOT)
    SubElement(root, "title").text = f"{building.name}: floor plates"
    georeference = {
        "data-type": "Georeference",
        "data-latitude": str(building.latitude),
        "data-longitude": str(building.longitude),
        "data-zoom": "19",
        "data-bearing": "0",
        "data-pitch": "0",
    }
    SubElement(root, "g", georeference)
    draw_site(root, building)
    for storey in building.storeys:
        draw_level(root, building, storey)
    return to_bytes(root)


def svg_root(width: float, height: float) -> Element:
    size = {"width": f"{width:g}", "height": f"{height:g}", "viewBox": f"0 0 {width:g} {height:g}"}
    return Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size})


def to_bytes(root: Element) -> bytes:
    indent(root, " ")
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def draw_site(parent: Element, building: Building) -> None:
    site = add_layer(parent, "site")
    size = {"width": format_feet(building.width_feet), "height": format_feet(building.height_feet)}
    SubElement(site, "rect", {"x": "0", "y": "0", **size, "fill": LAWN_FILL})


def draw_level(parent: Element, building: Building, storey: Storey) -> Element:
    tags = {"building": f"{building.id}-main", "floor": building.floor_id(storey)}
    level = SubElement(
        parent,
        "g",
        {"id": f"level-{storey.number}", "data-type": "Level", "data-tags": format_tags(tags)},
    )
    draw_spaces(add_layer(level, "grounds"), storey.grounds)
    draw_discs(add_layer(level, "planting"), storey.discs)
    draw_walls(add_layer(level, "walls"), storey)
    draw_spaces(add_layer(level, "corridors"), storey.corridors)
    draw_spaces(add_layer(level, "rooms"), storey.rooms)
    draw_spaces(add_layer(level, "connectors"), storey.connectors)
    units = SubElement(level, "g", {"data-type": "UnitLayer"})
    for flat in storey.apartments:
        add_unit_shape(units, unit_id(building.id, flat.number), flat, flat.space.fill)
    draw_doors(add_layer(level, "doors"), storey)
    draw_strokes(add_layer(level, "details"), storey)
    draw_labels(add_layer(level, "labels"), storey)
    hits = SubElement(level, "g", {"data-type": "HitAreaLayer"})
    for flat in storey.apartments:
        add_unit_shape(hits, "hit" + unit_id(building.id, flat.number), flat, "transparent")
    return level


def add_layer(parent: Element, name: str) -> Element:
    return SubElement(parent, "g", {"data-name": name})


def add_unit_shape(parent: Element, shape_id: str, flat: Apartment, fill: str) -> None:
    SubElement(
        parent,
        "polygon",
        {"id": shape_id, "points": format_points(flat.space.outline), "fill": fill},
    )


def draw_spaces(parent: Element, spaces: Iterable[DrawnSpace]) -> None:
    for space in spaces:
        shape = {"points": format_points(space.outline), "fill": space.fill}
        SubElement(parent, "polygon", {**shape, "data-tags": format_tags(space.tags)})


def draw_discs(parent: Element, discs: Iterable[CircleShape]) -> None:
    for disc in discs:
        centre = {"cx": format_feet(disc.centre.x), "cy": format_feet(disc.centre.y)}
        radius = format_feet(disc.radius_feet)
        SubElement(parent, "circle", {**centre, "r": radius, "fill": disc.fill})


def draw_walls(parent: Element, storey: Storey) -> None:
    """Draw every space with a stroke two feet wide, so that a foot of wall shows around it."""
    balconies = storey.strokes["balconies"]
    if balconies:
        rail = {"fill": BALCONY_FILL, "stroke": WALL_FILL, "stroke-width": "3"}
        SubElement(parent, "path", {"d": path_data(balconies), **rail})
    outlines = [space.outline for space in storey.spaces if space.has_walls]
    data = " ".join(path_data([outline]) + " Z" for outline in outlines)
    wall = {
        "fill": WALL_FILL,
        "stroke": WALL_FILL,
        "stroke-width": "20",
        "stroke-linejoin": "miter",
    }
    SubElement(parent, "path", {"d": data, **wall})


def draw_doors(parent: Element, storey: Storey) -> None:
    for door in storey.doors:
        shape = {"points": format_points(door.outline), "fill": DOOR_FILL}
        SubElement(parent, "polygon", {**shape, "data-tags": format_tags(door.osm_tags)})


def draw_strokes(parent: Element, storey: Storey) -> None:
    for style, attributes in STROKES.items():
        if lines := storey.strokes[style]:
            SubElement(parent, "path", {"d": path_data(lines), "fill": "none", **attributes})


def draw_labels(parent: Element, storey: Storey) -> None:
    names = {kind.key: kind.name for kind in APARTMENT_TYPES}
    for flat in storey.apartments:
        x, y = flat.space.anchor
        add_text(parent, PlanPosition(x, y - 0.6), flat.number, 26, "bold", flat.space.fill)
        text = f"{names[flat.kind]} · {flat.area_square_feet:,} sq ft"
        add_text(parent, PlanPosition(x, y + 1.4), text, 13, "normal", flat.space.fill)
    for space in [*storey.grounds, *storey.rooms]:
        add_text(parent, space.anchor, space.name, 18, "normal", space.fill)
    for space in storey.connectors:
        add_text(parent, space.anchor, space.name, 10, "normal", space.fill)


def add_text(
    parent: Element,
    position: PlanPosition,
    text: str,
    size: int,
    weight: str,
    halo: str,
    anchor: str = "middle",
) -> None:
    """Add text with a halo in the colour of its background."""
    style = {
        "font-family": FONT,
        "font-size": str(size),
        "font-weight": weight,
        "text-anchor": anchor,
        "fill": INK,
        "stroke": halo,
        "stroke-width": "5",
        "paint-order": "stroke",
    }
    SubElement(
        parent, "text", {"x": format_feet(position.x), "y": format_feet(position.y), **style}
    ).text = text


# Draw a contact sheet: the storeys of a building side by side, with a legend.

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
