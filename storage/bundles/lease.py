"""The turn to import: one import at a time writes to a catalog, and a dead one is noticed.

One document says who imports (`holder`), until when without a sign of life (`expires`, by the
server's clock), and how far the import is:

| state      | what an import that finds it expired must do                  |
|------------|---------------------------------------------------------------|
| `idle`     | nothing                                                       |
| `staging`  | forget what was staged: the catalog is untouched              |
| `applying` | apply the staged members to their end, with the same `now`    |
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from pymongo import ReturnDocument
from pymongo.errors import PyMongoError

from storage.errors import ImportInterruptedError
from storage.mongo import driver
from storage.mongo.tasks import cancel_and_wait
from storage.records.kinds import Document

LEASE_COLLECTION = "imports"
LEASE_FILTER = {"_id": "current"}
LEASE_SECONDS = 10.0
HEARTBEAT_SECONDS = 2.0
EXPIRED_AT = datetime.fromtimestamp(0, UTC)

LeaseState: TypeAlias = Literal["idle", "staging", "applying"]


class Lease:
    """The turn of one import, kept alive by `beating`."""

    def __init__(self, database: driver.Database) -> None:
        self.holder = uuid.uuid4().hex
        self.state: LeaseState = "idle"
        self.import_id = ""
        self.import_time = ""
        self._imports: driver.Collection = database[LEASE_COLLECTION]
        self._valid_until = 0.0

    async def try_acquire(self) -> bool:
        """Takes the turn if nobody alive has it; `state` tells what the last holder left."""
        await self._imports.update_one(
            LEASE_FILTER, {"$setOnInsert": {"expires": EXPIRED_AT, "state": "idle"}}, upsert=True
        )
        asked = time.monotonic()
        found = await self._imports.find_one_and_update(
            {**LEASE_FILTER, "$expr": {"$lt": ["$expires", "$$NOW"]}},
            [{"$set": {"holder": self.holder, "expires": _expiry_expression()}}],
            return_document=ReturnDocument.AFTER,
        )
        if found is None:
            return False
        self._valid_until = asked + LEASE_SECONDS
        self._load_state(found)
        return True

    async def begin_staging(self) -> None:
        """A new import begins: it stages members under `import_id`; `now` is its time."""
        await self._update({"state": "staging", "import_id": self.holder, "now": "$$NOW"})

    async def begin_applying(self) -> None:
        """From here on the import is carried to its end, by whomever."""
        await self._update({"state": "applying"})

    async def finish(self) -> None:
        """Nothing is staged any more."""
        await self._update({"state": "idle"})

    async def release(self) -> None:
        """Lets the next one have the turn at once."""
        await self._imports.update_one(
            {**LEASE_FILTER, "holder": self.holder}, {"$set": {"expires": EXPIRED_AT}}
        )

    def check_held(self) -> None:
        """Raises ImportInterrupted when another process may have taken the turn.

        To be called right before every write: a process that was stopped for long must not write
        when it wakes.
        """
        if time.monotonic() > self._valid_until:
            raise ImportInterruptedError(
                f"the import stood still for more than {LEASE_SECONDS:.0f} seconds and lost its"
                " turn; another one brings it to its end, then run it again"
            )

    @asynccontextmanager
    async def keep_alive(self) -> AsyncIterator[None]:
        """Keeps the turn for as long as the context lasts, then releases it."""
        beat = asyncio.create_task(self._renew_periodically())
        try:
            yield
        finally:
            await cancel_and_wait(beat)
            await self.release()

    async def _renew_periodically(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with suppress(ImportInterruptedError, PyMongoError):
                await self._update({})

    async def _update(self, fields: Document) -> None:
        asked = time.monotonic()
        found = await self._imports.find_one_and_update(
            {**LEASE_FILTER, "holder": self.holder},
            [{"$set": {**fields, "expires": _expiry_expression()}}],
            return_document=ReturnDocument.AFTER,
        )
        if found is None:
            self._valid_until = 0.0
            self.check_held()
            return
        self._valid_until = asked + LEASE_SECONDS
        self._load_state(found)

    def _load_state(self, found: Document) -> None:
        self.state = found["state"]
        self.import_id = found.get("import_id", "")
        moment = found.get("now")
        if moment is not None:
            self.import_time = moment.replace(tzinfo=UTC, microsecond=0).isoformat()


def _expiry_expression() -> Document:
    return {"$add": ["$$NOW", round(LEASE_SECONDS * 1000)]}
