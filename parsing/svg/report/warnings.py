"""Warnings of a parse: what is lost of a drawing, and what may be a mistake in it.

Each has a cause from a table. All places are counted, and the first few of a cause are kept.
"""

from collections import Counter
from typing import Final

from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.svg.outcome import MAX_PLACES, ParseWarning, WarningPlace
from parsing.svg.report.causes import CAUSES
from parsing.svg.report.found_elements import FindElements, FoundElements
from parsing.xml.decoding import XmlDocument
from parsing.xml.tokens import locate_start_tags

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
        level: str = "",
        detail: str = "",
    ) -> None:
        """Add a place; `ordinal` is the number of its start tag, 0 for the whole drawing."""
        count = self._counts[code] = self._counts.get(code, 0) + 1
        if count <= self._max_places:
            place = WarningPlace(0, 0, element, quote(name), quote(level), detail)
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
                number = numbers[ordinal, code]
                place = _place_on_map(place, found[ordinal], number)
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


def _place_on_map(place: WarningPlace, found: FoundElements, number: int) -> WarningPlace:
    x, y, width, height, level = found.find_extent(place.element, place.name, number)
    return place._replace(
        level=place.level or quote(found.level_id),
        level_index=level,
        x=x,
        y=y,
        width=width,
        height=height,
    )


def is_fault(error: BaseException | None) -> bool:
    """Return whether an error says what is wrong with a part of the drawing.

    Errors of other classes do not, such as that of a parse that takes too much CPU time.
    """
    return isinstance(error, InvalidMarkupError) or type(error) is DocumentRejectedError


class _FaultFilter:
    """A context manager; one made of a generator takes four times as long, for each unit."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        return is_fault(error)


FAULT_FILTER: Final = _FaultFilter()


def ignore_faults() -> _FaultFilter:
    """Ignore what is wrong with a part that only warnings look at: it rejects no drawing.

    Where each unit passes, `try` with `is_fault` is faster.
    """
    return FAULT_FILTER


def quote(text: str) -> str:
    """Return a text of the drawing as warnings show it: of bounded length.

    >>> quote("x" * 80) == "x" * 80, len(quote("x" * 81))
    (True, 80)
    """
    if len(text) <= MAX_QUOTED_CHARACTERS:
        return text
    return text[: MAX_QUOTED_CHARACTERS - 3] + "..."
