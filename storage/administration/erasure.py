"""Erase the traces of an asset that was removed, or of a key that was revoked.

Each transaction has an audit record, which does not name what was erased. Records of the audit log
stay, so that it still says what was done and when, without the erased ids.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, TypeAlias

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


class ErasureStep(NamedTuple):
    """Documents that lose an id, or are deleted where nothing says how."""

    collection: str
    where: Document
    forget: Callable[[Document], Document] | None = None
    """Returns a document without the id, which `where` does not select any more."""

    @property
    def operation(self) -> audit.Operation:
        """Return the word of the audit log for what is done to the documents."""
        return "removed" if self.forget is None else "updated"


class Erasure(NamedTuple):
    """A plan: it says what would be erased."""

    changes: list[audit.AuditChange]
    """Numbers of documents that are changed or removed, by collection; their ids are left out."""
    mentions: list[str]
    """Endpoints and documents that have the id in their text, which stays."""


async def plan_erasure(database: driver.Database, subject: Subject, id: str) -> Erasure:
    """Return what would be erased. Raises ErasureRefusedError, as `erase_traces`."""
    kind, steps = _PLANS[subject](id)
    is_in_text = {"$gte": [{"$indexOfBytes": ["$text", {"$literal": id}]}, 0]}
    mentions = []
    with driver.translate_errors():
        await _check_unused(database, kind, id)
        counts = [
            (step, await database[step.collection].count_documents(step.where)) for step in steps
        ]
        for name in (ENDPOINTS_COLLECTION, DOCUMENTS_COLLECTION):
            found = database[name].find({"$expr": is_in_text}, {"_id": 1})
            mentions += [f"{name}: {each['_id']}" for each in await found.to_list(None)]
    return Erasure(_sum_up(counts), mentions)


async def erase_traces(database: driver.Database, subject: Subject, id: str) -> None:
    """Erase an id from the database.

    Raises ErasureRefusedError if the asset is still there, or the key not revoked. After any other
    error some of it may be erased: another call erases the rest.
    """
    kind, steps = _PLANS[subject](id)

    async def erase(session: driver.Session) -> tuple[bool, audit.AuditEntry]:
        await _check_unused(database, kind, id, session)
        counts = []
        for step in steps:
            collection = database[step.collection]
            found = collection.find(step.where, session=session, limit=MAX_ERASED)
            documents = await found.to_list(None)
            counts.append((step, len(documents)))
            if step.forget is None:
                ids = [each["_id"] for each in documents]
                await collection.delete_many({"_id": {"$in": ids}}, session=session)
            elif documents:
                await collection.bulk_write(
                    [
                        driver.UpdateOne({"_id": each["_id"]}, {"$set": step.forget(each)})
                        for each in documents
                    ],
                    session=session,
                )
        changes = _sum_up(counts)
        return bool(changes), audit.AuditEntry(
            "traces.erased", audit.AuditTarget(kind, []), changes
        )

    while await audit.run_audited(database, None, erase):
        pass


def _sum_up(counts: Iterable[tuple[ErasureStep, int]]) -> list[audit.AuditChange]:
    totals = Counter[tuple[str, audit.Operation]]()
    for step, count in counts:
        totals[step.collection, step.operation] += count
    return [audit.AuditChange(*each, count, []) for each, count in totals.items() if count]


async def _check_unused(
    database: driver.Database, kind: str, id: str, session: driver.Session | None = None
) -> None:
    found = await database[kind].find_one({"_id": id}, session=session)
    if found is not None and found.get("revoked_at") is None:  # which no asset has
        raise ErasureRefusedError(f"{id!r} is in use: first, floorgate {_REMEDIES[kind]} {id}")


def _plan_for_asset(id: str) -> tuple[str, list[ErasureStep]]:
    has_asset: Document = {"asset_ids": {"$eq": id}}
    # A record lists so many assets and no more: this one may be among the others.
    is_full = {
        f"asset_ids.{audit.MAX_LISTED_IDS - 1}": {"$exists": True},
        "changes.ids": {"$ne": []},
        "action": {"$not": {"$regex": r"^key\."}},
    }

    def forget_id(owner: Any) -> Any:
        if not owner or not owner.get("asset_ids"):  # of a key: all assets
            return owner
        return owner | {"asset_ids": [each for each in owner["asset_ids"] if each != id]}

    def forget_in_change(change: Document) -> Document:
        return change | {name: forget_id(change[name]) for name in ("before", "after")}

    def forget(record: Document) -> Document:
        record = forget_id(record)
        nothing: Document = {"ids": [], "before": None, "after": None}
        if record["action"].startswith("key."):
            return record | {"changes": [*map(forget_in_change, record["changes"])]}
        # Nothing says any longer which ids are those of the asset.
        changes = [each | nothing for each in record["changes"]]
        return record | {"changes": changes, "target": record["target"] | {"ids": [ERASED]}}

    return ASSETS.name, [
        ErasureStep(TOMBSTONES.name, {"asset_id": {"$eq": id}}),
        ErasureStep(api_keys.KEYS_COLLECTION, has_asset, forget_id),
        ErasureStep(audit.AUDIT_COLLECTION, {"$or": [has_asset, is_full]}, forget),
    ]


def _plan_for_key(id: str) -> tuple[str, list[ErasureStep]]:
    is_key = {"$eq": id}
    is_named = {"$or": [{name: is_key} for name in ("actor.id", "target.ids", "changes.ids")]}

    def forget_in(named: Document) -> Document:
        ids = [ERASED if each == id else each for each in named["ids"]]
        return named if id not in named["ids"] else named | {"ids": ids}

    def forget(record: Document) -> Document:
        if record["actor"]["id"] == id:
            actor = {"type": "key", "id": ERASED, "name": ERASED}
            record = record | {"actor": actor, "client_address": ERASED, "request_id": ERASED}
        nothing: Document = {"before": None, "after": None}
        changes = [
            forget_in(each) | (nothing if id in each["ids"] else {}) for each in record["changes"]
        ]
        return record | {"target": forget_in(record["target"]), "changes": changes}

    return api_keys.KEYS_COLLECTION, [
        ErasureStep(api_keys.KEYS_COLLECTION, {"_id": is_key}),
        ErasureStep(api_keys.USES_COLLECTION, {"_id": is_key}),
        ErasureStep(
            api_keys.KEYS_COLLECTION,
            {"replaced_by_id": is_key},
            lambda _: {"replaced_by_id": ERASED},
        ),
        ErasureStep(LEASE_COLLECTION, {"started_by.actor": is_key}, lambda _: {"started_by": {}}),
        ErasureStep(audit.AUDIT_COLLECTION, is_named, forget),
    ]


_PLANS = {"asset": _plan_for_asset, "key": _plan_for_key}
