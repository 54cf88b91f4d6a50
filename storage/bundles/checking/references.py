"""The references of checked members to owners that were not read before them, or do not match.

They wait until all members are read. Members that refer to an owner in the same way are one, of
which the first places are kept.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from storage.bundles.importing.owners import Mismatch, find_mismatches, values_at
from storage.records.kinds import Document, ForeignKey, RecordType, stored_name


class Reference(NamedTuple):
    """Members that refer to one owner and have the same values of what must match it."""

    owner: ForeignKey
    key: str
    values: Document
    """The fields of the members that `find_mismatches` compares."""
    places: list[str]

    def find_mismatches(self, facts: Document) -> Iterator[Mismatch]:
        """Yield the mismatches between the members and their owner."""
        return find_mismatches(self.owner, self.values, facts)


class References:
    """References by owner, with the number of members of each."""

    def __init__(self, max_places: int) -> None:
        self._max_places = max_places
        self._counts: dict[tuple[object, ...], int] = {}
        self._references: dict[tuple[object, ...], Reference] = {}

    def add(self, reference: Reference) -> None:
        """Add a reference from one place."""
        identity = (reference.owner, reference.key, *reference.values.values())
        known = self._references.setdefault(identity, reference)
        self._counts[identity] = self._counts.get(identity, 0) + 1
        if known is not reference and len(known.places) < self._max_places:
            known.places.extend(reference.places)

    def iter_counted(self) -> Iterator[tuple[Reference, int]]:
        """Yield the references with the number of members of each."""
        for identity, reference in self._references.items():
            yield reference, self._counts[identity]


def iter_references(kind: RecordType[Any], document: Document, place: str) -> Iterator[Reference]:
    """Yield the references of a member to its owners."""
    for owner in kind.foreign_keys:
        compared = [stored_name(field) for field, _ in owner.equal_fields]
        compared += [owner.value_in[0]] if owner.value_in else []
        values = {field: document.get(field) for field in compared}
        for key in values_at(document, owner.field):
            yield Reference(owner, key, values, [f"{place}.{owner.field}"])
