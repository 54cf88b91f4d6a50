"""Preparing a database: collections, validators, indexes and migrations."""

from typing import Any

from storage.administration import api_keys, audit
from storage.administration.trusted_documents import DOCUMENT_INDEXES, DOCUMENTS_COLLECTION
from storage.catalog import RECORD_TYPES
from storage.mongo import driver, files
from storage.records.kinds import Document, RecordType
from storage.setup import migrations
from storage.setup.validators import build_validator
from storage.tombstones import TOMBSTONE_INDEXES, TOMBSTONES
from storage.write_guards import CONDITIONAL_WRITES_COLLECTION

PLAIN_COLLECTIONS = (
    CONDITIONAL_WRITES_COLLECTION,
    files.COLLECTION,
    api_keys.USES_COLLECTION,
    TOMBSTONES.name,
    DOCUMENTS_COLLECTION,
)
"""Those without validator. Created before they are used: transactions that create a
collection conflict with each other, and no snapshot has a collection that was created later."""
STORED_BEFORE_CHANGES = {"changeStreamPreAndPostImages": {"enabled": True}}
"""MongoDB also stores documents as they were before each change, for as long as its oplog, so that
the change feed can tell which lists a changed or deleted record was in."""
INDEXES = {
    **{
        kind.name: [driver.IndexModel([(field, 1) for field in index]) for index in kind.indexes]
        for kind in RECORD_TYPES
        if kind.indexes
    },
    api_keys.KEYS_COLLECTION: [driver.IndexModel([("digest", 1)], unique=True)],
    audit.AUDIT_COLLECTION: audit.AUDIT_INDEXES,
    TOMBSTONES.name: TOMBSTONE_INDEXES,
    DOCUMENTS_COLLECTION: DOCUMENT_INDEXES,
}
"""Those of each collection, besides that of `_id`."""


async def prepare_database(database: driver.Database) -> None:
    """Create what is missing, update options that differ, run new migrations.

    Idempotent, and safe while other gateways do the same. Raises UnavailableError.
    """
    with driver.translate_errors():
        existing = await list_collections(database)
        for kind in RECORD_TYPES:
            await _prepare_collection(database, kind, existing.get(kind.name))
        for name in PLAIN_COLLECTIONS:
            if name not in existing:
                await driver.create_collection(database, name)
        for name, indexes in INDEXES.items():
            await database[name].create_indexes(indexes)
        is_new = not existing.keys() & {kind.name for kind in RECORD_TYPES}
        # After the validators: those of an earlier version may refuse what migrations write.
        if is_new:
            await migrations.mark_all_run(database)
        await migrations.run_pending(database)


async def list_collections(database: driver.Database) -> dict[str, Document]:
    """Return what MongoDB says of each collection, by name."""
    # All are in the first batch, which `listCollections` fills up to 16 MB. If one were missed,
    # `driver.create_collection` would do no harm.
    reply = await database.command("listCollections")
    return {collection["name"]: collection for collection in reply["cursor"]["firstBatch"]}


async def _prepare_collection(
    database: driver.Database, kind: RecordType[Any], existing: Document | None
) -> None:
    options = {"validator": build_validator(kind), **STORED_BEFORE_CHANGES}
    if existing is None:
        await driver.create_collection(database, kind.name, **options)
    elif any(existing["options"].get(name) != value for name, value in options.items()):
        await database.command("collMod", kind.name, **options)
