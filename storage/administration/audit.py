"""The audit log: who changed what, when and from where.

A record is written in the transaction of its change: there is no change without its record, and no
record without its change. An operation that changes nothing has none. Logged by the logger
`floorgate.audit` too, once the transaction is committed (docs/decisions/storage/audit-log.md).
"""

import functools
import logging
import os
import pwd
import secrets
import socket
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args

import msgspec

from storage.administration.import_lease import GetKeys, check_writable
from storage.mongo import driver
from storage.records.kinds import Document, Record, RecordType
from storage.records.paging import ListSource, Order, Page, PageRequest

AUDIT_COLLECTION = "audit_log"
AUDIT_LOG = RecordType(AUDIT_COLLECTION, "audit record", Record, scope_field="")
"""The audit log as a list that can be counted; its records are no part of the catalog."""
LATEST_FIRST = Order(is_descending=True)
AUDIT_INDEXES = [
    *(
        driver.IndexModel([(field, 1), ("_id", 1)])
        for field in ("actor.id", "action", "target.ids", "changes.ids")
    ),
    driver.IndexModel(
        [("import_id", 1), ("_id", 1)], partialFilterExpression={"import_id": {"$exists": True}}
    ),
]

MAX_LISTED_IDS = 1_000
"""Ids of one change of an import or of a map, and assets of any record; `count` counts all."""
MAX_SHOWN_CHANGES = 20
MAX_SHOWN_IDS = 20
"""Changes of a record, and ids of a change, on a page of the log."""
_ID_PREFIX = "aud_"
_EPOCH = datetime.fromtimestamp(0, UTC)
_MILLISECOND = timedelta(milliseconds=1)

Action: TypeAlias = Literal[
    "attributes.assigned",
    "attributes.unassigned",
    "catalog.imported",
    "catalog.restored",
    "documents.registered",
    "documents.removed",
    "endpoints.removed",
    "endpoints.saved",
    "key.created",
    "key.deleted",
    "key.revoked",
    "key.rotated",
    "key.updated",
    "map.closed",
    "map.processed",
    "map.withdrawn",
    "records.removed",
    "traces.erased",
]
ACTIONS: tuple[str, ...] = get_args(Action)
Interface: TypeAlias = Literal["rest", "graphql", "cli"]
Operation: TypeAlias = Literal["inserted", "updated", "removed"]

T = TypeVar("T")

_logger = logging.getLogger("floorgate.audit")


class Actor(msgspec.Struct, frozen=True):
    """Who acted: an API key, or the operator at the command line."""

    type: str
    """`key` or `operator`, unless another version has written it, like the words below."""
    actor_id: Annotated[str, "Id of the key, or the operator's name in the operating system."] = (
        msgspec.field(name="id")
    )
    name: str


class Origin(msgspec.Struct, frozen=True):
    """An actor, and where the operation comes from."""

    actor: Actor
    interface: Interface
    client_address: str
    """The client's IP address; of the command line, the name of the machine."""
    request_id: str


@functools.cache
def get_process_origin() -> Origin:
    """Return the origin of what a command of the command line does, the same for all it does."""
    user = str(os.getuid())
    with suppress(KeyError):  # a container may run under a number without a name
        user = pwd.getpwuid(os.getuid()).pw_name
    return Origin(Actor("operator", user, user), "cli", socket.gethostname(), secrets.token_hex(16))


def describe_origin(origin: Origin | None) -> Document:
    """Return who acted, for a log line; without an origin, it is that of the command line."""
    origin = origin or get_process_origin()
    actor = {"actor": origin.actor.actor_id, "interface": origin.interface}
    return {**actor, "request_id": origin.request_id}


class AuditTarget(msgspec.Struct, frozen=True):
    """What an operation was called for: the collection and the ids, such as those of a key."""

    kind: Annotated[str, "The collection, such as `api_keys`."]
    ids: Annotated[list[str], "Such as the id of the key; of an import, the names of the bundles."]


class AuditChange(msgspec.Struct, frozen=True):
    """What changed alike: records of one collection that had `before` and now have `after`."""

    kind: Annotated[str, "The collection, such as `units`; `closures.doors` of what is closed."]
    operation: str
    count: Annotated[int, "How many records changed so."]
    ids: Annotated[list[str], "Ids of these records; of assignments, the ids of the units."]
    before: Annotated[Any, "What they were; null if they are new, or if it is not recorded."] = None
    after: Annotated[Any, "What they are; null if they are gone, or if it is not recorded."] = None

    @classmethod
    def of_all(
        cls, kind: str, operation: Operation, ids: list[str], before: Any = None, after: Any = None
    ) -> "AuditChange":
        return cls(kind, operation, len(ids), ids, before, after)


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record of the audit log."""

    audit_id: str
    at: datetime
    action: str
    actor: Actor
    interface: str
    client_address: Annotated[str, "IP address of the client, or name of the operator's machine."]
    request_id: Annotated[str, "Of the request, as in the log; the same for all of a command."]
    target: AuditTarget
    asset_ids: Annotated[list[str], "The assets that were touched."]
    changes: Annotated[list[AuditChange], "What changed; never a key or its digest."]
    import_id: Annotated[str | None, "The id that an import or a removal was given."] = None


class AuditEntry(NamedTuple):
    """The changes of an operation, for its record; without any it has none."""

    action: Action
    target: AuditTarget
    changes: Sequence[AuditChange]
    asset_ids: Iterable[str] = ()
    """The assets that it touched, of which MAX_LISTED_IDS are recorded."""
    import_id: str | None = None
    outcome: Document | None = None
    """What `find_import` returns with the record; it is not listed."""


class AuditFilter(NamedTuple):
    """A filter of the records to list; a member that is None excludes none."""

    since: datetime | None = None
    until: datetime | None = None
    actor: str | None = None
    action: str | None = None
    target: str | None = None
    """Id of what was changed, or what the operation was called for, or of an import."""


async def run_audited(
    database: driver.Database,
    origin: Origin | None,
    work: Callable[[driver.Session], Awaitable[tuple[T, AuditEntry | None]]],
    get_keys: GetKeys = dict,
) -> T:
    """Run `work` in a transaction, with the record of what it changed; return its result.

    Without an `origin`, the actor is the user who runs this process. Raises UnavailableError, also
    while a restore replaces the collections, or an import removes one of the records that
    `get_keys` returns.
    """

    async def write(session: driver.Session) -> tuple[T, AuditRecord | None]:
        await check_writable(database, session, get_keys)
        result, entry = await work(session)
        if entry is None or not entry.changes:
            return result, None
        record = _build_record(origin or get_process_origin(), entry)
        document = _to_document(record)
        if entry.outcome is not None:
            document["outcome"] = entry.outcome
        await database[AUDIT_COLLECTION].insert_one(document, session=session)
        return result, record

    with driver.translate_errors():
        result, record = await driver.run_in_transaction(database.client, write)
    if record is not None:
        _log_record(record)
    return result


async def find_import(
    database: driver.Database, origin: Origin | None, import_id: str
) -> Document | None:
    """Return the record of the import that this actor has given an id; None if there is none.

    What was imported before a restore may be gone, and does not count.
    """
    actor = (origin or get_process_origin()).actor
    own = {"import_id": {"$eq": import_id}, "actor.id": actor.actor_id, "actor.type": actor.type}
    found = await database[AUDIT_COLLECTION].find_one(
        {"$or": [own, {"action": "catalog.restored"}]}, sort=[("_id", -1)]
    )
    return found if found is not None and found.get("outcome") else None


async def list_audit_records(
    database: driver.Database,
    audit_filter: AuditFilter,
    page_request: PageRequest,
    list_id: Hashable = (),
) -> Page[AuditRecord]:
    """Return a page of records in LATEST_FIRST order, with their first changes and ids.

    If the filter has a target, a change of it has only its id. Raises UnavailableError.
    """
    where = _build_condition(audit_filter)
    continued = where
    if page_request.after is not None:
        [following] = page_request.order.split_after(page_request.after)
        continued = {"$and": [where, following]}
    pipeline: list[Document] = [{"$match": continued}, {"$sort": page_request.order.sort}]
    if page_request.skip:
        pipeline.append({"$skip": page_request.skip})
    pipeline += [{"$limit": page_request.limit}, {"$set": _shorten(audit_filter.target)}]
    with driver.translate_errors():
        documents = await driver.aggregate_documents(database, AUDIT_COLLECTION, pipeline)
    records = [*map(_to_record, documents)]
    page = page_request.build_page(records, page_request.order.list_positions(documents))
    return page.of_list(list_id, ListSource(AUDIT_LOG, where))


async def iter_audit_records(
    database: driver.Database, audit_filter: AuditFilter, limit: int
) -> AsyncIterator[AuditRecord]:
    """Yield up to `limit` whole records, the latest first; 0 yields all.

    Raises UnavailableError.
    """
    with driver.translate_errors():
        cursor = database[AUDIT_COLLECTION].find(
            _build_condition(audit_filter), sort=[("_id", -1)], limit=limit
        )
        async for document in cursor:
            yield _to_record(document)


async def delete_audit_records(database: driver.Database, before: datetime) -> int:
    """Delete the records from before this time; return their number. Raises UnavailableError."""
    with driver.translate_errors():
        result = await database[AUDIT_COLLECTION].delete_many(
            {"_id": {"$lt": _first_id_at(before)}}
        )
    return result.deleted_count


def build_entry(
    action: Action, collection: str, ids_by_operation: Mapping[Operation, Sequence[str]]
) -> AuditEntry:
    """Return the entry of records of one collection, of which nothing but their ids is recorded."""
    changes = [
        AuditChange.of_all(collection, operation, sorted(ids))
        for operation, ids in ids_by_operation.items()
        if ids
    ]
    ids = [id for change in changes for id in change.ids]
    return AuditEntry(action, AuditTarget(collection, ids[:MAX_LISTED_IDS]), changes)


def _build_record(origin: Origin, entry: AuditEntry) -> AuditRecord:
    # Within the 16 MB of a document: no request can name as much.
    at = _EPOCH + (datetime.now(UTC) - _EPOCH) // _MILLISECOND * _MILLISECOND
    return AuditRecord(
        audit_id=_first_id_at(at) + secrets.token_hex(8),
        at=at,
        action=entry.action,
        actor=origin.actor,
        interface=origin.interface,
        client_address=origin.client_address,
        request_id=origin.request_id,
        target=entry.target,
        asset_ids=sorted({*entry.asset_ids})[:MAX_LISTED_IDS],
        changes=[*entry.changes],
        import_id=entry.import_id,
    )


def _first_id_at(time: datetime) -> str:
    """Return what the ids of records of this millisecond begin with; they sort by time.

    >>> _first_id_at(datetime(2026, 1, 31, 12, tzinfo=UTC))
    'aud_019c13ec9e00'
    """
    return f"{_ID_PREFIX}{max(0, (time - _EPOCH) // _MILLISECOND):012x}"


def _build_condition(audit_filter: AuditFilter) -> Document:
    conditions: list[Document] = []
    if audit_filter.since is not None:
        conditions.append({"_id": {"$gte": _first_id_at(audit_filter.since)}})
    if audit_filter.until is not None:
        conditions.append({"_id": {"$lt": _first_id_at(audit_filter.until)}})
    if audit_filter.actor is not None:
        conditions.append({"actor.id": {"$eq": audit_filter.actor}})
    if audit_filter.action is not None:
        conditions.append({"action": {"$eq": audit_filter.action}})
    if (target := audit_filter.target) is not None:
        fields = ("target.ids", "changes.ids", "import_id")
        conditions.append({"$or": [{field: {"$eq": target}} for field in fields]})
    return {"$and": conditions} if conditions else {}


def _shorten(target: str | None) -> Document:
    """Return expressions for the parts of a record that a page shows.

    MongoDB evaluates them: an assignment of 10,000 units must not be read for its first ids.
    """
    changes: Document | str = "$changes"
    ids: Document = {"$slice": ["$$change.ids", MAX_SHOWN_IDS]}
    if target is not None:
        text = {"$literal": target}
        is_meant = {"$in": [text, "$$change.ids"]}
        is_of_target = {"$in": [text, "$target.ids"]}
        condition = {"$or": [is_of_target, is_meant, {"$eq": ["$import_id", text]}]}
        changes = {"$filter": {"input": "$changes", "as": "change", "cond": condition}}
        ids = {"$cond": [is_meant, [text], ids]}
    first_changes = {"$slice": [changes, MAX_SHOWN_CHANGES]}
    shown = {"$mergeObjects": ["$$change", {"ids": ids}]}
    return {
        "changes": {"$map": {"input": first_changes, "as": "change", "in": shown}},
        "asset_ids": {"$slice": ["$asset_ids", MAX_SHOWN_IDS]},
    }


def _to_document(record: AuditRecord) -> Document:
    document: Document = msgspec.to_builtins(record, builtin_types=(datetime,))
    return {"_id": document.pop("audit_id"), **document}


def _to_record(document: Document) -> AuditRecord:
    at = document["at"].replace(tzinfo=UTC)
    return msgspec.convert({**document, "audit_id": document["_id"], "at": at}, AuditRecord)


def _log_record(record: AuditRecord) -> None:
    fields = {
        "audit_id": record.audit_id,
        "action": record.action,
        "actor": record.actor.actor_id,
        "interface": record.interface,
        "client_address": record.client_address,
        "request_id": record.request_id,
        "target_kind": record.target.kind,
        "target_ids": record.target.ids[:MAX_SHOWN_IDS],
        "changed": sum(change.count for change in record.changes),
    }
    _logger.info("audit", extra={"fields": fields})
