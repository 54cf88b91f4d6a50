"""The steps of one import: stage, validate, apply, clean up."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from storage.administration import audit
from storage.administration.audit import Action, AuditEntry, AuditTarget, Origin
from storage.administration.import_lease import ImportLease
from storage.bundles.changes.change_plan import PlanRecorder
from storage.bundles.changes.change_request import NO_REMOVALS, ChangeRequest
from storage.bundles.changes.observer import ChangeObserver
from storage.bundles.changes.undo_file import UndoBundle
from storage.bundles.importing.audit_trail import AuditTrail
from storage.bundles.importing.pipelining import PipelinedWriter
from storage.bundles.importing.planning import ChangePlanner
from storage.bundles.importing.staging import SHOWN_FIELD, Staging
from storage.bundles.importing.stale_networks import PLAN_REPLACED, StaleNetworks
from storage.bundles.importing.summary import ImportCounts, ImportSummary, SourceNotes
from storage.bundles.importing.validation import BundleValidator
from storage.bundles.importing.writing import write_changes
from storage.bundles.reading.batches import (
    BundleSource,
    count_total_bytes,
    is_table,
    read_batches,
)
from storage.bundles.reading.parser import BundleMember
from storage.bundles.reading.rejected import RejectedMember
from storage.bundles.reading.sources import SourceError, read_source
from storage.bundles.reading.tables.reader import TableReader
from storage.bundles.reading.violations import Violations, to_printable
from storage.bundles.removing.applying import apply_removals
from storage.bundles.removing.mirrored import (
    find_excess,
    find_mirrored,
    find_users,
    list_mirrored_assets,
)
from storage.bundles.removing.named_records import find_kind, find_named
from storage.bundles.removing.removals import Removals
from storage.bundles.removing.unmentioned import note_unmentioned_assets, note_unused_floors
from storage.bundles.shown_parts import ShownParts
from storage.catalog import (
    ASSIGNMENTS,
    ATTRIBUTE_GROUPS,
    GEOREFERENCE_FIELD,
    MAPS,
    NETWORK_FIELD,
    PARSED_FIELD,
    PARSED_FIELDS,
    PLAN_FIELD,
    RECORD_TYPES,
    RECORD_TYPES_BY_NAME,
    find_georeference,
)
from storage.mongo import driver, files
from storage.publication import Publication, check_unchanged, publish_staged, stage_publication
from storage.records.kinds import Document, RecordType
from storage.routing_inputs import StaleNetwork, withdraw_stale_networks
from storage.tombstones import TOMBSTONES

_logger = logging.getLogger("floorgate.networks")

NO_MEMBERS_NOTE = "there is nothing to import: the files have no records"
MAP_FILE_FIELDS = ("source", PARSED_FIELD, NETWORK_FIELD, PLAN_FIELD)
"""Fields of a map that hold the digest of a file."""
WRITES_AT_ONCE = 2


class ImportProgress(NamedTuple):
    """How far an import is. `done` and `total` are bytes while reading, else members."""

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
        self._planner = ChangePlanner(
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
        writer = PipelinedWriter()
        total = count_total_bytes(bundles)
        tables = TableReader(await self._load_groups(bundles))
        batches = read_batches(bundles, violations, tables, are_partial=self._lease.is_merge)
        try:
            while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                self._lease.check_held()
                for member in batch.members:
                    if "source" in member.document:
                        member.document.update(dict.fromkeys(PARSED_FIELDS))
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
        groups: list[Document] = await self._database[ATTRIBUTE_GROUPS.name].find({}).to_list(None)
        return groups

    async def stage_removals(self, request: ChangeRequest) -> None:
        """Stage what is removed, and what depends on it. Raises BundleError."""
        if not request.mirrors and not request.removed_keys:
            return
        if request.mirrors:
            self._mirrored = find_mirrored(self._violations.mentions, request.asset_ids)

        async def stage() -> None:
            await self._removals.discard()
            self._unused_floors = []
            if request.removed_keys:
                kind = find_kind(request.removed_kind)
                found = await find_named(self._database, kind, request.removed_keys)
                await self._removals.stage_named(kind, found)
            for name, where in self._mirrored.items():
                self._lease.check_held()
                used_in = find_users(self._violations.mentions, name)
                kind = RECORD_TYPES_BY_NAME[name]
                self._unused_floors += await self._removals.stage_absent(kind, where, used_in)
            await self._removals.stage_dependents()

        # Reads that lacked a staged member would remove its record.
        await driver.run_on_one_primary(self._database, MAPS.name, stage)

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
                document[PARSED_FIELD] = await files.write_file(self._database, drawing.parsed)
                document[GEOREFERENCE_FIELD] = find_georeference(drawing.parsed)
                document[SHOWN_FIELD] = drawing.shown
                place = self._violations.columns.describe(f"{member.origin}.source")
                self._source_notes.add(f"{place}: {warning}" for warning in drawing.warnings)
        except SourceError as error:
            self._violations.add(f"{member.origin}.source", str(error))

    async def validate(
        self, request: ChangeRequest = NO_REMOVALS, undo: UndoBundle | None = None
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
        recorder = PlanRecorder(self._database, request.write_change)
        summary = ImportSummary()
        networks = StaleNetworks(self._database)
        observers: list[ChangeObserver] = [self._audit_trail, networks]
        observers += [recorder] if request.needs_plan else []
        observers += [undo] if undo is not None else []
        done = 0
        for kind in RECORD_TYPES:
            counts = ImportCounts()
            async for batch in self._planner.plan_batches(kind):
                self._lease.check_held()
                await validator.validate_batch(kind, batch)
                for change in batch.changes:
                    counts.add(change)
                for observer in observers:
                    await observer.add_batch(kind, batch)
                done += len(batch.changes) + len(batch.incomplete)
                self._progress(ImportProgress("checking", done, self._member_count))
            await self._review_removals(kind, counts, observers)
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

    async def _note_unmentioned(self, request: ChangeRequest) -> list[str]:
        if not request.mirrors:
            return []
        mentions = self._violations.mentions
        notes = await note_unmentioned_assets(self._database, mentions, request.asset_ids)
        return [*notes, *note_unused_floors(self._unused_floors)]

    async def _review_removals(
        self, kind: RecordType[Any], counts: ImportCounts, observers: Sequence[ChangeObserver]
    ) -> None:
        """Count what of a kind is removed, and what loses references, and show it to observers."""
        if self._removals.is_empty:
            return
        async for removals in self._removals.iter_removed(kind):
            self._lease.check_held()
            live = await self._load(kind, [each["_id"] for each in removals])
            counts.removed += len(removals)
            for observer in observers:
                await observer.add_removed(kind, removals, live)
        async for fields in self._removals.iter_cleared(kind):
            live = await self._load(kind, [*fields])
            counts.updated += len(live)
            for observer in observers:
                await observer.add_cleared(kind, fields, live)

    async def _load(self, kind: RecordType[Any], keys: list[str]) -> list[Document]:
        where = {"_id": {"$in": keys}}
        found = await self._database[kind.name].find(where, sort=[("_id", 1)]).to_list(None)
        return [kind.fill_defaults(document) for document in found]

    async def find_excess(self, request: ChangeRequest) -> str | None:
        """Return what exceeds the limit of removals; None if nothing does."""
        if self._removals.is_empty:
            return None
        mentions, mirrored = self._violations.mentions, self._mirrored
        assets = list_mirrored_assets(mentions, mirrored, request.asset_ids)
        return await find_excess(self._database, self._removals, request.limit, mirrored, assets)

    @property
    def changes_networks(self) -> bool:
        """Whether the import withdraws or publishes a network, even if it writes no member."""
        withdraws = any(not network.is_withdrawn for network in self._stale_networks)
        return withdraws or self._publication is not None

    async def commit(
        self, target: AuditTarget, origin: Origin | None, action: Action = "catalog.imported"
    ) -> None:
        """Commit the import, with its record in the audit log, and withdraw stale networks.

        Raises NetworkOutdatedError if the network that it publishes is.
        """
        entry = self._audit_trail.build_entry(action, target)

        async def work(session: driver.Session) -> tuple[None, AuditEntry | None]:
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

        await driver.run_on_one_primary(self._database, MAPS.name, write_all)
        await publish_staged(self._database, self._staging.publication, self._lease)

    async def _write_all(self, total: int | None) -> None:
        writer = PipelinedWriter(WRITES_AT_ONCE)
        done = 0
        try:
            for kind in RECORD_TYPES:
                where = {"kind": kind.name}
                has_tombstones = (
                    kind is ASSIGNMENTS  # requests may write some now
                    or await self._database[TOMBSTONES.name].find_one(where) is not None
                )
                async for batch in self._planner.plan_batches(kind):
                    await writer.submit(
                        write_changes(
                            self._database, self._lease, kind, batch.changes, has_tombstones
                        )
                    )
                    done += sum(change.fields is not None for change in batch.changes)
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
        maps = self._database[MAPS.name]

        async def list_used_files() -> list[str]:
            return [digest for field in MAP_FILE_FIELDS for digest in await maps.distinct(field)]

        used = await driver.run_on_one_primary(self._database, MAPS.name, list_used_files)
        await files.delete_unused_files(self._database, used, self._renew_lease)
        await self._lease.finish()

    async def _renew_lease(self, session: driver.Session) -> None:
        await self._lease.update({}, session)
