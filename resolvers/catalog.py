"""Importing catalog bundles, with the drawings of their maps."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from resolvers.context import Info
from resolvers.errors import RefusedDocument, RequestError
from resolvers.unit_maps import parse_drawing
from storage import driver
from storage.errors import BundleError, ImportRunning
from storage.importing import Drawing, Report, Summary, ignore, import_bundles
from storage.readers import Given
from storage.sources import SourceFault


async def load(
    database: driver.Database,
    bundles: Sequence[Given],
    *,
    dry_run: bool = False,
    progress: Report = ignore,
) -> Summary:
    """Loads bundles: all of them, or nothing. Raises BundleError, ImportRunning, Unavailable."""
    return await import_bundles(
        database, bundles, parse_source=_draw, dry_run=dry_run, progress=progress
    )


class ImportedKind(NamedTuple):
    """What became of the members of one kind."""

    kind: str
    inserted: int
    updated: int
    unchanged: int


class Imported(NamedTuple):
    """What an import did, or would do."""

    kinds: list[ImportedKind]
    notes: list[str]


async def import_text(info: Info, bundle: str, dry_run: bool = False) -> Imported:
    """Loads a bundle given as text, JSON or newline-delimited: all of it, or nothing.

    Drawings of maps come within it, as data URLs.
    """
    database = info.context.store.database
    try:
        summary = await load(database, [bundle.encode()], dry_run=dry_run)
    except (BundleError, ImportRunning) as error:
        raise RefusedDocument(str(error)) from error
    kinds = [
        ImportedKind(kind, counts.inserted, counts.updated, counts.unchanged)
        for kind, counts in summary.kinds.items()
    ]
    return Imported(kinds, summary.notes)


async def _draw(svg: bytes) -> Drawing:
    try:
        parsed = await parse_drawing(svg)
    except RequestError as error:
        raise SourceFault(str(error)) from error
    return Drawing(parsed.json, sorted(_unit_ids(orjson.loads(parsed.json))))


def _unit_ids(element: dict[str, Any]) -> set[str]:
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
