"""Resolve what an element inherits, sets and matches to what is drawn."""

import re
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from parsing.errors import InvalidMarkupError
from parsing.limits import DocumentLimits
from parsing.svg.cascade import SILENT, Cascade, ElementStyle, StyleReport
from parsing.svg.definitions import Definitions, conditions_hold
from parsing.svg.inheritance import EFFECTS, InheritedStyle
from parsing.svg.lengths import (
    FontSizes,
    LengthCache,
    Number,
    format_number,
    parse_length,
    parse_opacity,
    parse_user_units,
    shift_dashes,
    split_dashes,
)
from parsing.svg.names import (
    GEOMETRY_ATTRIBUTES,
    GROUP_ATTRIBUTES,
    OUTPUT_ATTRIBUTES,
    PAINT_PROPERTIES,
    RECT_LENGTHS,
    STYLING_ATTRIBUTES,
)
from parsing.svg.outlines import trace_shape
from parsing.svg.paint_servers import AverageTile, PaintServers
from parsing.svg.style_sheets import NO_DECLARATIONS, path_to_attribute
from parsing.svg.transforms import (
    FILL_BOXES,
    TRANSFORM_PROPERTIES,
    Rectangle,
    concatenate_transforms,
    resolve_transform,
)
from parsing.svg.values import (
    VariableResolver,
    has_variable,
    has_wide_keyword,
    is_valid,
    resolve_wide_keywords,
)
from parsing.svg.viewports import MAX_CHORDS, MAX_TRACED, Piece, ShapeClipper


class ShapeBoxes:
    """The boxes of the shapes of one document, each found once; when they get too many, no more."""

    def __init__(self) -> None:
        self._boxes: dict[tuple[object, ...], Rectangle | None] = {}
        self._traced = 0

    def find(self, kind: str, attributes: Mapping[str, str], tolerance: float) -> Rectangle | None:
        """Return the box of a shape without its transform, or None if it is not known."""
        geometry = {name: attributes[name] for name in GEOMETRY_ATTRIBUTES & attributes.keys()}
        key = (kind, tolerance, *geometry.items())
        if key not in self._boxes:
            self._traced += 20 + sum(map(len, geometry.values()))
            if self._traced > MAX_TRACED:
                return None
            self._boxes[key] = self._trace(kind, geometry, tolerance)
        return self._boxes[key]

    def _trace(self, kind: str, geometry: Mapping[str, str], tolerance: float) -> Rectangle | None:
        try:
            lines = trace_shape(kind, geometry, tolerance, MAX_CHORDS)
        except InvalidMarkupError:
            return None
        points = [point for line in lines for point in line.points]
        self._traced += len(points)
        if not points:
            return None
        xs, ys = zip(*points, strict=True)
        return Rectangle(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))


# Compute the values of an element's properties from those that the cascade specifies. CSS Cascade
# 4, section 4.4: `var()`, `inherit` and relative lengths are resolved here.

RELATIVE_UNIT: Final = re.compile(
    r"[\d.](?:r?em|ex|ch|ic|cap|v(?:w|h|i|b|min|max))\b", re.IGNORECASE
)
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
        if "font-size" in controls:
            font = font.enter(controls["font-size"])
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
        self, kind: str, style: dict[str, str], color: str, font: FontSizes, context: InheritedStyle
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
    ) -> Rectangle:
        """Return the box that a transform refers to: the viewport's, or the shape's own.

        The own box of a group is not known before its shapes are, so it takes the viewport's.
        """
        box = None
        if kind and controls.get("transform-box") in FILL_BOXES:
            box = self._boxes.find(kind, output, context.viewport.width / 1_000 or 1)
        return box or Rectangle(0, 0, *context.viewport)

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


# Style shapes that are written alike only once. Most shapes of a drawing differ from their
# neighbours in geometry only.

MAX_TEMPLATES: Final = 10_000
PLACED_ATTRIBUTES: Final = GEOMETRY_ATTRIBUTES | {"transform"}
STYLED_ATTRIBUTES: Final = PAINT_PROPERTIES | STYLING_ATTRIBUTES | {"opacity"}
# What ends otherwise may be a keyword or a relative length, which are not drawn as written.
DIGITS: Final = frozenset("0123456789")
ENDINGS: Final = {
    **dict.fromkeys(GEOMETRY_ATTRIBUTES, DIGITS),
    "points": DIGITS | {" ", "\n"},
    "d": DIGITS | {" ", "\n", "z", "Z"},
    "transform": frozenset({")"}),
}
NO_LENGTHS: Final[frozenset[str]] = frozenset()


class ShapeTemplate(NamedTuple):
    """The output of visible shapes that are written alike, with the geometry of one of them.

    `texts` are its attributes that are drawn as they are written, and what they may end with;
    `lengths` become numbers. `transform` goes in front of the shape's own.
    """

    values: Mapping[str, str | Number]
    texts: tuple[tuple[str, frozenset[str]], ...]
    lengths: tuple[str, ...]
    transform: str


class ShapeTemplates:
    """The templates of one document, for one context at a time."""

    def __init__(self, numbers: LengthCache) -> None:
        self._numbers = numbers
        self._context: InheritedStyle | None = None
        self._templates: dict[tuple[object, ...], ShapeTemplate] = {}
        self._getters: dict[tuple[str, ...], Callable[[Mapping[str, str]], object]] = {}
        """Functions that return what shapes must have in common, by kind and attribute names."""

    def fill_in(
        self, kind: str, attributes: Mapping[str, str], context: InheritedStyle
    ) -> Mapping[str, str | Number] | None:
        """Return the output of a shape, or None if there is no template for it."""
        key = self._make_key(kind, attributes, context)  # which may begin a new context
        template = self._templates.get(key)
        if template is None:
            return None
        original, texts, lengths, transform = template
        values = {**original}
        for name, endings in texts:
            values[name] = text = attributes[name]
            if text[-1:] not in endings:
                return None
        for name in lengths:
            number = self._numbers[attributes[name]]
            if number is None:
                return None
            values[name] = number
        if "%" in attributes.get("transform", ""):
            return None
        if transform:
            values["transform"] = concatenate_transforms(transform, attributes["transform"])
        return values

    def add(
        self,
        kind: str,
        attributes: Mapping[str, str],
        context: InheritedStyle,
        drawn: Mapping[str, str | Number],
    ) -> None:
        """Add the template of a shape that is drawn where it is written."""
        placed = PLACED_ATTRIBUTES & attributes.keys()
        transform = attributes.get("transform", "")
        if not placed <= drawn.keys() or not str(drawn.get("transform", "")).endswith(transform):
            return  # one that is in error has no place in the order of the others
        if len(self._templates) >= MAX_TEMPLATES:
            self._templates.clear()
        lengths = RECT_LENGTHS if kind == "Rect" else NO_LENGTHS
        key = self._make_key(kind, attributes, context)
        self._templates[key] = ShapeTemplate(
            drawn,
            tuple((name, ENDINGS[name]) for name in placed - lengths),
            tuple(placed & lengths),
            context.transform if "transform" in placed else "",
        )

    def _make_key(
        self, kind: str, attributes: Mapping[str, str], context: InheritedStyle
    ) -> tuple[object, ...]:
        if context is not self._context:
            self._context, self._templates = context, {}
        names = (kind, *attributes)
        get_style = self._getters.get(names)
        if get_style is None:
            if len(self._getters) >= MAX_TEMPLATES:
                self._getters.clear()
            styled = [name for name in attributes if name in STYLED_ATTRIBUTES]
            get_style = itemgetter(*styled) if styled else lambda _: None
            self._getters[names] = get_style
        return names, get_style(attributes)


SHOWING_PROPERTIES: Final = frozenset({"display", "visibility"})
NO_REFERENCES: Final[Mapping[str, str]] = {}


# A plain tuple takes a sixth of a NamedTuple's time to make, and there is one per shape.
ShapeOutput = tuple[Sequence[tuple[str, Mapping[str, str | Number]]], bool, Mapping[str, str]]
"""The parts in which a shape is drawn, at least one; whether it is visible; and its style.

That is the style before references to gradients and patterns were resolved, or empty if it has
none.
"""


class ResolvedShape(NamedTuple):
    """The style of a shape before it is split and cut."""

    style: dict[str, str]
    is_visible: bool
    font: FontSizes
    effects: Mapping[str, str]
    specified: Mapping[str, str]
    is_placed_as_written: bool  # so that others with the same style are drawn alike


class StyleResolver:
    """Resolves the styles of the groups and shapes of one document."""

    def __init__(
        self,
        text: bytes,
        definitions: Definitions,
        average_tile: AverageTile,
        limits: DocumentLimits,
        report: StyleReport = SILENT,
    ) -> None:
        self._cascade = Cascade(definitions.style_sheet, limits, report)
        self._paint_servers = PaintServers(definitions, self.inherit, average_tile)
        self._computer = StyleComputer(text, self._paint_servers)
        self._sets_values = self._cascade.has_rules or self._computer.has_variables
        self._numbers = LengthCache(limits.magnitude)
        self._magnitude = limits.magnitude
        self._templates = ShapeTemplates(self._numbers)

    def enter_root(self, attributes: dict[str, str], outside: InheritedStyle) -> InheritedStyle:
        """Return the style inside the root element."""
        root = self.inherit("svg", attributes, outside)
        root = root._replace(font=root.font.as_root())
        self._paint_servers.set_root(root)
        return root

    def inherit(
        self, name: str, attributes: dict[str, str], context: InheritedStyle, is_level: bool = False
    ) -> InheritedStyle:
        """Return the style inside a group."""
        declarations, inside = self._cascade.match_rules(name, attributes, context.match_state)
        # Most groups set no style and share their parent's context.
        if (
            inside is context.match_state
            and context.switch_choice is None
            and attributes.keys().isdisjoint(GROUP_ATTRIBUTES)
            and declarations is NO_DECLARATIONS
        ):
            if context.own_values:
                return context._replace(own_values={})
            return context
        style = self._cascade.compute_style(name, attributes, context.match_state)
        if is_level:
            # A drawing shows one storey and hides the others, but the map has them all.
            controls = {n: v for n, v in style.controls.items() if n not in SHOWING_PROPERTIES}
            style = style._replace(controls=controls)
        if not conditions_hold(attributes):
            style = ElementStyle(style.output, {**style.controls, "display": "none"})
        style, variables, font = self._computer.compute(style, context)
        return context.enter_group(style)._replace(
            match_state=inside, variables=variables, font=font
        )

    def match_effects(
        self, name: str, attributes: Mapping[str, str], context: InheritedStyle
    ) -> Mapping[str, str]:
        """Return what rules set of an element, if any says what a map cannot have, as clips."""
        return self._cascade.match_effects(name, attributes, context.match_state)

    def draw(
        self, kind: str, attributes: dict[str, str], context: InheritedStyle, is_whole: bool
    ) -> ShapeOutput:
        """Return how a shape is drawn; one that `is_whole` is not split or cut."""
        has_own_rule = self._cascade.has_rules and self._cascade.names_id(attributes.get("id"))
        if not has_own_rule:
            values = self._templates.fill_in(kind, attributes, context)
            if values is not None:
                return ((kind, values),), True, NO_REFERENCES
        style, is_visible, font, effects, specified, is_placed_as_written = self._resolve_shape(
            kind, attributes, context
        )
        pieces = [Piece(kind, style)]
        if (effects or context.clips) and is_visible and not is_whole:
            pieces = self._computer.split(kind, style, effects, font, context)
            is_visible = bool(pieces)
            pieces = pieces or [Piece(kind, style)]
        drawn = tuple(
            (part, self._resolve_rect_lengths(values, context, font) if part == "Rect" else values)
            for part, values in pieces
        )
        is_alone = has_own_rule or effects or context.clips
        if is_visible and is_placed_as_written and not is_alone:
            self._templates.add(kind, attributes, context, drawn[0][1])
        return drawn, is_visible, specified

    def _resolve_shape(
        self, kind: str, attributes: dict[str, str], context: InheritedStyle
    ) -> ResolvedShape:
        style, is_visible = attributes, context.is_visible
        color, font, effects = context.color, context.font, context.effects
        is_placed_as_written = True
        if (
            self._sets_values
            or "%" in attributes.get("transform", "")
            or not STYLING_ATTRIBUTES.isdisjoint(attributes)
            or has_wide_keyword(attributes)
        ):
            cascaded = self._cascade.compute_style(kind.lower(), attributes, context.match_state)
            (style, controls), _, font = self._computer.compute(cascaded, context, kind)
            is_visible = context.is_shape_visible(controls) and conditions_hold(attributes)
            color = controls.get("color", color)
            style = context.resolve_attributes(style, color)
            if not EFFECTS.isdisjoint(controls):
                effects = {**effects, **controls}
            is_placed_as_written = TRANSFORM_PROPERTIES.isdisjoint(
                controls
            ) and not self._cascade.sets_geometry(kind.lower(), attributes, context.match_state)
        else:
            if not attributes.keys() <= OUTPUT_ATTRIBUTES:
                style = {
                    name: value for name, value in attributes.items() if name in OUTPUT_ATTRIBUTES
                }
            if not context.is_plain:
                style = context.resolve_attributes(style, context.color)
        final = self._computer.finish(kind, style, color, font, context)
        # What a reference to a gradient paints, and any var(), may depend on the geometry.
        is_placed_as_written = (
            is_placed_as_written
            and not self._computer.has_variables
            and all(final.get(name) == style.get(name) for name in ("fill", "stroke"))
        )
        return ResolvedShape(final, is_visible, font, effects, style, is_placed_as_written)

    def is_drawn(self, name: str, attributes: dict[str, str], context: InheritedStyle) -> bool:
        """Return whether an element that is no group is visible."""
        output, controls = self._cascade.compute_style(name, attributes, context.match_state)
        opacity = context.opacity and parse_opacity(output.get("opacity", "1"))
        return opacity > 0 and context.is_shape_visible(controls) and conditions_hold(attributes)

    def place_box(
        self, name: str, attributes: dict[str, str], context: InheritedStyle
    ) -> tuple[Mapping[str, str | Number], str]:
        """Return the box of an element that is no shape, in user units, and its transform."""
        cascaded = self._cascade.compute_style(name, attributes, context.match_state)
        (style, _), _, font = self._computer.compute(cascaded, context, "Rect")
        placed = context.resolve_attributes(style, context.color)
        texts = {name: placed[name] for name in RECT_LENGTHS & placed.keys()}
        return self._resolve_rect_lengths(texts, context, font), placed.get("transform", "")

    def context_paint(self, context: InheritedStyle) -> dict[str, str]:
        """Return the paints of a `use`, to which its instance can refer."""
        return self._computer.context_paint(context)

    def resolve_length(
        self, name: str, text: str, context: InheritedStyle, font: FontSizes | None = None
    ) -> Number | None:
        """Parse a length into user units, or return None for text that is no length."""
        number = self._numbers[text]
        if number is not None:
            return number
        hundred_percent = context.viewport.hundred_percent(name)
        px_per_unit = (font or context.font).px_per_unit
        return parse_user_units(text, hundred_percent, name, self._magnitude, px_per_unit)

    def _resolve_rect_lengths(
        self, texts: Mapping[str, str], context: InheritedStyle, font: FontSizes
    ) -> Mapping[str, str | Number]:
        """Convert a Rect's lengths to user units; drop those in error, as browsers do."""
        numbers = self._numbers
        attributes = {
            name: numbers[text] if name in RECT_LENGTHS else text for name, text in texts.items()
        }
        if None not in attributes.values():
            return attributes  # type: ignore[return-value]
        for name in RECT_LENGTHS & texts.keys():
            attributes[name] = self.resolve_length(name, texts[name], context, font)
        return {name: value for name, value in attributes.items() if value is not None}
