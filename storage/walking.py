"""Walking a whole collection in the order of its keys, or of another unique field.

Each batch is a query of its own, which begins behind the last key. One long-lived cursor would be
simpler, but MongoDB counts all that it ever does against one time limit.
"""

from collections.abc import AsyncIterator

from storage import driver
from storage.kinds import Document

BATCH = 1000


async def batches(
    collection: driver.Collection,
    where: Document | None = None,
    projection: Document | None = None,
    session: driver.Session = None,
    order: str = "_id",
) -> AsyncIterator[list[Document]]:
    """The documents that match, `BATCH` at a time."""
    conditions = [where] if where else []
    while True:
        found = collection.find(
            {"$and": conditions} if conditions else {},
            projection,
            session=session,
            limit=BATCH,
            batch_size=BATCH,
        )
        batch: list[Document] = await found.sort(order, 1).to_list(None)
        full = len(batch) == BATCH
        if full:
            conditions = [{order: {"$gt": batch[-1][order]}}, *([where] if where else [])]
        if batch:
            yield batch
        if not full:
            return
