"""Importing bundles: all of them or nothing, whatever is wrong and whoever is killed.

Members are read and staged, then checked against each other and the catalog, then applied. A lease
(`storage.bundles.lease`) keeps imports apart and remembers what a dead one left to do; applying is
idempotent, and its order (owners first) lets readers in at any time.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, TypeAlias

import msgspec
from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from storage import files
from storage.bundles.format import BundleMember
from storage.bundles.lease import Lease
from storage.bundles.readers import BundleSource, count_total_bytes, read_batches
from storage.bundles.sources import SourceError, read_source
from storage.bundles.staging import DUPLICATE_KEY_CODE, SHOWN_UNITS_FIELD, Staging
from storage.bundles.validation import BundleValidator, MemberChange
from storage.bundles.violations import Violations
from storage.catalog import KINDS
from storage.errors import ImportRunningError
from storage.maps import MAPS, NETWORK_FIELD
from storage.mongo import driver
from storage.records.kinds import Document
from storage.setup.preparation import prepare_database

MAP_FILE_FIELDS = ("source", "parsed", NETWORK_FIELD)
"""The fields of a map that name files."""
LEASE_POLL_SECONDS = 0.25
"""How often one that waits for its turn asks for it."""


class ImportProgress(NamedTuple):
    """How far an import is. `done` of `total` are bytes while reading, else members."""

    phase: str
    done: int
    total: int | None


class ImportCounts(msgspec.Struct):
    """What became of the members of one kind."""

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0

    @property
    def written(self) -> int:
        """How many members are written."""
        return self.inserted + self.updated


class ImportSummary(msgspec.Struct):
    """What an import did, or would do; kinds without members are left out."""

    kinds: dict[str, ImportCounts] = {}
    total: ImportCounts = msgspec.field(default_factory=ImportCounts)
    notes: list[str] = []
    """What is allowed and yet worth a look."""


ImportProgressCallback: TypeAlias = Callable[[ImportProgress], None]


class ParsedSource(NamedTuple):
    """What a map's source holds: the JSON it parses to, and the units that it shows."""

    parsed: bytes
    unit_ids: Sequence[str] = ()


SourceParser: TypeAlias = Callable[[bytes], Awaitable[ParsedSource]]
"""Parses a drawing; raises SourceFault for one that cannot be parsed."""


def ignore_progress(progress: ImportProgress) -> None:
    """Reports to nobody."""


async def import_bundles(
    database: driver.Database,
    bundles: Sequence[BundleSource],
    *,
    parse_source: SourceParser | None = None,
    dry_run: bool = False,
    wait_seconds: float = 600.0,
    progress: ImportProgressCallback = ignore_progress,
) -> ImportSummary:
    """Loads the bundles as one.

    Raises BundleError when anything is wrong with them, and then nothing has changed; ImportRunning
    when another import does not end in time; Unavailable.
    """
    with driver.translate_errors():
        await prepare_database(database)
        async with hold_import_lease(database, wait_seconds, progress) as lease:
            await lease.begin_staging()
            run = _ImportRun(database, lease, progress)
            try:
                await run.stage(bundles, parse_source)
                summary = await run.validate()
                if summary.total.written and not dry_run:
                    await lease.begin_applying()
                    await run.apply(summary.total.written)
                    await run.clean_up()
            finally:
                # What fails while it is applied stays for whomever the turn is next.
                if lease.state == "staging":
                    await run.clean_up()
            return summary


async def finish_interrupted_import(database: driver.Database) -> bool:
    """Carries an import that was killed to its end, or forgets it if it had not begun to apply.

    False while another process imports, or is so newly dead that it may yet live: ask again.
    """
    with driver.translate_errors():
        lease = Lease(database)
        if not await lease.try_acquire():
            return False
        async with lease.keep_alive():
            await _finish_previous_import(database, lease, ignore_progress)
        return True


@asynccontextmanager
async def hold_import_lease(
    database: driver.Database,
    wait_seconds: float = 600.0,
    progress: ImportProgressCallback = ignore_progress,
) -> AsyncIterator[Lease]:
    """The turn to write the catalog, which one process has at a time.

    What a dead one left half done is finished first. Raises ImportRunning.
    """
    lease = Lease(database)
    deadline = monotonic() + wait_seconds
    while not await lease.try_acquire():
        if monotonic() > deadline:
            raise ImportRunningError(
                f"another import is running and did not end within {wait_seconds:.0f} seconds"
            )
        progress(ImportProgress("waiting", 0, None))
        await asyncio.sleep(LEASE_POLL_SECONDS)
    async with lease.keep_alive():
        await _finish_previous_import(database, lease, progress)
        yield lease


async def _finish_previous_import(
    database: driver.Database, lease: Lease, progress: ImportProgressCallback
) -> None:
    if lease.state == "idle":
        return
    run = _ImportRun(database, lease, progress)
    if lease.state == "applying":
        await run.apply(None)
    await run.clean_up()


class _PipelinedWriter:
    """Runs one piece of work while the next is prepared, never two at once."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    async def submit(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts a piece of work once the one before is done."""
        await self.drain()
        self._task = asyncio.create_task(work)

    async def drain(self) -> None:
        """Waits for the last piece of work."""
        running, self._task = self._task, None
        if running is not None:
            await running


class _ImportRun:
    """One import, or what is left to do of it."""

    def __init__(
        self, database: driver.Database, lease: Lease, progress: ImportProgressCallback
    ) -> None:
        self._database = database
        self._lease = lease
        self._progress = progress
        self._staging = Staging(database, lease.import_id)
        self._member_count = 0

    async def stage(
        self, bundles: Sequence[BundleSource], parse_source: SourceParser | None
    ) -> None:
        """Reads the bundles into the staging collections. Raises BundleError."""
        complaints = Violations()
        behind = _PipelinedWriter()
        total = count_total_bytes(bundles)
        found = read_batches(bundles, complaints)
        try:
            while (batch := await asyncio.to_thread(next, found, None)) is not None:
                self._lease.check_held()
                for member in batch.members:
                    if member.document.get("source") is not None:
                        await self._store_drawing(member, batch.directory, parse_source, complaints)
                await behind.submit(self._staging.add_members(batch.members, complaints))
                self._member_count += len(batch.members)
                self._progress(ImportProgress("reading", batch.bytes_read, total))
        finally:
            await behind.drain()
        complaints.raise_if_any()

    async def _store_drawing(
        self,
        member: BundleMember,
        directory: Path | None,
        parse_source: SourceParser | None,
        complaints: Violations,
    ) -> None:
        """Keeps a map's drawing and what it parses to; the map then holds their digests."""
        document = member.document
        try:
            content = await asyncio.to_thread(read_source, document["source"], directory)
            document["source"] = await files.write_file(self._database, content)
            if parse_source is not None:
                drawing = await parse_source(content)
                document["parsed"] = await files.write_file(self._database, drawing.parsed)
                document[SHOWN_UNITS_FIELD] = list(drawing.unit_ids)
        except SourceError as fault:
            complaints.add(f"{member.origin}.source", str(fault))

    async def validate(self) -> ImportSummary:
        """What the staged members would change. Raises BundleError."""
        complaints = Violations()
        check = BundleValidator(self._database, self._staging, self._lease.import_time, complaints)
        summary = ImportSummary()
        done = 0
        for kind in KINDS:
            counts = ImportCounts()
            async for changes in check.plan_changes(kind):
                self._lease.check_held()
                for change in changes:
                    _count_change(counts, change)
                    _count_change(summary.total, change)
                done += len(changes)
                self._progress(ImportProgress("checking", done, self._member_count))
            if counts != ImportCounts():
                summary.kinds[kind.name] = counts
        complaints.raise_if_any()
        summary.notes = await check.collect_notes()
        return summary

    async def apply(self, total: int | None) -> None:
        """Writes what the staged members change; doing it again changes nothing more."""
        check = BundleValidator(self._database, self._staging, self._lease.import_time)
        behind = _PipelinedWriter()
        done = 0
        try:
            for kind in KINDS:
                async for changes in check.plan_changes(kind):
                    await behind.submit(self._write_changes(self._database[kind.name], changes))
                    done += sum(change.fields is not None for change in changes)
                    self._progress(ImportProgress("writing", done, total))
                await behind.drain()
        finally:
            await behind.drain()

    async def _write_changes(
        self, collection: driver.Collection, changes: list[MemberChange]
    ) -> None:
        new, updates = _build_writes(changes)
        if new:
            self._lease.check_held()
            try:
                await collection.insert_many(new, ordered=False)
            except BulkWriteError as error:
                updates += _retry_as_updates(error)
        if updates:
            self._lease.check_held()
            await collection.bulk_write(updates, ordered=False)

    async def clean_up(self) -> None:
        """Forgets what is staged, and the drawings that no map has."""
        self._lease.check_held()
        await self._staging.drop_all()
        maps = self._database[MAPS.name]
        kept = [digest for field in MAP_FILE_FIELDS for digest in await maps.distinct(field)]
        await files.delete_unused_files(self._database, kept)
        await self._lease.finish()


def _count_change(counts: ImportCounts, change: MemberChange) -> None:
    if change.fields is None:
        counts.unchanged += 1
    elif change.live is None:
        counts.inserted += 1
    else:
        counts.updated += 1


def _build_writes(changes: list[MemberChange]) -> tuple[list[Document], list[UpdateOne]]:
    new = []
    updates = []
    for key, live, fields in changes:
        if fields is not None and live is None:
            new.append({"_id": key, **fields})
        elif fields is not None:
            updates.append(UpdateOne({"_id": key}, {"$set": fields}))
    return new, updates


def _retry_as_updates(error: BulkWriteError) -> list[UpdateOne]:
    """Updates instead of the inserts that met a record which somebody else made meanwhile."""
    faults = error.details["writeErrors"] if error.details else []
    if not faults or any(fault["code"] != DUPLICATE_KEY_CODE for fault in faults):
        raise error
    return [UpdateOne({"_id": fault["op"].pop("_id")}, {"$set": fault["op"]}) for fault in faults]
