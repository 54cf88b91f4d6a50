"""Resolve what an element inherits, sets and matches to what is drawn."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from parsing.limits import DocumentLimits
from parsing.svg.conditions import conditions_hold
from parsing.svg.definitions import Definitions
from parsing.svg.geometry.clipping import Piece
from parsing.svg.geometry.lengths import LengthCache, Number, parse_opacity, parse_user_units
from parsing.svg.inheritance import EFFECTS, InheritedStyle
from parsing.svg.names import (
    GROUP_ATTRIBUTES,
    OUTPUT_ATTRIBUTES,
    RECT_LENGTHS,
    STYLING_ATTRIBUTES,
)
from parsing.svg.paint.servers import AverageTile, PaintServers
from parsing.svg.style.cascade import SILENT, Cascade, ElementStyle, StyleReport
from parsing.svg.style.computing import StyleComputer
from parsing.svg.style.fonts import FontSizes
from parsing.svg.style.origins import TRANSFORM_PROPERTIES
from parsing.svg.style.styles import NO_DECLARATIONS
from parsing.svg.style.templates import ShapeTemplates
from parsing.svg.style.values import has_wide_keyword

NO_REFERENCES: Final[Mapping[str, str]] = {}


# A plain tuple takes a sixth of a NamedTuple's time to make, and there is one per shape.
DrawnShape = tuple[Sequence[tuple[str, Mapping[str, str | Number]]], bool, Mapping[str, str]]
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
        self._cascade = Cascade(definitions.style_sheet, limits, report, definitions.viewport)
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
        self._paint_servers.ancestors.set_root(root)
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
            style = style.without_controls("display", "visibility")
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
    ) -> DrawnShape:
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
