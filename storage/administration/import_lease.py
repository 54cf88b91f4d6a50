"""The import lease: one process at a time writes to the catalog, an import or a restore.

Its document also records the state of the import. A process that acquires the lease of a dead one
continues by `state`:

| state       | what the next holder must do                                           |
|-------------|------------------------------------------------------------------------|
| `idle`      | nothing                                                                |
| `staging`   | drop the staged members: the catalog has not been touched              |
| `applying`  | apply the staged members to the end, with the same `import_time`       |
| `removing`  | the same, then remove what is staged to be removed                     |
| `restoring` | switch to the staged collections to the end                            |
"""

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from storage.errors import ImportInterruptedError, UnavailableCause, UnavailableError
from storage.mongo import driver
from storage.mongo.lease import LEASE_SECONDS, Lease
from storage.records.kinds import Document

LEASE_COLLECTION = "imports"
LEASE_ID = "current"
STAGING_PREFIX = "staging."

ImportState: TypeAlias = Literal["idle", "staging", "applying", "removing", "restoring"]


GetKeys: TypeAlias = Callable[[], Mapping[str, Collection[str]]]
REMOVED_PREFIX = "removed."
"""The names of the staging collections of removals begin with this, after the import's prefix."""


def get_staging_prefix(import_id: str) -> str:
    """Return what the names of the staging collections of an import begin with."""
    return f"{STAGING_PREFIX}{import_id}."


async def check_writable(
    database: driver.Database, session: driver.Session | None = None, get_keys: GetKeys = dict
) -> None:
    """Raise UnavailableError if a restore has been committed and not finished, or an import that
    removes one of the records whose keys `get_keys` returns by collection.

    What were written now would be gone with the collections that a restore replaces, or remain
    without its owner.
    """
    lease = await database[LEASE_COLLECTION].find_one({"_id": LEASE_ID}, session=session)
    state = lease.get("state") if lease is not None else None
    if state == "restoring":
        raise UnavailableError("a restore is being finished", UnavailableCause.IMPORT_RUNNING)
    if lease is not None and state == "removing":
        prefix = get_staging_prefix(lease["import_id"]) + REMOVED_PREFIX
        for name, among in get_keys().items():
            where = {"_id": {"$in": [*among]}}
            if await database[prefix + name].find_one(where, session=session):
                message = f"some of these {name} are being removed"
                raise UnavailableError(message, UnavailableCause.IMPORT_RUNNING)


class ImportLease(Lease):
    """The lease of one import, which also records its state."""

    def __init__(self, database: driver.Database) -> None:
        super().__init__(database[LEASE_COLLECTION], LEASE_ID)
        self._database = database

    async def is_idle(self) -> bool:
        """Return whether there is no import, neither running nor interrupted, without the lease."""
        found = await driver.find_documents(
            self._database, LEASE_COLLECTION, {"_id": LEASE_ID}, {"state": 1}, limit=1
        )
        return not found or found[0].get("state", "idle") == "idle"

    @property
    def state(self) -> ImportState:
        state: ImportState = self.document.get("state", "idle")
        return state

    @property
    def import_id(self) -> str:
        """Id of the import; names its staging collections."""
        return str(self.document.get("import_id", ""))

    @property
    def import_time(self) -> str:
        """When the import began, as a stored timestamp; the server's clock."""
        started_at = self.document.get("now")
        if started_at is None:
            return ""
        return str(started_at.replace(tzinfo=UTC, microsecond=0).isoformat())

    @property
    def is_merge(self) -> bool:
        """True if the import changes only the fields that are given."""
        return bool(self.document.get("is_merge", False))

    @property
    def started_by(self) -> Document:
        """Who started the import, as `begin_staging` was told; empty if it was not."""
        started_by: Document = self.document.get("started_by", {})
        return started_by

    async def begin_staging(
        self, *, is_merge: bool = False, started_by: Document | None = None
    ) -> None:
        """Begin a new import: a new `import_id`, and now as its `import_time`."""
        by = {"$literal": started_by or {}}
        begun = {"import_id": self.holder, "now": "$$NOW", "is_merge": is_merge, "started_by": by}
        await self.update({"state": "staging", **begun})

    @property
    def committed_at(self) -> datetime:
        """When an import was committed, by the server's clock."""
        committed_at: datetime = self.document["committed_at"]
        return committed_at.replace(tzinfo=UTC)

    async def take_time(self) -> datetime:
        time: datetime = (await self.update({"time": "$$NOW"}))["time"]
        return time.replace(tzinfo=UTC)

    async def commit(self, session: driver.Session, state: ImportState) -> None:
        """Commit the import or the restore with the transaction of the session.

        From then on it will be completed, if need be by another process.
        """
        await self.update({"state": state, "committed_at": "$$NOW"}, session)

    async def finish(self) -> None:
        """Mark the import as complete; its staged members are gone.

        All reads that begin after it see what the import wrote.
        """
        async with driver.open_causal_session(self._database.client) as session:
            await self.update({"state": "idle"}, session)

    def lost_error(self) -> ImportInterruptedError:
        given_id = self.started_by.get("given_id")
        again = f"send it again with the id {given_id!r}" if given_id else "import again if needed"
        return ImportInterruptedError(
            "The import lost its lease because the process was suspended, or could not reach"
            f" MongoDB, for over {LEASE_SECONDS:.0f} seconds. Another process will complete or"
            f" discard it. Check the catalog, and {again}."
        )
