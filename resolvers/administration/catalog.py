"""Import of catalog bundles, with the drawings of their maps."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from resolvers.processing.process_pool import ProcessPool, run_on_drawing
from resolvers.request.errors import (
    ChangedPlanError,
    ImportLostError,
    InvalidInputError,
    RefusedDocumentError,
    RequestError,
    ServiceBusyError,
    TooManyRemovalsError,
)
from storage import errors
from storage.administration.audit import Origin
from storage.bundles.drawings import ParsedSource, SourceError
from storage.importing.batches import BundleSource
from storage.importing.change_plan import NO_REMOVALS, ChangeRequest
from storage.importing.import_bundles import (
    ImportProgressCallback,
    ImportSummary,
    ignore_progress,
    import_bundles,
)
from storage.mongo import driver
from storage.publication import Publication


async def import_catalog(
    database: driver.Database,
    bundles: Sequence[BundleSource],
    *,
    dry_run: bool = False,
    progress: ImportProgressCallback = ignore_progress,
    origin: Origin | None = None,
    publication: Publication | None = None,
    changes: ChangeRequest = NO_REMOVALS,
    review: Callable[[ImportSummary], None] = lambda summary: None,
) -> ImportSummary:
    """Import bundles: all of them, or nothing. Publish a network of one of their maps with them.

    Drawings are parsed in a process of this import, so that they wait for no others; one that is
    mostly an image is an error, unless `changes.force_drawings` is set. Raises
    BundleError, RemovalRefusedError, PlanChangedError, NetworkOutdatedError, ImportRunningError,
    LeaseLostError, ServiceBusyError and UnavailableError.
    """
    async with ProcessPool(1) as pool:

        async def parse_source(svg: bytes) -> ParsedSource:
            from resolvers.drawings.shown_units import parse_with_units  # few imports have drawings

            try:
                parse = partial(parse_with_units, force=changes.force_drawings)
                return ParsedSource(*await run_on_drawing(pool, parse, svg))
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
            publication=publication,
            changes=changes,
            review=review,
        )


@contextmanager
def translate_import_errors() -> Iterator[None]:
    """Raise a RequestError, with the same sentence, for an error that imports may end with."""
    try:
        yield
    except errors.BundleError as error:
        raise RefusedDocumentError(
            str(error), errors=error.violations, errorCount=error.total
        ) from error
    except errors.RemovalRefusedError as error:
        raise TooManyRemovalsError(str(error)) from error
    except errors.PlanChangedError as error:
        raise ChangedPlanError(str(error)) from error
    except errors.ImportIdTakenError as error:
        raise InvalidInputError(importId=str(error)) from error
    except (errors.ImportRunningError, errors.LeaseLostError) as error:
        raise ImportLostError(str(error)) from error
