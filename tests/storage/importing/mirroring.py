"""Imports that mirror their source, and what they do."""

from pathlib import Path
from typing import Any

from storage.exporting.bundles import export_bundle
from storage.importing.change_plan import ChangeRequest, RecordChange
from storage.importing.import_bundles import import_bundles
from storage.importing.import_run import ImportSummary
from storage.importing.mirroring import RemovalLimit
from tests.storage.catalogs import Bundle, text_of, write_arrays

NO_LIMIT = RemovalLimit(None)
MIRROR = ChangeRequest(mirrors=True, limit=NO_LIMIT, is_planned=True)


async def mirror(
    database: Any, path: Path, bundle: Bundle, request: ChangeRequest = MIRROR, **options: Any
) -> ImportSummary:
    """Import a bundle so that the catalog has what it has, and nothing else."""
    source = write_arrays(path, bundle)
    return await import_bundles(database, [source], changes=request, **options)


async def remove(database: Any, kind: str, *keys: str, **options: Any) -> ImportSummary:
    request = ChangeRequest(
        removed_kind=kind, removed_keys=keys, limit=NO_LIMIT, is_planned=True, **options
    )
    return await import_bundles(database, [], changes=request)


def removed_by(summary: ImportSummary) -> dict[str, list[str]]:
    """The ids of what is removed, by kind."""
    found: dict[str, list[str]] = {}
    for change in changes_of(summary, "removed"):
        found.setdefault(change.kind, []).append(change.record_id)
    return found


def changes_of(summary: ImportSummary, operation: str) -> list[RecordChange]:
    assert summary.plan is not None
    return [change for change in summary.plan.changes if change.operation == operation]


async def exported(database: Any) -> bytes:
    return await text_of(export_bundle(database))


async def ids_of(database: Any, kind: str) -> list[str]:
    return sorted([document["_id"] async for document in database[kind].find()])
