"""Walk a document in order and resolve its styles, conditions and references."""

from collections.abc import Mapping
from typing import Final

from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.limits import DocumentLimits
from parsing.svg.colors import Color
from parsing.svg.definitions import Definitions, choose_switch_child
from parsing.svg.drawing_report import DrawingReport
from parsing.svg.effects import REPORTED_ATTRIBUTES
from parsing.svg.elements import (
    IDENTITY_ATTRIBUTES,
    DrawingHandler,
    DrawnGroup,
    DrawnShape,
    RejectedShape,
    ShapeContainer,
    parse_georeference,
    parse_tags,
)
from parsing.svg.group_names import NamedType, NameReader
from parsing.svg.inheritance import InheritedStyle
from parsing.svg.lengths import FontSizes, Number, Viewport
from parsing.svg.names import (
    CONDITION_ATTRIBUTES,
    CONTAINER_TAGS,
    HREF_ATTRIBUTES,
    LEFT_OUT_TAGS,
    SHAPE_TAGS,
    SVG_NAMESPACE,
    SYMBOL_TAGS,
    UNIT_LAYERS,
    USE_TAGS,
    referenced_id,
)
from parsing.svg.paint_servers import MAX_TILE_CHARS, TilePainter, read_tile
from parsing.svg.resolving import StyleResolver
from parsing.svg.style_sheets import ROOT_CLASS
from parsing.svg.viewports import format_translation, nested_frame, root_frame
from parsing.svg.warnings import ignore_faults, quote
from parsing.xml_documents import ParserTarget, StartTag, Token

MAX_NESTED_USES: Final = 64
PLAIN_LAYER: Final = DrawnGroup("Layer")
HREFS: Final = frozenset(HREF_ATTRIBUTES)
HTML_PICTURES: Final = frozenset({"img", "canvas", "image"})
"""Elements that make a picture of the foreignObject around them, which else is text."""
HIDING_ATTRIBUTES: Final = CONDITION_ATTRIBUTES | {"display"}


class DrawingWalker(ParserTarget):
    """Follows the tags of a document and of the instances that its `use` elements make."""

    def __init__(
        self,
        handler: DrawingHandler,
        text: bytes,
        definitions: Definitions,
        report: DrawingReport,
        limits: DocumentLimits,
    ) -> None:
        super().__init__(limits)
        self._handler = handler
        self._definitions = definitions
        self._styles = StyleResolver(text, definitions, self._average_tile, limits, report)
        self._names = NameReader(text)
        self._report = report
        self._spent_on_tiles = [0]
        self._uses_around_tile = 0
        self._context: InheritedStyle | None = None  # None before the root
        self._ancestors: list[InheritedStyle] = []
        self._open_ids: list[str] = []
        self._skip_depth = 0  # open elements inside a skipped one, itself included
        self._frame: tuple[Mapping[str, str | Number], str] | None = None  # foreignObject around
        self._expanded_elements = 0

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        if self._skip_depth:
            self._skip_depth += 1
            if self._frame is not None and tag.rpartition("}")[2] in HTML_PICTURES:
                lengths, transform = self._frame
                self._report.drawn.add_picture("Rect", {**lengths, "transform": transform})
                self._frame = None
            return
        context = self._context
        if context is None:
            self._enter_root(tag, attributes)
        elif context.switch_choice is not None and not choose_switch_child(
            context.switch_choice, attributes
        ):
            self._skip_depth = 1
        elif kind := SHAPE_TAGS.get(tag):
            self._skip_depth = 1
            try:
                self._draw_shape(kind, attributes, context)
            except InvalidMarkupError as error:
                level, shape_id = context.position.level, attributes.get("id", "")
                rejected = RejectedShape(kind, shape_id, level, self.elements)
                self._handler.reject_shape(error, rejected)
        elif name := CONTAINER_TAGS.get(tag):
            self._open_group(name, attributes, context)
        else:
            if tag in USE_TAGS:
                self._expand_use(attributes, context)
            elif (element := LEFT_OUT_TAGS.get(tag)) and context.is_visible:
                with ignore_faults():
                    self._leave_out(element, attributes, context)
            self._skip_depth = 1

    def leave(self) -> None:
        if self._skip_depth:
            self._skip_depth -= 1
            if self._frame is not None and not self._skip_depth:
                self._frame = None
        elif self._ancestors:
            inside, self._context = self._context, self._ancestors.pop()
            unit = inside.position.group if inside else None
            if unit is not None and unit is not self._context.position.group:
                self._report.leave_unit()
            self._open_ids.pop()
            self._handler.end_group()

    def _enter_root(self, tag: str, attributes: dict[str, str]) -> None:
        if CONTAINER_TAGS.get(tag) != "svg":
            name = tag.rpartition("}")[2]
            raise InvalidMarkupError(f"the root element is <{name}>; a unit map is an <svg>")
        frame = root_frame(attributes, self.limits.magnitude)
        self._handler.set_canvas_size(*(max(1, int(side + 0.5)) for side in frame.viewport))
        self._report.drawn.set_canvas(frame.viewport)
        outside = InheritedStyle(
            frame.viewport, font=FontSizes(viewport=frame.viewport)
        ).with_transform(frame.transform)
        names = f"{attributes.get('class', '')} {ROOT_CLASS}"
        # Browsers draw the root whatever it says about being displayed.
        drawn = {name: text for name, text in attributes.items() if name not in HIDING_ATTRIBUTES}
        self._context = self._styles.enter_root({**drawn, "class": names}, outside)
        self._check_misplaced_name("svg", attributes)
        self._check_effects("svg", {**drawn, "class": names}, outside)
        self._open_ids = [attributes.get("id", "")]

    def _open_group(self, name: str, attributes: dict[str, str], context: InheritedStyle) -> None:
        kind, named = attributes.get("data-type") if name == "g" else None, None
        if kind is not None:
            self._report.check_type(kind, attributes.get("id", ""), self.elements)
        elif name == "g" and attributes:
            named = self._read_name(attributes, context.position)
            kind = named and named.kind
        elif "data-type" in attributes:
            self._report.misplace_type(name, attributes, self.elements)
        if attributes:
            if name != "g":
                self._check_misplaced_name(name, attributes)
            self._report.check_attribute_names(name, attributes, self.elements)
        if kind == "Georeference":
            self._add_georeference(attributes, named)
            self._skip_depth = 1
            return
        if len(self._ancestors) >= self.limits.nesting:
            raise DocumentRejectedError(
                f"groups nest deeper than {self.limits.nesting} when use is expanded"
            )
        group = self._to_group(kind, attributes, named)
        if group.kind == "Level":
            self._report.add_level(group, context.position.level, self.elements)
        elif group.kind != "Layer":
            self._report.add_layer(context.position.level, self.elements)
        self._handler.start_group(group)
        self._ancestors.append(context)
        self._open_ids.append(attributes.get("id", ""))
        self._context = inner = self._enter_group(name, attributes, group, context)
        if inner.is_visible:
            self._check_effects(name, attributes, context)

    def _read_name(
        self, attributes: Mapping[str, str], position: ShapeContainer
    ) -> NamedType | None:
        """Return what the name of a group makes of it, if anything, and report how it is read."""
        found = self._names.read_group(attributes)
        if found is None:
            return None
        name, named = found
        if isinstance(named, str):
            if named not in UNIT_LAYERS and position.level is not None:
                return None
            code, detail = "misspelt-name", f"{quote(name)!r}; did you mean {named!r}?"
        elif not self._names.are_markup:
            code, detail = "name-not-read", f"{quote(name)!r} would be a {named.kind}"
        elif position.layer or (named.kind == "Level" and position.level):
            outer = position.layer or "Level"
            code, detail = "nested-name", f"the {named.kind} {quote(name)!r} is in a {outer}"
        else:
            self._report.has_names = True
            detail = f"read as {named.kind}: group named {quote(name)!r}"
            self._report.warnings.add("read-as", self.elements, "g", name, detail=detail)
            return named
        self._report.warnings.add(code, self.elements, "g", name, detail=detail)
        return None

    def _check_misplaced_name(self, element: str, attributes: Mapping[str, str]) -> None:
        """Report a name that would make a group a part of the map, on an element that is none."""
        found = self._names.read_group(attributes)
        if found is not None and isinstance(found[1], NamedType) and self._names.are_markup:
            name, detail = found[0], f"{quote(found[0])!r} on <{element}>; put it on a <g>"
            self._report.warnings.add("misspelt-name", self.elements, element, name, detail=detail)

    def _to_group(
        self, kind: str | None, attributes: Mapping[str, str], named: NamedType | None
    ) -> DrawnGroup:
        """Return the group of a kind, with the id and tags that its attributes or its name give."""
        if kind == "Level":
            if named is not None:
                return DrawnGroup(kind, attributes.get("data-id", named.id), named.tags)
            tags = parse_tags(attributes.get("data-tags", ""))
            return DrawnGroup(kind, self._names.find_name(attributes), tags or None)
        return DrawnGroup(kind) if kind in UNIT_LAYERS else PLAIN_LAYER

    def _add_georeference(self, attributes: dict[str, str], named: NamedType | None) -> None:
        if named is not None:
            attributes = {f"data-{name}": value for name, value in (named.tags or {}).items()}
        georeference = parse_georeference(attributes, self.limits.magnitude)
        self._report.add_georeference(georeference, self.elements)
        self._handler.add_georeference(georeference)

    def _enter_group(
        self, name: str, attributes: dict[str, str], group: DrawnGroup, context: InheritedStyle
    ) -> InheritedStyle:
        """Return the context of a group's children."""
        if name == "svg":
            context = context._replace(overflow="")
        inner = self._styles.inherit(name, attributes, context, is_level=group.kind == "Level")
        if group.kind == "Level":
            return inner._replace(position=ShapeContainer(group))
        if group.kind != "Layer":
            return inner._replace(position=ShapeContainer(context.position.level, group.kind))
        if attributes and context.position.layer and self._names.are_markup:
            position = self._names.enter_unit_group(attributes, context.position)
            if position.group is not None and position.group is not context.position.group:
                self._report.enter_unit(position.group, self.elements)
            inner = inner._replace(position=position)
        if name == "switch":
            return inner._replace(switch_choice=[])
        if name == "svg":
            return inner.enter_viewport(nested_frame(attributes, context.viewport, inner.font))
        return inner

    def _draw_shape(self, kind: str, attributes: dict[str, str], context: InheritedStyle) -> None:
        position = context.position
        identity = self._names.identify(attributes, position) if position.layer else None
        pieces, is_visible, specified = self._styles.draw(
            kind, attributes, context, is_whole=identity is not None
        )
        if "data-tags" in attributes:
            self._report.check_tags(kind.lower(), attributes, self.elements)
        seen = self._report.drawn
        if identity is None and is_visible:
            seen.shapes += 1
        is_part = False
        for part, values in pieces:
            shape = DrawnShape(
                part, values, attributes, position, identity, is_visible, self.elements, is_part
            )
            if not is_part and (
                position.layer
                or self._report.has_references
                or seen.shapes >= seen.next_look
                or not REPORTED_ATTRIBUTES.isdisjoint(attributes)
            ):
                ruled = self._styles.match_effects(kind.lower(), attributes, context)
                self._report.check_shape(shape, specified, ruled)
            self._handler.add_shape(shape)
            is_part = True

    def _check_effects(
        self, name: str, attributes: Mapping[str, str], context: InheritedStyle
    ) -> None:
        ruled = self._styles.match_effects(name, attributes, context)
        level = context.position.level
        self._report.check_references(name, attributes, ruled, level, self.elements)

    def _leave_out(self, element: str, attributes: dict[str, str], context: InheritedStyle) -> None:
        if not self._styles.is_drawn(element, attributes, context):
            return
        self._report.leave_out(element, attributes, context.position.level, self.elements)
        if element == "text":
            return
        box = self._styles.place_box(element, attributes, context)
        if element == "foreignObject":
            self._frame = box
        elif box[0] or not HREFS.isdisjoint(attributes):
            self._report.drawn.add_image(*box)

    def _expand_use(self, attributes: dict[str, str], context: InheritedStyle) -> None:
        """Draw the target of a `use` as if it stood in its place (SVG 2, section 5.6).

        A reference to an unknown id, or to an element around the `use` itself, draws nothing.
        """
        name = referenced_id(attributes)
        tokens = self._definitions.instance_tokens(name)
        if not tokens or name in context.open_uses or name in self._open_ids:
            if self._styles.inherit("use", attributes, context).is_visible:
                self._report.miss_use(attributes, context.position.level, self.elements)
            return
        # They are counted before they are walked, so that no step is taken for one too many.
        self._expanded_elements += len(tokens) // 2
        if self._expanded_elements > self.limits.elements:
            raise DocumentRejectedError(
                f"use expands to more than {self.limits.elements:,} elements"
            )
        if len(context.open_uses) >= MAX_NESTED_USES:
            raise DocumentRejectedError(f"use elements refer to each other {MAX_NESTED_USES} deep")
        inner = self._styles.inherit("use", attributes, context)
        x, y = (
            self._styles.resolve_length(name, text, context, inner.font) or 0
            for name in ("x", "y")
            for text in [inner.own_values.get(name, attributes.get(name, "0"))]
        )
        if inner.is_visible:
            self._check_effects("use", attributes, context)
        inner = inner.with_transform(format_translation(x, y))
        self._context = inner._replace(
            open_uses=context.open_uses | {name},
            switch_choice=None,
            context_paint=self._styles.context_paint(inner),
        )
        self.enter(*_instance_start_tag(tokens[0], attributes, context))
        for token in tokens[1:]:
            if token is None:
                self.leave()
            else:
                self.enter(*token)
        self._context = context

    def _average_tile(
        self, attributes: Mapping[str, str], content_id: str, inside: InheritedStyle
    ) -> Color | None:
        """Return the average colour of a pattern, or None if it has no content here."""
        tokens = self._definitions.instance_tokens(content_id)
        outside = self._context
        viewport = outside.viewport if outside else Viewport(1, 1)
        tile = read_tile(attributes, viewport, inside.font.px_per_unit)
        uses = self._uses_around_tile + len(outside.open_uses if outside else ())
        is_too_much = uses >= MAX_NESTED_USES or self._spent_on_tiles[0] > MAX_TILE_CHARS
        if tile is None or len(tokens) <= 2 or is_too_much:
            return None
        self._spent_on_tiles[0] += len(tokens)
        painter = TilePainter(tile, self._spent_on_tiles)
        # The tile is walked at once, in the midst of the drawing that refers to it.
        state = self._handler, self._context, self._ancestors, self._open_ids, self._skip_depth
        report, self._report = self._report, DrawingReport()  # a tile is no part of the map
        uses, self._uses_around_tile = self._uses_around_tile, uses
        self._handler, self._ancestors, self._open_ids, self._skip_depth = painter, [], [], 0
        self._context = inside._replace(viewport=viewport)
        for token in tokens[1:-1]:
            if token is None:
                self.leave()
            else:
                self.enter(*token)
        self._handler, self._context, self._ancestors, self._open_ids, self._skip_depth = state
        self._report, self._uses_around_tile = report, uses
        return painter.average()


def _instance_start_tag(token: Token, use: Mapping[str, str], context: InheritedStyle) -> StartTag:
    """Return the start tag of an instance: the target's, overridden by what its `use` sets."""
    assert token is not None, "an instance starts with a start tag"
    tag, attributes = token
    if tag in SYMBOL_TAGS or CONTAINER_TAGS.get(tag) == "svg":
        size = {name: use[name] for name in ("width", "height") if name in use}
        return SVG_NAMESPACE + "svg", {**attributes, **size}
    if tag in SHAPE_TAGS and context.position.layer and not IDENTITY_ATTRIBUTES.isdisjoint(use):
        own = {name: value for name, value in attributes.items() if name not in IDENTITY_ATTRIBUTES}
        return tag, own | {name: use[name] for name in IDENTITY_ATTRIBUTES if name in use}
    return token
