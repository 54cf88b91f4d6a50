"""Compute the values of an element's properties from those that the cascade specifies.

CSS Cascade 4, section 4.4: `var()`, `inherit` and relative lengths are resolved here.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from parsing.svg.geometry.clipping import Piece, ShapeClipper
from parsing.svg.geometry.dashes import shift_dashes, split_dashes
from parsing.svg.geometry.lengths import format_number, parse_length
from parsing.svg.inheritance import InheritedStyle
from parsing.svg.names import GEOMETRY_ATTRIBUTES
from parsing.svg.paint.servers import PaintServers
from parsing.svg.style.boxes import ShapeBoxes
from parsing.svg.style.cascade import ElementStyle
from parsing.svg.style.fonts import FontSizes
from parsing.svg.style.origins import (
    FILL_BOXES,
    TRANSFORM_PROPERTIES,
    ReferenceBox,
    resolve_transform,
)
from parsing.svg.style.styles import path_to_attribute
from parsing.svg.style.validity import is_valid
from parsing.svg.style.values import (
    VariableResolver,
    has_variable,
    has_wide_keyword,
    resolve_wide_keywords,
)

RELATIVE_UNIT: Final = re.compile(
    r"[\d.](?:r?(?:em|ex|ch|ic|lh)|cap|[sld]?v(?:w|h|i|b|min|max))\b", re.IGNORECASE
)
FONT_PROPERTIES: Final = frozenset({"font", "font-size", "line-height"})
LENGTH_ATTRIBUTES: Final = (GEOMETRY_ATTRIBUTES - {"points", "d"}) | {
    "stroke-width",
    "stroke-dasharray",
}
INHERITED_LENGTHS: Final = frozenset({"stroke-width", "stroke-dasharray", "stroke-dashoffset"})
UNSET: Final = "unset"
PAINT_LAYERS: Final = frozenset({"normal", "fill", "stroke", "markers"})
LINE_KINDS: Final = frozenset({"Line", "Path", "Polyline", "Polygon"})
MAX_LINE_CHARS: Final = 200
"""A longer path is hardly a straight line; it is not traced to find out."""


class ComputedStyle(NamedTuple):
    """The style of an element, and what the elements inside it compute theirs with."""

    style: ElementStyle
    variables: Mapping[str, str]
    font: FontSizes


class StyleComputer:
    """Computes the styles of one document.

    What is written as it is to be drawn, as in most drawings, is returned at little cost.
    """

    def __init__(self, text: bytes, paint_servers: PaintServers) -> None:
        self.has_variables = b"var(" in text or b"VAR(" in text
        self._paint_servers = paint_servers
        self._variables = VariableResolver()
        self._clipper = ShapeClipper()
        self._boxes = ShapeBoxes()

    def compute(
        self, style: ElementStyle, context: InheritedStyle, kind: str = ""
    ) -> ComputedStyle:
        """Compute the style of a shape of this kind, or of a group."""
        variables, font = context.variables, context.font
        output, controls = style
        if self.has_variables:
            output, controls, variables = self._resolve_variables(output, controls, variables)
        if has_wide_keyword(output):
            output = resolve_wide_keywords(output, context.own_values)
        if controls and has_wide_keyword(controls):
            controls = resolve_wide_keywords(controls, context.own_values)
        if controls and not FONT_PROPERTIES.isdisjoint(controls):
            font = font.enter(controls)
        if not kind:
            output = self._resolve_inherited_lengths(output, font, context)
            controls = self._resolve_inherited_lengths(controls, font, context)
        if controls and not TRANSFORM_PROPERTIES.isdisjoint(controls):
            box = self._reference_box(output, controls, context, kind)
            transform = resolve_transform(output.get("transform", ""), controls, box, font)
            output = {**output, "transform": transform}
            controls = {name: text for name, text in controls.items() if name != "transform"}
        if not output.get("transform", "none"):
            output = {name: text for name, text in output.items() if name != "transform"}
        return ComputedStyle(ElementStyle(output, controls), variables, font)

    def finish(
        self,
        kind: str,
        style: dict[str, str],
        color: str,
        font: FontSizes,
        context: InheritedStyle,
    ) -> dict[str, str]:
        """Resolve a shape's paints and relative lengths, after it inherited its attributes."""
        style = self._resolve_paints(style, color, context, kind)
        if LENGTH_ATTRIBUTES.isdisjoint(style):
            return style
        names = [
            name
            for name in LENGTH_ATTRIBUTES & style.keys()
            if context.is_inner or not style[name][-1:].isdigit() or name == "stroke-dasharray"
        ]
        for name in names:
            length = self._resolve_length(name, style[name], font, context)
            if length != style[name]:
                style = {**style, name: length}
        return style

    def split(
        self,
        kind: str,
        style: dict[str, str],
        effects: Mapping[str, str],
        font: FontSizes,
        context: InheritedStyle,
    ) -> list[Piece]:
        """Return the shapes that look like one with these effects in these viewports."""
        offset = effects.get("stroke-dashoffset")
        if offset and "stroke-dasharray" in style:
            style = _shift_dashes(style, offset, font, context)
        pieces = [Piece(kind, style)]
        if (
            _is_stroke_first(effects.get("paint-order", ""))
            and style.get("stroke", "none") != "none"
        ):
            pieces = [
                Piece(kind, {**style, "fill": "none"}),
                Piece(kind, {**style, "stroke": "none"}),
            ]
        for box in reversed(context.clips):
            pieces = [part for piece in pieces for part in self._clipper.clip(piece, box)]
        return pieces

    def context_paint(self, context: InheritedStyle) -> dict[str, str]:
        """Return the paints of a `use`, to which its instance can refer."""
        paint = {"fill": context.paint.get("fill", "black")}
        paint["stroke"] = context.paint.get("stroke", "none")
        paint = self._resolve_paints(paint, context.color, context)
        for name, value in paint.items():
            if value.lower() == "currentcolor":
                paint[name] = context.color or "black"
        return {f"context-{name}": value for name, value in paint.items()}

    def _resolve_variables(
        self, output: dict[str, str], controls: dict[str, str], variables: Mapping[str, str]
    ) -> tuple[dict[str, str], dict[str, str], Mapping[str, str]]:
        own = {name: value for name, value in controls.items() if name.startswith("--")}
        if own:
            controls = {name: value for name, value in controls.items() if name not in own}
            variables = self._variables.inherit(own, variables)
        output, controls = (self._substitute(values, variables) for values in (output, controls))
        return output, controls, variables

    def _substitute(self, values: dict[str, str], variables: Mapping[str, str]) -> dict[str, str]:
        names = [name for name, value in values.items() if has_variable(value)]
        if not names:
            return values
        values = {**values}
        for name in names:
            replaced = self._variables.substitute(values[name], variables)
            if replaced is None or not is_valid(name, replaced):
                values[name] = UNSET
            else:
                values[name] = path_to_attribute(replaced) if name == "d" else replaced
        return values

    def _resolve_paints(
        self, style: dict[str, str], color: str, context: InheritedStyle, kind: str = ""
    ) -> dict[str, str]:
        for name in ("fill", "stroke"):
            paint = style.get(name)
            if paint is None:
                continue
            if "(" in paint and "url" in paint.lower():
                is_flat = self._has_flat_box(kind, style)
                style = {**style, name: self._paint_servers.resolve(paint, color, is_flat)}
            elif paint.startswith("context-"):
                style = {**style, name: context.context_paint.get(paint, "none")}
        return style

    def _reference_box(
        self,
        output: Mapping[str, str],
        controls: Mapping[str, str],
        context: InheritedStyle,
        kind: str,
    ) -> ReferenceBox:
        """Return the box that a transform refers to: the viewport's, or the shape's own.

        The own box of a group is not known before its shapes are, so it takes the viewport's.
        """
        box = None
        if kind and controls.get("transform-box") in FILL_BOXES:
            box = self._boxes.find(kind, output, context.viewport.width / 1_000 or 1)
        return box or ReferenceBox(0, 0, *context.viewport)

    def _has_flat_box(self, kind: str, style: Mapping[str, str]) -> bool:
        """Return whether a shape is a straight line along an axis, so that its box has no area."""
        text = style.get("d", "") + style.get("points", "")
        if kind not in LINE_KINDS or len(text) > MAX_LINE_CHARS:
            return False
        box = self._boxes.find(kind, style, 1.0)
        return box is not None and 0 in (box.width, box.height)

    def _resolve_inherited_lengths(
        self, values: dict[str, str], font: FontSizes, context: InheritedStyle
    ) -> dict[str, str]:
        """Resolve what shapes with another font inherit. A percentage is inherited as it is."""
        relative = {
            name: self._resolve_length(name, values[name], font, context)
            for name in INHERITED_LENGTHS & values.keys()
            if RELATIVE_UNIT.search(values[name][:MAX_LINE_CHARS])
        }
        return {**values, **relative} if relative else values

    def _resolve_length(
        self, name: str, value: str, font: FontSizes, context: InheritedStyle
    ) -> str:
        """Return a length in user units, if it is relative to what a map does not have."""
        is_relative = "%" in value and context.is_inner
        if not is_relative and RELATIVE_UNIT.search(value[:MAX_LINE_CHARS]) is None:
            return value
        hundred_percent = context.viewport.hundred_percent(name)
        parts = split_dashes(value) if name == "stroke-dasharray" else [value]
        lengths = [parse_length(part, hundred_percent, font.px_per_unit) for part in parts]
        if None in lengths:
            return value
        return " ".join(format_number(length or 0) for length in lengths)


def _shift_dashes(
    style: dict[str, str], offset: str, font: FontSizes, context: InheritedStyle
) -> dict[str, str]:
    hundred_percent = context.viewport.hundred_percent("stroke-dashoffset")
    parts = [*split_dashes(style["stroke-dasharray"]), offset]
    lengths = [parse_length(part, hundred_percent, font.px_per_unit) for part in parts]
    *dashes, shift = [length or 0 for length in lengths]
    if not shift or not dashes or None in lengths:
        return style
    return {**style, "stroke-dasharray": shift_dashes(dashes, shift)}


def _is_stroke_first(text: str) -> bool:
    """Return whether a `paint-order` puts the stroke before the fill; one in error does not."""
    order = text.lower().split()
    if len(set(order)) < len(order) or not PAINT_LAYERS.issuperset(order) or "stroke" not in order:
        return False
    return "fill" not in order or order.index("stroke") < order.index("fill")
