"""Collect warnings of a parse: what is lost of a drawing, and what may be a mistake in it.

Each has a cause from a table. All places are counted, and the first few of a cause are kept.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.svg.elements import DrawnGroup
from parsing.svg.outcome import MAX_PLACES, ParseWarning, WarningPlace
from parsing.xml_documents import XmlDocument, iter_tag_offsets, locate_start_tags


class CanvasBox(NamedTuple):
    """A rectangle in the coordinates of the canvas."""

    left: float
    top: float
    right: float
    bottom: float

    def reaches_into(self, other: "CanvasBox") -> bool:
        """Return whether the boxes meet."""
        return (
            self.left <= other.right
            and other.left <= self.right
            and self.top <= other.bottom
            and other.top <= self.bottom
        )

    def is_within(self, other: "CanvasBox") -> bool:
        """Return whether all of this box is in the other, perhaps at its edge.

        >>> square = CanvasBox(0, 0, 1, 1)
        >>> square.is_within(square), CanvasBox(0, 0, 1, 2).is_within(square)
        (True, False)
        """
        return (
            other.left <= self.left
            and self.right <= other.right
            and other.top <= self.top
            and self.bottom <= other.bottom
        )

    @property
    def side(self) -> float:
        """Return the longer side."""
        return max(self.right - self.left, self.bottom - self.top)

    @property
    def has_area(self) -> bool:
        """Return whether it is more than a line."""
        return self.left < self.right and self.top < self.bottom

    def __str__(self) -> str:
        """Return the corners as warnings show them."""
        return f"reaches from {self.left:.5g},{self.top:.5g} to {self.right:.5g},{self.bottom:.5g}"


NOTHING: Final = CanvasBox(math.inf, math.inf, -math.inf, -math.inf)
"""The box of a shape that draws nothing."""


MAX_BOXES: Final = 100
"""Shapes of a group or a `use` that are looked at to find where it lies."""
DECIMALS: Final = 3


class FoundElement(NamedTuple):
    """An element, the box of it on the map, and the number of the Level around it, if any."""

    element: str
    id: str
    box: CanvasBox
    level: int | None


class FoundElements:
    """Collects what one start tag draws: an element, the shapes of a group, or those of a `use`."""

    def __init__(self) -> None:
        self.level: int | None = None
        self.level_id = ""
        self._found: list[FoundElement] = []
        self._boxes = 0
        self._around = NOTHING

    @property
    def is_found(self) -> bool:
        """Return whether anything of it is known."""
        return self._boxes > 0

    @property
    def is_full(self) -> bool:
        """Return whether enough of its shapes are known."""
        return self._boxes >= MAX_BOXES

    def widen(self, box: CanvasBox) -> None:
        """Add the box of a shape in it."""
        self._boxes += 1
        left, top, right, bottom = self._around
        self._around = CanvasBox(
            min(left, box.left), min(top, box.top), max(right, box.right), max(bottom, box.bottom)
        )

    def add(self, found: FoundElement) -> None:
        """Add an element that it draws."""
        if not self.is_full:
            self._found.append(found)
            self.widen(found.box)

    def locate(self, place: WarningPlace, number: int) -> WarningPlace:
        """Return a place of a warning with its position, size and Level on the map.

        It is the `number`th from 0 of the elements that a `use` draws, or all of them together if
        none has its name.
        """
        same = [found for found in self._found if found.element == place.element]
        found = [found for found in same if place.name and found.id == place.name] or same
        if found:
            _, _, box, level = found[min(number, len(found) - 1)]
        else:
            box, level = self._around, self.level
        place = place._replace(level=place.level or quote(self.level_id), level_index=level)
        if not all(map(math.isfinite, box)):
            return place
        middle = (box.left + box.right) / 2, (box.top + box.bottom) / 2
        size = box.right - box.left, box.bottom - box.top
        x, y, width, height = (round(length, DECIMALS) for length in (*middle, *size))
        return place._replace(x=x, y=y, width=width, height=height)


FindElements = Callable[[Collection[int]], Mapping[int, FoundElements]]
"""Finds elements by the numbers of their start tags."""


# The causes of warnings, with what to do about each; the same table is in docs/unit-maps.md.


class WarningCause(NamedTuple):
    """The message of a warning; a note says how a name was read, and nothing is wrong."""

    message: str
    remedy: str
    is_note: bool = False


CAUSES: Final[dict[str, WarningCause]] = {
    # Names
    "read-as": WarningCause("a name is read as markup", "", is_note=True),
    "unit-by-name": WarningCause("a unit or hit area has its id from a name", "", is_note=True),
    "misspelt-type": WarningCause(
        "data-type has a value that is no type, so the group is a Layer",
        "write Level, UnitLayer, HitAreaLayer or Georeference, with these capitals",
    ),
    "misspelt-attribute": WarningCause(
        "an attribute is called almost data-type, so it is not read",
        "write data-type, in small letters and with a hyphen",
    ),
    "misplaced-type": WarningCause(
        "data-type is on an element that is no group, so it is not read",
        "put the element into a <g> with this data-type",
    ),
    "misspelt-name": WarningCause(
        "the name of a group is almost one that makes it a part of the map",
        "rename the group, or ignore this if a plain Layer is meant",
    ),
    "name-not-read": WarningCause(
        "the name of a group is not read, because the drawing uses data-type",
        "give this group a data-type too, or remove data-type from all others",
    ),
    "nested-name": WarningCause(
        "a group that its name makes a part of the map is in another, so its name is not read",
        "move it out of that group: layers stand in a Level, and Levels in no other",
    ),
    "other-label": WarningCause(
        "a shape of a UnitLayer or HitAreaLayer has an id and another label",
        "give it the same label, or remove the id if the label is meant",
    ),
    "numbered": WarningCause(
        "a unit or hit area is called as another with a number, as copies are",
        "rename it if it is a copy; ignore this if both are units",
    ),
    "tags": WarningCause(
        "data-tags of a shape cannot be read, so routing leaves the shape out",
        "write key=value pairs joined by ;, such as indoor=corridor",
    ),
    "empty-unit": WarningCause(
        "a group with the name of a unit has no shape, so the unit is not in the map",
        "draw the unit in the group; ignore this if the group is none",
    ),
    "named-parts": WarningCause(
        "a group is named as a unit, but its shapes have names of their own, so these are units",
        "remove the name of the shape that is the unit; ignore this if the shapes are units",
    ),
    # Structure
    "no-level": WarningCause(
        "the drawing has no Level",
        'put the content of each storey into a group with data-type="Level", or named "Level 2"',
    ),
    "outside-level": WarningCause(
        "a UnitLayer or HitAreaLayer is outside of every Level, so its storey is unknown",
        'move it into the group of its storey, which is a Level: data-type="Level" or "Level 2"',
    ),
    "duplicate-id": WarningCause(
        "an id of a Level, Unit or HitArea is used twice",
        "give each its own id, or draw what belongs together as one path",
    ),
    "blank-id": WarningCause(
        "an id is blank", "give it the id of the unit, or remove the attribute"
    ),
    "long-id": WarningCause(
        "an id has over 255 characters", "use the id that the unit has in the catalog"
    ),
    "no-id": WarningCause(
        "a shape of a UnitLayer or HitAreaLayer has no unit's id, so it is an ordinary shape",
        "give it the id of its unit, or move it to another layer",
    ),
    "generated-id": WarningCause(
        "a shape of a UnitLayer or HitAreaLayer has the id that the drawing program made up",
        "give it the id of its unit as its label or id",
    ),
    "unit-without-hit-area": WarningCause(
        "a unit has no hit area, so it cannot be clicked",
        "copy its shape into the HitAreaLayer, with hit in front of the id",
    ),
    "hit-area-without-unit": WarningCause(
        "a hit area points to a unit that is not drawn",
        "correct its id, which is hit and the id of the unit, or draw the unit",
    ),
    "outside-canvas": WarningCause(
        "a unit or hit area is outside of the canvas, or reaches over its edge",
        "move it onto the page, or fit the page to the drawing before the export",
    ),
    "shape-outside": WarningCause(
        "a shape lies outside of the canvas, so it is not seen",
        "move it onto the page, fit the page to the drawing, or delete it",
    ),
    "blank": WarningCause(
        "nothing of a Level, or of the map, is on the canvas, so it would be blank",
        "draw the storey as shapes, or fit the page to the drawing before the export",
    ),
    "geometry": WarningCause(
        "a shape is drawn in part or not at all, because its geometry is faulty",
        "correct the numbers, or draw it anew",
    ),
    "georeference-range": WarningCause(
        "the Georeference is out of range",
        "latitude is -90 to 90, longitude -180 to 180, zoom 0 to 24, pitch 0 to 90",
    ),
    "georeferences": WarningCause("there is more than one Georeference", "keep one of them"),
    # What the format does not have
    "text": WarningCause(
        "text is left out",
        "convert it to paths if the map needs it; labels of units come from the directory",
    ),
    "image": WarningCause("an image is left out", "trace what the map needs of it as shapes"),
    "foreign-object": WarningCause(
        "a foreignObject is left out", "draw what the map needs as shapes"
    ),
    "use": WarningCause(
        "a use draws nothing, because what it refers to is not in the drawing",
        "put the symbol into the drawing, or unlink the copy before the export",
    ),
    "paint": WarningCause(
        "a gradient or pattern is drawn as its average colour",
        "use a plain colour where that is wrong",
    ),
    "missing-paint": WarningCause(
        "a gradient or pattern is not in the drawing",
        "use a plain colour, or put it into the drawing",
    ),
    "marker": WarningCause("markers are left out", "convert arrows and line ends to paths"),
    "clip": WarningCause(
        "a clip path is not applied", "cut the shapes themselves, or draw them smaller"
    ),
    "mask": WarningCause("a mask is not applied", "cut the shapes themselves"),
    "filter": WarningCause("a filter is not applied", "remove the effect, or draw it as shapes"),
    "style": WarningCause(
        "style is not read or not applied", "write colours and sizes as attributes of the shapes"
    ),
}


# Tell text that is lost from elements without any text, which programs leave behind.

NAME: Final = r"(?:[\w.-]{1,40}:)?"
BLANK_TEXT: Final = re.compile(  # possessive, so that it takes linear time
    rf"<{NAME}text(?:\s[^<>]*)?(?:/>|>(?:\s|</?{NAME}tspan(?:\s[^<>]*+)?+>)*+</{NAME}text\s*>)".encode()
)


def find_blank_texts(document: XmlDocument, ordinals: Sequence[int]) -> frozenset[int]:
    """Return which of these start tags, by their ascending numbers, are of text with nothing in it.

    >>> document = XmlDocument(b"<svg><text>1</text><text> </text></svg>", False)
    >>> find_blank_texts(document, [2, 3])
    frozenset({3})
    """
    if not BLANK_TEXT.search(document.text):
        return frozenset()
    offsets = iter_tag_offsets(document, ordinals)
    return frozenset(
        ordinal
        for ordinal, offset in zip(ordinals, offsets, strict=True)
        if BLANK_TEXT.match(document.text, offset)
    )


SAMPLED: Final = " (at least so many: of the shapes that are no units a sample is looked at)"
MAX_QUOTED_CHARACTERS: Final = 80
"""Characters of an id or a name in a warning."""


class WarningCollector:
    """Counts the places of each cause and keeps the first, until they are located."""

    def __init__(self, max_places: int = MAX_PLACES) -> None:
        self._max_places = max_places
        self._counts: dict[str, int] = {}
        self._sampled: frozenset[str] = frozenset()
        self._places: list[tuple[int, str, WarningPlace]] = []  # start tag, cause, place

    def is_full(self, code: str) -> bool:
        """Return whether a cause has enough places; if so, count one more."""
        count = self._counts.get(code, 0)
        if count < self._max_places:
            return False
        self._counts[code] = count + 1
        return True

    def add(
        self,
        code: str,
        ordinal: int,
        element: str = "",
        name: str = "",
        level: DrawnGroup | None = None,
        detail: str = "",
    ) -> None:
        """Add a place; `ordinal` is the number of its start tag, 0 for the whole drawing."""
        count = self._counts[code] = self._counts.get(code, 0) + 1
        if count <= self._max_places:
            level_id = quote(level.id) if level else ""
            place = WarningPlace(0, 0, element, quote(name), level_id, detail)
            self._places.append((ordinal, code, place))

    def mark_sampled(self, *codes: str) -> None:
        """Say of these causes that they were looked for in a part of the drawing."""
        self._sampled = frozenset(codes)

    def locate(self, document: XmlDocument, find: FindElements | None = None) -> list[ParseWarning]:
        """Return the warnings with line and column, ordered by cause as in the table.

        `find` finds where they are on the map.
        """
        numbers: Counter[tuple[int, str]] = Counter()  # of the places of one start tag and cause
        places: dict[str, list[WarningPlace]] = {code: [] for code in self._counts}
        in_order = sorted(self._places, key=lambda each: each[0])
        positions = locate_start_tags(document, (ordinal for ordinal, _, _ in in_order))
        found = find({ordinal for ordinal, _, _ in in_order}) if find else {}
        for (ordinal, code, place), (line, column) in zip(in_order, positions, strict=True):
            if ordinal:
                place = place._replace(line=line, column=column)
            if ordinal in found:
                place = found[ordinal].locate(place, numbers[ordinal, code])
                numbers[ordinal, code] += 1
            places[code].append(place)
        return [
            ParseWarning(
                code,
                cause.is_note,
                cause.message + SAMPLED * (code in self._sampled),
                cause.remedy,
                count,
                places[code],
            )
            for code, cause in CAUSES.items()
            if (count := self._counts.get(code))
        ]


def is_fault(error: BaseException | None) -> bool:
    """Return whether an error says what is wrong with a part of the drawing.

    Errors of other classes do not, such as that of a parse that takes too much CPU time.
    """
    return isinstance(error, InvalidMarkupError) or type(error) is DocumentRejectedError


class ignore_faults:
    """Ignores what is wrong with a part that only warnings look at: it rejects no drawing.

    A context manager made of a generator takes four times as long, for each unit. Where each unit
    passes, `try` with `is_fault` is faster still.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        return is_fault(error)


def name_element(element: str, name: str) -> str:
    """Return how warnings call an element.

    >>> name_element("rect", "w1"), name_element("rect", "")
    ("<rect> 'w1'", '<rect>')
    """
    return f"<{element}> {quote(name)!r}" if name else f"<{element}>"


def quote(text: str) -> str:
    """Return a text of the drawing as warnings show it: of bounded length.

    >>> quote("x" * 80) == "x" * 80, len(quote("x" * 81))
    (True, 80)
    """
    if len(text) <= MAX_QUOTED_CHARACTERS:
        return text
    return text[: MAX_QUOTED_CHARACTERS - 3] + "..."
