"""Write the DXF that becomes samples/drawings/cad.dxf once LibreCAD has saved it.

    python -m samples.templates.cad > /tmp/elm-place.dxf

A unit is a foot, and y points up. CAD layers do not nest and objects have no names, so each level
has layers of its own, and texts in the apartments say which is which.
"""

import sys
from collections.abc import Iterable, Iterator

from samples.templates.elm_place import PAGE_HEIGHT, TemplateBox, TemplateLevel, build_levels

FEET = "2"
TEXT_HEIGHT_FEET = "2"


def draw_cad(levels: Iterable[TemplateLevel]) -> str:
    """Return the drawing as DXF of release 12, which all CAD programs read."""
    pairs = [
        *_pairs(0, "SECTION", 2, "HEADER", 9, "$ACADVER", 1, "AC1009", 9, "$INSUNITS", 70, FEET),
        *_pairs(0, "ENDSEC", 0, "SECTION", 2, "ENTITIES"),
    ]
    for level in levels:
        for box in (*level.spaces, *level.walls, *level.doors):
            pairs += _outline(box, f"Rooms {level.number}")
        for box in level.apartments:
            pairs += _outline(box, f"UnitLayer {level.number}")
            pairs += _text(box, f"Labels {level.number}")
    return "\n".join([*pairs, *_pairs(0, "ENDSEC", 0, "EOF"), ""])


def _pairs(*items: object) -> Iterator[str]:
    """Return a code and its value, each on a line of its own."""
    return map(str, items)


def _outline(box: TemplateBox, layer: str) -> Iterator[str]:
    yield from _pairs(0, "POLYLINE", 8, layer, 66, 1, 70, 1)
    for x, y in box.corners:
        yield from _pairs(0, "VERTEX", 8, layer, 10, x, 20, PAGE_HEIGHT - y)
    yield from _pairs(0, "SEQEND", 8, layer)


def _text(box: TemplateBox, layer: str) -> Iterator[str]:
    x, y = box.x + box.width / 3, PAGE_HEIGHT - box.y - box.height / 2
    yield from _pairs(0, "TEXT", 8, layer, 10, x, 20, y, 40, TEXT_HEIGHT_FEET, 1, box.name)


if __name__ == "__main__":
    sys.stdout.write(draw_cad(build_levels()))
