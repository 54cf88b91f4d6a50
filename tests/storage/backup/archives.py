"""Archives in memory, and what can be wrong with one."""

import io
import tarfile
from typing import Any

import bson

from storage.backup.backup_file import BackupReader, BackupWriter, Header, Manifest
from storage.backup.restoring import RestoreSummary, restore_backup
from storage.backup.saving import save_backup
from tests.storage.catalogs import contents

HEADER = Header(release="1.2.3", migration=1, created="2026-01-31T12:00:00+00:00")


def write_archive(parts: dict[str, list[bytes]], header: Header = HEADER) -> bytes:
    """An archive with these parts of each collection; a part is one document."""
    output = io.BytesIO()
    writer = BackupWriter(output, header)
    for collection, documents in parts.items():
        for document in documents:
            writer.add_part(collection, 1, document)
    writer.finish()
    return output.getvalue()


def read_archive(archive: bytes) -> Manifest:
    """Read all of an archive, as `floorgate restore --check` does."""
    reader = BackupReader(io.BytesIO(archive))
    for _ in reader.iter_parts():
        pass
    assert reader.manifest is not None
    return reader.manifest


def documents_in(archive: bytes) -> dict[str, list[dict[str, Any]]]:
    """The documents of each collection in an archive."""
    found: dict[str, list[dict[str, Any]]] = {}
    for loaded in BackupReader(io.BytesIO(archive)).iter_parts():
        found.setdefault(loaded.part.collection, []).extend(bson.decode_all(loaded.content))
    return found


def list_members(archive: bytes) -> list[tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return tar.getmembers()


async def save(database: Any) -> bytes:
    output = io.BytesIO()
    await save_backup(database, output)
    return output.getvalue()


async def restore(database: Any, archive: bytes) -> RestoreSummary:
    return await restore_backup(database, io.BytesIO(archive), "archive.tar")


async def saved_contents(database: Any) -> dict[str, Any]:
    """All documents but those of the audit log, which a restore adds to."""
    found = await contents(database)
    found.pop("audit_log", None)
    return found
