"""Erase the traces of an asset that was removed, or of a key that was revoked.

Each transaction has an audit record, which does not name what was erased. Records of the audit log
stay, so that it still says what was done and when, without the erased ids.
"""

from collections.abc import Callable, Iterable
from functools import partial
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
_CLIENT_FIELDS = {"client_address", "request_id", "import_id"}
_NO_VALUES: Document = {"before": None, "after": None}
MAX_ERASED = 1_000
"""So many documents of a step are erased in one transaction, which may take some seconds."""


class ErasureStep(NamedTuple):
    """Documents that lose an id, or are deleted where nothing says how."""

    collection: str
    where: Document
    forget: Callable[[Document], Document] | None = None
    """Returns fields without the id, with which `where` does not select the document any more."""

    def build_write(self, document: Document) -> driver.WriteOperation:
        where = {"_id": document["_id"]}
        if self.forget is None:
            return driver.DeleteOne(where)
        return driver.UpdateOne(where, {"$set": self.forget(document)})


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
    with driver.translate_errors():
        await _check_unused(database, kind, id)
        counts = [await database[each.collection].count_documents(each.where) for each in steps]
        mentions = [
            f"{name}: {each['_id']}"
            for name in (ENDPOINTS_COLLECTION, DOCUMENTS_COLLECTION)
            for each in await driver.read_all(
                database[name].find({"$expr": is_in_text}, {"_id": 1})
            )
        ]
    return Erasure(_build_changes(steps, counts), mentions)


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
            if writes := [step.build_write(each) for each in await driver.read_all(found)]:
                await collection.bulk_write(writes, session=session)
            counts.append(len(writes))
        changes = _build_changes(steps, counts)
        target = audit.AuditTarget(kind, [])
        return bool(changes), audit.AuditEntry("traces.erased", target, changes)

    while await audit.run_audited(database, None, erase):
        pass


def _build_changes(steps: Iterable[ErasureStep], counts: Iterable[int]) -> list[audit.AuditChange]:
    return [
        audit.AuditChange(each.collection, "updated" if each.forget else "removed", count, [])
        for each, count in zip(steps, counts, strict=True)
        if count
    ]


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
    is_audited: Document = {"$or": [has_asset, is_full]}

    def forget_in_key(key: Document) -> Document:
        return {"asset_ids": [each for each in key["asset_ids"] if each != id]}

    return ASSETS.name, [
        ErasureStep(TOMBSTONES.name, {"asset_id": {"$eq": id}}),
        ErasureStep(api_keys.KEYS_COLLECTION, has_asset, forget_in_key),
        ErasureStep(audit.AUDIT_COLLECTION, is_audited, partial(_forget_asset, id)),
    ]


def _plan_for_key(id: str) -> tuple[str, list[ErasureStep]]:
    is_key = {"$eq": id}
    is_named = {"$or": [{name: is_key} for name in ("actor.id", "target.ids", "changes.ids")]}
    replaced, started = {"replaced_by_id": is_key}, {"started_by.actor": is_key}
    return api_keys.KEYS_COLLECTION, [
        ErasureStep(api_keys.KEYS_COLLECTION, {"_id": is_key}),
        ErasureStep(api_keys.USES_COLLECTION, {"_id": is_key}),
        ErasureStep(api_keys.KEYS_COLLECTION, replaced, lambda _: {"replaced_by_id": ERASED}),
        ErasureStep(LEASE_COLLECTION, started, lambda _: {"started_by": {}}),
        ErasureStep(audit.AUDIT_COLLECTION, is_named, partial(_forget_key, id)),
    ]


_PLANS = {"asset": _plan_for_asset, "key": _plan_for_key}


def _forget_asset(id: str, record: Document) -> Document:
    if not record["action"].startswith("key."):
        # Nothing says any longer which ids are those of the asset.
        changes = [each | _NO_VALUES | {"ids": []} for each in record["changes"]]
        record = record | {"changes": changes, "target": record["target"] | {"ids": [ERASED]}}
    return _replace_in_lists(record, id)


def _forget_key(id: str, record: Document) -> Document:
    if record["actor"]["id"] == id:
        actor = {"type": "key", "id": ERASED, "name": ERASED}
        record = record | {"actor": actor} | dict.fromkeys(_CLIENT_FIELDS & record.keys(), ERASED)
    changes = [each | _NO_VALUES if id in each["ids"] else each for each in record["changes"]]
    return _replace_in_lists(record | {"changes": changes}, id)


def _replace_in_lists(document: Document, id: str) -> Document:
    """Return an audit record without an id: all of them are in lists, but for the actor's."""

    def replace(value: Any) -> Any:
        if isinstance(value, dict):
            return _replace_in_lists(value, id)
        if isinstance(value, list):
            return [ERASED if each == id else replace(each) for each in value]
        return value

    return {name: replace(each) for name, each in document.items()}
