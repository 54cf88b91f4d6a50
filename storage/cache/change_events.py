"""The events of MongoDB's change stream, as changes of parts of collections.

A part loses a record by its values before a change and gets it by those after it. MongoDB stores
documents as they were before (pre-images) for the collections of the catalog, see
`storage.setup.preparation`. Where one is missing, any part may have changed.
"""

from collections.abc import Iterator
from typing import Any, Final

from storage.administration.audit import AUDIT_COLLECTION
from storage.cache.change_table import Change
from storage.cache.read_set import PARTS, list_tags
from storage.changes.events import CHANGED_FIELDS
from storage.mongo.protocols import Pipeline
from storage.records.kinds import Document

FOLLOWED_COLLECTIONS: Final = tuple(PARTS)
_KEY_FIELDS: Final = {
    name: {field for fields in parts for field in fields} - {"_id"} for name, parts in PARTS.items()
}
_FIELDS: Final = sorted(set[str]().union(*_KEY_FIELDS.values()))
_FOLLOWED: Final = {"$in": [*FOLLOWED_COLLECTIONS]}
PIPELINE: Final[Pipeline] = [
    {
        "$match": {
            "$or": [
                {"ns.coll": _FOLLOWED},
                {"to.coll": _FOLLOWED},
                {"ns.coll": {"$exists": False}},
                # Most writes have an audit record. So one that changes nothing else is reported
                # too, and who waits for it need not wait for the next batch.
                {"ns.coll": AUDIT_COLLECTION, "operationType": "insert"},
            ]
        }
    },
    {
        "$project": {
            "operationType": 1,
            "ns.coll": 1,
            "to.coll": 1,
            "clusterTime": 1,
            "documentKey._id": 1,
            **{f"fullDocument.{field}": 1 for field in _FIELDS},
            **{f"fullDocumentBeforeChange.{field}": 1 for field in _FIELDS},
            "fields": CHANGED_FIELDS,
            "values": {
                "$filter": {
                    "input": {
                        "$objectToArray": {"$ifNull": ["$updateDescription.updatedFields", {}]}
                    },
                    "cond": {"$in": ["$$this.k", _FIELDS]},
                }
            },
        }
    },
]
"""Of documents only the fields that tell parts apart: a report on a floor plan has a megabyte. A
rename replaces the collection it is renamed `to`; events of a whole database, such as
`dropDatabase`, name no collection."""


def read_changes(event: Document) -> Iterator[Change]:
    """Yield the changes that an event reports."""
    names = {event.get(member, {}).get("coll") for member in ("ns", "to") if member in event}
    if not names - {None}:
        yield from (Change(name) for name in FOLLOWED_COLLECTIONS)
    for name in names.intersection(FOLLOWED_COLLECTIONS):
        key = event.get("documentKey", {}).get("_id")
        yield Change(name, _find_tags(name, event), key if isinstance(key, str) else None)


def _find_tags(collection: str, event: Document) -> list[int] | None:
    """Return the tags of a changed record before and after; None if they are not known."""
    if "documentKey" not in event:
        return None  # the collection itself was dropped or replaced
    states = _find_states(collection, event)
    if states is None:
        return None
    key = event["documentKey"]["_id"]
    try:
        return [*{tag for state in states for tag in list_tags(collection, {**state, "_id": key})}]
    except TypeError:  # somebody has written a value of another type
        return None


def _find_states(collection: str, event: Document) -> list[Document] | None:
    """Return the fields of a record before and after its change, as far as it was there."""
    operation = event["operationType"]
    if operation == "insert":
        return [event["fullDocument"]]
    if not _KEY_FIELDS[collection]:
        return [{}]
    before: Document | None = event.get("fullDocumentBeforeChange")
    if before is None:
        return None
    if operation == "delete":
        return [before]
    if operation == "replace":
        return [before, event["fullDocument"]]
    changed = {field for field in event["fields"] if _root(field) in _KEY_FIELDS[collection]}
    values: dict[str, Any] = {each["k"]: each["v"] for each in event["values"]}
    return [before, before | values] if changed <= values.keys() else None


def _root(field: str) -> str:
    return field.partition(".")[0]
