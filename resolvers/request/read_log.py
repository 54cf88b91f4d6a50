"""The collections that one request has read."""

from msgspec import Struct, field


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

    def add(self, collection: str) -> None:
        """Log a read of a collection."""
        self.collections.add(collection)

    def mark_incomplete(self) -> None:
        """Log that the response depends on something else, so that it will not be cached."""
        self.is_complete = False
