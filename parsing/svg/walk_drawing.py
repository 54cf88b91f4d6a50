"""Read a drawing in order, and once more to find where the elements of its warnings lie."""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from parsing.errors import ParsingError
from parsing.limits import DEFAULT_LIMITS, DocumentLimits
from parsing.svg.definitions import Definitions, read_definitions
from parsing.svg.drawing_report import DrawingReport
from parsing.svg.elements import DrawingHandler, DrawnGroup
from parsing.svg.inheritance import InheritedStyle
from parsing.svg.names import CONTAINER_TAGS, SVG_NAMESPACE
from parsing.svg.outcome import ParseWarning
from parsing.svg.outlines import Attributes, find_start
from parsing.svg.shape_checks import IDENTITY, Canvas, image_lengths, parse_matrix
from parsing.svg.walk import DrawingWalker
from parsing.svg.warnings import NOTHING, CanvasBox, FoundElement, FoundElements, ignore_faults
from parsing.xml_documents import XmlDocument, decode_document, feed_document

# Find where the elements that warnings are about lie on the map, in a second walk. It resolves the
# styles of those shapes only that are looked for, and of the groups around them, and ends at the
# last of them. Only drawings with warnings are walked twice. See
# docs/decisions/parsing/streaming.md.

TEXT_PARTS: Final = frozenset({"tspan", SVG_NAMESPACE + "tspan"})


def find_elements(
    document: XmlDocument,
    definitions: Definitions,
    limits: DocumentLimits,
    level_ordinals: Sequence[int],
    ordinals: Collection[int],
) -> Mapping[int, FoundElements]:
    """Return what was found of elements, by the numbers of their start tags.

    `level_ordinals` are the start tags of all Levels.
    """
    sought = {ordinal: FoundElements() for ordinal in ordinals if ordinal}
    if sought:
        finder = ElementFinder(document.text, definitions, limits, level_ordinals, sought)
        with ignore_faults():  # the first walk has reported them
            feed_document(document, finder)
    return sought


class OpenText(NamedTuple):
    """A text that is being read; its attributes, with the position that its first part has."""

    attributes: dict[str, str]
    context: InheritedStyle
    sought: FoundElements


class ElementFinder(DrawingWalker, DrawingHandler):
    """Follows the tags of a drawing up to the last element that is looked for.

    It is its own handler, of groups only; that of a tile, while it draws one, is another.
    """

    def __init__(
        self,
        text: bytes,
        definitions: Definitions,
        limits: DocumentLimits,
        level_ordinals: Sequence[int],
        sought: Mapping[int, FoundElements],
    ) -> None:
        super().__init__(self, text, definitions, DrawingReport(), limits)
        self._sought = sought
        self._last = max(sought)
        self._open: list[tuple[int, FoundElements]] = []  # groups: ancestors, and what is in them
        self._pending: list[tuple[int, str, dict[str, str]]] = []  # groups, empty so far
        self._level_ordinals = level_ordinals
        self._levels: list[
            tuple[DrawnGroup, int]
        ] = []  # keeps groups alive, so that no id() is reused
        self._level_numbers: dict[int, int] = {}  # by id() of the group
        self._canvas = Canvas(0, 0)
        self._text: OpenText | None = None

    @property
    def is_done(self) -> bool:
        """Return whether all elements were found."""
        return self.elements > self._last and not self._open and self._text is None

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        context = self._context
        if self._handler is not self or context is None:
            super().enter(tag, attributes)
            return
        if self._skip_depth:
            if self._text is not None and tag in TEXT_PARTS:
                for name in ("x", "y"):
                    if name in attributes:
                        self._text.attributes.setdefault(name, attributes[name])
            self._skip_depth += 1
            return
        sought, group = self._sought.get(self.elements), CONTAINER_TAGS.get(tag)
        is_chosen = self._pending or context.switch_choice is None  # by no switch around it
        if sought is None and not self._open and is_chosen and group != "switch":
            if group:
                self._pending.append((self.elements, tag, attributes))
            else:
                self._skip_depth = 1
            return
        context = self._enter_pending(context)
        if sought is not None and not context.open_uses:
            level = context.position.level
            sought.level, sought.level_id = self._number_level(context), level.id if level else ""
        super().enter(tag, attributes)
        if group and not self._skip_depth and sought is not None and not context.open_uses:
            if self._context is not None:
                sought.level = self._number_level(self._context)
            self._open.append((len(self._ancestors), sought))

    def leave(self) -> None:
        if self._pending and not self._skip_depth:
            self._pending.pop()
            return
        if self._open and not self._skip_depth and self._open[-1][0] == len(self._ancestors):
            self._open.pop()
        super().leave()
        if self._text is not None and not self._skip_depth:
            self._find_text(self._text)
            self._text = None

    def _enter_pending(self, context: InheritedStyle) -> InheritedStyle:
        """Enter the groups around an element that is looked for; return the context in them."""
        if not self._pending:
            return context
        here, pending, self._pending = self.elements, self._pending, []
        for self.elements, tag, attributes in pending:
            super().enter(tag, attributes)
        self.elements = here
        return self._context or context

    def set_canvas_size(self, width: int, height: int) -> None:
        """Receive the size of the canvas, which images without a size cover."""
        self._canvas = Canvas(width, height)

    def start_group(self, group: DrawnGroup) -> None:
        """Number the Levels. One that a `use` draws has the number of its start tag."""
        if group.kind != "Level":
            return
        number = bisect_left(self._level_ordinals, self.elements)
        if self._levels and self._levels[-1][1] >= number:
            last = self._levels[-1][1] + 1
            if last < len(self._level_ordinals) and self._level_ordinals[last] == self.elements:
                number = last
        self._levels.append((group, number))
        self._level_numbers[id(group)] = number

    def _draw_shape(self, kind: str, attributes: dict[str, str], context: InheritedStyle) -> None:
        if self._handler is not self:
            super()._draw_shape(kind, attributes, context)
        elif self._is_wanted():
            pieces, _, _ = self._styles.draw(kind, attributes, context, is_whole=True)
            self._note(kind.lower(), attributes, self._measure(*pieces[0]), context)

    def _leave_out(self, element: str, attributes: dict[str, str], context: InheritedStyle) -> None:
        if self.elements not in self._sought:
            return
        if not self._styles.is_drawn(element, attributes, context):
            return
        if element == "text":
            sought = self._sought[self.elements]
            self._text = OpenText({**attributes}, context, sought)
            return
        lengths, transform = self._styles.place_box(element, attributes, context)
        placed = {**image_lengths(lengths, self._canvas.box), "transform": transform}
        self._note(element, attributes, self._measure("Rect", placed), context)

    def _expand_use(self, attributes: dict[str, str], context: InheritedStyle) -> None:
        if self._handler is not self:
            super()._expand_use(attributes, context)
        elif self._is_wanted():
            super()._expand_use(attributes, context)
            if context.open_uses or self.elements not in self._sought:
                return
            if not self._sought[self.elements].is_found:
                self._note(
                    "use", attributes, self._find_anchor("use", attributes, context), context
                )

    def _find_text(self, text: OpenText) -> None:
        """Note the point at which a text begins."""
        attributes, context, sought = text
        for name in ("x", "y"):
            attributes[name] = (attributes.get(name, "").replace(",", " ").split() or ["0"])[0]
        if box := self._find_anchor("text", attributes, context):
            level = self._number_level(context)
            sought.add(FoundElement("text", attributes.get("id", ""), box, level))

    def _find_anchor(
        self, element: str, attributes: dict[str, str], context: InheritedStyle
    ) -> CanvasBox | None:
        point = {name: text for name, text in attributes.items() if name not in ("width", "height")}
        placed, transform = self._styles.place_box(element, point, context)
        return self._measure("Rect", {**placed, "transform": transform})

    def _measure(self, kind: str, attributes: Attributes) -> CanvasBox | None:
        """Return the box of a shape, else the point where it starts, if that is known."""
        box, point, matrix = None, None, None
        with ignore_faults():
            box = self._canvas.find_box(kind, attributes)
        if box is not None and box != NOTHING:
            return box
        transform = str(attributes.get("transform", ""))
        with ignore_faults():
            point = find_start(kind, attributes)
            matrix = parse_matrix(transform) if transform else IDENTITY
        if point is None or matrix is None:
            return None
        x, y = matrix.apply(point)
        return CanvasBox(x, y, x, y)

    def _is_wanted(self) -> bool:
        return bool(self._open) or self.elements in self._sought

    def _note(
        self,
        element: str,
        attributes: Mapping[str, str],
        box: CanvasBox | None,
        context: InheritedStyle,
    ) -> None:
        if box is None:
            return
        if sought := self._sought.get(self.elements):
            level = self._number_level(context)
            sought.add(FoundElement(element, attributes.get("id", ""), box, level))
        for _, group in self._open:
            if group is not sought:
                group.widen(box)
        self._open = [each for each in self._open if not each[1].is_full]

    def _number_level(self, context: InheritedStyle) -> int | None:
        return self._level_numbers.get(id(context.position.level))


def walk_drawing(
    svg: bytes,
    handler: DrawingHandler,
    limits: DocumentLimits = DEFAULT_LIMITS,
    report: DrawingReport | None = None,
) -> list[ParseWarning]:
    """Call `handler` with a drawing's canvas size, groups, shapes and georeferences.

    Skips what the unit-map format does not have: text, images, definitions, foreign namespaces.
    Returns warnings of what is lost and what may be a mistake; `report` collects them, and then
    they have their positions on the map. Memory does not grow with the drawing, except for ids.
    Raises `ParsingError`, always with a position.
    """
    try:
        own_report = DrawingReport() if report is None else report
        document = decode_document(svg, limits)
        definitions = read_definitions(document, limits)
        own_report.begin(document.text, definitions)
        walker = DrawingWalker(handler, document.text, definitions, own_report, limits)
        feed_document(document, walker)
        if report is None:
            return own_report.finish(document)
        find = partial(find_elements, document, definitions, limits, report.drawn.level_ordinals)
        return report.finish(document, find)
    except ParsingError as error:
        if error.line:
            raise
        raise error.with_position((1, 1)) from error
