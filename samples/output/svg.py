"""Draw a building as unit-map SVG: one Level per storey, all in the same coordinates.

One user unit is a tenth of a foot. A browser shows the building from above, because every storey
covers the one below.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from parsing.svg.data_tags import format_tags
from samples.buildings.apartments import APARTMENT_TYPES
from samples.buildings.frame import PlanPosition, Polyline
from samples.buildings.plan import Apartment, Building, CircleShape, DrawnSpace, Storey
from samples.output.ids import unit_id

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
