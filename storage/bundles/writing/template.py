"""Workbooks to fill in: notes on the columns, choice lists, and examples to replace."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from storage.bundles.description.fields import describe_field
from storage.bundles.reading.tables.derived_ids import ID_SOURCES
from storage.bundles.reading.tables.fields import ColumnField, column_fields
from storage.bundles.reading.tables.names import header_of
from storage.bundles.reading.tables.values.lists import join_items
from storage.bundles.writing.workbook import (
    Workbook,
    WorkbookSheet,
    create_workbook,
    title_of,
    write_field,
)
from storage.catalog import RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.records.kinds import TIMESTAMP_FIELDS, RecordType

Members = Mapping[str, Sequence[Mapping[str, Any]]]
"""Examples by kind, as a bundle has them."""
CHOICE_ROWS = 10_000
MAX_CHOICE_CHARACTERS = 255
"""Of all choices of a list that is not in cells: a limit of Excel."""
COMMENT_SIZE = {"x_scale": 2.2, "y_scale": 1.4}
DRAWING_NOTE = (
    "The path of an SVG file, relative to this workbook. An empty cell keeps the drawing that the"
    " map has."
)
ABOUT = (
    "One sheet for each kind of record; a sheet that you do not need can be deleted.",
    "Replace the rows, which are examples, and keep the headers. Yellow ones are required.",
    "Each header has a note on what its cells hold. A column that you delete changes nothing.",
    "Ids may be left empty where they can be made of names: of assets, floors, units, maps, ...",
    "Load the workbook: floorgate import --dry-run FILE, then floorgate import FILE",
)
TABLE_NAME = "Apartments"


def write_template(path: Path, members: Members) -> None:
    """Write a workbook with a sheet for each resource and these examples. Raises StorageError."""
    with create_workbook(path) as workbook:
        _add_about(workbook)
        for kind in RECORD_TYPES:
            fields = [each for each in column_fields(kind) if each.name not in TIMESTAMP_FIELDS]
            required = [header_of(each.name) for each in fields if _is_required(kind, each)]
            headers = [header_of(each.name) for each in fields]
            sheet = workbook.add_sheet(title_of(kind.name), headers, required)
            for column, field in enumerate(fields):
                sheet.sheet.write_comment(0, column, _describe(kind, field), COMMENT_SIZE)
                _add_choices(sheet, column, kind, field)
            for member in members.get(kind.name, ()):
                given = {name: value for name, value in member.items() if name != "source"}
                sheet.add_row([write_field(each, given.get(each.name)) for each in fields])


def _add_about(workbook: Workbook) -> None:
    about = workbook.add_sheet("About", ["A catalog for Floorgate"])
    about.sheet.set_column(0, 0, 110)
    for line in ABOUT:
        about.add_row([line])


def _describe(kind: RecordType[Any], field: ColumnField) -> str:
    description = describe_field(kind.struct, field.name)
    if field.name == "source":
        return DRAWING_NOTE
    required = "Required. " if _is_required(kind, field) else ""
    text = description.text.replace("null", "empty")
    sources = " and ".join(map(header_of, _list_sources(kind, field)))
    derived = f"\nMade of {sources} if the cell is empty." if sources else ""
    example = "" if isinstance(description.example, list) else f"\nExample: {description.example}"
    return f"{required}{text}{derived}\nCells hold {field.form}.{example}"


def _is_required(kind: RecordType[Any], field: ColumnField) -> bool:
    return field.is_required and not _list_sources(kind, field)


def _list_sources(kind: RecordType[Any], field: ColumnField) -> tuple[str, ...]:
    """Return the fields of which a field is made if it is not given: an id of names."""
    return ID_SOURCES.get(kind.name, ()) if field.name == kind.key_fields[0] else ()


def _add_choices(
    sheet: WorkbookSheet, column: int, kind: RecordType[Any], field: ColumnField
) -> None:
    """Offer the ids of the sheet with its owners, or TRUE and FALSE; other values are accepted."""
    choices: str | list[str] | None = None
    if field.form == "TRUE or FALSE":
        choices = ["TRUE", "FALSE"]
    for owner in kind.foreign_keys:
        if owner.field == field.name and field.form == "text":
            title = title_of(RECORD_TYPES_BY_NAME[owner.kind].name)
            choices = f"='{title}'!$A$2:$A${CHOICE_ROWS + 1}"
    if choices is not None:
        options = {"validate": "list", "source": choices, "error_type": "information"}
        sheet.sheet.data_validation(1, column, CHOICE_ROWS, column, options)


def write_table_template(path: Path, members: Members) -> None:
    """Write a workbook with one table of apartments. Raises StorageError."""
    assets = {each["id"]: each["name"] for each in members.get("assets", ())}
    floors = {each["id"]: each["name"] for each in members.get("floors", ())}
    groups = members.get("attribute_groups", ())
    keys = sorted({each["key"] for each in members.get("unit_references", ())})
    names = {
        (group["group_id"], each["attribute_id"]): each["attribute_name"]
        for group in groups
        for each in group["attributes"]
    }
    assigned: dict[tuple[str, str], list[str]] = {}
    for each in members.get("attribute_assignments", ()):
        name = names[each["group_id"], each["attribute_id"]]
        assigned.setdefault((each["unit_id"], each["group_id"]), []).append(name)
    references = {
        (each["unit_id"], each["key"]): each["value"] for each in members.get("unit_references", ())
    }
    prefixes = [
        "attribute:" if each["one_attribute_per_unit"] else "attributes:" for each in groups
    ]
    headers = [
        *("Property", "Asset ID", "Floor", "Floor ID", "Unit #", "Unit ID"),
        *(prefix + each["group_name"] for prefix, each in zip(prefixes, groups, strict=True)),
        *(f"reference:{key}" for key in keys),
    ]
    with create_workbook(path) as workbook:
        sheet = workbook.add_sheet(TABLE_NAME, headers, ("Property", "Floor", "Unit #"))
        notes = [*TABLE_NOTES, *map(_describe_group, groups), *map(_describe_reference, keys)]
        for column, note in enumerate(notes):
            sheet.sheet.write_comment(0, column, note, COMMENT_SIZE)
        for column, group in enumerate(groups, len(TABLE_NOTES)):
            _add_names(sheet, column, [each["attribute_name"] for each in group["attributes"]])
        for unit in members.get("units", ()):
            lists = [assigned.get((unit["id"], group["group_id"]), []) for group in groups]
            sheet.add_row(
                [
                    *(assets[unit["asset_id"]], unit["asset_id"]),
                    *(floors[unit["floor_id"]], unit["floor_id"]),
                    *(unit["name"], unit["id"]),
                    *(join_items(each) if each else None for each in lists),
                    *(references.get((unit["id"], key)) for key in keys),
                ]
            )


TABLE_NOTES = (
    "Required. The name of the property.",
    "The id of the property. Made of its name if there is none; then delete the column.",
    "Required. The floor: its number, or a name such as Ground, Basement or Roof.",
    "The id of the floor. Made of the property and the floor if there is none.",
    "Required. The number or name of the unit.",
    "The id of the unit. Made of the property and the unit if there is none.",
)


def _describe_group(group: Mapping[str, Any]) -> str:
    name = group["group_name"]
    if group["one_attribute_per_unit"]:
        return f"The attribute of the unit in the group {name}. A name that is new is added."
    return (
        f"The attributes of the unit in the group {name}: one; two. Names that are new are added."
    )


def _describe_reference(key: str) -> str:
    return f"The id of the unit in another system, which is called {key}."


def _add_names(sheet: WorkbookSheet, column: int, names: Sequence[str]) -> None:
    if sum(len(name) + 1 for name in names) > MAX_CHOICE_CHARACTERS or any(
        "," in name for name in names
    ):
        return
    options = {"validate": "list", "source": [*names], "error_type": "information"}
    sheet.sheet.data_validation(1, column, CHOICE_ROWS, column, options)
