"""Iterating over a whole collection in the order of `_id` or another unique field.

Each batch is a separate query that continues after the last key. A single long-lived cursor
would be simpler, but MongoDB's time limit applies to all work of a cursor together.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from storage.mongo import driver
from storage.records.kinds import Document

BATCH_DOCUMENTS = 1000


async def iter_batches(
    collection: driver.Collection,
    where: Document | None = None,
    projection: Mapping[str, Any] | None = None,
    session: driver.Session | None = None,
    order_by: str = "_id",
) -> AsyncIterator[list[Document]]:
    """Yield the matching documents, up to BATCH_DOCUMENTS at a time.

    `order_by` must be unique in the collection and part of the projection.
    """
    conditions = [where] if where else []
    while True:
        cursor = collection.find(
            {"$and": conditions} if conditions else {},
            projection,
            session=session,
            limit=BATCH_DOCUMENTS,
            batch_size=BATCH_DOCUMENTS,
        )
        batch = await cursor.sort(order_by, 1).to_list(None)
        is_full = len(batch) == BATCH_DOCUMENTS
        if is_full:
            conditions = [{order_by: {"$gt": batch[-1][order_by]}}, *([where] if where else [])]
        if batch:
            yield batch
        if not is_full:
            return
