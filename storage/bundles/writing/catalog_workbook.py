"""Exporting the catalog as a workbook, and the attributes of units as a table."""

import csv
import io
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

from storage.bundles.exporting import iter_members, iter_units_with_attributes
from storage.bundles.importing.settled_snapshot import open_settled_snapshot
from storage.bundles.reading.tables.fields import column_fields
from storage.bundles.reading.tables.groups import Groups
from storage.bundles.reading.tables.mapping.structure import ATTRIBUTE, ATTRIBUTES
from storage.bundles.reading.tables.names import header_of
from storage.bundles.reading.tables.record_sheets import DRAWING_FIELD
from storage.bundles.reading.tables.values.lists import join_items
from storage.bundles.writing.workbook import (
    MAX_NOTED_CELLS,
    create_workbook,
    title_of,
)
from storage.catalog import ATTRIBUTE_GROUPS, RECORD_TYPES
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS, AssetScope

ATTRIBUTE_HEADERS = ("Asset ID", "Unit ID", "Unit")


async def export_workbook(
    database: driver.Database, path: Path, scope: AssetScope = ALL_ASSETS
) -> list[str]:
    """Write the catalog to a workbook with a sheet for each resource, without drawings.

    Returns notes. Raises UnavailableError, ImportRunningError, and StorageError if it does not fit.
    """
    with driver.translate_errors(), create_workbook(path) as workbook:
        async with open_settled_snapshot(database) as session:
            for kind in RECORD_TYPES:
                fields = [each for each in column_fields(kind) if each.name != DRAWING_FIELD]
                required = [header_of(each.name) for each in fields if each.is_required]
                headers = [header_of(each.name) for each in fields]
                sheet = workbook.add_sheet(title_of(kind.name), headers, required)
                members = iter_members(database, kind, scope, session, with_drawings=False)
                async for member in members:
                    workbook.add_record(sheet, fields, member)
    more = ["... and more cells"] if len(workbook.notes) == MAX_NOTED_CELLS else []
    return workbook.notes + more


async def export_attributes(
    database: driver.Database, path: Path, scope: AssetScope = ALL_ASSETS
) -> None:
    """Write a table with a row for each unit and a column for each attribute group.

    A workbook if the file's name says so, else CSV. Raises as `export_workbook`.
    """
    with driver.translate_errors():
        async with open_settled_snapshot(database) as session:
            rows = _iter_attribute_rows(database, scope, session)
            if path.suffix.lower() == ".xlsx":
                with create_workbook(path) as workbook:
                    sheet = workbook.add_sheet("Attributes", await anext(rows), ATTRIBUTE_HEADERS)
                    async for row in rows:
                        sheet.add_row(row)
            else:
                text = io.StringIO(newline="")
                csv.writer(text).writerows([row async for row in rows])
                path.write_text(text.getvalue(), "utf-8-sig", newline="")


async def _iter_attribute_rows(
    database: driver.Database, scope: AssetScope, session: driver.Session
) -> AsyncIterator[list[str]]:
    """Yield the headers, then a row for each unit."""
    documents = iter_members(database, ATTRIBUTE_GROUPS, ALL_ASSETS, session)
    groups = Groups([_to_document(member) async for member in documents])
    columns = {group.group_id: group for group in groups}
    prefixes = [ATTRIBUTE if group.is_single else ATTRIBUTES for group in groups]
    headers = [
        prefix + groups.name_of(group) for prefix, group in zip(prefixes, groups, strict=True)
    ]
    yield [*ATTRIBUTE_HEADERS, *headers]
    async for unit, assignments in iter_units_with_attributes(database, scope, session):
        names: dict[str, list[str]] = {}
        for group_id, attribute_id in assignments:
            names.setdefault(group_id, []).append(columns[group_id].name_of(attribute_id))
        cells = [_join(names.get(group.group_id, ()), group.is_single) for group in groups]
        yield [unit.asset_id, unit.id, unit.name, *cells]


def _join(names: Iterable[str], is_single: bool) -> str:
    values = [*names]
    if not values:
        return ""
    return values[0] if is_single else join_items(values)


def _to_document(member: Any) -> dict[str, Any]:
    return {
        **member,
        "attributes": [
            {field: getattr(item, field) for field in item.__struct_fields__}
            for item in member["attributes"]
        ],
    }
