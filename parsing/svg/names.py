"""Names of SVG and of the unit-map dialect that the parser reads; it skips all others."""

from collections.abc import Mapping
from typing import Final

SVG_NAMESPACE: Final = "{http://www.w3.org/2000/svg}"
HREF_ATTRIBUTES: Final = ("href", "{http://www.w3.org/1999/xlink}href")

SHAPE_KINDS: Final = ("Polygon", "Polyline", "Line", "Path", "Circle", "Ellipse", "Rect")
UNIT_LAYERS: Final = frozenset({"HitAreaLayer", "UnitLayer"})


def _with_namespace(names: Mapping[str, str]) -> dict[str, str]:
    """Map names with SVG's namespace and, for drawings that forget to declare it, without."""
    return {prefix + name: value for prefix in ("", SVG_NAMESPACE) for name, value in names.items()}


SHAPE_TAGS: Final = _with_namespace({kind.lower(): kind for kind in SHAPE_KINDS})
CONTAINER_TAGS: Final = _with_namespace({name: name for name in ("g", "a", "svg", "switch")})
USE_TAGS: Final = _with_namespace({"use": "use"})
LEFT_OUT_TAGS: Final = _with_namespace({name: name for name in ("text", "image", "foreignObject")})
SYMBOL_TAGS: Final = _with_namespace({"symbol": "symbol"})
PAINT_SERVER_TAGS: Final = _with_namespace(
    {name: name for name in ("linearGradient", "radialGradient", "pattern")}
)
STOP_TAGS: Final = _with_namespace({"stop": "stop"})

# Inherited properties (SVG 2, chapter 13): a group's value goes to its shapes.
PAINT_PROPERTIES: Final = frozenset(
    {
        "fill", "fill-opacity", "fill-rule", "stroke", "stroke-dasharray", "stroke-linecap",
        "stroke-linejoin", "stroke-miterlimit", "stroke-opacity", "stroke-width",
    }
)  # fmt: skip
# Style sheets can set the box properties (SVG 2, chapter 7), but not the other geometry.
BOX_PROPERTIES: Final = frozenset({"x", "y", "width", "height", "cx", "cy", "r", "rx", "ry"})
GEOMETRY_ATTRIBUTES: Final = BOX_PROPERTIES | {"x1", "y1", "x2", "y2", "points", "d"}
RECT_LENGTHS: Final = frozenset({"x", "y", "width", "height"})
OUTPUT_ATTRIBUTES: Final = PAINT_PROPERTIES | GEOMETRY_ATTRIBUTES | {"opacity", "transform"}
# Attributes that the shape of a Unit or HitArea keeps.
OUTLINE_ATTRIBUTES: Final = GEOMETRY_ATTRIBUTES | {"fill", "transform"}

# Decide whether and how a shape is rendered, but are not part of the output.
INHERITED_CONTROLS: Final = frozenset(
    {"visibility", "color", "font-size", "paint-order", "stroke-dashoffset"}
)
RENDERING_PROPERTIES: Final = INHERITED_CONTROLS | {
    "display", "overflow", "stop-color", "stop-opacity", "transform-origin", "transform-box",
    "translate", "rotate", "scale", "transform",
}  # fmt: skip
# What a map cannot have; they are read to say so.
EFFECT_PROPERTIES: Final = frozenset(
    {
        "clip-path", "filter", "marker", "marker-end", "marker-mid", "marker-start", "mask",
        "mask-image", "mix-blend-mode",
    }
)  # fmt: skip
INHERITED_PROPERTIES: Final = PAINT_PROPERTIES | INHERITED_CONTROLS
# Only style sheets can set these: an attribute of the same name means something else, or nothing.
CSS_ONLY_PROPERTIES: Final = frozenset(
    {"translate", "rotate", "scale", "transform", "transform-box"}
)
CONDITION_ATTRIBUTES: Final = frozenset({"requiredExtensions", "systemLanguage"})
STYLE_PROPERTIES: Final = (
    PAINT_PROPERTIES | BOX_PROPERTIES | RENDERING_PROPERTIES | EFFECT_PROPERTIES | {"opacity", "d"}
)
RENDERING_ATTRIBUTES: Final = RENDERING_PROPERTIES - CSS_ONLY_PROPERTIES
STYLING_ATTRIBUTES: Final = RENDERING_ATTRIBUTES | CONDITION_ATTRIBUTES | {"class", "style"}
GROUP_ATTRIBUTES: Final = (
    PAINT_PROPERTIES | STYLING_ATTRIBUTES | {"opacity", "transform", "data-type"}
)


def referenced_id(attributes: Mapping[str, str]) -> str:
    """Return the id that an element refers to within its document, or "" for any other address."""
    for name in HREF_ATTRIBUTES:
        if name in attributes:
            address = attributes[name].strip()
            return address[1:] if address.startswith("#") else ""
    return ""
