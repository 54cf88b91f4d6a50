"""The collections that one request has read, and the number of records."""

from msgspec import Struct, field

from resolvers.request.errors import TooManyRecordsError

MAX_RECORDS_PER_REQUEST = 100_000
"""Limit on the records that one request reads in lists; enforced as they are read."""


class ReadLog(Struct, eq=False):
    """The collections that a response was read from.

    The response may be cached if the log is complete: a change to one of these collections then
    invalidates it.

    >>> reads = ReadLog()
    >>> reads.add("units")
    >>> reads.collections, reads.is_complete
    ({'units'}, True)
    """

    collections: set[str] = field(default_factory=set)
    is_complete: bool = True
    """False if the response also depends on something that `collections` does not name."""
    _record_count: int = 0

    def add(self, collection: str) -> None:
        """Log a read of a collection."""
        self.collections.add(collection)

    def mark_incomplete(self) -> None:
        """Log that the response depends on something else, so that it will not be cached."""
        self.is_complete = False

    def count_records(self, count: int) -> None:
        """Count the records of a list. Raises TooManyRecordsError over the limit of a request."""
        self._record_count += count
        if self._record_count > MAX_RECORDS_PER_REQUEST:
            raise TooManyRecordsError(MAX_RECORDS_PER_REQUEST)
