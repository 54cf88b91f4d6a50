"""Guards that keep requests from writing beside what an import removes.

MongoDB's transactions see a snapshot: one that has read a unit may write its assignment after an
import has removed both. So each transaction that assigns writes one of the guards, at random, and
an import writes all of them once its state says what it removes. Each write waits for the
transactions that have written this guard, and makes those fail, and run again, that began before
and have not. Later ones see the state.
"""

import secrets

from storage.mongo import driver

CONDITIONAL_WRITES_COLLECTION = "conditional_writes"
"""Counters, whose writes only conflict."""
GUARDS = 64
"""The more, the fewer of the transactions that run at the same time write the same one."""


async def write_guard(database: driver.Database, session: driver.Session) -> None:
    """Write a guard in the transaction of a session."""
    await _write(database, secrets.randbelow(GUARDS), session)


async def end_earlier_writes(database: driver.Database) -> None:
    """Wait until no transaction goes on that has not seen what was committed before this call."""
    for number in range(GUARDS):
        await _write(database, number)


async def _write(
    database: driver.Database, number: int, session: driver.Session | None = None
) -> None:
    # Ids of groups, which the same collection counts, have no NUL.
    guards = database[CONDITIONAL_WRITES_COLLECTION]
    where = {"_id": f"\0guard {number}"}
    await guards.update_one(where, {"$inc": {"count": 1}}, upsert=True, session=session)
