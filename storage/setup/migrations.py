"""Migrations: changes to stored documents that a new release needs, each applied once.

To add one, write a function that takes the database and returns what it changed, and append a
`Migration` with the next number. It must be idempotent, because a gateway killed in the middle
runs it again, and tolerate reads and writes by gateways that run at the same time. New fields with
a default need none: decoding fills them in, and validators do not require them.

One document of the collection `migrations` holds the number of the last migration that has run. It
is also a lease, so that of several gateways starting together one runs each migration and the
others wait. Applied numbers are never lowered: an older release ignores newer migrations.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from storage.catalog import RECORD_TYPES
from storage.errors import MigrationRunningError
from storage.georeferences import GEOREFERENCE_FIELD, find_georeference
from storage.maps import MAPS, NETWORK_FIELD, NETWORK_STATE_FIELD, PARSED_FIELD
from storage.mongo import files
from storage.mongo.driver import Database, UpdateOne, run_in_transaction, write_valid
from storage.mongo.iteration import iter_batches
from storage.mongo.lease import Lease
from storage.records.name_search import NAME_WORDS_FIELD, index_name
from storage.records.timestamps import UPDATED_AT, current_timestamp
from storage.routing_inputs import (
    REPROCESS_COMMAND,
    list_stale_networks,
    withdraw_stale_networks,
)

MIGRATIONS_COLLECTION = "migrations"
STATE_ID = "current"
WAIT_SECONDS = 600.0

logger = logging.getLogger("floorgate.migrations")


class Migration(NamedTuple):
    """One change to stored documents; `run` returns what it changed, for the log."""

    number: int
    name: str
    run: Callable[[Database], Awaitable[str]]


async def record_given_scales(database: Database) -> str:
    """Record the scales that maps were processed with, where only their reports have them."""
    given = "$routing_report.feet_per_unit"
    state = {"source": "$source", "feet_per_unit": given, "is_scale_given": True}
    fields = {NETWORK_STATE_FIELD: state, "feet_per_unit": given, UPDATED_AT: current_timestamp()}
    unknown = {NETWORK_FIELD: {"$type": "string"}, NETWORK_STATE_FIELD: None, "feet_per_unit": None}
    result = await database[MAPS.name].update_many(
        {**unknown, "routing_report.feet_per_unit": {"$type": "number"}}, [{"$set": fields}]
    )
    return f"{result.modified_count} maps changed"


async def withdraw_stale(database: Database) -> str:
    """Withdraw the networks that this release does not use, as an import does.

    A release with another format of networks has a migration of its own that does this. From then
    on gateways of the release before have no routes on these maps either.
    """
    count = 0
    for stale in await list_stale_networks(database):
        work = partial(withdraw_stale_networks, database, [stale])
        count += len(await run_in_transaction(database.client, work))
    return f"{count} maps no longer routable" + f" until `{REPROCESS_COMMAND}`" * bool(count)


async def index_names(database: Database) -> str:
    """Index the words of names, of records written before names could be searched."""
    count = 0
    for kind in RECORD_TYPES:
        if NAME_WORDS_FIELD not in kind.derived_fields:
            continue
        collection = database[kind.name]
        missing = iter_batches(collection, {NAME_WORDS_FIELD: None}, {"name": 1})
        async for documents in missing:
            # With its name in the condition: it may be renamed meanwhile.
            writes = [UpdateOne(each, {"$set": index_name(each)}) for each in documents]
            # Without those that are damaged otherwise: they must not keep a gateway from starting.
            count += await write_valid(collection, writes)
    return f"{count} records changed"


async def record_georeferences(database: Database) -> str:
    """Record where drawings are on Earth, of maps written before imports recorded it."""
    maps, count = database[MAPS.name], 0
    missing = {PARSED_FIELD: {"$type": "string"}, GEOREFERENCE_FIELD: None}
    async for documents in iter_batches(maps, missing, {PARSED_FIELD: 1}):
        for document in documents:
            content = await files.read_file(database, document[PARSED_FIELD])
            if content is not None and (found := find_georeference(content)):
                # With its drawing in the condition: another may be imported meanwhile.
                write = UpdateOne(document, {"$set": {GEOREFERENCE_FIELD: found}})
                count += await write_valid(maps, [write])
    return f"{count} maps changed"


MIGRATIONS = (
    Migration(2, "scales of networks", record_given_scales),
    Migration(3, "words of names", index_names),
    Migration(4, "georeferences of drawings", record_georeferences),
    Migration(5, "networks of other formats", withdraw_stale),
)


async def mark_all_run(database: Database, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Mark all migrations as run, in a database that is new."""
    state = {"number": migrations[-1].number, "expires": Lease.EXPIRED_AT}
    await database[MIGRATIONS_COLLECTION].update_one(
        {"_id": STATE_ID}, {"$setOnInsert": state}, upsert=True
    )


async def run_pending(database: Database, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Run the migrations that have not run yet, in order, or wait while another gateway does.

    Raises MigrationRunningError, LeaseLostError, UnavailableError.
    """
    state = await database[MIGRATIONS_COLLECTION].find_one({"_id": STATE_ID})
    if state is not None and state.get("number", 0) >= migrations[-1].number:
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
