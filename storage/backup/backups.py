"""Saving a database: all of it, as of one moment, into an archive."""

import asyncio
from collections.abc import Iterator
from importlib import metadata
from typing import BinaryIO, NamedTuple

from storage.administration import api_keys, audit
from storage.administration.import_lease import LEASE_COLLECTION, ImportLease, get_staging_prefix
from storage.backup.backup_file import (
    PART_BYTES,
    BackupReader,
    BackupWriter,
    Header,
    LoadedPart,
    Manifest,
)
from storage.catalog import ASSETS
from storage.errors import BackupError
from storage.importing import import_bundles
from storage.importing.import_run import (
    ImportProgress,
    ImportProgressCallback,
    ImportRun,
    ignore_progress,
)
from storage.importing.planning import PipelinedWriter
from storage.mongo import driver, files, raw_documents
from storage.mongo.protocols import with_prefix
from storage.records.kinds import current_timestamp
from storage.setup.preparation import (
    MIGRATIONS,
    MIGRATIONS_COLLECTION,
    STATE_ID,
    prepare_database,
    run_pending,
)
from storage.write_guards import CONDITIONAL_WRITES_COLLECTION

# What a backup holds: all collections but those that only running processes need.


SAVED_COLLECTIONS = (
    files.COLLECTION,
    *(name for name in import_bundles.SWITCHED_COLLECTIONS if name != MIGRATIONS_COLLECTION),
    audit.AUDIT_COLLECTION,
)
OMITTED_COLLECTIONS = (LEASE_COLLECTION, CONDITIONAL_WRITES_COLLECTION, MIGRATIONS_COLLECTION)
"""A lease; counters that only conflict; the number of the last migration is in the header."""


async def save_backup(
    database: driver.Database,
    output: BinaryIO,
    *,
    wait_seconds: float = import_bundles.DEFAULT_WAIT_SECONDS,
    progress: ImportProgressCallback = ignore_progress,
) -> Manifest:
    """Write an archive of the database, as of one moment, and return what is in it.

    Waits for an import that is being applied, and finishes one that was killed. Raises
    ImportRunningError, UnavailableError, and OSError if the archive cannot be written.
    """
    with driver.translate_errors():
        async with import_bundles.open_settled_snapshot(
            database, wait_seconds, progress
        ) as session:
            migration = await raw_documents.find_in_snapshot(
                database[MIGRATIONS_COLLECTION], STATE_ID, session
            )
            header = Header(
                release=metadata.version("floorgate"),
                migration=(migration or {}).get("number", 0),
                created=current_timestamp(),
            )
            writer = await asyncio.to_thread(BackupWriter, output, header)
            await _save_collections(database, session, writer, progress)
        return await asyncio.to_thread(writer.finish)


async def _save_collections(
    database: driver.Database,
    session: driver.Session,
    writer: BackupWriter,
    progress: ImportProgressCallback,
) -> None:
    pipeline = PipelinedWriter()
    try:
        for name in SAVED_COLLECTIONS:
            total = (await database.command("count", name))["n"]
            done = 0
            batches = raw_documents.iter_raw_batches(database[name], PART_BYTES, session)
            async for batch in batches:
                await pipeline.submit(_write_part(writer, name, batch))
                done += batch.documents
                progress(ImportProgress(name, done, max(done, total)))
    finally:
        await pipeline.drain()


async def _write_part(writer: BackupWriter, name: str, batch: raw_documents.RawBatch) -> None:
    await asyncio.to_thread(writer.add_part, name, batch.documents, batch.content)


# Restoring a database from an archive: all of it, or nothing.
#
# 1. Everything is read, checked and staged in collections of its own, as an import is. Files are
#    addressed by their digest, so they are stored beside those that are there.
# 2. The staged collections are migrated to this release.
# 3. One transaction commits the restore; then each staged collection replaces that of the service
#    (`storage.importing.import_bundles`), if need be by another process.


BACKUPS = "backups"
MIN_FREE_BYTES = 128 << 20
"""Room on the disk of MongoDB below which a restore ends: MongoDB stops on a full disk."""


class RestoreSummary(NamedTuple):
    """The counts of what a restore has put in place."""

    manifest: Manifest
    before: dict[str, int]
    """Documents of each collection that were there before."""
    regained_keys: list[str]
    """Ids of keys that had been revoked, ended, limited or deleted since the archive was made."""


async def restore_backup(
    database: driver.Database,
    archive: BinaryIO,
    name: str,
    *,
    wait_seconds: float = import_bundles.DEFAULT_WAIT_SECONDS,
    progress: ImportProgressCallback = ignore_progress,
    origin: audit.Origin | None = None,
) -> RestoreSummary:
    """Replace what is in the database by what is in an archive; `name` is for the audit log.

    Raises BackupError (nothing has changed then), ImportRunningError if an import does not end
    within `wait_seconds`, UnavailableError.
    """
    with driver.translate_errors():
        await _check_release(database)
        await prepare_database(database)
        async with import_bundles.hold_import_lease(database, wait_seconds, progress) as lease:
            run = _RestoreRun(database, lease, progress)
            try:
                await lease.begin_staging()
                before = await count_saved_documents(database)
                manifest = await run.stage(archive)
                summary = await run.commit(manifest, before, name, origin)
                await import_bundles.switch_collections(database, lease, progress)
                await run.clean_up()
            finally:
                # As for imports: what is committed, or may be, is finished by the next holder.
                if lease.state == "staging":
                    await run.clean_up()
            return summary


async def count_saved_documents(database: driver.Database) -> dict[str, int]:
    """Return how many documents a backup of the database would have, of each collection."""
    with driver.translate_errors():
        counts = {name: (await database.command("count", name))["n"] for name in SAVED_COLLECTIONS}
    return {name: count for name, count in counts.items() if count}


class _RestoreRun:
    def __init__(
        self, database: driver.Database, lease: ImportLease, progress: ImportProgressCallback
    ) -> None:
        self._database = database
        self._lease = lease
        self._progress = progress

    @property
    def _staged(self) -> driver.Database:
        return with_prefix(self._database, get_staging_prefix(self._lease.import_id))

    async def stage(self, archive: BinaryIO) -> Manifest:
        """Stage everything that is in an archive, as this release stores it."""
        reader = await asyncio.to_thread(BackupReader, archive)
        _check_header(reader.header)
        await prepare_database(self._staged)
        pipeline = PipelinedWriter()
        parts = reader.iter_parts()
        done = 0
        try:
            while (loaded := await asyncio.to_thread(next, parts, None)) is not None:
                await self._check_room(loaded.part.bytes)
                await pipeline.submit(self._stage_part(loaded))
                done += loaded.part.documents
                self._progress(ImportProgress("reading", done, None))
        finally:
            await pipeline.drain()
        assert reader.manifest is not None
        self._lease.check_held()
        await self._staged[MIGRATIONS_COLLECTION].update_one(
            {"_id": STATE_ID}, {"$set": {"number": reader.header.migration}}
        )
        await run_pending(self._staged)
        return reader.manifest

    async def _stage_part(self, loaded: LoadedPart) -> None:
        collection = loaded.part.collection
        if collection not in SAVED_COLLECTIONS:
            raise BackupError(
                f"the archive has {loaded.part.name!r}, which this release does not know: use the"
                " release that has made it, or a newer one"
            )
        self._lease.check_held()
        if collection == files.COLLECTION:
            await self._store_files(loaded.content)
            return
        documents = await asyncio.to_thread(raw_documents.split_documents, loaded.content)
        await raw_documents.insert_raw(self._staged[collection], documents)

    async def _store_files(self, content: bytes) -> None:
        for chunk in raw_documents.decode_documents(content):
            key = chunk.pop("_id", None)
            if not isinstance(key, str):
                raise BackupError("the archive has a part of a file without a name")
            # A chunk that is there is in use, and the digest in its name says what is in it.
            await self._database[files.COLLECTION].update_one(
                {"_id": key}, {"$setOnInsert": chunk}, upsert=True
            )

    async def _check_room(self, part_bytes: int) -> None:
        free = await raw_documents.get_free_bytes(self._database)
        if free is not None and free < MIN_FREE_BYTES + 2 * part_bytes:
            raise BackupError(
                f"the disk of MongoDB has only {free / 1e6:.0f} MB left; nothing was changed:"
                " make room and try again"
            )

    async def commit(
        self, manifest: Manifest, before: dict[str, int], name: str, origin: audit.Origin | None
    ) -> RestoreSummary:
        """Commit the restore, with its record in the staged audit log."""
        regained = await self._list_regained_keys()
        assets = (
            await self._staged[ASSETS.name]
            .find({}, ["_id"], limit=audit.MAX_LISTED_IDS)
            .to_list(None)
        )
        entry = audit.AuditEntry(
            "catalog.restored",
            audit.AuditTarget(BACKUPS, [name]),
            [*_build_changes(manifest, before)],
            [asset["_id"] for asset in assets],
        )

        async def work(session: driver.Session) -> tuple[None, audit.AuditEntry]:
            await _check_release(self._database, session)  # a newer gateway may have started since
            await self._lease.begin_restoring(session)
            return None, entry

        await audit.run_in_transaction(self._staged, origin, work)
        return RestoreSummary(manifest, before, regained)

    async def _list_regained_keys(self) -> list[str]:
        """Return the ids of keys that could do less, or nothing, without the restore."""
        live = {key.id: key for key in await api_keys.load_all_keys(self._database)}
        deleted = await self._database[audit.AUDIT_COLLECTION].distinct(
            "target.ids", {"action": "key.deleted"}
        )
        return [
            key.id
            for key in await api_keys.load_all_keys(self._staged)
            if (key.id in live and not key.is_within(live[key.id])) or key.id in deleted
        ]

    async def clean_up(self) -> None:
        """Drop what is staged, and the files that no map refers to; end the restore."""
        await ImportRun(self._database, self._lease, self._progress).clean_up()


async def _check_release(database: driver.Database, session: driver.Session | None = None) -> None:
    """Raise BackupError if a newer release has migrated the database.

    It would not run its migrations again, on records that lack them.
    """
    state = await database[MIGRATIONS_COLLECTION].find_one({"_id": STATE_ID}, session=session)
    number, newest = (state or {}).get("number", 0), MIGRATIONS[-1].number
    if number > newest:
        raise BackupError(
            f"a newer release has migrated the database: its migration is {number}, and the last of"
            f" this release {newest}; restore with that release, or into an empty database"
        )


def _check_header(header: Header) -> None:
    newest = MIGRATIONS[-1].number
    if header.migration > newest:
        raise BackupError(
            f"the archive is of release {header.release}, whose migration {header.migration} this"
            f" release does not know (its last is {newest}): restore it with that release, or a"
            " newer one"
        )


def _build_changes(manifest: Manifest, before: dict[str, int]) -> Iterator[audit.AuditChange]:
    after = manifest.count_documents()
    for name in SAVED_COLLECTIONS:
        had, has = before.get(name, 0), after.get(name, 0)
        if name != audit.AUDIT_COLLECTION and (had or has):
            yield audit.AuditChange(
                name,
                "updated",
                has,
                [],
                {"documents": had},
                {"documents": has, "saved_at": manifest.header.created},
            )
