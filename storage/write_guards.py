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
_COUNT = {"$inc": {"count": 1}}


async def write_guard(database: driver.Database, session: driver.Session) -> None:
    """Write a guard in the transaction of a session."""
    guards = database[CONDITIONAL_WRITES_COLLECTION]
    where = {"_id": _name_guard(secrets.randbelow(GUARDS))}
    await guards.update_one(where, _COUNT, upsert=True, session=session)


async def end_earlier_writes(database: driver.Database) -> None:
    """Wait until no transaction goes on that has not seen what was committed before this call."""
    guards = database[CONDITIONAL_WRITES_COLLECTION]
    writes = [
        driver.UpdateOne({"_id": _name_guard(number)}, _COUNT, upsert=True)
        for number in range(GUARDS)
    ]
    await guards.bulk_write(writes, ordered=False)


def _name_guard(number: int) -> str:
    return f"\0guard {number}"  # the ids of groups, which are counted here too, have no NUL
