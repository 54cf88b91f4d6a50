"""Preparing a database: collections, validators, indexes and migrations."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import msgspec

from storage import routing_inputs
from storage.administration import api_keys, audit
from storage.administration.saved_endpoints import ENDPOINTS_COLLECTION
from storage.administration.trusted_documents import DOCUMENT_INDEXES, DOCUMENTS_COLLECTION
from storage.catalog import RECORD_TYPES
from storage.errors import MigrationRunningError
from storage.mongo import driver, files
from storage.mongo.driver import Database, run_in_transaction
from storage.mongo.lease import Lease
from storage.records.kinds import Document, RecordType, stored_name
from storage.tombstones import TOMBSTONE_INDEXES, TOMBSTONES
from storage.write_guards import CONDITIONAL_WRITES_COLLECTION

# MongoDB's own validation: a `$jsonSchema` for each kind, built from its record type.


def build_validator(kind: RecordType[Any]) -> Document:
    """Return the `validator` option of a kind's collection: types of fields, required fields.

    Only fields without default are required, so that a field added later does not make older
    documents invalid: MongoDB validates the whole document on every update. Fields that the
    record lacks (derived ones, or those of a newer version) are allowed.
    """
    info = msgspec.inspect.type_info(kind.struct)
    assert isinstance(info, msgspec.inspect.StructType)
    schema = _object_schema(info)
    properties = schema["properties"]
    schema["properties"] = {stored_name(name): rule for name, rule in properties.items()}
    schema["required"] = [stored_name(name) for name in schema["required"]]
    return {"$jsonSchema": schema}


def _object_schema(info: msgspec.inspect.StructType) -> Document:
    return {
        "bsonType": "object",
        "required": [field.encode_name for field in info.fields if field.required],
        "properties": {field.encode_name: _property_schema(field.type) for field in info.fields},
    }


def _property_schema(info: msgspec.inspect.Type) -> Document:
    match info:
        case msgspec.inspect.StrType():
            bounds = {"minLength": info.min_length, "maxLength": info.max_length}
            given = {name: bound for name, bound in bounds.items() if bound is not None}
            return {"bsonType": "string", **given}
        case msgspec.inspect.BoolType():
            return {"bsonType": "bool"}
        case msgspec.inspect.IntType():
            return {"bsonType": ["int", "long"]}
        case msgspec.inspect.FloatType():
            # The drivers store a Python int as an integer, also in a float field.
            return {"bsonType": ["double", "int", "long"]}
        case msgspec.inspect.ListType():
            return {"bsonType": "array", "items": _property_schema(info.item_type)}
        case msgspec.inspect.StructType():
            return _object_schema(info)
        case msgspec.inspect.UnionType():
            [option, *_] = (each for each in info.types if each != msgspec.inspect.NoneType())
            schema = _property_schema(option)
            types = schema["bsonType"]
            return {**schema, "bsonType": [*([types] if isinstance(types, str) else types), "null"]}
    raise TypeError(f"no bsonType for {info}")


# Migrations: changes to stored documents that a new release needs, each applied once.
#
# To add one, write a function that takes the database and returns what it changed, and append a
# `Migration` with the next number. It must be idempotent, because a gateway killed in the middle
# runs it again, and tolerate reads and writes by gateways that run at the same time. New fields
# with a default need none: decoding fills them in, and validators do not require them.
#
# One document of the collection `migrations` holds the number of the last migration that has run.
# It is also a lease, so that of several gateways starting together one runs each migration and the
# others wait. Applied numbers are never lowered: an older release ignores newer migrations.


MIGRATIONS_COLLECTION = "migrations"
STATE_ID = "current"
WAIT_SECONDS = 600.0

logger = logging.getLogger("floorgate.migrations")


class Migration(NamedTuple):
    """One change to stored documents; `run` returns what it changed, for the log."""

    number: int
    name: str
    run: Callable[[Database], Awaitable[str]]


async def withdraw_stale(database: Database) -> str:
    """Withdraw the networks that this release does not use, as an import does.

    A release with another format of networks has a migration of its own that does this. From then
    on gateways of the release before have no routes on these maps either.
    """
    count = 0
    for stale in await routing_inputs.list_stale_networks(database):
        work = partial(routing_inputs.withdraw_stale_networks, database, [stale])
        count += len(await run_in_transaction(database.client, work))
    return (
        f"{count} maps no longer routable"
        + f" until `{routing_inputs.REPROCESS_COMMAND}`" * bool(count)
    )


MIGRATIONS = (Migration(5, "networks of other formats", withdraw_stale),)


async def run_pending(database: Database, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Run the migrations that have not run yet, in order, or wait while another gateway does.

    Raises MigrationRunningError, LeaseLostError, UnavailableError.
    """
    if await _read_number(database) >= migrations[-1].number:
        return
    lease = Lease(database[MIGRATIONS_COLLECTION], STATE_ID)
    if not await lease.acquire(WAIT_SECONDS):
        raise MigrationRunningError(
            f"another gateway is migrating the database and did not end within"
            f" {WAIT_SECONDS:.0f} seconds"
        )
    async with lease.keep_alive():
        for migration in migrations:
            if migration.number > lease.document.get("number", 0):
                changes = await migration.run(database)
                await lease.update({"number": migration.number})
                logger.info("migration %d, %s: %s", migration.number, migration.name, changes)


async def _read_number(database: Database) -> int:
    """Return the number of the last migration that has run; 0 if none has."""
    state = await database[MIGRATIONS_COLLECTION].find_one({"_id": STATE_ID})
    return 0 if state is None else int(state.get("number", 0))


PLAIN_COLLECTIONS = (
    CONDITIONAL_WRITES_COLLECTION,
    files.COLLECTION,
    api_keys.USES_COLLECTION,
    TOMBSTONES.name,
    DOCUMENTS_COLLECTION,
    ENDPOINTS_COLLECTION,
)
"""The collections without validator. They are created before they are used: transactions that
create a collection conflict with each other, and no snapshot has a collection that was created
later."""
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
"""The indexes of each collection, besides that of `_id`."""
COLLECTIONS = {*(kind.name for kind in RECORD_TYPES), *PLAIN_COLLECTIONS, *INDEXES}
Report: TypeAlias = Callable[[str, str], None]
"""A function that gets the name of a collection and what it lacked."""
DROPPED = "records, indexes and options: it was dropped or renamed"


async def prepare_database(database: driver.Database, report: Report | None = None) -> None:
    """Create what is missing, update options that differ, run new migrations.

    Idempotent, and safe while other gateways do the same. With `report`, the database is in use,
    and has lost what is missing: options that another release has set are left, and everything is
    once the migrations of a newer release have run. Raises UnavailableError.
    """
    with driver.translate_errors():
        if report is not None and await _read_number(database) > MIGRATIONS[-1].number:
            return
        existing = await list_collections(database)
        if report is not None:
            for name in sorted(COLLECTIONS - existing.keys()):
                report(name, DROPPED)
        for kind in RECORD_TYPES:
            await _prepare_collection(database, kind, existing.get(kind.name), report)
        for name in PLAIN_COLLECTIONS:
            if name not in existing:
                await driver.create_collection(database, name)
        for name, indexes in INDEXES.items():
            count = await driver.create_indexes(database, name, indexes)
            if count and report is not None and name in existing:
                report(name, f"{count} of {len(indexes)} indexes")
        is_new = not existing.keys() & {kind.name for kind in RECORD_TYPES}
        # After the validators: those of an earlier version may refuse what migrations write.
        if is_new:
            state = {"number": MIGRATIONS[-1].number, "expires": Lease.EXPIRED_AT}
            await database[MIGRATIONS_COLLECTION].update_one(
                {"_id": STATE_ID}, {"$setOnInsert": state}, upsert=True
            )
        await run_pending(database)


async def list_collections(database: driver.Database) -> dict[str, Document]:
    """Return what MongoDB says of each collection, by name."""
    # All are in the first batch, which `listCollections` fills up to 16 MB. If one were missed,
    # `driver.create_collection` would do no harm.
    reply = await database.command("listCollections")
    return {collection["name"]: collection for collection in reply["cursor"]["firstBatch"]}


async def _prepare_collection(
    database: driver.Database,
    kind: RecordType[Any],
    existing: Document | None,
    report: Report | None,
) -> None:
    options: Document = {"validator": build_validator(kind), **STORED_BEFORE_CHANGES}
    if existing is None:
        await driver.create_collection(database, kind.name, **options)
        return
    for name, value in options.items():
        found = existing["options"].get(name)
        if found == value or (found and report is not None):
            continue
        await database.command("collMod", kind.name, **{name: value})
        if report is not None:
            report(kind.name, name)
