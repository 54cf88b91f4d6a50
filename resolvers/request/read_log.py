"""What one request has read."""

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, field

from storage.cache.read_set import MAX_TAGS, Read, ReadSet, find_tags, key_tag
from storage.records.kinds import Document, RecordType
from storage.records.paging import KeyRange, ListSource, Page
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
    _keys: dict[str, KeyRange | None] = field(default_factory=dict)
    """By collection, where one page was all that was read."""
    is_complete: bool = True
    """False if the response also depends on something that is not logged."""
    is_constant: bool = False
    """Whether the response depends on no data, so that it may be cached without a read."""

    @property
    def collections(self) -> set[str]:
        """The collections that were read, in part at least."""
        return {*self._tags}

    def add(
        self, collection: str, tags: Iterable[int] | None = None, keys: KeyRange | None = None
    ) -> None:
        """Log a read of a collection, or of the records with one of these tags.

        Of these, only the `keys` matter.
        """
        self._keys[collection] = None if collection in self._keys else keys
        known = self._tags.setdefault(collection, set())
        if tags is None:
            self._tags[collection] = None
        elif known is not None:
            known.update(tags)
            if len(known) > MAX_TAGS:
                self._tags[collection] = None

    def add_keys(self, kind: RecordType[Any], keys: Iterable[str]) -> None:
        """Log a read of the records with these `_id`s."""
        self.add(kind.name, map(key_tag, keys))

    def add_lists(
        self, kind: RecordType[Any], scope: AssetScope | None, wheres: Sequence[Document]
    ) -> None:
        """Log a read of the records in a scope that match one of these conditions."""
        for where in wheres:
            if self._tags.get(kind.name, ()) is None:
                self.add(kind.name)
                return  # it depends on all of the collection
            self.add(kind.name, find_tags(kind, where, scope))

    def add_page(self, source: ListSource, scope: AssetScope, page: Page[Any]) -> None:
        """Log a read of a page of the records in a scope that match a condition."""
        self.add(source.kind.name, find_tags(source.kind, source.where, scope), page.keys)

    def build_read_set(self) -> ReadSet:
        """Return what was read so far."""
        return {
            name: Read(None if tags is None else array("q", tags), self._keys[name])
            for name, tags in self._tags.items()
        }

    def mark_incomplete(self) -> None:
        """Log that the response depends on something else, so that it will not be cached."""
        self.is_complete = False
