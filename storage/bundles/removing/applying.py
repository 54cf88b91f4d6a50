"""Removing what an import has staged; repeating it changes nothing more.

References are cleared and dependents removed before their owners, so that readers never meet a
record without its owner. Only assignments of attributes are written beside imports. Requests that
see the state `removing` assign none to what is staged; those that began before it are over, or
fail, once the guards are written (`storage.write_guards`). Then those that they left behind are
staged too.
"""

from collections.abc import Callable
from typing import Any

from storage.administration.import_lease import ImportLease
from storage.bundles.removing.removals import VALUES_FIELD, Removals
from storage.catalog import ASSIGNMENTS, RECORD_TYPES
from storage.mongo import driver
from storage.records.kinds import KEY_SEPARATOR, Document, RecordType
from storage.tombstones import TOMBSTONES, build_tombstone
from storage.write_guards import end_earlier_writes


async def apply_removals(
    database: driver.Database,
    removals: Removals,
    lease: ImportLease,
    on_progress: Callable[[int], None],
) -> None:
    """Clear references, then remove the staged records, owners last, and write their tombstones.

    `on_progress` receives the number of records that a batch has changed or removed.
    """
    await end_earlier_writes(database)
    lease.check_held()
    await removals.stage_dependents_of_kind(ASSIGNMENTS)
    for kind in RECORD_TYPES:
        async for cleared in removals.iter_cleared(kind):
            lease.check_held()
            writes = [
                driver.UpdateOne({"_id": key}, {"$set": fields}) for key, fields in cleared.items()
            ]
            await database[kind.name].bulk_write(writes, ordered=False)
            on_progress(len(writes))
    for kind in reversed(RECORD_TYPES):  # maps before their backgrounds, which only they lead to
        async for batch in removals.iter_removed(kind):
            await _remove(database, kind, batch, lease)
            on_progress(len(batch))


async def _remove(
    database: driver.Database,
    kind: RecordType[Any],
    removals: list[Document],
    lease: ImportLease,
) -> None:
    """Remove records, then write the tombstones that they do not have.

    A record with a tombstone is gone. Tombstones have the time at which they are written, so that
    followers do not miss those of an import that is finished late.
    """
    names = {each["_id"]: KEY_SEPARATOR.join(each[VALUES_FIELD]) for each in removals}
    lease.check_held()
    await database[kind.name].delete_many({"_id": {"$in": [*names]}})
    removed_at = await lease.take_time()
    where = {
        "kind": kind.name,
        "key": {"$in": [*names.values()]},
        "removed_at": {"$gte": lease.committed_at},
    }
    found = await database[TOMBSTONES.name].find(where, ["key"]).to_list(None)
    listed = {document["key"] for document in found}
    tombstones = [
        build_tombstone(kind, each[VALUES_FIELD], each["asset_id"], removed_at)
        for each in removals
        if names[each["_id"]] not in listed
    ]
    if tombstones:
        lease.check_held()
        await driver.insert_absent(database[TOMBSTONES.name], tombstones)
