"""Removing what an import has staged; repeating it changes nothing more.

References are cleared and dependents removed before their owners, so that readers never meet a
record without its owner. Only assignments of attributes are written beside imports. Requests that
see the state `removing` assign none to what is staged; those that began before it are over, or
fail, once the guards are written (`storage.write_guards`). Then those that they left behind are
staged too.
"""

from collections.abc import Callable

from storage.administration.import_lease import ImportLease
from storage.attributes import ASSIGNMENTS
from storage.bundles.removing.removals import VALUES_FIELD, Removals
from storage.catalog import RECORD_TYPES
from storage.mongo import driver
from storage.tombstones import TOMBSTONES, build_tombstone
from storage.write_guards import end_earlier_writes

_BY_NAME = sorted(RECORD_TYPES, key=lambda kind: kind.name)


async def apply_removals(
    database: driver.Database,
    removals: Removals,
    lease: ImportLease,
    on_progress: Callable[[int], None],
) -> None:
    """Clear references, write tombstones, and remove the staged records, owners last.

    `on_progress` receives the number of records that a batch has removed.
    """
    await end_earlier_writes(database)
    lease.check_held()
    await removals.stage_dependents_of_kind(ASSIGNMENTS)
    for kind in _BY_NAME:  # in the order of their ids
        async for batch in removals.iter_removed(kind):
            lease.check_held()
            tombstones = [
                build_tombstone(
                    kind, each["_id"], each[VALUES_FIELD], each["asset_id"], lease.committed_at
                )
                for each in batch
            ]
            await driver.insert_absent(database[TOMBSTONES.name], tombstones)
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
            lease.check_held()
            keys = [each["_id"] for each in batch]
            await database[kind.name].delete_many({"_id": {"$in": keys}})
            on_progress(len(keys))
