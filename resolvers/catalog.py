"""Importing catalog bundles, with the drawings of their maps."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import orjson

from resolvers.request.context import Info
from resolvers.request.errors import RefusedDocumentError, RequestError
from resolvers.unit_maps import parse_drawing
from storage.bundles.importing import (
    ImportProgressCallback,
    ImportSummary,
    ParsedSource,
    ignore_progress,
    import_bundles,
)
from storage.bundles.readers import BundleSource
from storage.bundles.sources import SourceError
from storage.errors import BundleError, ImportRunningError
from storage.mongo import driver


async def import_catalog(
    database: driver.Database,
    bundles: Sequence[BundleSource],
    *,
    dry_run: bool = False,
    progress: ImportProgressCallback = ignore_progress,
) -> ImportSummary:
    """Loads bundles: all of them, or nothing. Raises BundleError, ImportRunning, Unavailable."""
    return await import_bundles(
        database, bundles, parse_source=_parse_source, dry_run=dry_run, progress=progress
    )


class ImportedKind(NamedTuple):
    """What became of the members of one kind."""

    kind: Annotated[str, "The array of the bundle, such as `units`."]
    inserted: int
    updated: int
    unchanged: int


class ImportResult(NamedTuple):
    """What an import did, or would do."""

    kinds: list[ImportedKind]
    notes: Annotated[list[str], "What is allowed and yet worth a look."]


async def import_catalog_text(info: Info, bundle: str, dry_run: bool = False) -> ImportResult:
    """Loads a bundle given as text, JSON or newline-delimited: all of it, or nothing.

    Drawings of maps come within it, as data URLs.
    """
    database = info.context.untracked_store.database
    try:
        summary = await import_catalog(database, [bundle.encode()], dry_run=dry_run)
    except (BundleError, ImportRunningError) as error:
        raise RefusedDocumentError(str(error)) from error
    kinds = [
        ImportedKind(kind, counts.inserted, counts.updated, counts.unchanged)
        for kind, counts in summary.kinds.items()
    ]
    return ImportResult(kinds, summary.notes)


async def _parse_source(svg: bytes) -> ParsedSource:
    try:
        parsed = await parse_drawing(svg)
    except RequestError as error:
        raise SourceError(str(error)) from error
    return ParsedSource(parsed.json, sorted(_shown_unit_ids(orjson.loads(parsed.json))))


def _shown_unit_ids(element: dict[str, Any]) -> set[str]:
    """The units that a parsed map shows: as units, and as what its hit areas lead to."""
    found = set()
    pending = [element]
    while pending:
        each = pending.pop()
        pending += each.get("elements", ())
        if each["type"] == "Unit":
            found.add(each["id"])
        elif each["type"] == "HitArea" and each["target"]["type"] == "Unit":
            found.add(each["target"]["id"])
    return found
