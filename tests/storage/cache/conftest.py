"""Changes as a gateway knows them, without MongoDB's stream: caches are tested in memory."""

import math
from typing import Any, cast

import pytest

from storage.cache.change_feed import ChangeFeed, ChangeSnapshot, RecordChange


class ChangesInMemory(ChangeFeed):
    """A feed that has just been confirmed until it loses its stream, and is told the changes."""

    def __init__(self) -> None:
        super().__init__(cast(Any, None))
        self._confirmed_at = math.inf

    def take(self) -> ChangeSnapshot:
        """Return a snapshot, which there is."""
        snapshot = self.take_snapshot()
        assert snapshot is not None
        return snapshot

    def report(self, collection: str) -> None:
        """Report a change of a collection by another client."""
        self._table.record([RecordChange(collection)])

    def lose(self) -> None:
        """Lose the stream: changes might go unnoticed."""
        self._confirmed_at = -math.inf

    def follow_again(self) -> None:
        self._confirmed_at = math.inf


@pytest.fixture
def feed() -> ChangesInMemory:
    return ChangesInMemory()
