"""Importing bundles: all of them or none, even if something fails or the process is killed.

1. Members are read and staged in separate collections (`batches`, `staging`).
2. What is removed is staged, with all that depends on it (`removals`).
3. They are validated against each other and the catalog (`validation`).
4. Their changes are applied: idempotent, owners first, so that readers always see a consistent
   catalog. Then a network that was built from the same plan is published.

A lease lets one process import at a time and completes what a killed one began to apply.
"""

import asyncio
import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, get_args

import msgspec

from storage import catalog
from storage.administration import api_keys, audit, import_lease
from storage.administration.saved_endpoints import ENDPOINTS_COLLECTION
from storage.administration.trusted_documents import DOCUMENTS_COLLECTION
from storage.attribute_assignments import write_assignments
from storage.bundles.drawings import ParsedSource, SourceError, read_source
from storage.bundles.json_bundles import BundleMember
from storage.bundles.violations import (
    Mentions,
    RejectedMember,
    Violations,
    list_first,
    to_printable,
)
from storage.errors import (
    ImportIdTakenError,
    ImportRunningError,
    PlanChangedError,
    RemovalRefusedError,
)
from storage.importing import change_plan, planning, removals
from storage.importing.batches import (
    BundleSource,
    count_total_bytes,
    digest_bundle,
    get_bundle_name,
    read_batches,
    to_spreadsheet,
)
from storage.importing.staging import SHOWN_FIELD, Staging
from storage.importing.validation import NO_MEMBERS_NOTE, BundleValidator
from storage.mongo import driver, files, raw_documents
from storage.publication import Publication, check_unchanged, publish_staged, stage_publication
from storage.records.kinds import Document, RecordType
from storage.routing_inputs import StaleNetwork, list_stale_networks, withdraw_stale_networks
from storage.setup.preparation import MIGRATIONS_COLLECTION, STATE_ID, prepare_database
from storage.spreadsheets.reader import TableReader
from storage.tombstones import TOMBSTONES, end_tombstones


async def write_changes(
    database: driver.Database,
    lease: import_lease.ImportLease,
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
        by_key = {each["_id"]: each for each in updated}

        async def update_assignments(session: driver.Session) -> None:
            lease.check_held()
            await write_assignments(database, by_key, session)

        # With tombstones of those that they replace: requests may have changed some since the plan.
        await driver.run_in_transaction(database.client, update_assignments)
    elif updated:
        lease.check_held()
        updates = [driver.UpdateOne({"_id": each["_id"]}, {"$set": each}) for each in updated]
        await database[kind.name].bulk_write(updates, ordered=False)


BUNDLES = "bundles"


class AuditTrail:
    """Collects the changes of an import."""

    def __init__(self) -> None:
        self._counts = Counter[tuple[str, audit.Operation]]()
        self._ids = defaultdict[tuple[str, audit.Operation], list[str]](list)
        self._asset_ids: set[str] = set()

    async def add(self, kind: RecordType[Any], changes: Sequence[planning.Change]) -> None:
        """Add changes."""
        for change in changes:
            key = kind.name, change.operation
            self._counts[key] += 1
            if self._counts[key] <= audit.MAX_LISTED_IDS:
                self._ids[key].append(change.key)
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
MORE_SOURCE_NOTES = "notes about drawings; floorgate check lists them all"


class ImportCounts(msgspec.Struct):
    """How many records of one kind were inserted, updated, left unchanged or removed.

    Records that lose a reference to a removed one are updated.
    """

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0

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
    is_repetition: bool = False
    """The import of this id had been made: the counts are what it changed then."""


_network_logger = logging.getLogger("floorgate.networks")

WRITES_AT_ONCE = 2


class ImportProgress(NamedTuple):
    """The progress of an import: `done` and `total` are members, or bytes of bundles being read.

    Where the total is not known, `done` counts members: of standard input, and of spreadsheets, of
    which no part is read before the whole is parsed.
    """

    phase: str
    done: int
    total: int | None


ImportProgressCallback: TypeAlias = Callable[[ImportProgress], None]


SourceParser: TypeAlias = Callable[[bytes], Awaitable[ParsedSource]]
"""Parses a drawing. Raises SourceError."""


def ignore_progress(progress: ImportProgress) -> None:
    """Ignore progress."""


async def _review(
    kind: RecordType[Any],
    changes: Sequence[planning.Change],
    all_counts: Iterable[ImportCounts],
    observers: Sequence[planning.ChangeObserver],
) -> None:
    """Count changes of records, and show them to observers."""
    for counts in all_counts:
        counts.add(changes)
    changed = [change for change in changes if not change.is_unchanged]
    for observer in observers:
        await observer(kind, changed)


@dataclass
class ImportRun:
    """One import, or the rest of an interrupted one."""

    database: driver.Database
    lease: import_lease.ImportLease
    progress: ImportProgressCallback

    def __post_init__(self) -> None:
        database, lease = self.database, self.lease
        self._staging = Staging(database, lease.import_id)
        self._removals = removals.Removals(database, self._staging, lease.import_time)
        self._removals.is_empty = lease.state != "removing"  # which an interrupted import was
        self._planner = planning.ChangePlanner(
            database, self._staging, lease.import_time, self._removals.find, lease.is_merge
        )
        self._member_count = 0
        self._source_notes: list[str] = []
        self._audit_trail = AuditTrail()
        self._stale_networks: list[StaleNetwork] = []
        self._publication: Publication | None = None
        self._violations = Violations()
        self._notes: list[str] = []
        self._mirror = removals.Mirror(Mentions())

    async def stage(
        self, bundles: Sequence[BundleSource], parse_source: SourceParser | None
    ) -> None:
        """Read the bundles into the staging collections, as far as they can be read."""
        violations = self._violations
        writer = planning.PipelinedWriter()
        total = count_total_bytes(bundles)
        tables = TableReader(await self._load_groups(bundles))
        batches = read_batches(bundles, violations, tables, are_partial=self.lease.is_merge)
        try:
            while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                self.lease.check_held()
                for member in batch.members:
                    if "source" in member.document:
                        member.document.update(dict.fromkeys(catalog.PARSED_FIELDS))
                    if member.document.get("source") is not None:
                        await self._store_drawing(member, batch.directory, parse_source)
                await writer.submit(self._staging.add_members(batch.members, violations))
                self._member_count += len(batch.members)
                done = self._member_count if total is None else batch.bytes_read
                self.progress(ImportProgress("reading", done, total))
        finally:
            await writer.drain()
        for rejected in violations.rejected.members:
            if rejected.document.get("source") is not None:
                await self._store_drawing(rejected, rejected.directory, parse_source)
        await self._staging.build_indexes(violations)
        self._notes = tables.notes

    async def _load_groups(self, bundles: Sequence[BundleSource]) -> list[Document]:
        """Return the attribute groups in the catalog, which columns of spreadsheets add to."""
        if not any(map(to_spreadsheet, bundles)):
            return []
        found = self.database[catalog.ATTRIBUTE_GROUPS.name].find({})
        return await driver.read_all(found)

    async def stage_removals(self, request: change_plan.ChangeRequest) -> None:
        """Stage what is removed, and what depends on it. Raises BundleError."""
        if not request.mirrors and not request.removed_keys:
            return
        mentions = self._violations.mentions if request.mirrors else Mentions()
        self._mirror = removals.Mirror(mentions, request.asset_ids)

        async def stage() -> None:
            await self._removals.discard()
            if request.removed_keys:
                kind = removals.find_kind(request.removed_kind)
                found = await removals.find_named(self.database, kind, request.removed_keys)
                await self._removals.stage(kind, found)
            await self._mirror.stage(self._removals, self.lease)
            await self._removals.stage_dependents()

        # Reads that lacked a staged member would remove its record.
        await driver.run_on_one_primary(self.database, catalog.MAPS.name, stage)

    async def stage_publication(self, publication: Publication) -> None:
        """Stage a network that is published once the members are written."""
        self._publication = publication
        await stage_publication(self.database, self._staging.publication, publication)

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
            document["source"] = await files.write_file(self.database, content)
            if parse_source is not None:
                drawing = await parse_source(content)
                document[catalog.PARSED_FIELD] = await files.write_file(
                    self.database, drawing.parsed
                )
                document[catalog.GEOREFERENCE_FIELD] = catalog.find_georeference(drawing.parsed)
                document[SHOWN_FIELD] = drawing.shown
                place = self._violations.columns.describe(f"{member.origin}.source")
                self._source_notes += [f"{place}: {warning}" for warning in drawing.warnings]
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
            self.database,
            self._staging,
            self._planner.owner_caches,
            self._violations,
            self._removals.find,
            request.asset_ids,
        )
        await validator.validate_asset_ids()
        recorder = change_plan.PlanRecorder(self.database, request.write_change)
        summary = ImportSummary()
        networks = change_plan.StaleNetworks(self.database)
        observers: list[planning.ChangeObserver] = [self._audit_trail.add, networks.add]
        observers += [recorder.add] if request.needs_plan else []
        observers += [undo.add] if undo is not None else []
        done = 0
        for kind in catalog.RECORD_TYPES:
            counts = summary.kinds[kind.name] = ImportCounts()
            async for batch in self._planner.plan_batches(kind):
                self.lease.check_held()
                await validator.validate_batch(kind, batch)
                if kind is catalog.MAPS:
                    networks.add_maps(batch.changes)
                await _review(kind, batch.changes, (counts, summary.total), observers)
                done += len(batch.changes) + len(batch.incomplete)
                self.progress(ImportProgress("checking", done, self._member_count))
            async for changes in self._removals.iter_changes(kind):
                self.lease.check_held()
                await _review(kind, changes, (counts, summary.total), observers)
            if counts == ImportCounts():
                del summary.kinds[kind.name]
        await validator.validate_rejected()
        source_notes = list_first(self._source_notes, MAX_SOURCE_NOTES, MORE_SOURCE_NOTES)
        notes = [*self._notes, *source_notes]
        self._violations.raise_if_any(notes)
        notes += await validator.collect_notes()
        notes += await self._mirror.list_notes(self.database)
        notes += networks.list_losses()
        summary.notes = [*map(to_printable, notes)]
        is_empty = not (self._member_count or self._publication or request.removed_keys)
        if is_empty:
            summary.notes.append(NO_MEMBERS_NOTE)
        summary.stale_networks = self._stale_networks = await networks.find()
        summary.plan = recorder.finish() if request.needs_plan else None
        summary.refusal = await self._mirror.find_excess(
            self.database, self._removals, request.limit
        )
        return summary

    @property
    def changes_networks(self) -> bool:
        """True if the import withdraws or publishes a network, even if it writes no member."""
        withdraws = any(not network.is_withdrawn for network in self._stale_networks)
        return withdraws or self._publication is not None

    async def commit(
        self,
        target: audit.AuditTarget,
        action: audit.Action,
        origin: audit.Origin | None,
        import_id: str | None = None,
        outcome: "ImportOutcome | None" = None,
    ) -> None:
        """Commit the import, with its record in the audit log, and withdraw stale networks.

        Raises NetworkOutdatedError if the network that it publishes is.
        """
        entry = self._audit_trail.build_entry(action, target)._replace(
            import_id=import_id, outcome=None if outcome is None else msgspec.to_builtins(outcome)
        )

        async def work(session: driver.Session) -> tuple[None, audit.AuditEntry | None]:
            if self._publication is not None:
                map_id, built_from = self._publication.map_id, self._publication.built_from
                await check_unchanged(self.database, map_id, built_from, session)
            state: import_lease.ImportState = "applying" if self._removals.is_empty else "removing"
            await self.lease.commit(session, state)
            stale = [*self._stale_networks]
            if self._publication is not None and entry.changes:
                stale.append(
                    StaleNetwork(self._publication.map_id, change_plan.PLAN_REPLACED, False)
                )
            withdrawn = await withdraw_stale_networks(self.database, stale, session)
            changes = [*entry.changes, *withdrawn]
            return None, entry._replace(changes=changes) if changes else None

        await audit.run_audited(self.database, origin, work)
        for network in self._stale_networks:
            if network.is_withdrawn:
                continue
            fields = {"map_id": network.map_id, "reason": network.reason}
            _network_logger.info("network withdrawn", extra={"fields": fields})

    async def apply(self, total: int | None) -> None:
        """Write the changes of the staged members, then remove what is staged to be removed, and
        publish the staged network.

        Repeating it changes nothing more.
        """

        write_all = partial(self._write_all, total)
        await driver.run_on_one_primary(self.database, catalog.MAPS.name, write_all)
        await publish_staged(self.database, self._staging.publication, self.lease)

    async def _write_all(self, total: int | None) -> None:
        writer = planning.PipelinedWriter(WRITES_AT_ONCE)
        done = 0
        try:
            for kind in catalog.RECORD_TYPES:
                where = {"kind": kind.name}
                has_tombstones = (
                    kind is catalog.ASSIGNMENTS  # requests may write some now
                    or await self.database[TOMBSTONES.name].find_one(where) is not None
                )
                async for batch in self._planner.plan_batches(kind):
                    await writer.submit(
                        write_changes(
                            self.database, self.lease, kind, batch.changes, has_tombstones
                        )
                    )
                    done += sum(not change.is_unchanged for change in batch.changes)
                    self.progress(ImportProgress("writing", done, total))
                # Owners are visible before the members that refer to them.
                await writer.drain()
        finally:
            await writer.drain()
        if self.lease.state == "removing":

            def report(count: int) -> None:
                nonlocal done
                done += count
                self.progress(ImportProgress("removing", done, total))

            await removals.apply_removals(self.database, self._removals, self.lease, report)

    async def clean_up(self) -> None:
        """Drop the staged members and the files that no map refers to; end the import."""
        names = await self._staging.list_names()
        # Whoever holds the lease now has held it when these were listed: they are of no other.
        await self.lease.update({})
        await self._staging.drop(names)
        maps = self.database[catalog.MAPS.name]

        async def list_used_files() -> list[str]:
            return [
                digest for field in catalog.MAP_FILE_FIELDS for digest in await maps.distinct(field)
            ]

        used = await driver.run_on_one_primary(self.database, catalog.MAPS.name, list_used_files)
        await files.delete_unused_files(self.database, used, partial(self.lease.update, {}))
        await self.lease.finish()


# The collections that a restore has staged are its redo log: what is still staged has yet to be
# switched. So whoever holds the lease next can finish the work of a process that was killed.

SWITCHED_COLLECTIONS = (
    *(kind.name for kind in catalog.RECORD_TYPES),
    api_keys.KEYS_COLLECTION,
    api_keys.USES_COLLECTION,
    DOCUMENTS_COLLECTION,
    ENDPOINTS_COLLECTION,
    TOMBSTONES.name,
    MIGRATIONS_COLLECTION,
)
"""They are switched in this order, each in an instant: readers find the old one or the new one."""

BATCH_BYTES = 1 << 20


async def switch_collections(
    database: driver.Database, lease: import_lease.ImportLease, progress: ImportProgressCallback
) -> None:
    """Replace the collections by those that are staged. Repeating it changes nothing more.

    The audit log keeps its records, and gets those that it lacks.
    """
    prefix = import_lease.get_staging_prefix(lease.import_id)
    await _merge_audit_log(database, prefix + audit.AUDIT_COLLECTION, lease)
    staged = set(await database.list_collection_names())
    for number, name in enumerate(SWITCHED_COLLECTIONS):
        progress(ImportProgress("switching", number, len(SWITCHED_COLLECTIONS)))
        if prefix + name in staged:
            lease.check_held()
            await raw_documents.rename_collection(database, prefix + name, name)


async def _merge_audit_log(
    database: driver.Database, staged_name: str, lease: import_lease.ImportLease
) -> None:
    async for batch in raw_documents.iter_raw_batches(database[staged_name], BATCH_BYTES):
        lease.check_held()
        documents = raw_documents.decode_documents(batch.content)
        await driver.insert_absent(database[audit.AUDIT_COLLECTION], documents)


WAIT_SECONDS = 600.0
"""An import waits for another one for so many seconds."""

_logger = logging.getLogger("floorgate.imports")


@asynccontextmanager
async def hold_import_lease(
    database: driver.Database,
    progress: ImportProgressCallback = ignore_progress,
) -> AsyncIterator[import_lease.ImportLease]:
    """Hold the exclusive right to write the catalog; first finish an interrupted import.

    Raises ImportRunningError after WAIT_SECONDS.
    """
    lease = import_lease.ImportLease(database)
    waiting = ImportProgress("waiting", 0, None)
    if not await lease.acquire(WAIT_SECONDS, lambda: progress(waiting)):
        raise ImportRunningError(
            f"another import is running and did not end within {WAIT_SECONDS:.0f} seconds"
        )
    async with lease.keep_alive():
        await _finish_previous_import(database, lease, progress)
        yield lease


async def finish_interrupted_import(database: driver.Database) -> bool:
    """Finish an interrupted import, or discard it if it was not yet applying.

    Returns False while another process holds the lease: it imports, or died so recently that its
    lease has not expired; retry later. Without an import, this is one small read.
    Raises UnavailableError.
    """
    with driver.translate_errors():
        lease = import_lease.ImportLease(database)
        if await lease.is_idle():
            return True
        if not await lease.try_acquire():
            return False
        async with lease.keep_alive():
            await _finish_previous_import(database, lease, ignore_progress)
        return True


async def _finish_previous_import(
    database: driver.Database, lease: import_lease.ImportLease, progress: ImportProgressCallback
) -> None:
    if lease.state == "idle":
        return
    if lease.state not in get_args(import_lease.ImportState):
        raise ImportRunningError(
            f"a newer release was interrupted while {lease.state}: let one of its gateways finish"
        )
    import_ = {"import_id": lease.import_id, "state": lease.state, "started": lease.import_time}
    fields = {**import_, **lease.started_by}
    _logger.warning("finishing an import that was interrupted", extra={"fields": fields})
    run = ImportRun(database, lease, progress)
    if lease.state in ("applying", "removing"):
        await run.apply(None)
    elif lease.state == "restoring":
        await switch_collections(database, lease, progress)
    await run.clean_up()


POLL_SECONDS = 0.25
CHANGING_STATES = ("applying", "removing", "restoring")
"""States of the import lease in which the catalog is neither the old nor the new one."""


@asynccontextmanager
async def open_settled_snapshot(
    database: driver.Database,
    progress: ImportProgressCallback = ignore_progress,
) -> AsyncIterator[driver.Session]:
    """Open a session that reads a snapshot in which no import is half applied.

    Waits for an import that is being applied, and finishes one that was killed. Raises
    ImportRunningError, UnavailableError.
    """
    waited = 0.0
    while waited <= WAIT_SECONDS:
        async with driver.open_snapshot_session(database.client) as session:
            if await _is_settled(database, session):
                yield session
                return
        progress(ImportProgress("waiting", 0, None))
        await finish_interrupted_import(database)
        await asyncio.sleep(POLL_SECONDS)
        waited += POLL_SECONDS
    raise ImportRunningError(
        f"an import is being applied and did not end within {WAIT_SECONDS:.0f} s"
    )


async def _is_settled(database: driver.Database, session: driver.Session) -> bool:
    try:
        # The first read sets the moment, if its collection exists.
        await raw_documents.find_in_snapshot(database[MIGRATIONS_COLLECTION], STATE_ID, session)
        lease = await raw_documents.find_in_snapshot(
            database[import_lease.LEASE_COLLECTION], import_lease.LEASE_ID, session
        )
    except raw_documents.SnapshotLostError:  # the collection is as new as the snapshot
        return False
    return (lease or {}).get("state") not in CHANGING_STATES


COMMITTED = "the import is committed: a gateway or the next import writes the rest of it"


async def import_bundles(
    database: driver.Database,
    bundles: Sequence[BundleSource],
    *,
    parse_source: SourceParser | None = None,
    dry_run: bool = False,
    progress: ImportProgressCallback = ignore_progress,
    origin: audit.Origin | None = None,
    publication: Publication | None = None,
    changes: change_plan.ChangeRequest = change_plan.NO_REMOVALS,
    review: Callable[[ImportSummary], None] = lambda summary: None,
) -> ImportSummary:
    """Import the bundles as one and return what changed; a dry run only says what would change.

    A network of one of their maps is published with them. `changes` says what else is
    done, and `review` is called with what will change before any of it does.

    Raises BundleError if anything in them is invalid, NetworkOutdatedError if the network is
    outdated, RemovalRefusedError if too much would be removed, PlanChangedError if the plan is not
    the expected one, ImportIdTakenError if its id is that of another import (nothing has changed
    then), ImportRunningError if another import does not end, UnavailableError.
    """
    undo_path = None if dry_run else changes.undo_path
    max_bytes = changes.max_undo_bytes
    import_id = changes.import_id
    content = "" if import_id is None else await asyncio.to_thread(_digest, bundles, changes)
    shown = None if max_bytes is None else BytesIO()
    with driver.translate_errors(), change_plan.open_undo_file(undo_path) as file:
        target = file or shown
        undo = None if target is None else change_plan.UndoBundle(database, target, max_bytes)
        await prepare_database(database)
        async with hold_import_lease(database, progress) as lease:
            # Here, so that an import of this id that was interrupted has been finished.
            if import_id is not None and (
                past := await _find_past(database, origin, import_id, content)
            ):
                return past
            by = audit.describe_origin(origin) | ({"given_id": import_id} if import_id else {})
            await lease.begin_staging(is_merge=changes.merges, started_by=by)
            run = ImportRun(database, lease, progress)
            try:
                await run.stage(bundles, parse_source)
                if publication is not None:
                    await run.stage_publication(publication)
                await run.stage_removals(changes)
                summary = await run.validate(changes, undo)
                if shown is not None:
                    summary.undo_bundle = shown.getvalue().decode()
                if not dry_run:
                    _check(summary, changes)
                if (summary.total.written or run.changes_networks) and not dry_run:
                    if undo is not None and file is not None:
                        if undo.count:  # else there is nothing to undo
                            summary.undo = str(file.path)
                        summary.undo_options = undo.options
                    review(summary)
                    if file is not None and summary.undo is not None:
                        file.keep()
                    digest = "" if summary.plan is None else summary.plan.digest
                    outcome = ImportOutcome(content, digest, summary.kinds) if import_id else None
                    await run.commit(*_name_target(bundles, changes), origin, import_id, outcome)
                    try:
                        await run.apply(summary.total.written)
                        await run.clean_up()
                    except BaseException as error:  # also the cancellation of a command
                        error.add_note(COMMITTED)
                        raise
            finally:
                # If applying fails, keep the staged data: the next lease holder finishes it. So
                # too if it is unknown whether the commit succeeded.
                if lease.state == "staging":
                    await run.clean_up()
            return summary


class ImportOutcome(msgspec.Struct):
    """What is kept of an import that was given an id, in its record in the audit log."""

    content: str
    plan_digest: str
    kinds: dict[str, ImportCounts]


def _digest(bundles: Sequence[BundleSource], changes: change_plan.ChangeRequest) -> str:
    """Return a digest of what is imported, by which an import is told from another one."""
    assets = None if changes.asset_ids is None else sorted(changes.asset_ids)
    options = (changes.merges, changes.mirrors, assets, changes.force_drawings)
    removed = (changes.removed_kind, changes.removed_keys)
    parts = [*map(digest_bundle, bundles), *options, *removed]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


async def _find_past(
    database: driver.Database, origin: audit.Origin | None, import_id: str, content: str
) -> ImportSummary | None:
    """Return what the import of this id has changed; None if there was none."""
    record = await audit.find_import(database, origin, import_id)
    if record is None:
        return None
    outcome = msgspec.convert(record["outcome"], ImportOutcome)
    at = f"{record['at']:%Y-%m-%dT%H:%M:%SZ}"
    if outcome.content != content:
        raise ImportIdTakenError(
            f"nothing was written: the import {import_id!r}, which was made at {at}, had another"
            " content: give each import an id of its own"
        )
    total = ImportCounts()
    for counts in outcome.kinds.values():
        for name in total.__struct_fields__:
            setattr(total, name, getattr(total, name) + getattr(counts, name))
    note = f"the import {import_id!r} was made at {at}, with these numbers; nothing was changed now"
    plan = change_plan.ChangePlan(outcome.plan_digest, unlisted=total.written)
    changed = {
        id for each in record["changes"] if each["kind"] == catalog.MAPS.name for id in each["ids"]
    }
    # What was to process these maps again may have died with whoever made the import.
    stale = [each for each in await list_stale_networks(database) if each.map_id in changed]
    return ImportSummary(
        outcome.kinds, total, [note], stale_networks=stale, plan=plan, is_repetition=True
    )


def _check(summary: ImportSummary, changes: change_plan.ChangeRequest) -> None:
    """Raise RemovalRefusedError or PlanChangedError if the import must not be made."""
    if summary.refusal is not None:
        raise RemovalRefusedError(
            f"nothing was written: {summary.refusal}. If that is meant, allow it with"
            " --max-removals N or N% (in GraphQL: maxRemovals)"
        )
    expected = changes.expected_digest
    if expected is not None and summary.plan is not None and summary.plan.digest != expected:
        raise PlanChangedError(
            "nothing was written: the catalog or the source has changed since the plan was shown;"
            " look at the new plan"
        )


def _name_target(
    bundles: Sequence[BundleSource], changes: change_plan.ChangeRequest
) -> tuple[audit.AuditTarget, audit.Action]:
    if changes.removed_keys:
        target = audit.AuditTarget(
            removals.find_kind(changes.removed_kind).name, [*changes.removed_keys]
        )
        return target, "records.removed"
    names = [get_bundle_name(bundle) for bundle in bundles]
    return audit.AuditTarget(BUNDLES, names), "catalog.imported"
