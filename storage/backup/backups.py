"""Saving a database into an archive, all of it, as of one moment, and restoring it."""

import asyncio
import hashlib
import tarfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import BinaryIO, NamedTuple

import msgspec

from storage.administration import api_keys, audit
from storage.administration.import_lease import LEASE_COLLECTION, ImportLease, get_staging_prefix
from storage.catalog import ASSETS
from storage.errors import BackupError
from storage.importing import import_bundles
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

# The format of backups: a tar archive of BSON, with checksums (docs/decisions/storage/backups.md).
#
# - `header.json`: version of the format, release, number of the last migration, time
# - `units/000000.bson.gz`: documents of a collection, some 8 MB of BSON; as many as it takes
# - `manifest.json`: the header, and of each part documents, bytes and SHA-256
# - `manifest.json.sha256`: SHA-256 of the manifest, as `sha256sum` writes it
#
# It is written and read from the beginning to the end, so that it may come from a pipe. An archive
# without its end is not whole, and nothing of it is restored.


FORMAT = 1
PART_BYTES = 8 << 20
"""BSON in a part, before compression; a part has up to one reply of MongoDB more."""
MAX_PART_BYTES = PART_BYTES + (32 << 20)
MAX_MANIFEST_BYTES = 64 << 20
"""A backup has a million parts at most, which are 8 TB."""
HEADER_NAME = "header.json"
MANIFEST_NAME = "manifest.json"
CHECKSUM_NAME = "manifest.json.sha256"
_COMPRESSION_LEVEL = 1
_GZIP = 16 + zlib.MAX_WBITS
_FILE_MODE = 0o600


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The service, release and moment that a backup was made of."""

    format: int = FORMAT
    release: str
    """Version of the Floorgate that has made it."""
    migration: int
    """Number of the last migration that had run."""
    created: str


class BackupPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One member with documents."""

    name: str
    documents: int
    bytes: int
    """The bytes of BSON, before compression."""
    sha256: str
    """The checksum of the member as it is in the archive."""

    @property
    def collection(self) -> str:
        return self.name.partition("/")[0]


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is in an archive."""

    header: Header
    parts: list[BackupPart]

    def count_documents(self) -> dict[str, int]:
        """Return how many documents there are of each collection that has any."""
        counts: dict[str, int] = {}
        for part in self.parts:
            counts[part.collection] = counts.get(part.collection, 0) + part.documents
        return counts


class LoadedPart(NamedTuple):
    """A part that has been read, and is as the archive's writer has written it."""

    part: BackupPart
    content: bytes
    """BSON."""


class BackupWriter:
    """Writes an archive. It is whole only after `finish`."""

    def __init__(self, output: BinaryIO, header: Header) -> None:
        self._output = output
        self._manifest = Manifest(header=header, parts=[])
        self._part_counts: dict[str, int] = {}
        self._add_member(HEADER_NAME, msgspec.json.encode(header))

    def add_part(self, collection: str, documents: int, content: bytes) -> None:
        number = self._part_counts.get(collection, 0)
        self._part_counts[collection] = number + 1
        compressor = zlib.compressobj(_COMPRESSION_LEVEL, wbits=_GZIP)
        stored = compressor.compress(content) + compressor.flush()
        name = f"{collection}/{number:06}.bson.gz"
        digest = hashlib.sha256(stored).hexdigest()
        self._manifest.parts.append(
            BackupPart(name=name, documents=documents, bytes=len(content), sha256=digest)
        )
        self._add_member(name, stored)

    def finish(self) -> Manifest:
        """Write what makes the archive whole, and return the manifest."""
        encoded = msgspec.json.format(msgspec.json.encode(self._manifest), indent=1)
        self._add_member(MANIFEST_NAME, encoded)
        checksum = f"{hashlib.sha256(encoded).hexdigest()}  {MANIFEST_NAME}\n"
        self._add_member(CHECKSUM_NAME, checksum.encode())
        self._output.write(bytes(2 * tarfile.BLOCKSIZE))
        return self._manifest

    def _add_member(self, name: str, content: bytes) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.mtime = len(content), _FILE_MODE, int(time.time())
        self._output.write(member.tobuf(tarfile.USTAR_FORMAT))
        self._output.write(content)
        self._output.write(bytes(-len(content) % tarfile.BLOCKSIZE))


class BackupReader:
    """Reads an archive from the beginning to the end, and checks everything on the way."""

    def __init__(self, archive: BinaryIO) -> None:
        """Read the header. Raises BackupError."""
        with _explain_damage():
            self._tar = tarfile.open(fileobj=archive, mode="r|")  # noqa: SIM115
        self.header = _decode_header(self._read_member(HEADER_NAME, MAX_PART_BYTES))
        self.manifest: Manifest | None = None
        """The counts of what was read, once all of it is."""
        self._parts: list[BackupPart] = []

    def iter_parts(self) -> Iterator[LoadedPart]:
        """Yield the parts, and check in the end that they are all. Raises BackupError."""
        while (member := self._next_member()).name != MANIFEST_NAME:
            yield self._load_part(member)
        encoded = self._read_content(member, MAX_MANIFEST_BYTES)
        checksum = self._read_member(CHECKSUM_NAME, MAX_PART_BYTES)
        manifest = _decode_manifest(encoded, checksum)
        if manifest != Manifest(header=self.header, parts=self._parts):
            raise BackupError(f"the archive is damaged: it has other parts than {MANIFEST_NAME}")
        with _explain_damage():
            extra = self._tar.next()
        if extra is not None:
            raise BackupError(
                f"the archive has {extra.name!r} after {CHECKSUM_NAME!r}, its last member: it was"
                " changed after it was made"
            )
        self.manifest = manifest

    def _load_part(self, member: tarfile.TarInfo) -> LoadedPart:
        stored = self._read_content(member, MAX_PART_BYTES)
        with _explain_damage(member.name):
            decompressor = zlib.decompressobj(_GZIP)
            content = decompressor.decompress(stored, MAX_PART_BYTES)
            if not decompressor.eof or decompressor.unused_data:
                raise ValueError("it is cut off, or too large")
            documents = raw_documents.count_documents(content)
        digest = hashlib.sha256(stored).hexdigest()
        part = BackupPart(name=member.name, documents=documents, bytes=len(content), sha256=digest)
        self._parts.append(part)
        return LoadedPart(part, content)

    def _read_member(self, name: str, max_bytes: int) -> bytes:
        member = self._next_member()
        if member.name != name:
            raise BackupError(f"this is not a backup: it has {member.name!r} instead of {name!r}")
        return self._read_content(member, max_bytes)

    def _next_member(self) -> tarfile.TarInfo:
        with _explain_damage():
            member = self._tar.next()
        if member is None:
            raise BackupError("the archive is not whole: its end is missing, or it is damaged")
        return member

    def _read_content(self, member: tarfile.TarInfo, max_bytes: int) -> bytes:
        with _explain_damage(member.name):
            file = self._tar.extractfile(member) if member.size <= max_bytes else None
            if file is None:
                raise ValueError("it is no file, or too large")
            content = file.read()
            if len(content) != member.size:
                raise ValueError("it is cut off")
            return content


def read_manifest(archive: BinaryIO) -> Manifest:
    """Return the manifest of an archive, all of which is read and checked. Raises BackupError."""
    reader = BackupReader(archive)
    for _ in reader.iter_parts():
        pass
    assert reader.manifest is not None
    return reader.manifest


def _decode_header(encoded: bytes) -> Header:
    with _explain_damage(HEADER_NAME):
        version = msgspec.json.decode(encoded, type=dict[str, object]).get("format")
        if version != FORMAT:
            raise BackupError(
                f"the archive has format {version!r}, and this release reads {FORMAT}: use the"
                " release that has made it, or a newer one"
            )
        return msgspec.json.decode(encoded, type=Header)


def _decode_manifest(encoded: bytes, checksum: bytes) -> Manifest:
    if checksum.split() != [hashlib.sha256(encoded).hexdigest().encode(), MANIFEST_NAME.encode()]:
        raise BackupError(f"the archive is damaged: {MANIFEST_NAME} does not have its checksum")
    with _explain_damage(MANIFEST_NAME):
        return msgspec.json.decode(encoded, type=Manifest)


@contextmanager
def _explain_damage(name: str = "") -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, zlib.error, EOFError, ValueError, msgspec.MsgspecError) as error:
        where = f"{name} of the archive" if name else "the archive"
        raise BackupError(f"{where} is damaged, or this is no backup: {error}") from error


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
    progress: import_bundles.ImportProgressCallback = import_bundles.ignore_progress,
) -> Manifest:
    """Write an archive of the database, as of one moment, and return what is in it.

    Waits for an import that is being applied, and finishes one that was killed. Raises
    ImportRunningError, UnavailableError, and OSError if the archive cannot be written.
    """
    with driver.translate_errors():
        async with import_bundles.open_settled_snapshot(database, progress) as session:
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
    progress: import_bundles.ImportProgressCallback,
) -> None:
    pipeline = PipelinedWriter()
    try:
        for name in SAVED_COLLECTIONS:
            total = (await database.command("count", name))["n"]
            done = 0
            batches = raw_documents.iter_raw_batches(database[name], PART_BYTES, session)
            async for batch in batches:
                add = asyncio.to_thread(writer.add_part, name, batch.documents, batch.content)
                await pipeline.submit(add)
                done += batch.documents
                progress(import_bundles.ImportProgress(name, done, max(done, total)))
    finally:
        await pipeline.drain()


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
    progress: import_bundles.ImportProgressCallback = import_bundles.ignore_progress,
) -> RestoreSummary:
    """Replace what is in the database by what is in an archive; `name` is for the audit log.

    Raises BackupError (nothing has changed then), ImportRunningError if an import does not end,
    UnavailableError.
    """
    with driver.translate_errors():
        await _check_release(database)
        await prepare_database(database)
        async with import_bundles.hold_import_lease(database, progress) as lease:
            await lease.begin_staging(started_by=audit.describe_origin(None))
            run = _RestoreRun(database, lease, progress)
            staged = import_bundles.ImportRun(database, lease, progress)
            try:
                before = await count_saved_documents(database)
                manifest = await run.stage(archive)
                summary = await run.commit(manifest, before, name)
                await import_bundles.switch_collections(database, lease, progress)
                await staged.clean_up()
            finally:
                # As for imports: what is committed, or may be, is finished by the next holder.
                if lease.state == "staging":
                    await staged.clean_up()
            return summary


async def count_saved_documents(database: driver.Database) -> dict[str, int]:
    """Return how many documents a backup of the database would have, of each collection."""
    with driver.translate_errors():
        counts = {name: (await database.command("count", name))["n"] for name in SAVED_COLLECTIONS}
    return {name: count for name, count in counts.items() if count}


@dataclass
class _RestoreRun:
    database: driver.Database
    lease: ImportLease
    progress: import_bundles.ImportProgressCallback

    @property
    def _staged(self) -> driver.Database:
        return with_prefix(self.database, get_staging_prefix(self.lease.import_id))

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
                self.progress(import_bundles.ImportProgress("reading", done, None))
        finally:
            await pipeline.drain()
        assert reader.manifest is not None
        self.lease.check_held()
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
        self.lease.check_held()
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
            await self.database[files.COLLECTION].update_one(
                {"_id": key}, {"$setOnInsert": chunk}, upsert=True
            )

    async def _check_room(self, part_bytes: int) -> None:
        free = await raw_documents.get_free_bytes(self.database)
        if free is not None and free < MIN_FREE_BYTES + 2 * part_bytes:
            raise BackupError(
                f"the disk of MongoDB has only {free / 1e6:.0f} MB left; nothing was changed:"
                " make room and try again"
            )

    async def commit(self, manifest: Manifest, before: dict[str, int], name: str) -> RestoreSummary:
        """Commit the restore, with its record in the staged audit log."""
        regained = await self._list_regained_keys()
        assets = await driver.read_all(
            self._staged[ASSETS.name].find({}, ["_id"], limit=audit.MAX_LISTED_IDS)
        )
        entry = audit.AuditEntry(
            "catalog.restored",
            audit.AuditTarget(BACKUPS, [name]),
            [*_build_changes(manifest, before)],
            [asset["_id"] for asset in assets],
        )

        async def work(session: driver.Session) -> tuple[None, audit.AuditEntry]:
            await _check_release(self.database, session)  # a newer gateway may have started since
            await self.lease.commit(session, "restoring")
            return None, entry

        await audit.run_audited(self._staged, None, work)
        return RestoreSummary(manifest, before, regained)

    async def _list_regained_keys(self) -> list[str]:
        """Return the ids of keys that could do less, or nothing, without the restore."""
        live = {key.id: key for key in await api_keys.list_keys(self.database, {})}
        deleted = await self.database[audit.AUDIT_COLLECTION].distinct(
            "target.ids", {"action": "key.deleted"}
        )
        return [
            key.id
            for key in await api_keys.list_keys(self._staged, {})
            if (key.id in live and not key.is_within(live[key.id])) or key.id in deleted
        ]


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
