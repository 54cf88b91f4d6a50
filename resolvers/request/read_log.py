"""What one request has read."""

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, field

from storage.cache.read_set import MAX_TAGS, ReadSet, find_tags, key_tag
from storage.records.kinds import Document, RecordType
from storage.records.visibility import AssetScope


class ReadLog(Struct, eq=False):
    """The parts of collections that a response was read from.

    The response may be cached if the log is complete: a change of one of these parts then
    invalidates it.

    >>> reads = ReadLog()
    >>> reads.add("units")
    >>> reads.collections, reads.is_complete
    ({'units'}, True)
    """

    _tags: dict[str, set[int] | None] = field(default_factory=dict)
    """By collection; None is all of it."""
    is_complete: bool = True
    """False if the response also depends on something that is not logged."""

    @property
    def collections(self) -> set[str]:
        """The collections that were read, in part at least."""
        return {*self._tags}

    def add(self, collection: str, tags: Iterable[int] | None = None) -> None:
        """Log a read of a collection, or of the records with one of these tags."""
        known = self._tags.setdefault(collection, set())
        if tags is None:
            self._tags[collection] = None
        elif known is not None:
            known.update(tags)
            if len(known) > MAX_TAGS:
                self._tags[collection] = None

    def add_keys(self, kind: RecordType[Any], keys: Iterable[str]) -> None:
        """Log a read of the records with these `_id`s."""
        self.add(kind.name, (tag for key in keys for tag in key_tag(key)))

    def add_lists(
        self, kind: RecordType[Any], scope: AssetScope | None, wheres: Sequence[Document]
    ) -> None:
        """Log a read of the records in a scope that match one of these conditions."""
        for where in wheres:
            self.add(kind.name, find_tags(kind, where, scope))

    def build_read_set(self) -> ReadSet:
        """Return what was read so far."""
        return {
            name: None if tags is None else array("q", tags) for name, tags in self._tags.items()
        }

    def mark_incomplete(self) -> None:
        """Log that the response depends on something else, so that it will not be cached."""
        self.is_complete = False
