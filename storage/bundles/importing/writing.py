"""Write the changes of an import. Repeating it changes nothing more."""

from typing import Any

from storage.administration.import_lease import ImportLease
from storage.attribute_assignments import write_assignments
from storage.bundles.importing.planning import MemberChange
from storage.catalog import ASSIGNMENTS
from storage.mongo import driver
from storage.records.kinds import Document, RecordType
from storage.tombstones import end_tombstones


async def write_changes(
    database: driver.Database,
    lease: ImportLease,
    kind: RecordType[Any],
    changes: list[MemberChange],
    has_tombstones: bool,
) -> None:
    """Write changes of members of a kind, and end the tombstones of new ones, if there are any."""
    new, updated = _split_changes(changes)
    if new:
        lease.check_held()
        if has_tombstones:
            await end_tombstones(database, kind, new)
        # Records that an assignment request has created since become updates.
        updated += await driver.insert_absent(database[kind.name], new)
    if updated and kind is ASSIGNMENTS:
        await _update_assignments(database, lease, updated)
    elif updated:
        lease.check_held()
        updates = [driver.UpdateOne({"_id": each["_id"]}, {"$set": each}) for each in updated]
        await database[kind.name].bulk_write(updates, ordered=False)


def _split_changes(changes: list[MemberChange]) -> tuple[list[Document], list[Document]]:
    """Return the documents to insert, and those to update."""
    new, updated = list[Document](), list[Document]()
    for key, is_new, fields in changes:
        if fields is not None:
            (new if is_new else updated).append({"_id": key, **fields})
    return new, updated


async def _update_assignments(
    database: driver.Database, lease: ImportLease, documents: list[Document]
) -> None:
    """Update assignments in one transaction with the tombstones of those that they replace.

    Requests may have changed them since the import was planned.
    """

    async def work(session: driver.Session) -> None:
        lease.check_held()
        await write_assignments(database, {each["_id"]: each for each in documents}, session)

    await driver.run_in_transaction(database.client, work)
