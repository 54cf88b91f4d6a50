"""Positions in the stream of changes, and the cursors by which clients keep them.

A position is a cluster time and how many events of that time come before it: the events of a
transaction share one. MongoDB's resume tokens are not for clients, because they contain the ids of
records, also of those that the client may not see. A cursor has nothing but a position, and which
database it is of.
"""

import base64
import binascii
import struct
from typing import NamedTuple

from storage.mongo.driver import Timestamp

_FORMAT = struct.Struct(">B4sIII")
_VERSION = 1
"""Raise it when `storage.changes.events.PIPELINE` selects other events, which are counted."""
CURSOR_CHARACTERS = 23
CURSOR_PATTERN = "^A[Q-Za-f][A-Za-z0-9_-]{20}[AEIMQUYcgkosw048]$"
"""Of 17 bytes in base64, of which the first is the version."""
EPOCH_BYTES = 4


class Position(NamedTuple):
    """A position between two events; later ones are greater.

    >>> Position(7, 2) < Position(7, 2, offset=1) < Position(7, 3)
    True
    """

    seconds: int
    increment: int
    offset: int = 0
    """How many events of this cluster time come before the position."""

    @classmethod
    def at(cls, time: Timestamp) -> "Position":
        """Return the position before all events of a cluster time."""
        return cls(time.time, time.inc)

    @classmethod
    def after(cls, time: Timestamp) -> "Position":
        """Return the position after all events of a cluster time."""
        return cls(time.time, time.inc + 1)

    def count_event(self, time: Timestamp) -> "Position":
        """Return the position after an event that follows this position."""
        start = Position.at(time)
        return start._replace(offset=self.offset + 1 if start == self._replace(offset=0) else 1)

    @property
    def time(self) -> Timestamp:
        """The cluster time."""
        return Timestamp(self.seconds, self.increment)


class Cursor(NamedTuple):
    """A position, and the beginning of what names the database that it is of."""

    epoch: bytes
    position: Position

    def __str__(self) -> str:
        r"""Return the text that clients keep.

        >>> str(Cursor(b"\1\2\3\4", Position(1_790_000_000, 3, offset=1)))
        'AQECAwRqsTuAAAAAAwAAAAE'
        """
        packed = _FORMAT.pack(_VERSION, self.epoch, *self.position)
        return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        r"""Return the cursor with this text. Raises ValueError.

        >>> cursor = Cursor(b"\1\2\3\4", Position(1_790_000_000, 3, offset=1))
        >>> Cursor.parse(str(cursor)) == cursor
        True
        """
        if len(text) == CURSOR_CHARACTERS and text.isascii():
            try:
                packed = base64.b64decode(f"{text}=", altchars="-_", validate=True)
                version, epoch, *position = _FORMAT.unpack(packed)
            except (binascii.Error, struct.error):
                version = 0
            if version == _VERSION:
                return cls(epoch, Position(*position))
        raise ValueError("is not the cursor of a change: send one unchanged, or none")
