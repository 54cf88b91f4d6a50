"""What was looked up by key lately, in memory: exact, because changes of its collection end it.

With each value is kept the mark noted before it was read. While changes may go unnoticed nothing
is kept and nothing kept is used. What was not found is looked for again each time.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from storage.changes import Changes, Mark, is_same
from storage.visibility import Scope

T = TypeVar("T")

MOST_VALUES = 2_000


class Lookup(NamedTuple):
    """What is looked up, and for whom."""

    collection: str
    field: str
    """Empty: the whole record."""
    scope: Scope
    key: str


@dataclass(slots=True)
class _Found:
    value: Any
    mark: Mark


class Lookups:
    """Values by what was looked up; the least recently used give way."""

    def __init__(self, changes: Changes, most: int = MOST_VALUES) -> None:
        self._changes = changes
        self._most = most
        self._found: OrderedDict[Lookup, _Found] = OrderedDict()

    async def of(self, lookup: Lookup, read: Callable[[], Awaitable[T | None]]) -> T | None:
        """The value that is known, if it is still true, else the one that `read` finds now."""
        now = self._changes.mark()
        if now is None:
            return await read()
        found = self._found.get(lookup)
        if found is not None and is_same(found.mark, now, (lookup.collection,)):
            found.mark = now  # compared by identity next time
            self._found.move_to_end(lookup)
            value: T = found.value
            return value
        read_now = await read()
        if read_now is not None:
            self._keep(lookup, _Found(read_now, now))
        return read_now

    def _keep(self, lookup: Lookup, found: _Found) -> None:
        self._found[lookup] = found
        self._found.move_to_end(lookup)
        if len(self._found) > self._most:
            self._found.popitem(last=False)
