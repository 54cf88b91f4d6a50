"""Check the groups that have the name of a unit."""

import re
from dataclasses import dataclass
from typing import Final

from parsing.svg.report.warnings import WarningCollector, quote

MAX_GROUPS: Final = 100_000
DIGIT: Final = re.compile(r"[0-9]")


@dataclass(slots=True)
class OpenGroup:
    """A group with the name of a unit, and what was found in it so far."""

    name: str
    ordinal: int
    shapes_before: int
    units: int = 0
    numbered_units: int = 0


class UnitGroups:
    """The groups of one drawing that have the name of a unit."""

    def __init__(self, warnings: WarningCollector) -> None:
        self._warnings = warnings
        self._open: list[OpenGroup] = []
        self._without_unit: list[OpenGroup] = []

    def enter(self, name: str, ordinal: int, shapes: int) -> None:
        """Receive the start of a group; `shapes` are those of the drawing so far."""
        self._open.append(OpenGroup(name, ordinal, shapes))

    def add_unit(self, id: str) -> None:
        """Receive a unit or hit area with a name of its own or that of its group."""
        if self._open:
            self._open[-1].units += 1
            self._open[-1].numbered_units += DIGIT.search(id) is not None

    def leave(self, has_unit: bool, shapes: int) -> None:
        """Receive the end of a group; report one without a shape."""
        group = self._open.pop()
        if self._open:
            self._open[-1].units += group.units
            self._open[-1].numbered_units += group.numbered_units
        if shapes == group.shapes_before:
            if not self._warnings.is_full("empty-unit"):
                self._report("empty-unit", group)
        elif group.units and not has_unit and len(self._without_unit) < MAX_GROUPS:
            self._without_unit.append(group)

    def finish(self, missing_units: set[str]) -> None:
        """Report groups that are probably units, though all shapes in them have other names.

        They are if a hit area points to a unit of this name, or if they have a number and the
        shapes have none, unlike an area with rooms.
        """
        for group in self._without_unit:
            is_number = DIGIT.search(group.name) and not group.numbered_units
            if is_number or group.name in missing_units:
                self._report("named-parts", group)

    def _report(self, code: str, group: OpenGroup) -> None:
        detail = f"group named {quote(group.name)!r}"
        self._warnings.add(code, group.ordinal, "g", group.name, detail=detail)
