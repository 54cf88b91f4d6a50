"""Reading changes from MongoDB's change stream itself, a stretch at a time."""

from typing import NamedTuple

from storage.assets import ASSETS
from storage.changes.events import PIPELINE, ChangeEvent, EventReader
from storage.changes.positions import EPOCH_BYTES, Cursor, Position
from storage.errors import ChangesExpiredError
from storage.mongo import change_stream, driver

MAX_EVENTS_PER_READ = 200
"""Events of the stream in one read; some are no changes, or not visible to the follower, or a
sample of those that are not followed."""


class Stretch(NamedTuple):
    """Changes that follow a position, and the position that they lead to."""

    events: list[ChangeEvent]
    position: Position
    has_more: bool
    """Whether others may follow at once."""


async def read_stretch(database: driver.Database, position: Position) -> Stretch:
    """Return the changes that follow a position. Raises ChangesExpiredError, UnavailableError."""
    clock = driver.get_clock(database.client)
    # What comes before the offset is read again each time.
    limit = MAX_EVENTS_PER_READ + position.offset * 3 // 2
    while True:
        with driver.translate_errors():
            batch = await change_stream.read_changes(
                database, clock, PIPELINE, position.time, limit
            )
        progress, has_more = EventReader(position).read(batch), len(batch.events) >= limit
        if progress.position > position or not has_more:
            return Stretch(progress.events, progress.position, has_more)
        limit *= 4  # all of one transaction: its events have the same time


async def read_newest_position(database: driver.Database) -> Position:
    """Return the position after all that has been written. Raises UnavailableError."""
    clock = driver.get_clock(database.client)
    with driver.translate_errors():
        return Position.after(await change_stream.read_newest_time(database, clock))


async def read_epoch(database: driver.Database) -> bytes:
    """Return what cursors of this database begin with; it changes when assets are restored.

    A new replica set cannot tell that a position was another's. Raises UnavailableError.
    """
    with driver.translate_errors():
        return to_epoch(await change_stream.read_uuid(database, ASSETS.name))


def to_epoch(uuid: bytes | None) -> bytes:
    """Return the epoch, from what names the collection of assets.

    >>> to_epoch(None) == bytes(EPOCH_BYTES)
    True
    """
    return uuid[:EPOCH_BYTES] if uuid else bytes(EPOCH_BYTES)


def check_epoch(cursor: Cursor, epoch: bytes) -> Position:
    """Return the position of a cursor. Raises ChangesExpiredError if it is another database's."""
    if cursor.epoch != epoch:
        raise ChangesExpiredError("the changes are of what the database was before")
    return cursor.position
