"""Saving a database: all of it, as of one moment, into an archive."""

import asyncio
from importlib import metadata
from typing import BinaryIO

from storage.backup.backup_file import PART_BYTES, BackupWriter, Header, Manifest
from storage.backup.contents import SAVED_COLLECTIONS
from storage.bundles.importing.import_run import (
    ImportProgress,
    ImportProgressCallback,
    ignore_progress,
)
from storage.bundles.importing.pipelining import PipelinedWriter
from storage.bundles.importing.recovery import DEFAULT_WAIT_SECONDS
from storage.bundles.importing.settled_snapshot import open_settled_snapshot
from storage.mongo import driver, raw_documents
from storage.records.timestamps import current_timestamp
from storage.setup.migrations import MIGRATIONS_COLLECTION, STATE_ID


async def save_backup(
    database: driver.Database,
    output: BinaryIO,
    *,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    progress: ImportProgressCallback = ignore_progress,
) -> Manifest:
    """Write an archive of the database, as of one moment, and return what is in it.

    Waits for an import that is being applied, and finishes one that was killed. Raises
    ImportRunningError, UnavailableError, and OSError if the archive cannot be written.
    """
    with driver.translate_errors():
        async with open_settled_snapshot(database, wait_seconds, progress) as session:
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
