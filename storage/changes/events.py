"""Changes of records, from the events of MongoDB's change stream.

Removals come from the tombstones: an event of the deletion itself no longer has the asset. Writes
of fields that no record shows, such as the words that a location is found by, are no changes.
"""

import base64
import binascii
import struct
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from storage.catalog import RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.mongo.change_stream import ChangeStreamBatch
from storage.mongo.driver import Timestamp
from storage.mongo.protocols import Pipeline
from storage.records.kinds import Document, RecordType, format_key
from storage.tombstones import TOMBSTONES

# Positions in the stream of changes, and the cursors by which clients keep them.
#
# A position is a cluster time and how many events of that time come before it: the events of a
# transaction share one. MongoDB's resume tokens are not for clients, because they contain the ids
# of records, also of those that the client may not see. A cursor has nothing but a position, and
# which database it is of.


_FORMAT = struct.Struct(">B4sIII")
_VERSION = 1
"""Raise it when `storage.changes.events.PIPELINE` selects other events, which are counted."""
CURSOR_CHARACTERS = 23
CURSOR_PATTERN = "^A[Q-Za-f][A-Za-z0-9_-]{20}[AEIMQUYcgkosw048]$"
"""A cursor is 17 bytes in base64, of which the first is the version."""
EPOCH_BYTES = 4


class ChangePosition(NamedTuple):
    """A position between two events; later ones are greater.

    >>> ChangePosition(7, 2) < ChangePosition(7, 2, offset=1) < ChangePosition(7, 3)
    True
    """

    seconds: int
    increment: int
    offset: int = 0
    """The number of events of this cluster time that come before the position."""

    @classmethod
    def at(cls, time: Timestamp) -> "ChangePosition":
        """Return the position before all events of a cluster time."""
        return cls(time.time, time.inc)

    @classmethod
    def after(cls, time: Timestamp) -> "ChangePosition":
        """Return the position after all events of a cluster time."""
        return cls(time.time, time.inc + 1)

    def count_event(self, time: Timestamp) -> "ChangePosition":
        """Return the position after an event that follows this position."""
        start = ChangePosition.at(time)
        return start._replace(offset=self.offset + 1 if start == self._replace(offset=0) else 1)

    @property
    def time(self) -> Timestamp:
        """The cluster time."""
        return Timestamp(self.seconds, self.increment)


class ChangeCursor(NamedTuple):
    """A position, and the beginning of what names the database that it is of."""

    epoch: bytes
    position: ChangePosition

    def __str__(self) -> str:
        r"""Return the text that clients keep.

        >>> str(ChangeCursor(b"\1\2\3\4", ChangePosition(1_790_000_000, 3, offset=1)))
        'AQECAwRqsTuAAAAAAwAAAAE'
        """
        packed = _FORMAT.pack(_VERSION, self.epoch, *self.position)
        return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()

    @classmethod
    def parse(cls, text: str) -> "ChangeCursor":
        r"""Return the cursor with this text. Raises ValueError.

        >>> cursor = ChangeCursor(b"\1\2\3\4", ChangePosition(1_790_000_000, 3, offset=1))
        >>> ChangeCursor.parse(str(cursor)) == cursor
        True
        """
        if len(text) == CURSOR_CHARACTERS and text.isascii():
            try:
                packed = base64.b64decode(f"{text}=", altchars="-_", validate=True)
                version, epoch, *position = _FORMAT.unpack(packed)
            except (binascii.Error, struct.error):
                version = 0
            if version == _VERSION:
                return cls(epoch, ChangePosition(*position))
        raise ValueError("is not the cursor of a change: send one unchanged, or none")


Operation = Literal["created", "updated", "removed", "reset"]

_WRITES: Final[dict[str, Operation]] = {
    "insert": "created",
    "update": "updated",
    "replace": "updated",
}
SAMPLED_SHARE = 0.1
"""Events that are no changes are read to learn how far the stream has come."""
_REPLACEMENTS = ("drop", "rename", "dropDatabase", "invalidate")
_FOLLOWED: Final = frozenset({*(kind.name for kind in RECORD_TYPES), TOMBSTONES.name})
_IS_FOLLOWED: Document = {"$in": sorted(_FOLLOWED)}
_DOCUMENT_FIELDS = sorted(
    {
        *(field for kind in RECORD_TYPES for field in (kind.scope_field, *kind.key_fields)),
        *("kind", "values"),  # of tombstones
    }
    - {"", "_id", "id"}
)
_CHANGED_FIELDS: Document = {
    "$concatArrays": [
        {
            "$map": {
                "input": {"$objectToArray": {"$ifNull": ["$updateDescription.updatedFields", {}]}},
                "in": "$$this.k",
            }
        },
        {"$ifNull": ["$updateDescription.removedFields", []]},
        {
            "$map": {
                "input": {"$ifNull": ["$updateDescription.truncatedArrays", []]},
                "in": "$$this.field",
            }
        },
    ]
}
EVENT_FIELDS: Document = {
    **dict.fromkeys(("operationType", "ns.coll", "to.coll", "clusterTime", "documentKey._id"), 1),
    "fields": _CHANGED_FIELDS,
}
PIPELINE: Final[Pipeline] = [
    {
        "$match": {
            "$or": [
                {"ns.coll": _IS_FOLLOWED, "operationType": {"$in": [*_WRITES, *_REPLACEMENTS]}},
                {"to.coll": _IS_FOLLOWED},
                {"ns.coll": {"$exists": False}},
                # MongoDB ends a batch, and says how far it has read, after so many events only,
                # however many others come before them, such as those of what imports stage.
                {"$sampleRate": SAMPLED_SHARE},
            ]
        }
    },
    {
        "$project": {
            **EVENT_FIELDS,
            **{f"fullDocument.{field}": 1 for field in _DOCUMENT_FIELDS},
        }
    },
]
"""The names of what has changed, and not the content: a report on a floor plan has a megabyte."""


class ChangeEvent(NamedTuple):
    """A change of a record, or of all records of a kind."""

    position: ChangePosition
    """The position after it."""
    operation: Operation
    kind: str | None
    """Name of the collection; None if all were replaced."""
    record_id: str | None
    """The record's id as people write it; None for `reset`."""
    key: str | None
    """The record's `_id`; None for `removed` and `reset`."""
    asset_id: str | None
    """None for kinds that belong to no asset, and for `reset`."""
    at: datetime


class Stretch(NamedTuple):
    """Changes that follow a position, and the position that they lead to."""

    events: list[ChangeEvent]
    position: ChangePosition
    has_more: bool = False
    """True if others may follow at once."""


class EventReader:
    """Turns the batches of a change stream that was opened at the time of `position` into changes.

    The stream begins with the first event of that time. Those before the position are skipped.
    """

    def __init__(self, position: ChangePosition) -> None:
        self.position = position
        self._counted = position._replace(offset=0)
        """The position after the last event that the stream has reported."""

    def read(self, batch: ChangeStreamBatch) -> Stretch:
        """Return the changes of a batch."""
        events = list[ChangeEvent]()
        for document in filter(_is_counted, batch.events):
            self._counted = self._counted.count_event(document["clusterTime"])
            if self._counted <= self.position:
                continue
            self.position = self._counted
            if document["operationType"] == "invalidate":  # the stream ends with it each time
                self.position = ChangePosition.after(document["clusterTime"])
            if event := to_event(document, self.position):
                events.append(event)
        # Events of the reached time itself may be still to come.
        self.position = max(self.position, ChangePosition.at(batch.reached))
        return Stretch(events, self.position)


def _is_counted(document: Document) -> bool:
    """Return whether an event was asked for, not sampled: another read may get other samples."""
    name = _get_collection(document, "ns")
    return (
        name is None
        or _get_collection(document, "to") in _FOLLOWED
        or (name in _FOLLOWED and document["operationType"] in (*_WRITES, *_REPLACEMENTS))
    )


def to_event(document: Document, position: ChangePosition) -> ChangeEvent | None:
    """Return the change that an event of the stream reports, or None if clients see no change."""
    operation, at = document["operationType"], document["clusterTime"].as_datetime()
    name = _get_collection(document, "ns")
    if operation in _REPLACEMENTS or name is None:
        return _to_reset(document, position, at)
    full: Document | None = document.get("fullDocument")
    if full is None:
        return None  # it is gone by now, and its tombstone comes
    if name == TOMBSTONES.name:
        kind, asset_id = full["kind"], full["asset_id"] or None
        removed_id = format_key(full["values"])
        return (
            ChangeEvent(position, "removed", kind, removed_id, None, asset_id, at)
            if operation == "insert"
            else None
        )
    kind = RECORD_TYPES_BY_NAME[name]
    changed = (field.partition(".")[0] for field in document.get("fields", ()))
    if operation == "update" and kind.projection.keys().isdisjoint(changed):
        return None  # no changed field is the record's own
    key = document["documentKey"]["_id"]
    record_id = _format_id(kind, {**full, "_id": key})
    asset_id = key if kind.scope_field == "_id" else full.get(kind.scope_field)
    if record_id is None or (kind.scope_field and asset_id is None):
        return None
    return ChangeEvent(position, _WRITES[operation], name, record_id, key, asset_id, at)


def _to_reset(document: Document, position: ChangePosition, at: datetime) -> ChangeEvent | None:
    if document["operationType"] == "invalidate":
        return None  # it follows the event that replaced the database
    names = {_get_collection(document, member) for member in ("ns", "to")}
    if document["operationType"] in ("drop", "rename"):
        kinds = [name for name in RECORD_TYPES_BY_NAME if name in names]
        # Without one, it was of the tombstones.
        return ChangeEvent(position, "reset", kinds[0], None, None, None, at) if kinds else None
    return ChangeEvent(position, "reset", None, None, None, None, at)


def _get_collection(document: Document, member: str) -> str | None:
    name: str | None = document.get(member, {}).get("coll")
    return name


def _format_id(kind: RecordType[Any], document: Document) -> str | None:
    values = [document.get("_id" if field == "id" else field) for field in kind.key_fields]
    texts = [value for value in values if isinstance(value, str)]
    return format_key(texts) if len(texts) == len(values) else None
