"""Write the drawing that becomes samples/drawings/inkscape.svg once Inkscape has saved it.

    python -m samples.templates.inkscape > /tmp/elm-place.svg
    inkscape /tmp/elm-place.svg --export-filename=samples/drawings/inkscape.svg

The page is A4, and a millimetre is half a foot. Inkscape keeps `data-tags`, so this template can be
processed for routing.
"""

import sys
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, register_namespace

from samples.output.svg import to_bytes
from samples.templates.elm_place import (
    PAGE_HEIGHT,
    PAGE_WIDTH,
    WALL_COLOUR,
    TemplateLayer,
    TemplateLevel,
    build_levels,
)

SVG = "http://www.w3.org/2000/svg"
INKSCAPE = "http://www.inkscape.org/namespaces/inkscape"
MILLIMETRES_PER_FOOT = 2
FEET_PER_UNIT = 1 / MILLIMETRES_PER_FOOT


def draw_inkscape(levels: Iterable[TemplateLevel]) -> bytes:
    """Return the drawing with a layer for each level and, in it, one for each kind of shape."""
    register_namespace("inkscape", INKSCAPE)
    register_namespace("", SVG)
    width, height = (f"{side * MILLIMETRES_PER_FOOT:g}" for side in (PAGE_WIDTH, PAGE_HEIGHT))
    size = {"width": f"{width}mm", "height": f"{height}mm", "viewBox": f"0 0 {width} {height}"}
    root = Element(f"{{{SVG}}}svg", size)
    for level in levels:
        group = _add_layer(root, level.name)
        for layer in level.layers:
            _add_boxes(_add_layer(group, layer.name), layer)
    return to_bytes(root)


def _add_layer(parent: Element, name: str) -> Element:
    names = {f"{{{INKSCAPE}}}groupmode": "layer", f"{{{INKSCAPE}}}label": name}
    return SubElement(parent, f"{{{SVG}}}g", names)


def _add_boxes(group: Element, layer: TemplateLayer) -> None:
    for box in layer.boxes:
        places = {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
        attributes = {name: f"{value * MILLIMETRES_PER_FOOT:g}" for name, value in places.items()}
        style = f"fill:{box.fill if layer.is_filled else 'none'}"
        if layer.has_outlines:
            style += f";stroke:{WALL_COLOUR};stroke-width:0.5"
        names = {f"{{{INKSCAPE}}}label": box.name, "style": style}
        tags = {"data-tags": box.tags} if box.tags else {}
        SubElement(group, f"{{{SVG}}}rect", names | attributes | tags)


if __name__ == "__main__":
    sys.stdout.buffer.write(draw_inkscape(build_levels()))
