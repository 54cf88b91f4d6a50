"""Archives in memory, and what can be wrong with one."""

import io
import tarfile
from pathlib import Path
from typing import Any

import bson

from storage.administration.api_keys import create_api_key
from storage.backup.backups import (
    BackupReader,
    BackupWriter,
    Header,
    Manifest,
    RestoreSummary,
    read_manifest,
    restore_backup,
    save_backup,
)
from storage.importing.import_bundles import import_bundles
from storage.mongo import files
from tests.storage.catalogs import contents, small, write_arrays

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
    return read_manifest(io.BytesIO(archive))


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


async def fill_and_save(database: Any, bundle: Path) -> bytes:
    """Return an archive of a catalog with a key and a network."""
    await import_bundles(database, [bundle])
    await create_api_key(database, name="k", permissions=[], asset_ids=["a"], expires_at=None)
    digest = await files.write_file(database, b"a network")
    await database["maps"].update_one({"_id": "am"}, {"$set": {"network": digest}})
    return await save(database)


async def change_everything(database: Any, folder: Path) -> None:
    """Rename, add and remove records, keys and files."""
    bundle = small()
    bundle["units"][0]["name"] = "changed"
    bundle["assets"].append({"id": "new", "name": "New"})
    await import_bundles(database, [write_arrays(folder / "changed.json", bundle)])
    await database["locations"].delete_many({})
    await database["maps"].update_many({}, {"$unset": {"network": ""}})
    await database["files"].delete_many({})
    await create_api_key(database, name="later", permissions=[], asset_ids=None, expires_at=None)
