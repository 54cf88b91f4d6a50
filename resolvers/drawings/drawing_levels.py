"""Which floors of an asset the Levels of a parsed drawing show."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from storage.bundles.drawings import ShownLevel, find_floor_id

Element = dict[str, Any]

LEVEL, UNIT, HIT_AREA = "level", "unit", "hit_area"
"""Kinds of features that are made of a drawing."""


class ShownFloor(NamedTuple):
    """A Level of a drawing, and the floor that it shows, if any."""

    uid: str
    level_id: str | None
    floor_id: str | None

    def is_called(self, name: str) -> bool:
        """Return whether the id of the floor, or else that of the Level, is `name`."""
        return name == (self.floor_id or self.level_id) or name == self.level_id


def iter_level_elements(elements: Sequence[Element]) -> Iterator[Element]:
    """Yield the Levels of a drawing; there is none within another."""
    for element in elements:
        if element["type"] == "Level":
            yield element
        else:
            yield from iter_level_elements(element.get("elements", ()))


def find_floors(levels: Sequence[Element], floor_ids: Collection[str]) -> list[ShownFloor]:
    """Return the Levels with the floors of an asset that they show."""
    from parsing.svg.floor_plan import read_level  # only processes for drawings need it

    read = [
        read_level(level.get("id", ""), level.get("tags"), number)
        for number, level in enumerate(levels, 1)
    ]
    is_only = len({level.id for level in read}) == 1
    return [
        ShownFloor(
            element["uid"],
            element.get("id"),
            find_floor_id(
                ShownLevel(level.name, level.floor_id, level.is_numbered),
                floor_ids,
                is_only_level=is_only,
            ),
        )
        for element, level in zip(levels, read, strict=True)
    ]
