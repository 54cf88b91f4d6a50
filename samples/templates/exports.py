"""Write a template in the forms in which Illustrator and Figma export drawings."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from parsing.svg.elements import HIT_PREFIX
from samples.templates.elm_place import (
    PAGE_HEIGHT,
    PAGE_WIDTH,
    WALL_COLOUR,
    TemplateBox,
    TemplateLayer,
    TemplateLevel,
)

# Write a template in the form in which Illustrator saves SVG since version 29. Ten points are a
# foot. Illustrator makes an id of each name: a blank becomes an underscore, and most other
# characters become their code, which it reads again. A name that is taken gets a number that cannot
# be told from the name, so names of units and hit areas are used only once.

POINTS_PER_FOOT = 10
FEET_PER_POINT = 1 / POINTS_PER_FOOT
GENERATOR = "Adobe Illustrator 29.4.0, SVG Export Plug-In . SVG Version: 2.1.0 Build 152)"


def draw_illustrator(levels: list[TemplateLevel]) -> bytes:
    """Return the drawing: layers from the bottom of the panel up, style in classes."""
    width, height = (f"{side * POINTS_PER_FOOT:g}" for side in (PAGE_WIDTH, PAGE_HEIGHT))
    layers = [layer for level in levels for layer in level.layers]
    paints = (_paint(layer, box) for layer in layers for box in layer.boxes)
    classes = {paint: f"st{number}" for number, paint in enumerate(dict.fromkeys(paints))}
    writer = _LayerWriter(classes)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg {writer.name("Elm Place")} xmlns="http://www.w3.org/2000/svg" version="1.1" '
        f'viewBox="0 0 {width} {height}">',
        f"  <!-- Generator: {GENERATOR}  -->",
        *_style_element(classes),
    ]
    for level in levels:
        lines.append(f"  <g {writer.name(level.name)}>")
        for layer in level.layers:
            number = "" if level.number == 1 else f" {level.number}"
            lines += writer.layer(layer._replace(name=layer.name + number))
        lines.append("  </g>")
    return "\n".join([*lines, "</svg>", ""]).encode()


def _paint(layer: TemplateLayer, box: TemplateBox) -> str:
    """Return the declarations of a class, a line each."""
    fill = f"        fill: {box.fill if layer.is_filled else 'none'};\n"
    stroke = f"        stroke: {WALL_COLOUR};\n        stroke-width: 2px;\n"
    return fill + (stroke if layer.has_outlines else "")


def _style_element(classes: dict[str, str]) -> Iterator[str]:
    yield from ("  <defs>", "    <style>")
    yield "\n\n".join(f"      .{name} {{\n{paint}      }}" for paint, name in classes.items())
    yield from ("    </style>", "  </defs>")


def _escape(name: str) -> str:
    """Return the id of a name.

    >>> _escape("Level 1: floor=101")
    'Level_1_x3A__floor_x3D_101'
    """
    escaped = re.sub(r"[^a-zA-Z0-9 -]|^[0-9]", lambda found: f"_x{ord(found[0]):X}_", name)
    return escaped.replace(" ", "_")


class _LayerWriter:
    """Writes layers; a name that is taken gets a number, as in `Corridor1`."""

    def __init__(self, classes: dict[str, str]) -> None:
        self._classes = classes
        self._taken: Counter[str] = Counter()

    def name(self, name: str) -> str:
        self._taken[name] += 1
        copies = self._taken[name] - 1
        return f'id="{_escape(name)}{copies or ""}"'

    def layer(self, layer: TemplateLayer) -> Iterator[str]:
        yield f"    <g {self.name(layer.name)}>"
        for box in layer.boxes:
            places = {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
            size = " ".join(
                f'{each}="{value * POINTS_PER_FOOT:g}"' for each, value in places.items()
            )
            style = self._classes[_paint(layer, box)]
            prefix = HIT_PREFIX if layer.name.startswith("HitAreaLayer") else ""
            yield f'      <rect {self.name(prefix + box.name)} class="{style}" {size}/>'
        yield "    </g>"


# Write a template in the form in which Figma exports a frame, with "Include id attribute". Ten
# pixels are a foot. Figma keeps nothing but the names of layers, and numbers those that repeat.

PIXELS_PER_FOOT = 10
FEET_PER_PIXEL = 1 / PIXELS_PER_FOOT


def draw_figma(levels: Iterable[TemplateLevel]) -> bytes:
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


def _group(layer: TemplateLayer, names: _UniqueNames) -> Iterator[str]:
    yield f'<g id="{names.take(layer.name)}">'
    for box in layer.boxes:
        places = {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
        size = " ".join(f'{each}="{value * PIXELS_PER_FOOT:g}"' for each, value in places.items())
        fill = f' fill="{box.fill.upper()}"' if layer.is_filled else ""
        stroke = f' stroke="{WALL_COLOUR.upper()}" stroke-width="2"' if layer.has_outlines else ""
        yield f'<rect id="{names.take(box.name)}" {size}{fill}{stroke}/>'
    yield "</g>"
