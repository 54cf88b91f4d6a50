"""Importing bundles: all of them or nothing, whatever is wrong and whoever is killed.

Members are read and staged, then checked against each other and the catalog, then applied. A lease
(`storage.lease`) keeps imports apart and remembers what a dead one left to do; applying is
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

from storage import driver, files
from storage.bundles import Member
from storage.catalog import KINDS
from storage.checking import Change, Check
from storage.complaints import Complaints
from storage.errors import ImportRunning
from storage.kinds import Document
from storage.lease import Lease
from storage.maps import MAPS, NETWORK
from storage.readers import Given, batches, total_bytes
from storage.setup import prepare
from storage.sources import SourceFault, read_source
from storage.staging import DUPLICATE_KEY, SHOWN, Staging

FILE_FIELDS = ("source", "parsed", NETWORK)
"""The fields of a map that name files."""
POLL_SECONDS = 0.25
"""How often one that waits for its turn asks for it."""


class Progress(NamedTuple):
    """How far an import is. `done` of `total` are bytes while reading, else members."""

    phase: str
    done: int
    total: int | None


class Counts(msgspec.Struct):
    """What became of the members of one kind."""

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0

    @property
    def changed(self) -> int:
        """How many members are written."""
        return self.inserted + self.updated


class Summary(msgspec.Struct):
    """What an import did, or would do; kinds without members are left out."""

    kinds: dict[str, Counts] = {}
    total: Counts = msgspec.field(default_factory=Counts)
    notes: list[str] = []
    """What is allowed and yet worth a look."""


Report: TypeAlias = Callable[[Progress], None]


class Drawing(NamedTuple):
    """What a map's source holds: the JSON it parses to, and the units that it shows."""

    parsed: bytes
    unit_ids: Sequence[str] = ()


ParseSource: TypeAlias = Callable[[bytes], Awaitable[Drawing]]
"""Parses a drawing; raises SourceFault for one that cannot be parsed."""


def ignore(progress: Progress) -> None:
    """Reports to nobody."""


async def import_bundles(
    database: driver.Database,
    bundles: Sequence[Given],
    *,
    parse_source: ParseSource | None = None,
    dry_run: bool = False,
    wait_seconds: float = 600.0,
    progress: Report = ignore,
) -> Summary:
    """Loads the bundles as one.

    Raises BundleError when anything is wrong with them, and then nothing has changed; ImportRunning
    when another import does not end in time; Unavailable.
    """
    with driver.translating():
        await prepare(database)
        async with taking_turns(database, wait_seconds, progress) as lease:
            await lease.begin()
            run = _Import(database, lease, progress)
            try:
                await run.stage(bundles, parse_source)
                summary = await run.check()
                if summary.total.changed and not dry_run:
                    await lease.begin_applying()
                    await run.apply(summary.total.changed)
                    await run.clear()
            finally:
                # What fails while it is applied stays for whomever the turn is next.
                if lease.state == "staging":
                    await run.clear()
            return summary


async def finish_interrupted(database: driver.Database) -> bool:
    """Carries an import that was killed to its end, or forgets it if it had not begun to apply.

    False while another process imports, or is so newly dead that it may yet live: ask again.
    """
    with driver.translating():
        lease = Lease(database)
        if not await lease.take():
            return False
        async with lease.beating():
            await _finish(database, lease, ignore)
        return True


@asynccontextmanager
async def taking_turns(
    database: driver.Database, wait_seconds: float = 600.0, progress: Report = ignore
) -> AsyncIterator[Lease]:
    """The turn to write the catalog, which one process has at a time.

    What a dead one left half done is finished first. Raises ImportRunning.
    """
    lease = Lease(database)
    deadline = monotonic() + wait_seconds
    while not await lease.take():
        if monotonic() > deadline:
            raise ImportRunning(
                f"another import is running and did not end within {wait_seconds:.0f} seconds"
            )
        progress(Progress("waiting", 0, None))
        await asyncio.sleep(POLL_SECONDS)
    async with lease.beating():
        await _finish(database, lease, progress)
        yield lease


async def _finish(database: driver.Database, lease: Lease, progress: Report) -> None:
    if lease.state == "idle":
        return
    run = _Import(database, lease, progress)
    if lease.state == "applying":
        await run.apply(None)
    await run.clear()


class _Behind:
    """Runs one piece of work while the next is prepared, never two at once."""

    def __init__(self) -> None:
        self._running: asyncio.Task[None] | None = None

    async def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts a piece of work once the one before is done."""
        await self.settle()
        self._running = asyncio.create_task(work)

    async def settle(self) -> None:
        """Waits for the last piece of work."""
        running, self._running = self._running, None
        if running is not None:
            await running


class _Import:
    """One import, or what is left to do of it."""

    def __init__(self, database: driver.Database, lease: Lease, progress: Report) -> None:
        self._database = database
        self._lease = lease
        self._progress = progress
        self._staging = Staging(database, lease.import_id)
        self._read = 0

    async def stage(self, bundles: Sequence[Given], parse_source: ParseSource | None) -> None:
        """Reads the bundles into the staging collections. Raises BundleError."""
        complaints = Complaints()
        behind = _Behind()
        total = total_bytes(bundles)
        found = batches(bundles, complaints)
        try:
            while (batch := await asyncio.to_thread(next, found, None)) is not None:
                self._lease.check()
                for member in batch.members:
                    if member.document.get("source") is not None:
                        await self._draw(member, batch.directory, parse_source, complaints)
                await behind.start(self._staging.add(batch.members, complaints))
                self._read += len(batch.members)
                self._progress(Progress("reading", batch.done, total))
        finally:
            await behind.settle()
        complaints.settle()

    async def _draw(
        self,
        member: Member,
        directory: Path | None,
        parse_source: ParseSource | None,
        complaints: Complaints,
    ) -> None:
        """Keeps a map's drawing and what it parses to; the map then holds their digests."""
        document = member.document
        try:
            content = await asyncio.to_thread(read_source, document["source"], directory)
            document["source"] = await files.write(self._database, content)
            if parse_source is not None:
                drawing = await parse_source(content)
                document["parsed"] = await files.write(self._database, drawing.parsed)
                document[SHOWN] = list(drawing.unit_ids)
        except SourceFault as fault:
            complaints.add(f"{member.place}.source", str(fault))

    async def check(self) -> Summary:
        """What the staged members would change. Raises BundleError."""
        complaints = Complaints()
        check = Check(self._database, self._staging, self._lease.now, complaints)
        summary = Summary()
        done = 0
        for kind in KINDS:
            counts = Counts()
            async for changes in check.changes(kind):
                self._lease.check()
                for change in changes:
                    _count(counts, change)
                    _count(summary.total, change)
                done += len(changes)
                self._progress(Progress("checking", done, self._read))
            if counts != Counts():
                summary.kinds[kind.name] = counts
        complaints.settle()
        summary.notes = await check.notes()
        return summary

    async def apply(self, total: int | None) -> None:
        """Writes what the staged members change; doing it again changes nothing more."""
        check = Check(self._database, self._staging, self._lease.now)
        behind = _Behind()
        done = 0
        try:
            for kind in KINDS:
                async for changes in check.changes(kind):
                    await behind.start(self._write(self._database[kind.name], changes))
                    done += sum(change.fields is not None for change in changes)
                    self._progress(Progress("writing", done, total))
                await behind.settle()
        finally:
            await behind.settle()

    async def _write(self, collection: driver.Collection, changes: list[Change]) -> None:
        new, updates = _operations(changes)
        if new:
            self._lease.check()
            try:
                await collection.insert_many(new, ordered=False)
            except BulkWriteError as error:
                updates += _overwrite(error)
        if updates:
            self._lease.check()
            await collection.bulk_write(updates, ordered=False)

    async def clear(self) -> None:
        """Forgets what is staged, and the drawings that no map has."""
        self._lease.check()
        await self._staging.drop()
        maps = self._database[MAPS.name]
        kept = [digest for field in FILE_FIELDS for digest in await maps.distinct(field)]
        await files.sweep(self._database, kept)
        await self._lease.end()


def _count(counts: Counts, change: Change) -> None:
    if change.fields is None:
        counts.unchanged += 1
    elif change.live is None:
        counts.inserted += 1
    else:
        counts.updated += 1


def _operations(changes: list[Change]) -> tuple[list[Document], list[UpdateOne]]:
    new = []
    updates = []
    for key, live, fields in changes:
        if fields is not None and live is None:
            new.append({"_id": key, **fields})
        elif fields is not None:
            updates.append(UpdateOne({"_id": key}, {"$set": fields}))
    return new, updates


def _overwrite(error: BulkWriteError) -> list[UpdateOne]:
    """Updates instead of the inserts that met a record which somebody else made meanwhile."""
    faults = error.details["writeErrors"] if error.details else []
    if not faults or any(fault["code"] != DUPLICATE_KEY for fault in faults):
        raise error
    return [UpdateOne({"_id": fault["op"].pop("_id")}, {"$set": fault["op"]}) for fault in faults]
