"""Write a template in the form in which Figma exports a frame, with "Include id attribute".

Ten pixels are a foot. Figma keeps nothing but the names of layers, and numbers those that repeat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from samples.templates.elm_place import PAGE_HEIGHT, PAGE_WIDTH, WALL_COLOUR, Layer, Level

PIXELS_PER_FOOT = 10
FEET_PER_UNIT = 1 / PIXELS_PER_FOOT


def draw_figma(levels: Iterable[Level]) -> bytes:
    """Return the drawing, one element a line and not indented, as Figma writes it."""
    width, height = (f"{side * PIXELS_PER_FOOT:g}" for side in (PAGE_WIDTH, PAGE_HEIGHT))
    names = _UniqueNames()
    lines = [
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" fill="none" '
        'xmlns="http://www.w3.org/2000/svg">',
        f'<g id="{names.take("Elm Place")}">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for level in levels:
        lines.append(f'<g id="{names.take(level.name)}">')
        for layer in level.layers_above_hit_areas:
            lines += _group(layer, names)
        lines.append("</g>")
    return "\n".join([*lines, "</g>", "</svg>", ""]).encode()


class _UniqueNames:
    """Gives a name that repeats a number, in the order of the drawing."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    def take(self, name: str) -> str:
        self._taken[name] += 1
        return name if self._taken[name] == 1 else f"{name}_{self._taken[name]}"


def _group(layer: Layer, names: _UniqueNames) -> Iterator[str]:
    yield f'<g id="{names.take(layer.name)}">'
    for box in layer.boxes:
        places = {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
        size = " ".join(f'{each}="{value * PIXELS_PER_FOOT:g}"' for each, value in places.items())
        fill = f' fill="{box.fill.upper()}"' if layer.is_filled else ""
        stroke = f' stroke="{WALL_COLOUR.upper()}" stroke-width="2"' if layer.has_outlines else ""
        yield f'<rect id="{names.take(box.name)}" {size}{fill}{stroke}/>'
    yield "</g>"
