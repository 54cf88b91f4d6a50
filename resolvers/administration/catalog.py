"""Import of catalog bundles, with the drawings of their maps."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from resolvers.processes.process_pool import ProcessPool
from resolvers.request.context import Info
from resolvers.request.errors import RefusedDocumentError, RequestError, ServiceBusyError
from resolvers.request.input_rules import argument
from resolvers.request.limits.deadlines import without_deadline
from resolvers.shown_units import parse_with_units
from resolvers.unit_maps import run_on_drawing
from storage.administration.audit import Origin
from storage.bundles.importing.import_bundles import (
    ImportProgressCallback,
    ImportSummary,
    ParsedSource,
    ignore_progress,
    import_bundles,
)
from storage.bundles.reading.batches import BundleSource
from storage.bundles.reading.sources import SourceError
from storage.errors import BundleError, ImportRunningError
from storage.mongo import driver


async def import_catalog(
    database: driver.Database,
    bundles: Sequence[BundleSource],
    *,
    dry_run: bool = False,
    progress: ImportProgressCallback = ignore_progress,
    origin: Origin | None = None,
) -> ImportSummary:
    """Import bundles: all of them, or nothing.

    Drawings are parsed in a process of this import, so that they wait for no others. Raises
    BundleError, ImportRunningError, ServiceBusyError and UnavailableError.
    """
    async with ProcessPool(1) as pool:

        async def parse_source(svg: bytes) -> ParsedSource:
            try:
                return ParsedSource(*await run_on_drawing(pool, parse_with_units, svg))
            except ServiceBusyError:
                raise
            except RequestError as error:
                raise SourceError(str(error)) from error

        return await import_bundles(
            database,
            bundles,
            parse_source=parse_source,
            dry_run=dry_run,
            progress=progress,
            origin=origin,
        )


class ImportedKind(NamedTuple):
    """How many members of one kind were inserted, updated or unchanged."""

    kind: Annotated[str, "The array of the bundle, such as `units`."]
    inserted: int
    updated: int
    unchanged: int


class ImportResult(NamedTuple):
    """Result of an import or of a dry run."""

    kinds: list[ImportedKind]
    notes: Annotated[list[str], "Warnings: valid data that is probably a mistake."]


async def import_catalog_text(
    info: Info,
    bundle: Annotated[str, argument("The text of the bundle.")],
    dry_run: Annotated[
        bool, argument("Whether to check the bundle and count the changes without making them.")
    ] = False,
) -> ImportResult:
    """Import a bundle from its text, JSON or newline-delimited: all of it, or nothing.

    Drawings of maps are in the bundle, as data URLs.
    """
    database = info.context.bypass_caches().database
    try:
        with without_deadline():
            summary = await import_catalog(
                database, [bundle.encode()], dry_run=dry_run, origin=info.context.origin
            )
    except (BundleError, ImportRunningError) as error:
        raise RefusedDocumentError(str(error)) from error
    kinds = [
        ImportedKind(kind, counts.inserted, counts.updated, counts.unchanged)
        for kind, counts in summary.kinds.items()
    ]
    return ImportResult(kinds, summary.notes)
