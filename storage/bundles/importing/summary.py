"""What an import changed, or would change."""

from collections.abc import Iterable

import msgspec

from storage.bundles.changes.change_plan import ChangePlan
from storage.bundles.importing.planning import MemberChange
from storage.routing_inputs import StaleNetwork

MAX_SOURCE_NOTES = 200


class SourceNotes:
    """Notes about the drawings of an import: the first of them, and how many more there are.

    >>> notes = SourceNotes()
    >>> notes.add(f"oak.svg: text is left out: {number}" for number in range(202))
    >>> notes.list()[-1]
    'and 2 more notes about drawings; floorgate check lists them all'
    """

    def __init__(self) -> None:
        self._notes: list[str] = []
        self._more = 0

    def add(self, notes: Iterable[str]) -> None:
        """Add the notes about a drawing."""
        for note in notes:
            if len(self._notes) < MAX_SOURCE_NOTES:
                self._notes.append(note)
            else:
                self._more += 1

    def list(self) -> list[str]:
        """Return the first notes, and a sentence about the others."""
        more = f"and {self._more:,} more notes about drawings; floorgate check lists them all"
        return [*self._notes, *([more] if self._more else [])]


class ImportCounts(msgspec.Struct):
    """How many records of one kind were inserted, updated, left unchanged or removed.

    Records that lose a reference to a removed one are updated.
    """

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0

    @classmethod
    def sum(cls, parts: Iterable["ImportCounts"]) -> "ImportCounts":
        """Return the sums of counts.

        >>> ImportCounts.sum([ImportCounts(updated=1), ImportCounts(updated=2, removed=3)])
        ImportCounts(inserted=0, updated=3, unchanged=0, removed=3)
        """
        return cls(*map(sum, zip((0, 0, 0, 0), *map(msgspec.structs.astuple, parts), strict=True)))

    def add(self, change: MemberChange) -> None:
        """Count the change of a member."""
        if change.fields is None:
            self.unchanged += 1
        elif change.is_new:
            self.inserted += 1
        else:
            self.updated += 1

    @property
    def written(self) -> int:
        """Number of records that are written or removed.

        >>> ImportCounts(inserted=2, updated=1, unchanged=40).written
        3
        """
        return self.inserted + self.updated + self.removed


class ImportSummary(msgspec.Struct):
    """What an import changed, or would change; kinds without members are left out."""

    kinds: dict[str, ImportCounts] = {}
    total: ImportCounts = msgspec.field(default_factory=ImportCounts)
    notes: list[str] = []
    """Warnings: valid, but probably a mistake."""
    stale_networks: list[StaleNetwork] = []
    """The networks that are withdrawn, because what they were built from changes."""
    plan: ChangePlan | None = None
    """What changes, if it was asked for."""
    refusal: str | None = None
    """Why a dry run would be refused as an import: it removes too much."""
    undo: str | None = None
    """The file that undoes it."""
    undo_options: list[str] = []
    """Of `floorgate import` of that file."""
    undo_bundle: str | None = None
    """What undoes it, if it was asked for."""
