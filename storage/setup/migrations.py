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
from typing import NamedTuple

from storage.errors import MigrationRunningError
from storage.maps import MAPS, NETWORK_FIELD, ROUTING_TIERS, WHEELCHAIR_ROUTING
from storage.mongo.driver import Database
from storage.mongo.lease import Lease
from storage.records.timestamps import UPDATED_AT, current_timestamp

MIGRATIONS_COLLECTION = "migrations"
STATE_ID = "current"
WAIT_SECONDS = 600.0

logger = logging.getLogger("floorgate.migrations")


class Migration(NamedTuple):
    """One change to stored documents; `run` returns what it changed, for the log."""

    number: int
    name: str
    run: Callable[[Database], Awaitable[str]]


async def set_routing_tiers(database: Database) -> str:
    """Set the tier of maps published before processing set it.

    They were published only if at least 95 % of their locations reached each other in both modes,
    which is the tier of wheelchairs (docs/decisions/routing/modes-and-tiers.md).
    """
    result = await database[MAPS.name].update_many(
        {NETWORK_FIELD: {"$type": "string"}, "routing_tier": {"$nin": [*ROUTING_TIERS]}},
        {"$set": {"routing_tier": WHEELCHAIR_ROUTING, UPDATED_AT: current_timestamp()}},
    )
    return f"{result.modified_count} maps changed"


MIGRATIONS = (Migration(1, "routing tiers of published maps", set_routing_tiers),)


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
