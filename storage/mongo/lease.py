"""A lease: one process at a time does a piece of work, and a dead holder is replaced.

The lease is one document: `holder` identifies the holder, and without a heartbeat the lease ends at
`expires` by the server's clock. The holder may keep other fields in it, such as its progress.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from pymongo import ReturnDocument

from storage.errors import LeaseLostError, StorageError
from storage.mongo.driver import Collection, PyMongoError, Session
from storage.mongo.shared_memory import read_clock
from storage.mongo.tasks import run_in_background
from storage.records.kinds import Document

LEASE_SECONDS = 6.0
HEARTBEAT_SECONDS = 2.0
POLL_SECONDS = 0.25


class Lease:
    """One process's claim to the lease document `lease_id` of a collection."""

    EXPIRED_AT = datetime.fromtimestamp(0, UTC)

    def __init__(self, collection: Collection, lease_id: str = "current") -> None:
        self.holder = uuid.uuid4().hex
        self.document: Document = {}
        """The lease document as of the last acquisition or update."""
        self._collection = collection
        self._filter = {"_id": lease_id}
        self._valid_until = 0.0

    async def try_acquire(self) -> bool:
        """Take the lease unless another process holds it.

        `document` then has the previous holder's fields.
        """
        await self._collection.update_one(
            self._filter, {"$setOnInsert": {"expires": self.EXPIRED_AT}}, upsert=True
        )
        sent_at = read_clock()
        document = await self._collection.find_one_and_update(
            {**self._filter, "$expr": {"$lt": ["$expires", "$$NOW"]}},
            [{"$set": {"holder": self.holder, "expires": _expiry_expression()}}],
            return_document=ReturnDocument.AFTER,
        )
        if document is None:
            return False
        self.document = document
        self._valid_until = sent_at + LEASE_SECONDS
        if read_clock() > self._valid_until:
            # The command has waited for a transaction that the dead holder had left open.
            await self.update({})
        return True

    async def acquire(self, wait_seconds: float, on_wait: Callable[[], None] | None = None) -> bool:
        """Wait for the lease; False after the timeout. Call `on_wait` while another holds it."""
        deadline = time.monotonic() + wait_seconds
        while not await self.try_acquire():
            if time.monotonic() > deadline:
                return False
            if on_wait is not None:
                on_wait()
            await asyncio.sleep(POLL_SECONDS)
        return True

    async def update(self, fields: Document, session: Session | None = None) -> Document:
        """Set fields of the lease document, renew the lease, and return the document.

        Raises `lost_error()`.
        """
        self.document = await self._renew(fields, session)
        return self.document

    async def _renew(self, fields: Document, session: Session | None = None) -> Document:
        sent_at = read_clock()
        document = await self._collection.find_one_and_update(
            {**self._filter, "holder": self.holder},
            [{"$set": {**fields, "expires": _expiry_expression()}}],
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        if document is None:
            self._valid_until = 0.0
            raise self.lost_error()
        # Counted from before the command, so that this deadline passes before the server's.
        self._valid_until = max(self._valid_until, sent_at + LEASE_SECONDS)
        return document

    async def release(self) -> None:
        """Let another process acquire the lease at once."""
        await self._collection.update_one(
            {**self._filter, "holder": self.holder}, {"$set": {"expires": self.EXPIRED_AT}}
        )

    def check_held(self) -> None:
        """Raise `lost_error()` if another process may have acquired the lease.

        Call it right before every write: a process that was suspended (SIGSTOP, a sleeping
        laptop) must not write when it resumes.
        """
        if read_clock() > self._valid_until:
            raise self.lost_error()

    def lost_error(self) -> StorageError:
        return LeaseLostError(f"no heartbeat for more than {LEASE_SECONDS:.0f} seconds")

    @asynccontextmanager
    async def keep_alive(self) -> AsyncIterator[None]:
        """Renew the lease in the background while the context lasts, then release it."""
        try:
            async with run_in_background(self._renew_periodically()):
                yield
        finally:
            await self.release()

    async def _renew_periodically(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            # Not an error yet: the holder notices in `check_held` if renewal keeps failing.
            with suppress(StorageError, PyMongoError):
                await self._renew({})  # a late reply may have an older document than an update's


def _expiry_expression() -> Document:
    return {"$add": ["$$NOW", round(LEASE_SECONDS * 1000)]}
