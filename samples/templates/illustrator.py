"""Write a template in the form of Illustrator's "Export As", with the names of layers as ids.

Ten points are a foot. Illustrator turns a name into an id, and adds the name if that changed it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from samples.templates.elm_place import PAGE_HEIGHT, PAGE_WIDTH, WALL_COLOUR, Box, Layer, Level

POINTS_PER_FOOT = 10
FEET_PER_UNIT = 1 / POINTS_PER_FOOT


def draw_illustrator(levels: list[Level]) -> bytes:
    """Return the drawing: layers from the bottom of the panel up, style in classes."""
    width, height = (f"{side * POINTS_PER_FOOT:g}" for side in (PAGE_WIDTH, PAGE_HEIGHT))
    layers = [layer for level in levels for layer in level.layers]
    paints = (_paint(layer, box) for layer in layers for box in layer.boxes)
    classes = {paint: f"cls-{number}" for number, paint in enumerate(dict.fromkeys(paints), 1)}
    writer = _LayerWriter(classes)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg {writer.name("Elm Place")} xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {width} {height}">',
        *_style(classes),
    ]
    for level in levels:
        lines.append(f"  <g {writer.name(level.name)}>")
        for layer in level.layers:
            lines += writer.layer(layer)
        lines.append("  </g>")
    return "\n".join([*lines, "</svg>", ""]).encode()


def _paint(layer: Layer, box: Box) -> str:
    """Return the declarations of a class, a line each."""
    fill = f"        fill: {box.fill if layer.is_filled else 'none'};\n"
    stroke = f"        stroke: {WALL_COLOUR};\n        stroke-width: 2px;\n"
    return fill + (stroke if layer.has_outlines else "")


def _style(classes: dict[str, str]) -> Iterator[str]:
    yield from ("  <defs>", "    <style>")
    yield "\n\n".join(f"      .{name} {{\n{paint}      }}" for paint, name in classes.items())
    yield from ("    </style>", "  </defs>")


class _LayerWriter:
    """Writes layers; an id that is taken gets a number, as in `UnitLayer-2`."""

    def __init__(self, classes: dict[str, str]) -> None:
        self._classes = classes
        self._taken: Counter[str] = Counter()

    def name(self, name: str) -> str:
        plain = re.sub(r"[^\w-]+", "_", name)
        self._taken[plain] += 1
        count = self._taken[plain]
        element_id = plain if count == 1 else f"{plain}-{count}"
        return f'id="{element_id}"' + (f' data-name="{name}"' if element_id != name else "")

    def layer(self, layer: Layer) -> Iterator[str]:
        yield f"    <g {self.name(layer.name)}>"
        for box in layer.boxes:
            places = {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
            size = " ".join(
                f'{each}="{value * POINTS_PER_FOOT:g}"' for each, value in places.items()
            )
            style = self._classes[_paint(layer, box)]
            yield f'      <rect {self.name(box.name)} class="{style}" {size}/>'
        yield "    </g>"
