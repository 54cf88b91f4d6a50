"""The names of SVG and of the unit-map dialect that are read; all others are skipped."""

from collections.abc import Mapping
from typing import Final

SVG: Final = "{http://www.w3.org/2000/svg}"
HREFS: Final = ("href", "{http://www.w3.org/1999/xlink}href")

SHAPE_KINDS: Final = ("Polygon", "Polyline", "Line", "Path", "Circle", "Ellipse", "Rect")
LAYER_KINDS: Final = frozenset({"HitAreaLayer", "UnitLayer"})


def _with_namespace(names: Mapping[str, str]) -> dict[str, str]:
    """The names in SVG's namespace and in none, which hand-written drawings forget."""
    return {prefix + name: value for prefix in ("", SVG) for name, value in names.items()}


SHAPES: Final = _with_namespace({kind.lower(): kind for kind in SHAPE_KINDS})
CONTAINERS: Final = _with_namespace({name: name for name in ("g", "a", "svg", "switch")})
USES: Final = _with_namespace({"use": "use"})
SYMBOLS: Final = _with_namespace({"symbol": "symbol"})

# Inherited (SVG 2, chapter 13), so that a group's value goes to its shapes.
PAINT: Final = frozenset(
    {
        "fill",
        "fill-opacity",
        "fill-rule",
        "stroke",
        "stroke-dasharray",
        "stroke-linecap",
        "stroke-linejoin",
        "stroke-miterlimit",
        "stroke-opacity",
        "stroke-width",
    }
)
# Geometry that SVG 2 lets style sheets set, too, and what they cannot.
BOX: Final = frozenset({"x", "y", "width", "height", "cx", "cy", "r", "rx", "ry"})
GEOMETRY: Final = BOX | {"x1", "y1", "x2", "y2", "points", "d"}
RECT_NUMBERS: Final = frozenset({"x", "y", "width", "height"})
KEPT: Final = PAINT | GEOMETRY | {"opacity", "transform"}
OUTLINE: Final = GEOMETRY | {"fill", "transform"}  # what the shape of a Unit or HitArea keeps

# Read to decide what is drawn, and how, but not part of the output.
CONTROLS: Final = frozenset({"display", "visibility", "color"})
CONDITIONS: Final = frozenset({"requiredExtensions", "systemLanguage"})
PROPERTIES: Final = PAINT | BOX | CONTROLS | {"opacity", "transform"}
STYLED: Final = CONTROLS | CONDITIONS | {"class", "style"}
GROUP_NAMES: Final = PAINT | STYLED | {"opacity", "transform", "data-type"}


def reference(attributes: Mapping[str, str]) -> str:
    """The id that a `use` names within its document, "" for any other address."""
    for name in HREFS:
        if name in attributes:
            address = attributes[name].strip()
            return address[1:] if address.startswith("#") else ""
    return ""
