"""Import of catalog bundles, with the drawings of their maps."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from resolvers.processes.drawings import run_on_drawing
from resolvers.processes.process_pool import ProcessPool
from resolvers.request.errors import (
    ImportLostError,
    RefusedDocumentError,
    RequestError,
    ServiceBusyError,
)
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
from storage.errors import BundleError, ImportRunningError, LeaseLostError
from storage.mongo import driver
from storage.publication import Publication


async def import_catalog(
    database: driver.Database,
    bundles: Sequence[BundleSource],
    *,
    dry_run: bool = False,
    merge: bool = False,
    progress: ImportProgressCallback = ignore_progress,
    origin: Origin | None = None,
    publication: Publication | None = None,
) -> ImportSummary:
    """Import bundles: all of them, or nothing. Publish a network of one of their maps with them.

    Drawings are parsed in a process of this import, so that they wait for no others. Raises
    BundleError, NetworkOutdatedError, ImportRunningError, LeaseLostError, ServiceBusyError and
    UnavailableError.
    """
    async with ProcessPool(1) as pool:

        async def parse_source(svg: bytes) -> ParsedSource:
            from resolvers.shown_units import parse_with_units  # few imports have drawings

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
            merge=merge,
            progress=progress,
            origin=origin,
            publication=publication,
        )


@contextmanager
def translate_import_errors() -> Iterator[None]:
    """Raise a RequestError, with the same sentence, for an error that imports may end with."""
    try:
        yield
    except (BundleError, ImportRunningError) as error:
        raise RefusedDocumentError(str(error)) from error
    except LeaseLostError as error:
        raise ImportLostError(str(error)) from error
