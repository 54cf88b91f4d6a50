"""A document -> its elements in document order, styles and references resolved."""

from collections.abc import Mapping
from typing import Final

from parsing import identities
from parsing.cascade import Cascade, Style
from parsing.conditions import applies, choose
from parsing.context import Context
from parsing.definitions import Definitions, read_definitions
from parsing.elements import Group, Place, Sink
from parsing.errors import InvalidMarkup, ParsingError, Refused
from parsing.georeferences import read_georeference
from parsing.identities import NAMES
from parsing.lengths import (
    Number,
    NumberMemo,
    Viewport,
    checked,
    parse_length,
    shortest,
)
from parsing.limits import DEFAULT, Limits
from parsing.names import (
    CONTAINERS,
    GROUP_NAMES,
    KEPT,
    LAYER_KINDS,
    RECT_NUMBERS,
    SHAPES,
    STYLED,
    SVG,
    SYMBOLS,
    USES,
    reference,
)
from parsing.source import read_document
from parsing.tags import parse_tags
from parsing.tokens import Start, Target, Token, feed
from parsing.viewports import inner_frame, outer_frame, translation

NESTED_USES: Final = 64
LAYER: Final = Group("Layer")
IDENTIFIERS: Final = {"HitAreaLayer": identities.of_hit_area, "UnitLayer": identities.of_unit}


def walk(svg: bytes, sink: Sink, limits: Limits = DEFAULT) -> None:
    """Tell the sink of a drawing's canvas, groups, shapes and georeferences.

    What the unit-map format does not have (text, images, definitions, foreign namespaces) is
    skipped. Memory does not grow with the drawing. Raises `ParsingError`, always with a place.
    """
    try:
        document = read_document(svg, limits)
        definitions = read_definitions(document, limits)
        cascade = Cascade(definitions.styles, limits)
        illustrator = identities.ILLUSTRATOR.search(document.text) is not None
        feed(document, Walker(sink, definitions, cascade, illustrator, limits))
    except ParsingError as error:
        if error.line:
            raise
        raise error.at((1, 1)) from error


class Walker(Target):
    """Follows the start and end tags of a document, and of the instances that `use` makes."""

    def __init__(
        self,
        sink: Sink,
        definitions: Definitions,
        cascade: Cascade,
        illustrator: bool,
        limits: Limits,
    ) -> None:
        super().__init__(limits)
        self._sink = sink
        self._definitions = definitions
        self._cascade = cascade
        self._has_rules = cascade.has_rules
        self._illustrator = illustrator
        self._context: Context | None = None  # None: before the root
        self._around: list[Context] = []
        self._skipping = 0  # elements open, the outermost of which is not drawn
        self._numbers = NumberMemo(limits.magnitude)
        self._expanded = 0  # elements that came from `use`

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        if self._skipping:
            self._skipping += 1
            return
        context = self._context
        if context is None:
            self._root(tag, attributes)
        elif context.chosen is not None and not choose(context.chosen, attributes):
            self._skipping = 1
        elif kind := SHAPES.get(tag):
            self._skipping = 1
            self._shape(kind, attributes, context)
        elif name := CONTAINERS.get(tag):
            self._open(name, attributes, context)
        else:
            if tag in USES:
                self._instance(attributes, context)
            self._skipping = 1

    def leave(self) -> None:
        if self._skipping:
            self._skipping -= 1
        elif self._around:
            self._context = self._around.pop()
            self._sink.close()

    def _root(self, tag: str, attributes: dict[str, str]) -> None:
        if CONTAINERS.get(tag) != "svg":
            name = tag.rpartition("}")[2]
            raise InvalidMarkup(f"the root element is <{name}>; a unit map is an <svg>")
        frame = outer_frame(attributes, self.limits.magnitude)
        self._sink.canvas(*(max(1, int(side + 0.5)) for side in frame.viewport))
        outside = Context(frame.viewport).shift(frame.transform)
        self._context = self._styled("svg", attributes, outside)

    def _open(self, name: str, attributes: dict[str, str], context: Context) -> None:
        kind = attributes.get("data-type") if name == "g" else None
        if kind == "Georeference":
            self._sink.georeference(read_georeference(attributes, self.limits.magnitude))
            self._skipping = 1
            return
        if len(self._around) >= self.limits.nesting:
            raise Refused(f"groups nest deeper than {self.limits.nesting} when use is expanded")
        group = self._group(kind, attributes)
        self._sink.open(group)
        self._around.append(context)
        self._context = self._inside(name, attributes, group, context)

    def _group(self, kind: str | None, attributes: dict[str, str]) -> Group:
        if kind == "Level":
            tags = parse_tags(attributes.get("data-tags", ""))
            return Group(kind, identities.name_of(attributes, self._illustrator), tags or None)
        return Group(kind) if kind in LAYER_KINDS else LAYER

    def _inside(
        self, name: str, attributes: dict[str, str], group: Group, context: Context
    ) -> Context:
        """The context of a group's children."""
        inner = self._styled(name, attributes, context, is_level=group.kind == "Level")
        if group.kind == "Level":
            return inner._replace(place=Place(group))
        if group.kind != "Layer":
            return inner._replace(place=Place(context.place.level, group.kind))
        if name == "switch":
            return inner._replace(chosen=[])
        if name == "svg":
            return inner.look_into(inner_frame(attributes, context.viewport))
        return inner

    def _styled(
        self, name: str, attributes: dict[str, str], context: Context, is_level: bool = False
    ) -> Context:
        cascade = self._cascade
        if (
            context.chosen is None
            and not cascade.has_combinators
            and attributes.keys().isdisjoint(GROUP_NAMES)
            and not cascade.concerns(name, attributes)
        ):
            return context
        style = cascade.style(name, attributes, context.element)
        if is_level:
            # A drawing shows one storey and hides the others; the map has them all.
            style = style.without("display", "visibility")
        if not applies(attributes):
            style = Style(style.kept, {**style.controls, "display": "none"})
        inner = context.enter(style)
        if cascade.has_combinators:
            return inner._replace(element=cascade.element(name, attributes, context.element))
        return inner

    def _shape(self, kind: str, attributes: dict[str, str], context: Context) -> None:
        style, visible = attributes, context.is_visible
        if self._has_rules or not STYLED.isdisjoint(attributes):
            style, controls = self._cascade.style(kind.lower(), attributes, context.element)
            visible = context.shows(controls) and applies(attributes)
            style = context.resolve(style, controls.get("color", context.color))
        else:
            if not attributes.keys() <= KEPT:
                style = {name: value for name, value in attributes.items() if name in KEPT}
            if not context.is_plain:
                style = context.resolve(style, context.color)
        place = context.place
        identity = None
        if place.layer:
            identity = IDENTIFIERS[place.layer](attributes, self._illustrator)
        drawn = self._with_numbers(style, context.viewport) if kind == "Rect" else style
        self._sink.shape(kind, drawn, attributes, place, identity, visible)

    def _with_numbers(
        self, texts: Mapping[str, str], viewport: Viewport
    ) -> Mapping[str, str | Number]:
        """A Rect's lengths in user units; what is no length is left out, as browsers do."""
        numbers = self._numbers
        attributes = {
            name: numbers[text] if name in RECT_NUMBERS else text for name, text in texts.items()
        }
        if None not in attributes.values():
            return attributes  # type: ignore[return-value]
        for name in RECT_NUMBERS & texts.keys():
            attributes[name] = self._number(name, texts[name], viewport)
        return {name: value for name, value in attributes.items() if value is not None}

    def _number(self, name: str, text: str, viewport: Viewport) -> Number | None:
        """A length in user units, None for what is no length."""
        number = self._numbers[text]
        if number is not None or "%" not in text:
            return number
        length = parse_length(text, viewport.hundred_percent(name))
        return None if length is None else shortest(checked(length, name, self.limits.magnitude))

    def _instance(self, attributes: dict[str, str], context: Context) -> None:
        """Draw the element that a `use` refers to in its place (SVG 2, section 5.6).

        A reference to nothing, or to an element around it, draws nothing.
        """
        name = reference(attributes)
        tokens = self._definitions.instance(name)
        if not tokens or name in context.uses:
            return
        self._expanded += len(tokens) // 2
        if self._expanded > self.limits.elements:
            raise Refused(f"use expands to more than {self.limits.elements:,} elements")
        if len(context.uses) == NESTED_USES:
            raise Refused(f"use elements refer to each other {NESTED_USES} deep")
        x = self._number("x", attributes.get("x", "0"), context.viewport) or 0
        y = self._number("y", attributes.get("y", "0"), context.viewport) or 0
        inner = self._styled("use", attributes, context).shift(translation(x, y))
        self._context = inner._replace(uses=context.uses | {name}, chosen=None)
        self.enter(*_stand_in(tokens[0], attributes, context))
        for token in tokens[1:]:
            if token is None:
                self.leave()
            else:
                self.enter(*token)
        self._context = context


def _stand_in(token: Token, use: Mapping[str, str], context: Context) -> Start:
    """The referenced element's start tag, with what its `use` says over it."""
    assert token is not None, "an instance starts with a start tag"
    tag, attributes = token
    if tag in SYMBOLS or CONTAINERS.get(tag) == "svg":
        size = {name: use[name] for name in ("width", "height") if name in use}
        return SVG + "svg", {**attributes, **size}
    if tag in SHAPES and context.place.layer and not NAMES.isdisjoint(use):
        own = {name: value for name, value in attributes.items() if name not in NAMES}
        return tag, own | {name: use[name] for name in NAMES if name in use}
    return token
