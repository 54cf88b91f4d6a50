"""Erase the traces of an asset that was removed, or of a key that was revoked.

Each transaction has an audit record, which does not name what was erased. Records of the audit log
stay, so that it still says what was done and when, without the erased ids.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from storage.administration import api_keys, audit
from storage.administration.import_lease import LEASE_COLLECTION
from storage.administration.saved_endpoints import ENDPOINTS_COLLECTION
from storage.administration.trusted_documents import DOCUMENTS_COLLECTION
from storage.catalog import ASSETS
from storage.errors import ErasureRefusedError
from storage.mongo import driver
from storage.records.kinds import Document
from storage.tombstones import TOMBSTONES

ERASED = "erased"
"""It stands where the audit log had an erased id, or who a client was and from where it came."""
Subject: TypeAlias = Literal["asset", "key"]
_REMEDIES = {ASSETS.name: "remove asset", api_keys.KEYS_COLLECTION: "keys revoke"}
MAX_ERASED = 1_000
"""So many documents of a step are erased in one transaction, which may take some seconds."""
_ORIGIN_FIELDS = ("client_address", "request_id")


class ErasureStep(NamedTuple):
    """Documents that are updated by a pipeline, or deleted without one."""

    collection: str
    operation: audit.Operation
    where: Document
    update: list[Document] | None = None


class Erasure(NamedTuple):
    """What is erased, or would be."""

    changes: list[audit.AuditChange]
    """How many documents of each collection are changed or removed; without their ids."""
    mentions: list[str]
    """Endpoints and documents that have the id in their text, which stays."""


async def plan_erasure(database: driver.Database, subject: Subject, id: str) -> Erasure:
    """Return what would be erased. Raises ErasureRefusedError, as `erase_traces`."""
    kind, steps = _list_steps(subject, id)
    with driver.translate_errors():
        await _check_unused(database, kind, id)
        counts = [
            (name, operation, await database[name].count_documents(where))
            for name, operation, where, _ in steps
        ]
        mentions = await _list_mentions(database, id)
    return Erasure(_sum_up(counts), mentions)


async def erase_traces(database: driver.Database, subject: Subject, id: str) -> None:
    """Erase an id from the database.

    Raises ErasureRefusedError if the asset is still there, or the key not revoked. After any other
    error some of it may be erased: another call erases the rest.
    """
    kind, steps = _list_steps(subject, id)

    async def erase(session: driver.Session) -> tuple[bool, audit.AuditEntry]:
        await _check_unused(database, kind, id, session)
        counts: list[tuple[str, audit.Operation, int]] = []
        for name, operation, where, update in steps:
            found = database[name].find(where, {"_id": 1}, session=session, limit=MAX_ERASED)
            ids = [each["_id"] for each in await found.to_list(None)]
            counts.append((name, operation, len(ids)))
            some = {"_id": {"$in": ids}}
            if update is None:
                await database[name].delete_many(some, session=session)
            else:
                await database[name].update_many(some, update, session=session)
        changes = _sum_up(counts)
        return bool(changes), audit.AuditEntry(
            "traces.erased", audit.AuditTarget(kind, []), changes
        )

    while await audit.run_audited(database, None, erase):
        pass


def _list_steps(subject: Subject, id: str) -> tuple[str, list[ErasureStep]]:
    return _plan_asset(id) if subject == "asset" else _plan_key(id)


def _sum_up(counts: Iterable[tuple[str, audit.Operation, int]]) -> list[audit.AuditChange]:
    """Return a change for each collection and operation, without ids."""
    totals = Counter[tuple[str, audit.Operation]]()
    for name, operation, count in counts:
        totals[name, operation] += count
    return [audit.AuditChange(*each, count, []) for each, count in totals.items() if count]


async def _check_unused(
    database: driver.Database, kind: str, id: str, session: driver.Session | None = None
) -> None:
    found = await database[kind].find_one({"_id": id}, session=session)
    if found is not None and found.get("revoked_at") is None:  # which no asset has
        raise ErasureRefusedError(f"{id!r} is in use: first, floorgate {_REMEDIES[kind]} {id}")


async def _list_mentions(database: driver.Database, id: str) -> list[str]:
    is_in_text = {"$gte": [{"$indexOfBytes": ["$text", {"$literal": id}]}, 0]}
    mentions = []
    for name in (ENDPOINTS_COLLECTION, DOCUMENTS_COLLECTION):
        found = database[name].find({"$expr": is_in_text}, {"_id": 1})
        mentions += [f"{name}: {each['_id']}" for each in await found.to_list(None)]
    return mentions


def _plan_asset(id: str) -> tuple[str, list[ErasureStep]]:
    has_asset: Document = {"asset_ids": {"$eq": id}}
    is_of_key: Document = {"$regex": r"^key\."}
    # A record lists so many assets and no more: this one may be among the others.
    is_full = {
        f"asset_ids.{audit.MAX_LISTED_IDS - 1}": {"$exists": True},
        "changes.ids": {"$ne": []},
    }
    others = {"asset_ids": _without(id, "$asset_ids")}
    rights = {name: _without_asset(id, f"$$this.{name}") for name in ("before", "after")}
    nothing: Document = {"ids": [], "before": None, "after": None}
    log = audit.AUDIT_COLLECTION
    return ASSETS.name, [
        ErasureStep(TOMBSTONES.name, "removed", {"asset_id": {"$eq": id}}),
        ErasureStep(api_keys.KEYS_COLLECTION, "updated", has_asset, [{"$set": others}]),
        ErasureStep(
            log,
            "updated",
            {**has_asset, "action": is_of_key},
            [{"$set": others | _in_changes(rights)}],
        ),
        ErasureStep(  # which ids are those of the asset, nothing says any longer
            log,
            "updated",
            {"$or": [has_asset, is_full], "action": {"$not": is_of_key}},
            [{"$set": others | {"target.ids": [ERASED]} | _in_changes(nothing)}],
        ),
    ]


def _plan_key(id: str) -> tuple[str, list[ErasureStep]]:
    is_key, literal = {"$eq": id}, {"$literal": id}
    renamed = {"$cond": [{"$eq": ["$$this", literal]}, ERASED, "$$this"]}
    nothing = {"ids": [ERASED], "before": None, "after": None}
    log = audit.AUDIT_COLLECTION
    return api_keys.KEYS_COLLECTION, [
        ErasureStep(api_keys.KEYS_COLLECTION, "removed", {"_id": is_key}),
        ErasureStep(api_keys.USES_COLLECTION, "removed", {"_id": is_key}),
        ErasureStep(
            api_keys.KEYS_COLLECTION,
            "updated",
            {"replaced_by_id": is_key},
            [{"$set": {"replaced_by_id": ERASED}}],
        ),
        ErasureStep(
            LEASE_COLLECTION, "updated", {"started_by.actor": is_key}, [{"$unset": "started_by"}]
        ),
        ErasureStep(
            log,
            "updated",
            {"actor.id": is_key},
            [{"$set": dict.fromkeys(("actor.id", "actor.name", *_ORIGIN_FIELDS), ERASED)}],
        ),
        ErasureStep(
            log,
            "updated",
            {"$or": [{"target.ids": is_key}, {"changes.ids": is_key}]},
            [
                {
                    "$set": {
                        "target.ids": {"$map": {"input": "$target.ids", "in": renamed}},
                        **_in_changes({"$cond": [{"$in": [literal, "$$this.ids"]}, nothing, {}]}),
                    }
                }
            ],
        ),
    ]


def _in_changes(fields: Document) -> Document:
    """Return how the changes of a record get these fields."""
    merged = {"$mergeObjects": ["$$this", fields]}
    return {"changes": {"$map": {"input": "$changes", "in": merged}}}


def _without(id: str, ids: str) -> Document:
    return {"$filter": {"input": ids, "cond": {"$ne": ["$$this", {"$literal": id}]}}}


def _without_asset(id: str, rights: str) -> Document:
    """Return what a key was or is, if its assets are listed there without this one."""
    others = {"asset_ids": _without(id, f"{rights}.asset_ids")}
    is_listed = {"$isArray": f"{rights}.asset_ids"}
    return {"$cond": [is_listed, {"$mergeObjects": [rights, others]}, rights]}
