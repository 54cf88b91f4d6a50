"""Draw the layer panel of a program that cannot be photographed here: a tree of names."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from samples.output.svg import svg_root, to_bytes
from samples.templates.elm_place import PAGE_HEIGHT, PAGE_WIDTH, TemplateLevel

WIDTH, ROW_HEIGHT, INDENT, FIRST_ROW = 360, 24, 20, 44
PLAN_SCALE = 3.4
FONT = "Helvetica, Arial, sans-serif"


def draw_panel(levels: Sequence[TemplateLevel], frame: str = "") -> bytes:
    """Return a picture: the plan of the first level, and the layers as a panel lists them."""
    rows = [(0, frame), *_rows(levels, 1)] if frame else _rows(levels, 0)
    height = FIRST_ROW + ROW_HEIGHT * len(rows) + 12
    plan_width = PAGE_WIDTH * PLAN_SCALE
    root = svg_root(plan_width + WIDTH, height)
    _add(root, "rect", width=plan_width + WIDTH, height=height, fill="#ffffff")
    plan = _add(root, "g", transform=f"translate(0 {(height - PAGE_HEIGHT * PLAN_SCALE) / 2:g})")
    _draw_plan(plan, levels[0])
    _add(root, "rect", x=plan_width, width=WIDTH, height=height, fill="#f2f4f7")
    _add_text(root, plan_width + 14, 26, "Layers", "bold")
    for number, (depth, name) in enumerate(rows):
        top = FIRST_ROW + ROW_HEIGHT * number
        left = plan_width + 14 + INDENT * depth
        if name in ("UnitLayer", "HitAreaLayer") or name.startswith("Level"):
            _add(root, "rect", x=plan_width, y=top, width=WIDTH, height=ROW_HEIGHT, fill="#dbe7f7")
        _add(root, "rect", x=left, y=top + 7, width=10, height=10, fill="none", stroke="#5b6b82")
        _add_text(root, left + 18, top + 17, name)
    return to_bytes(root)


def _rows(levels: Sequence[TemplateLevel], depth: int) -> list[tuple[int, str]]:
    """Return indents and names, the topmost layer first; upper levels have only their own layer."""
    rows: list[tuple[int, str]] = [(depth, level.name) for level in reversed(levels)]
    layers = levels[0].layers_above_hit_areas if depth else levels[0].layers
    for layer in reversed(layers):
        rows.append((depth + 1, layer.name))
        if layer.name in ("UnitLayer", "HitAreaLayer"):
            prefix = "hit" if layer.name == "HitAreaLayer" and not depth else ""
            rows += [(depth + 2, prefix + box.name) for box in reversed(layer.boxes)]
    return rows


def _draw_plan(parent: Element, level: TemplateLevel) -> None:
    for layer in level.layers:
        for box in layer.boxes:
            sides = (box.x, box.y, box.width, box.height)
            x, y, width, height = (side * PLAN_SCALE for side in sides)
            fill = box.fill if layer.is_filled else "none"
            stroke = "#3f4855" if layer.has_outlines else "none"
            _add(parent, "rect", x=x, y=y, width=width, height=height, fill=fill, stroke=stroke)


def _add(parent: Element, tag: str, **attributes: str | float) -> Element:
    texts = {
        name: value if isinstance(value, str) else f"{value:g}"
        for name, value in attributes.items()
    }
    return SubElement(parent, tag, texts)


def _add_text(parent: Element, x: float, y: float, text: str, weight: str = "normal") -> None:
    style = {"font-family": FONT, "font-size": "13", "font-weight": weight, "fill": "#222b38"}
    SubElement(parent, "text", {"x": f"{x:g}", "y": f"{y:g}", **style}).text = text
