"""Reading mapping files, and what is wrong with one, in the words of those who write one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias, get_args, get_origin

import msgspec
import yaml

from storage.bundles.names import hint_at
from storage.bundles.violations import MAX_VIOLATIONS, Violations, quote_json
from storage.catalog import RECORD_TYPES
from storage.errors import BundleError
from storage.spreadsheets.cells import DateOrder
from storage.spreadsheets.mapping import (
    IGNORE,
    PREFIXES,
    REFERENCE,
    TABLE,
    TABLE_TARGETS,
    MappingPart,
    SpreadsheetMapping,
    to_table_target,
)
from storage.spreadsheets.sheets import MAX_ROWS

FIELD_NAMES = frozenset(field for kind in RECORD_TYPES for field in kind.struct.__struct_fields__)
READ_AS = (TABLE, IGNORE, *(kind.name for kind in RECORD_TYPES))
EXPECTED = {
    "asset": "an id, or id, name and market",
    "dates": " or ".join(DateOrder),
    "sheets": 'names of sheets and what each is, such as "Rent roll: apartments"',
    "header_row": f"the number of a row, from 1 to {MAX_ROWS:,}",
    "columns": 'headers and what each column holds, such as "Layout: attribute:Floor plan"',
    "defaults": 'fields and their values, such as "style: b"',
    "floors": 'names of floors and the sort of each, such as "Mezzanine: 1"',
    "sort": "a whole number",
    "empty": 'a list of words, such as ["-", "n/a"]',
    "ignore_rows": "a list of words, such as [Total]",
    "unit_ids": "derived or number",
}
"""They say what the value of a key is; that of others is text."""


MappingFault: TypeAlias = tuple[tuple[str, ...], str]
"""The place of a mistake, which is the keys that lead there, and a message."""


def _find_part_faults(
    value: dict[str, Any], part: type[MappingPart], place: tuple[str, ...]
) -> Iterator[MappingFault]:
    types = {field.name: field.type for field in msgspec.structs.fields(part)}
    for key, each in value.items():
        if key in types:
            yield from _find_value_faults(each, types[key], key, (*place, key))
        else:
            hint = hint_at(str(key), types) or f"; there are {', '.join(types)}"
            yield (place, f'there is no key "{key}"{hint}')


def _find_value_faults(
    value: Any, expected: Any, key: str, place: tuple[str, ...]
) -> Iterator[MappingFault]:
    """Yield what is wrong with the value of a key, or with one of its items."""
    origin = get_origin(expected)
    if isinstance(expected, type) and issubclass(expected, MappingPart) and isinstance(value, dict):
        yield from _find_part_faults(value, expected, place)
    elif origin is dict and isinstance(value, dict):
        for name, each in value.items():
            yield from _find_value_faults(each, get_args(expected)[1], key, (*place, str(name)))
    elif origin is list and isinstance(value, list):
        for each in value:
            yield from _find_value_faults(each, get_args(expected)[0], key, place)
    elif not _is_valid(value, expected):
        message = f"expected {EXPECTED.get(key, 'text')}, not {_describe(value)}"
        yield (place, message)
    elif message := _find_unknown_name(key, place[-1], value):
        yield (place, message)


def _is_valid(value: Any, expected: Any) -> bool:
    try:
        msgspec.convert(value, expected, strict=False)
    except msgspec.ValidationError:
        return False
    return True


def _describe(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "keys with values"
    return quote_json(str(value))


def _find_unknown_name(key: str, name: str, value: Any) -> str:
    """Return what is wrong with a valid text: that nothing has this name."""
    if key == "defaults" and name not in FIELD_NAMES:
        return f'there is no field "{name}"{hint_at(name, FIELD_NAMES)}'
    if key == "read_as" and value and value not in READ_AS:
        known = ", ".join(READ_AS)
        return f'there is nothing called "{value}"; there are {known}{hint_at(value, READ_AS)}'
    if key == "columns" and not _is_target(value):
        return f'there is nothing called "{value}"{_hint_at_target(value)}'
    return ""


def _is_target(text: str) -> bool:
    return text == IGNORE or text in FIELD_NAMES or to_table_target(text) is not None


def _hint_at_target(text: str) -> str:
    prefix, colon, name = text.partition(":")
    if colon or text + ":" in PREFIXES:
        meant = hint_at(prefix, [each.rstrip(":") for each in PREFIXES])
        hint = meant.replace('"?', f':{name}"?') if name.strip() else ""
    else:
        hint = hint_at(text, {*TABLE_TARGETS, *FIELD_NAMES, IGNORE})
    forms = ", ".join(f"{each}{'KEY' if each == REFERENCE else 'GROUP'}" for each in PREFIXES)
    return hint or (
        f"; there are {', '.join(TABLE_TARGETS)}, {forms}, {IGNORE}, and the fields of records"
    )


MAX_MAPPING_BYTES = 1 << 20
SHORT_FORMS = {"asset": "id", "sheets": "read_as", "floors": "sort"}
"""A plain value of a part stands for one with this key: `asset: oak` is `asset: {id: oak}`."""


class _TextLoader(yaml.SafeLoader):
    """Reads every value as text: `No` is the name of a column, and `0101` that of a unit."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):  # what they repeat may be larger than memory
            raise yaml.YAMLError("aliases such as *name are not read; write what they stand for")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names: set[Any] = set()
        for key, _ in node.value:
            if (name := self.construct_object(key, deep=True)) in names:
                raise yaml.YAMLError(f'"{name}" is given more than once')
            names.add(name)
        return super().construct_mapping(node, deep)


def read_mapping(path: Path) -> SpreadsheetMapping:
    """Return the mapping in a file. Raises BundleError."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_MAPPING_BYTES + 1)
        if len(content) > MAX_MAPPING_BYTES:
            raise BundleError([f"{path}: is larger than {MAX_MAPPING_BYTES:,} bytes"])
        value = yaml.load(content, _TextLoader)  # noqa: S506 a SafeLoader
    except OSError as error:
        raise BundleError([f"{path}: {error.strerror}"]) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BundleError([f"{path}: {error}"]) from error
    return parse_mapping(value or {}, str(path))


def parse_mapping(value: Any, name: str = "the mapping") -> SpreadsheetMapping:
    """Return the mapping that a file holds. Raises BundleError with all that is wrong.

    >>> parse_mapping({"colums": {"Unit #": "unit"}, "dates": "us"})
    Traceback (most recent call last):
    storage.errors.BundleError: the mapping: there is no key "colums"; did you mean "columns"?
    the mapping: dates: expected day-first or month-first, not "us"
    """
    if not isinstance(value, dict):
        raise BundleError([f"{name}: a mapping file has keys such as asset:"])
    value = _lengthen_parts(value)
    violations = Violations()
    for number, (place, message) in enumerate(_find_part_faults(value, SpreadsheetMapping, ())):
        if number == MAX_VIOLATIONS:
            errors = [*map(str, violations.list_first())]
            raise BundleError([*errors, f"{name}: there are more errors than these"])
        violations.add(": ".join((name, *place)), message)
    violations.raise_if_any()
    try:
        return msgspec.convert(value, SpreadsheetMapping, strict=False)
    except msgspec.ValidationError as error:
        raise BundleError([f"{name}: {error}"]) from error


def _lengthen_parts(parts: dict[Any, Any]) -> dict[Any, Any]:
    """Return a mapping without short forms."""
    long = {**parts}
    for name, key in SHORT_FORMS.items():
        part = parts.get(name)
        if isinstance(part, str):
            long[name] = {key: part} if name == "asset" else part
        elif isinstance(part, dict) and name != "asset":
            long[name] = {
                title: {key: each} if isinstance(each, str) else each
                for title, each in part.items()
            }
    return long
