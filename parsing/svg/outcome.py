"""The types in which a parse tells about a drawing: warnings with their places, and a summary.

They stand apart from what finds them, because callers need them before they parse anything.
"""

from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

MAX_PLACES: Final = 10
"""Places of one cause that are kept unless more are asked for."""
MAX_LISTED_PLACES: Final = 100
"""Places of one cause that can be asked for."""


class WarningPlace(NamedTuple):
    """One place that a warning is about. Line and column are 0 for the drawing as a whole.

    The middle and the size are those of the element on the map, under all transforms; of a group,
    of its first shapes. They are null for the drawing as a whole and for what draws nothing. A text
    is the point at which it begins, and has no size.
    """

    line: Annotated[int, "Line of the element's start tag, from 1; 0 for the whole drawing."]
    column: Annotated[int, "Column of the element's start tag, from 1; 0 for the whole drawing."]
    element: Annotated[str, "Name of the element, such as `text`, or empty."]
    name: Annotated[str, "Its `id` in the drawing, or empty."]
    level: Annotated[str, "Id of the Level around it, or empty."]
    detail: Annotated[str, "What exactly is meant, such as a value, or empty."]
    level_index: Annotated[
        int | None,
        "Number of the Level around it, from 0 in the order of the drawing; of a Level, its own.",
    ] = None
    x: Annotated[
        float | None, "Middle of the element, or where a text begins, in the map's coordinates."
    ] = None
    y: Annotated[float | None, "The same, downwards."] = None
    width: Annotated[float | None, "Width of the element on the map; 0 for a text."] = None
    height: Annotated[float | None, "Height of the element on the map; 0 for a text."] = None


@dataclass(frozen=True, slots=True)
class ParseWarning:
    """What is left out of a drawing or is probably a mistake, or how a name was read."""

    code: Annotated[str, "The cause, such as `text`; see the table of warnings in the docs."]
    is_note: Annotated[bool, "Whether it only says how a name was read, and nothing is wrong."]
    message: str
    remedy: Annotated[str, "What to do about it, or empty."]
    count: Annotated[int, "In how many places."]
    places: Annotated[list[WarningPlace], "The first of these places."]

    def describe(self, place: WarningPlace) -> str:
        """Return the message about one of the places.

        >>> place = WarningPlace(12, 5, "text", "lobby", "Level 2", "")
        >>> ParseWarning("text", False, "text is left out", "", 3, [place]).describe(place)
        "text is left out: <text> 'lobby' in level 'Level 2'"
        """
        element = f"<{place.element}>" if place.element else ""
        name = repr(place.name) if place.name else ""
        level = f"in level {place.level!r}" if place.level else ""
        subject = place.detail or " ".join(filter(None, (element, name, level)))
        return f"{self.message}: {subject}" if subject else self.message

    def __str__(self) -> str:
        place = self.places[0]
        line = f"line {place.line}: " if place.line else ""
        more = f", and {self.count - 1:,} more" if self.count > 1 else ""
        return f"{line}{self.describe(place)}{more}"


class MapSummary(NamedTuple):
    """How many parts of each kind a map has; `shapes` are the others."""

    levels: Annotated[int, "How many Levels."]
    units: Annotated[int, "How many Units."]
    hit_areas: Annotated[int, "How many HitAreas."]
    shapes: Annotated[int, "How many other shapes."]
