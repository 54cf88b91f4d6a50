"""Switching from the collections of a database to those that a restore has staged for them.

The staged collections are the redo log of a restore: what is still staged has yet to be switched.
So whoever holds the lease next can finish the work of a process that was killed.
"""

from storage.administration import api_keys, audit
from storage.administration.import_lease import ImportLease, get_staging_prefix
from storage.administration.trusted_documents import DOCUMENTS_COLLECTION
from storage.bundles.importing.import_run import ImportProgress, ImportProgressCallback
from storage.catalog import RECORD_TYPES
from storage.mongo import driver, raw_documents
from storage.setup.preparation import MIGRATIONS_COLLECTION
from storage.tombstones import TOMBSTONES

SWITCHED_COLLECTIONS = (
    *(kind.name for kind in RECORD_TYPES),
    api_keys.KEYS_COLLECTION,
    api_keys.USES_COLLECTION,
    DOCUMENTS_COLLECTION,
    TOMBSTONES.name,
    MIGRATIONS_COLLECTION,
)
"""In this order; each in an instant, so that readers find either the old or the new one."""

BATCH_BYTES = 1 << 20


async def switch_collections(
    database: driver.Database, lease: ImportLease, progress: ImportProgressCallback
) -> None:
    """Replace the collections by those that are staged. Repeating it changes nothing more.

    The audit log keeps its records, and gets those that it lacks.
    """
    prefix = get_staging_prefix(lease.import_id)
    await _merge_audit_log(database, prefix + audit.AUDIT_COLLECTION, lease)
    staged = set(await database.list_collection_names())
    for number, name in enumerate(SWITCHED_COLLECTIONS):
        progress(ImportProgress("switching", number, len(SWITCHED_COLLECTIONS)))
        if prefix + name in staged:
            lease.check_held()
            await raw_documents.rename_collection(database, prefix + name, name)


async def _merge_audit_log(database: driver.Database, staged_name: str, lease: ImportLease) -> None:
    async for batch in raw_documents.iter_raw_batches(database[staged_name], BATCH_BYTES):
        lease.check_held()
        documents = raw_documents.decode_documents(batch.content)
        await driver.insert_absent(database[audit.AUDIT_COLLECTION], documents)
