"""The steps of one import: stage, validate, apply, clean up."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from storage import catalog
from storage.administration import audit
from storage.administration.import_lease import ImportLease
from storage.attribute_assignments import write_assignments
from storage.bundles.drawings import ShownParts, SourceError, read_source
from storage.bundles.json_bundles import BundleMember
from storage.bundles.violations import RejectedMember, Violations, to_printable
from storage.importing import change_plan, mirroring, planning
from storage.importing.batches import BundleSource, count_total_bytes, is_table, read_batches
from storage.importing.removals import Removals, apply_removals
from storage.importing.staging import SHOWN_FIELD, Staging
from storage.importing.stale_networks import PLAN_REPLACED, StaleNetworks
from storage.importing.validation import BundleValidator
from storage.mongo import driver, files
from storage.publication import Publication, check_unchanged, publish_staged, stage_publication
from storage.records.kinds import Document, RecordType
from storage.routing_inputs import StaleNetwork, withdraw_stale_networks
from storage.spreadsheets.reader import TableReader
from storage.tombstones import TOMBSTONES, end_tombstones


async def write_changes(
    database: driver.Database,
    lease: ImportLease,
    kind: RecordType[Any],
    changes: list[planning.Change],
    has_tombstones: bool,
) -> None:
    """Write changes of members of a kind, and end the tombstones of new ones, if there are any."""
    changed = [each for each in changes if not each.is_unchanged]
    new = [each.after for each in changed if not each.before]
    updated = [each.after for each in changed if each.before]
    if new:
        lease.check_held()
        if has_tombstones:
            await end_tombstones(database, kind, new)
        # Records that an assignment request has created since become updates.
        updated += await driver.insert_absent(database[kind.name], new)
    if updated and kind is catalog.ASSIGNMENTS:
        await _update_assignments(database, lease, updated)
    elif updated:
        lease.check_held()
        updates = [driver.UpdateOne({"_id": each["_id"]}, {"$set": each}) for each in updated]
        await database[kind.name].bulk_write(updates, ordered=False)


async def _update_assignments(
    database: driver.Database, lease: ImportLease, documents: list[Document]
) -> None:
    """Update assignments in one transaction with the tombstones of those that they replace.

    Requests may have changed them since the import was planned.
    """

    async def work(session: driver.Session) -> None:
        lease.check_held()
        await write_assignments(database, {each["_id"]: each for each in documents}, session)

    await driver.run_in_transaction(database.client, work)


BUNDLES = "bundles"


class AuditTrail:
    """Collects the changes of an import."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, audit.Operation], int] = {}
        self._ids: dict[tuple[str, audit.Operation], list[str]] = {}
        self._asset_ids: set[str] = set()

    async def add(self, kind: RecordType[Any], changes: Sequence[planning.Change]) -> None:
        """Add changes."""
        for change in changes:
            key = kind.name, change.operation
            self._counts[key] = self._counts.get(key, 0) + 1
            ids = self._ids.setdefault(key, [])
            if len(ids) < audit.MAX_LISTED_IDS:
                ids.append(change.key)
            asset_id = (change.after or change.before).get(kind.scope_field)
            if asset_id and len(self._asset_ids) < audit.MAX_LISTED_IDS:
                self._asset_ids.add(asset_id)

    def build_entry(self, action: audit.Action, target: audit.AuditTarget) -> audit.AuditEntry:
        """Return the audit entry of the import."""
        changes = [
            audit.AuditChange(kind, operation, count, self._ids[kind, operation])
            for (kind, operation), count in self._counts.items()
        ]
        return audit.AuditEntry(action, target, changes, self._asset_ids)


MAX_SOURCE_NOTES = 200


class SourceNotes:
    """Notes about the drawings of an import: the first of them, and how many more there are.

    >>> notes = SourceNotes()
    >>> notes.add(f"oak.svg: text is left out: {number}" for number in range(202))
    >>> notes.list()[-1]
    'and 2 more notes about drawings; floorgate check lists them all'
    """

    def __init__(self) -> None:
        self._notes: list[str] = []
        self._more = 0

    def add(self, notes: Iterable[str]) -> None:
        """Add the notes about a drawing."""
        for note in notes:
            if len(self._notes) < MAX_SOURCE_NOTES:
                self._notes.append(note)
            else:
                self._more += 1

    def list(self) -> list[str]:
        """Return the first notes, and a sentence about the others."""
        more = f"and {self._more:,} more notes about drawings; floorgate check lists them all"
        return [*self._notes, *([more] if self._more else [])]


class ImportCounts(msgspec.Struct):
    """How many records of one kind were inserted, updated, left unchanged or removed.

    Records that lose a reference to a removed one are updated.
    """

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0

    @classmethod
    def sum(cls, parts: Iterable["ImportCounts"]) -> "ImportCounts":
        """Return the sums of counts.

        >>> ImportCounts.sum([ImportCounts(updated=1), ImportCounts(updated=2, removed=3)])
        ImportCounts(inserted=0, updated=3, unchanged=0, removed=3)
        """
        return cls(*map(sum, zip((0, 0, 0, 0), *map(msgspec.structs.astuple, parts), strict=True)))

    def add(self, changes: Sequence[planning.Change]) -> None:
        """Count changes."""
        for change in changes:
            name = "unchanged" if change.is_unchanged else change.operation
            setattr(self, name, getattr(self, name) + 1)

    @property
    def written(self) -> int:
        """Number of records that are written or removed.

        >>> ImportCounts(inserted=2, updated=1, unchanged=40).written
        3
        """
        return self.inserted + self.updated + self.removed


class ImportSummary(msgspec.Struct):
    """What an import changed, or would change; kinds without members are left out."""

    kinds: dict[str, ImportCounts] = {}
    total: ImportCounts = msgspec.field(default_factory=ImportCounts)
    notes: list[str] = []
    """Warnings: valid, but probably a mistake."""
    stale_networks: list[StaleNetwork] = []
    """The networks that are withdrawn, because what they were built from changes."""
    plan: change_plan.ChangePlan | None = None
    """It lists what changes, if it was asked for."""
    refusal: str | None = None
    """Why a dry run would be refused as an import: it removes too much."""
    undo: str | None = None
    """The file that undoes it."""
    undo_options: list[str] = []
    """`floorgate import` of that file needs them."""
    undo_bundle: str | None = None
    """It undoes the import, if it was asked for."""


_logger = logging.getLogger("floorgate.networks")

NO_MEMBERS_NOTE = "there is nothing to import: the files have no records"
MAP_FILE_FIELDS = ("source", catalog.PARSED_FIELD, catalog.NETWORK_FIELD, catalog.PLAN_FIELD)
"""These fields of a map hold the digest of a file."""
WRITES_AT_ONCE = 2


class ImportProgress(NamedTuple):
    """The progress of an import: `done` and `total` are bytes while reading, else members."""

    phase: str
    done: int
    total: int | None


ImportProgressCallback: TypeAlias = Callable[[ImportProgress], None]


class ParsedSource(NamedTuple):
    """A parsed drawing: its JSON, the units and Levels in it, and warnings of the parse."""

    parsed: bytes
    shown: ShownParts = ShownParts()
    warnings: Sequence[str] = ()


SourceParser: TypeAlias = Callable[[bytes], Awaitable[ParsedSource]]
"""Parses a drawing. Raises SourceError."""


def ignore_progress(progress: ImportProgress) -> None:
    """Ignore progress."""


async def _review(
    kind: RecordType[Any],
    changes: Sequence[planning.Change],
    counts: ImportCounts,
    observers: Sequence[planning.ChangeObserver],
) -> None:
    """Count changes of records, and show them to observers."""
    counts.add(changes)
    changed = [change for change in changes if not change.is_unchanged]
    for observer in observers:
        await observer(kind, changed)


class ImportRun:
    """One import, or the rest of an interrupted one."""

    def __init__(
        self, database: driver.Database, lease: ImportLease, progress: ImportProgressCallback
    ) -> None:
        self._database = database
        self._lease = lease
        self._progress = progress
        self._staging = Staging(database, lease.import_id)
        self._removals = Removals(database, self._staging, lease.import_time)
        self._removals.is_empty = lease.state != "removing"  # which an interrupted import was
        self._planner = planning.ChangePlanner(
            database, self._staging, lease.import_time, self._removals.find, is_merge=lease.is_merge
        )
        self._member_count = 0
        self._source_notes = SourceNotes()
        self._audit_trail = AuditTrail()
        self._stale_networks: list[StaleNetwork] = []
        self._publication: Publication | None = None
        self._violations = Violations()
        self._notes: list[str] = []
        self._mirrored: dict[str, Document] = {}
        self._unused_floors: list[str] = []

    async def stage(
        self, bundles: Sequence[BundleSource], parse_source: SourceParser | None
    ) -> None:
        """Read the bundles into the staging collections, as far as they can be read."""
        violations = self._violations
        writer = planning.PipelinedWriter()
        total = count_total_bytes(bundles)
        tables = TableReader(await self._load_groups(bundles))
        batches = read_batches(bundles, violations, tables, are_partial=self._lease.is_merge)
        try:
            while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                self._lease.check_held()
                for member in batch.members:
                    if "source" in member.document:
                        member.document.update(dict.fromkeys(catalog.PARSED_FIELDS))
                    if member.document.get("source") is not None:
                        await self._store_drawing(member, batch.directory, parse_source)
                await writer.submit(self._staging.add_members(batch.members, violations))
                self._member_count += len(batch.members)
                self._progress(ImportProgress("reading", batch.bytes_read, total))
        finally:
            await writer.drain()
        for rejected in violations.rejected.members:
            if rejected.document.get("source") is not None:
                await self._store_drawing(rejected, rejected.directory, parse_source)
        await self._staging.build_indexes(violations)
        self._notes = tables.notes

    async def _load_groups(self, bundles: Sequence[BundleSource]) -> list[Document]:
        """Return the attribute groups in the catalog, which columns of spreadsheets add to."""
        if not any(map(is_table, bundles)):
            return []
        groups: list[Document] = (
            await self._database[catalog.ATTRIBUTE_GROUPS.name].find({}).to_list(None)
        )
        return groups

    async def stage_removals(self, request: change_plan.ChangeRequest) -> None:
        """Stage what is removed, and what depends on it. Raises BundleError."""
        if not request.mirrors and not request.removed_keys:
            return
        if request.mirrors:
            self._mirrored = mirroring.find_mirrored(self._violations.mentions, request.asset_ids)

        async def stage() -> None:
            await self._removals.discard()
            self._unused_floors = []
            if request.removed_keys:
                kind = mirroring.find_kind(request.removed_kind)
                found = await mirroring.find_named(self._database, kind, request.removed_keys)
                await self._removals.stage(kind, found)
            for name, where in self._mirrored.items():
                self._lease.check_held()
                used_in = mirroring.find_users(self._violations.mentions, name)
                kind = catalog.RECORD_TYPES_BY_NAME[name]
                self._unused_floors += await self._removals.stage_absent(kind, where, used_in)
            await self._removals.stage_dependents()

        # Reads that lacked a staged member would remove its record.
        await driver.run_on_one_primary(self._database, catalog.MAPS.name, stage)

    async def stage_publication(self, publication: Publication) -> None:
        """Stage a network that is published once the members are written."""
        self._publication = publication
        await stage_publication(self._database, self._staging.publication, publication)

    async def _store_drawing(
        self,
        member: BundleMember | RejectedMember,
        directory: Path | None,
        parse_source: SourceParser | None,
    ) -> None:
        """Store a map's drawing and its parsed form as files; the map gets their digests."""
        document = member.document
        try:
            content = await asyncio.to_thread(read_source, document["source"], directory)
            document["source"] = await files.write_file(self._database, content)
            if parse_source is not None:
                drawing = await parse_source(content)
                document[catalog.PARSED_FIELD] = await files.write_file(
                    self._database, drawing.parsed
                )
                document[catalog.GEOREFERENCE_FIELD] = catalog.find_georeference(drawing.parsed)
                document[SHOWN_FIELD] = drawing.shown
                place = self._violations.columns.describe(f"{member.origin}.source")
                self._source_notes.add(f"{place}: {warning}" for warning in drawing.warnings)
        except SourceError as error:
            self._violations.add(f"{member.origin}.source", str(error))

    async def validate(
        self,
        request: change_plan.ChangeRequest = change_plan.NO_REMOVALS,
        undo: change_plan.UndoBundle | None = None,
    ) -> ImportSummary:
        """Validate the staged members and count what changes.

        Raises BundleError with what is wrong with them and with those that could not be read.
        """
        validator = BundleValidator(
            self._database,
            self._staging,
            self._planner.owner_caches,
            self._violations,
            self._removals.find,
            request.asset_ids,
        )
        await validator.validate_asset_ids()
        recorder = change_plan.PlanRecorder(self._database, request.write_change)
        summary = ImportSummary()
        networks = StaleNetworks(self._database)
        observers: list[planning.ChangeObserver] = [self._audit_trail.add, networks.add]
        observers += [recorder.add] if request.needs_plan else []
        observers += [undo.add] if undo is not None else []
        done = 0
        for kind in catalog.RECORD_TYPES:
            counts = ImportCounts()
            async for batch in self._planner.plan_batches(kind):
                self._lease.check_held()
                await validator.validate_batch(kind, batch)
                if kind is catalog.MAPS:
                    networks.add_maps(batch.changes)
                await _review(kind, batch.changes, counts, observers)
                done += len(batch.changes) + len(batch.incomplete)
                self._progress(ImportProgress("checking", done, self._member_count))
            async for changes in self._removals.iter_changes(kind):
                self._lease.check_held()
                await _review(kind, changes, counts, observers)
            if counts != ImportCounts():
                summary.kinds[kind.name] = counts
        await validator.validate_rejected()
        notes = [*self._notes, *self._source_notes.list()]
        self._violations.raise_if_any(notes)
        notes += [*await validator.collect_notes(), *await self._note_unmentioned(request)]
        notes += networks.list_losses()
        summary.notes = [*map(to_printable, notes)]
        is_empty = not (self._member_count or self._publication or request.removed_keys)
        if is_empty:
            summary.notes.append(NO_MEMBERS_NOTE)
        summary.stale_networks = self._stale_networks = await networks.find()
        summary.total = ImportCounts.sum(summary.kinds.values())
        summary.plan = recorder.finish() if request.needs_plan else None
        return summary

    async def _note_unmentioned(self, request: change_plan.ChangeRequest) -> list[str]:
        if not request.mirrors:
            return []
        mentions = self._violations.mentions
        notes = await mirroring.note_unmentioned_assets(self._database, mentions, request.asset_ids)
        return [*notes, *mirroring.note_unused_floors(self._unused_floors)]

    async def find_excess(self, request: change_plan.ChangeRequest) -> str | None:
        """Return what exceeds the limit of removals; None if nothing does."""
        if self._removals.is_empty:
            return None
        mentions, mirrored = self._violations.mentions, self._mirrored
        assets = mirroring.list_mirrored_assets(mentions, mirrored, request.asset_ids)
        return await mirroring.find_excess(
            self._database, self._removals, request.limit, mirrored, assets
        )

    @property
    def changes_networks(self) -> bool:
        """True if the import withdraws or publishes a network, even if it writes no member."""
        withdraws = any(not network.is_withdrawn for network in self._stale_networks)
        return withdraws or self._publication is not None

    async def commit(
        self,
        target: audit.AuditTarget,
        origin: audit.Origin | None,
        action: audit.Action = "catalog.imported",
    ) -> None:
        """Commit the import, with its record in the audit log, and withdraw stale networks.

        Raises NetworkOutdatedError if the network that it publishes is.
        """
        entry = self._audit_trail.build_entry(action, target)

        async def work(session: driver.Session) -> tuple[None, audit.AuditEntry | None]:
            if self._publication is not None:
                map_id, built_from = self._publication.map_id, self._publication.built_from
                await check_unchanged(self._database, map_id, built_from, session)
            await self._lease.begin_applying(session, removes=not self._removals.is_empty)
            stale = [*self._stale_networks]
            if self._publication is not None and entry.changes:
                stale.append(StaleNetwork(self._publication.map_id, PLAN_REPLACED, False))
            withdrawn = await withdraw_stale_networks(self._database, stale, session)
            changes = [*entry.changes, *withdrawn]
            return None, entry._replace(changes=changes) if changes else None

        await audit.run_in_transaction(self._database, origin, work)
        for network in self._stale_networks:
            if network.is_withdrawn:
                continue
            fields = {"map_id": network.map_id, "reason": network.reason}
            _logger.info("network withdrawn", extra={"fields": fields})

    async def apply(self, total: int | None) -> None:
        """Write the changes of the staged members, then remove what is staged to be removed, and
        publish the staged network.

        Repeating it changes nothing more.
        """

        async def write_all() -> None:
            await self._write_all(total)

        await driver.run_on_one_primary(self._database, catalog.MAPS.name, write_all)
        await publish_staged(self._database, self._staging.publication, self._lease)

    async def _write_all(self, total: int | None) -> None:
        writer = planning.PipelinedWriter(WRITES_AT_ONCE)
        done = 0
        try:
            for kind in catalog.RECORD_TYPES:
                where = {"kind": kind.name}
                has_tombstones = (
                    kind is catalog.ASSIGNMENTS  # requests may write some now
                    or await self._database[TOMBSTONES.name].find_one(where) is not None
                )
                async for batch in self._planner.plan_batches(kind):
                    await writer.submit(
                        write_changes(
                            self._database, self._lease, kind, batch.changes, has_tombstones
                        )
                    )
                    done += sum(not change.is_unchanged for change in batch.changes)
                    self._progress(ImportProgress("writing", done, total))
                # Owners are visible before the members that refer to them.
                await writer.drain()
        finally:
            await writer.drain()
        if self._lease.state == "removing":

            def report(count: int) -> None:
                nonlocal done
                done += count
                self._progress(ImportProgress("removing", done, total))

            await apply_removals(self._database, self._removals, self._lease, report)

    async def clean_up(self) -> None:
        """Drop the staged members and the files that no map refers to; end the import."""
        names = await self._staging.list_names()
        # Whoever holds the lease now has held it when these were listed: they are of no other.
        await self._lease.update({})
        await self._staging.drop(names)
        maps = self._database[catalog.MAPS.name]

        async def list_used_files() -> list[str]:
            return [digest for field in MAP_FILE_FIELDS for digest in await maps.distinct(field)]

        used = await driver.run_on_one_primary(self._database, catalog.MAPS.name, list_used_files)
        await files.delete_unused_files(self._database, used, self._renew_lease)
        await self._lease.finish()

    async def _renew_lease(self, session: driver.Session) -> None:
        await self._lease.update({}, session)
