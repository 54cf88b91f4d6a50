"""Walking a whole collection in the order of its keys, or of another unique field.

Each batch is a query of its own, which begins behind the last key. One long-lived cursor would be
simpler, but MongoDB counts all that it ever does against one time limit.
"""

from collections.abc import AsyncIterator

from storage.mongo import driver
from storage.records.kinds import Document

BATCH_DOCUMENTS = 1000


async def iter_batches(
    collection: driver.Collection,
    where: Document | None = None,
    projection: Document | None = None,
    session: driver.Session = None,
    order_by: str = "_id",
) -> AsyncIterator[list[Document]]:
    """The documents that match, `BATCH` at a time."""
    conditions = [where] if where else []
    while True:
        found = collection.find(
            {"$and": conditions} if conditions else {},
            projection,
            session=session,
            limit=BATCH_DOCUMENTS,
            batch_size=BATCH_DOCUMENTS,
        )
        batch: list[Document] = await found.sort(order_by, 1).to_list(None)
        full = len(batch) == BATCH_DOCUMENTS
        if full:
            conditions = [{order_by: {"$gt": batch[-1][order_by]}}, *([where] if where else [])]
        if batch:
            yield batch
        if not full:
            return
