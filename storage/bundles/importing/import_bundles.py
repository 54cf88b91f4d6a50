"""Importing bundles: all of them or none, even if something fails or the process is killed.

1. Members are read and staged in separate collections (`import_run`, `staging`).
2. They are validated against each other and the catalog (`validation`).
3. Their changes are applied: idempotent, owners first, so that readers always see a consistent
   catalog. Then a network that was built from the same plan is published.

A lease (`lease`, `recovery`) lets one process import at a time and completes what a killed one
began to apply.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from storage.administration.audit import Origin
from storage.bundles.importing.import_run import (
    ImportCounts,
    ImportProgress,
    ImportProgressCallback,
    ImportRun,
    ImportSummary,
    ParsedSource,
    SourceParser,
    ignore_progress,
)
from storage.bundles.importing.recovery import DEFAULT_WAIT_SECONDS, hold_import_lease
from storage.bundles.reading.batches import BundleSource, get_bundle_name
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
    merge: bool = False,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    progress: ImportProgressCallback = ignore_progress,
    origin: Origin | None = None,
    publication: Publication | None = None,
) -> ImportSummary:
    """Import the bundles as one and return what changed; a dry run only says what would change.

    A network of one of their maps is published with them. With `merge`, fields that are not given
    keep their stored values.

    Raises BundleError if anything in them is invalid, NetworkOutdatedError if the network is
    outdated (nothing has changed then), ImportRunningError if another import does not end within
    `wait_seconds`, UnavailableError.
    """
    with driver.translate_errors():
        await prepare_database(database)
        async with hold_import_lease(database, wait_seconds, progress) as lease:
            await lease.begin_staging(is_merge=merge)
            run = ImportRun(database, lease, progress)
            try:
                await run.stage(bundles, parse_source)
                if publication is not None:
                    await run.stage_publication(publication)
                summary = await run.validate()
                if (summary.total.written or run.changes_networks) and not dry_run:
                    await run.commit([get_bundle_name(bundle) for bundle in bundles], origin)
                    with _note_committed():
                        await run.apply(summary.total.written)
                        await run.clean_up()
            finally:
                # If applying fails, keep the staged data: the next lease holder finishes it. So
                # too if it is unknown whether the commit succeeded.
                if lease.state == "staging":
                    await run.clean_up()
            return summary


@contextmanager
def _note_committed() -> Iterator[None]:
    """Note on an error that what it interrupts goes on."""
    try:
        yield
    except BaseException as error:  # also the cancellation of a command without its MongoDB
        error.add_note(COMMITTED)
        raise
