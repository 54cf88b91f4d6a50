"""Importing bundles: all of them or none, even if something fails or the process is killed.

1. Members are read and staged in separate collections (`import_run`, `staging`).
2. What is removed is staged, with all that depends on it (`storage.bundles.removing`).
3. They are validated against each other and the catalog (`validation`).
4. Their changes are applied: idempotent, owners first, so that readers always see a consistent
   catalog. Then a network that was built from the same plan is published.

A lease (`lease`, `recovery`) lets one process import at a time and completes what a killed one
began to apply.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from storage.administration.audit import Action, AuditTarget, Origin
from storage.bundles.changes.change_request import NO_REMOVALS, ChangeRequest
from storage.bundles.changes.undo_file import UndoText, open_undo_file
from storage.bundles.importing.audit_trail import BUNDLES
from storage.bundles.importing.import_run import (
    ImportProgress,
    ImportProgressCallback,
    ImportRun,
    ParsedSource,
    SourceParser,
    ignore_progress,
)
from storage.bundles.importing.recovery import DEFAULT_WAIT_SECONDS, hold_import_lease
from storage.bundles.importing.summary import ImportCounts, ImportSummary
from storage.bundles.reading.batches import BundleSource, get_bundle_name
from storage.bundles.removing.named_records import find_kind
from storage.errors import PlanChangedError, RemovalRefusedError
from storage.mongo import driver
from storage.publication import Publication
from storage.setup.preparation import prepare_database

__all__ = [
    "ImportCounts",
    "ImportProgress",
    "ImportProgressCallback",
    "ImportSummary",
    "ParsedSource",
    "SourceParser",
    "ignore_progress",
    "import_bundles",
]


COMMITTED = "the import is committed: a gateway or the next import writes the rest of it"


async def import_bundles(
    database: driver.Database,
    bundles: Sequence[BundleSource],
    *,
    parse_source: SourceParser | None = None,
    dry_run: bool = False,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    progress: ImportProgressCallback = ignore_progress,
    origin: Origin | None = None,
    publication: Publication | None = None,
    changes: ChangeRequest = NO_REMOVALS,
    review: Callable[[ImportSummary], None] = lambda summary: None,
) -> ImportSummary:
    """Import the bundles as one and return what changed; a dry run only says what would change.

    A network of one of their maps is published with them. `changes` says what else is
    done, and `review` is called with what will change before any of it does.

    Raises BundleError if anything in them is invalid, NetworkOutdatedError if the network is
    outdated, RemovalRefusedError if too much would be removed, PlanChangedError if the plan is not
    the expected one (nothing has changed then), ImportRunningError if another import does not end
    within `wait_seconds`, UnavailableError.
    """
    undo_path = None if dry_run else changes.undo_path
    max_bytes = changes.max_undo_bytes
    shown_undo = None if max_bytes is None else UndoText(database, max_bytes)
    with driver.translate_errors(), open_undo_file(database, undo_path) as undo:
        await prepare_database(database)
        async with hold_import_lease(database, wait_seconds, progress) as lease:
            await lease.begin_staging(is_merge=changes.merges)
            run = ImportRun(database, lease, progress)
            try:
                await run.stage(bundles, parse_source)
                if publication is not None:
                    await run.stage_publication(publication)
                await run.stage_removals(changes)
                summary = await run.validate(changes, undo or shown_undo)
                if shown_undo is not None:
                    summary.undo_bundle = shown_undo.text
                summary.refusal = await run.find_excess(changes)
                if not dry_run:
                    _check(summary, changes)
                if (summary.total.written or run.changes_networks) and not dry_run:
                    if undo is not None:
                        undo.keep()
                        summary.undo = str(undo.file.path) if undo.file.is_kept else None
                        summary.undo_options = undo.options
                    review(summary)
                    await run.commit(*_name_target(bundles, changes, origin))
                    with _note_committed():
                        await run.apply(summary.total.written)
                        await run.clean_up()
            finally:
                # If applying fails, keep the staged data: the next lease holder finishes it. So
                # too if it is unknown whether the commit succeeded.
                if lease.state == "staging":
                    await run.clean_up()
            return summary


def _check(summary: ImportSummary, changes: ChangeRequest) -> None:
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
    bundles: Sequence[BundleSource], changes: ChangeRequest, origin: Origin | None
) -> tuple[AuditTarget, Origin | None, Action]:
    if changes.removed_keys:
        target = AuditTarget(find_kind(changes.removed_kind).name, [*changes.removed_keys])
        return target, origin, "records.removed"
    names = [get_bundle_name(bundle) for bundle in bundles]
    return AuditTarget(BUNDLES, names), origin, "catalog.imported"


@contextmanager
def _note_committed() -> Iterator[None]:
    """Note on an error that what it interrupts goes on."""
    try:
        yield
    except BaseException as error:  # also the cancellation of a command without its MongoDB
        error.add_note(COMMITTED)
        raise
