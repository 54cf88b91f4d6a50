"""The steps of one import: stage, validate, apply, clean up."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from storage.administration import audit
from storage.administration.audit import AuditEntry, Origin
from storage.administration.import_lease import ImportLease
from storage.bundles.importing.audit_trail import AuditTrail
from storage.bundles.importing.pipelining import PipelinedWriter
from storage.bundles.importing.planning import ChangePlanner, MemberChange
from storage.bundles.importing.staging import SHOWN_UNITS_FIELD, Staging
from storage.bundles.importing.stale_networks import (
    PLAN_REPLACED,
    StaleNetworks,
    withdraw_stale_networks,
)
from storage.bundles.importing.validation import BundleValidator
from storage.bundles.reading.batches import BundleSource, count_total_bytes, read_batches
from storage.bundles.reading.parser import BundleMember
from storage.bundles.reading.sources import SourceError, read_source
from storage.bundles.reading.violations import Violations
from storage.catalog import RECORD_TYPES
from storage.maps import MAPS, NETWORK_FIELD
from storage.mongo import driver, files
from storage.publication import Publication, check_unchanged, publish_staged, stage_publication
from storage.records.kinds import Document
from storage.routing_inputs import StaleNetwork

_logger = logging.getLogger("floorgate.networks")

MAP_FILE_FIELDS = ("source", "parsed", NETWORK_FIELD)
"""Fields of a map that hold the digest of a file."""


WRITES_AT_ONCE = 2


class ImportProgress(NamedTuple):
    """How far an import is. `done` and `total` are bytes while reading, else members."""

    phase: str
    done: int
    total: int | None


ImportProgressCallback: TypeAlias = Callable[[ImportProgress], None]


class ImportCounts(msgspec.Struct):
    """How many members of one kind were inserted, updated or left unchanged."""

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0

    @property
    def written(self) -> int:
        """Number of members that are written.

        >>> ImportCounts(inserted=2, updated=1, unchanged=40).written
        3
        """
        return self.inserted + self.updated


class ImportSummary(msgspec.Struct):
    """What an import changed, or would change; kinds without members are left out."""

    kinds: dict[str, ImportCounts] = {}
    total: ImportCounts = msgspec.field(default_factory=ImportCounts)
    notes: list[str] = []
    """Warnings: valid, but probably a mistake."""
    stale_networks: list[StaleNetwork] = []
    """The networks that are withdrawn, because what they were built from changes."""


class ParsedSource(NamedTuple):
    """A parsed drawing: its JSON, and the ids of the units in it."""

    parsed: bytes
    unit_ids: Sequence[str] = ()


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
        self._planner = ChangePlanner(
            database, self._staging, lease.import_time, is_merge=lease.is_merge
        )
        self._member_count = 0
        self._audit_trail = AuditTrail()
        self._stale_networks: list[StaleNetwork] = []
        self._publication: Publication | None = None

    async def stage(
        self, bundles: Sequence[BundleSource], parse_source: SourceParser | None
    ) -> None:
        """Read the bundles into the staging collections. Raises BundleError."""
        violations = Violations()
        writer = PipelinedWriter()
        total = count_total_bytes(bundles)
        batches = read_batches(bundles, violations, are_partial=self._lease.is_merge)
        try:
            while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                self._lease.check_held()
                for member in batch.members:
                    if "source" in member.document:
                        member.document["parsed"] = None
                    if member.document.get("source") is not None:
                        await self._store_drawing(member, batch.directory, parse_source, violations)
                await writer.submit(self._staging.add_members(batch.members, violations))
                self._member_count += len(batch.members)
                self._progress(ImportProgress("reading", batch.bytes_read, total))
        finally:
            await writer.drain()
        await self._staging.build_indexes(violations)
        violations.raise_if_any()

    async def stage_publication(self, publication: Publication) -> None:
        """Stage a network that is published once the members are written."""
        self._publication = publication
        await stage_publication(self._database, self._staging.publication, publication)

    async def _store_drawing(
        self,
        member: BundleMember,
        directory: Path | None,
        parse_source: SourceParser | None,
        violations: Violations,
    ) -> None:
        """Store a map's drawing and its parsed form as files; the map gets their digests."""
        document = member.document
        try:
            content = await asyncio.to_thread(read_source, document["source"], directory)
            document["source"] = await files.write_file(self._database, content)
            if parse_source is not None:
                drawing = await parse_source(content)
                document["parsed"] = await files.write_file(self._database, drawing.parsed)
                document[SHOWN_UNITS_FIELD] = list(drawing.unit_ids)
        except SourceError as error:
            violations.add(f"{member.origin}.source", str(error))

    async def validate(self) -> ImportSummary:
        """Validate the staged members and count what they change. Raises BundleError."""
        violations = Violations()
        validator = BundleValidator(
            self._database, self._staging, self._planner.owner_caches, violations
        )
        summary = ImportSummary()
        networks = StaleNetworks(self._database)
        done = 0
        for kind in RECORD_TYPES:
            counts = ImportCounts()
            async for batch in self._planner.plan_batches(kind):
                self._lease.check_held()
                await validator.validate_batch(kind, batch)
                for change in batch.changes:
                    _count_change(counts, change)
                    _count_change(summary.total, change)
                self._audit_trail.add_batch(kind, batch)
                await networks.add_batch(kind, batch)
                done += len(batch.changes) + len(batch.incomplete)
                self._progress(ImportProgress("checking", done, self._member_count))
            if counts != ImportCounts():
                summary.kinds[kind.name] = counts
        violations.raise_if_any()
        summary.notes = await validator.collect_notes()
        summary.stale_networks = self._stale_networks = await networks.find()
        return summary

    @property
    def changes_networks(self) -> bool:
        """Whether the import withdraws or publishes a network, even if it writes no member."""
        withdraws = any(not network.is_withdrawn for network in self._stale_networks)
        return withdraws or self._publication is not None

    async def commit(self, bundle_names: list[str], origin: Origin | None) -> None:
        """Commit the import, with its record in the audit log, and withdraw stale networks.

        Raises NetworkOutdatedError if the network that it publishes is.
        """
        entry = self._audit_trail.build_entry(bundle_names)

        async def work(session: driver.Session) -> tuple[None, AuditEntry | None]:
            if self._publication is not None:
                map_id, built_from = self._publication.map_id, self._publication.built_from
                await check_unchanged(self._database, map_id, built_from, session)
            await self._lease.begin_applying(session)
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
        """Write the changes of the staged members, and publish the staged network.

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
                async for batch in self._planner.plan_batches(kind):
                    await writer.submit(
                        self._write_changes(self._database[kind.name], batch.changes)
                    )
                    done += sum(change.fields is not None for change in batch.changes)
                    self._progress(ImportProgress("writing", done, total))
                # Owners are visible before the members that refer to them.
                await writer.drain()
        finally:
            await writer.drain()

    async def _write_changes(
        self, collection: driver.Collection, changes: list[MemberChange]
    ) -> None:
        new, updates = _build_writes(changes)
        if new:
            self._lease.check_held()
            # Records that an assignment request has created since become updates.
            taken = await driver.insert_absent(collection, new)
            updates += [
                driver.UpdateOne({"_id": document.pop("_id")}, {"$set": document})
                for document in taken
            ]
        if updates:
            self._lease.check_held()
            await collection.bulk_write(updates, ordered=False)

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


def _count_change(counts: ImportCounts, change: MemberChange) -> None:
    if change.fields is None:
        counts.unchanged += 1
    elif change.is_new:
        counts.inserted += 1
    else:
        counts.updated += 1


def _build_writes(changes: list[MemberChange]) -> tuple[list[Document], list[driver.UpdateOne]]:
    new = []
    updates = []
    for key, is_new, fields in changes:
        if fields is not None and is_new:
            new.append({"_id": key, **fields})
        elif fields is not None:
            updates.append(driver.UpdateOne({"_id": key}, {"$set": fields}))
    return new, updates
