"""The mapping file: which sheets and columns hold what, and what they do not say."""

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import yaml

from storage.bundles.reading.tables.files.sheets import MAX_ROWS
from storage.bundles.reading.tables.names import fold, hint_at
from storage.bundles.reading.tables.values.dates import DateOrder
from storage.catalog import RECORD_TYPES
from storage.errors import BundleError

IGNORE = "ignore"
TABLE = "apartments"
"""What a sheet with a row for each unit is read as."""
MAX_MAPPING_BYTES = 1 << 20
TABLE_TARGETS = (
    "asset",
    "asset_id",
    "building",
    "floor",
    "floor_id",
    "floor_sort",
    "unit",
    "unit_id",
    "map_ids",
)
"""What a column of a table of apartments can hold, beside attributes and references."""
ATTRIBUTE, ATTRIBUTES, REFERENCE = "attribute:", "attributes:", "reference:"
"""Beginnings of what a column holds: one attribute of a group, any number of them, a reference."""
FIELD_NAMES = frozenset(field for kind in RECORD_TYPES for field in kind.struct.__struct_fields__)


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the file; its fields are the keys that may be in it."""


class AssetMapping(_Part, frozen=True):
    """The asset of rows that do not name one."""

    id: str = ""
    name: str = ""
    market: str = ""


class FloorMapping(_Part, frozen=True):
    """What a floor of this name is."""

    id: str = ""
    name: str = ""
    label: str = ""
    short_label: str = ""
    sort: int | None = None


class SheetMapping(_Part, frozen=True):
    """How a sheet, or a file that is one, is read."""

    read_as: str = ""
    header_row: Annotated[int, msgspec.Meta(ge=1, le=MAX_ROWS)] | None = None
    columns: dict[str, str] = {}


class Mapping(_Part, frozen=True):
    """A mapping file."""

    asset: AssetMapping = AssetMapping()
    dates: DateOrder | None = None
    sheets: dict[str, SheetMapping] = {}
    columns: dict[str, str] = {}
    defaults: dict[str, str] = {}
    floors: dict[str, FloorMapping] = {}
    empty: list[str] = []
    """Words of cells that count as empty, such as `n/a`."""
    ignore_rows: list[Annotated[str, msgspec.Meta(min_length=1)]] = []
    """What the first filled cell of rows that are ignored begins with, such as `Total`."""
    unit_ids: Literal["derived", "number"] = "derived"
    """What the id of a unit is that has none: made of all names, or its number alone."""

    def sheet(self, name: str) -> SheetMapping:
        """Return how a sheet of this name is read."""
        found = [part for title, part in self.sheets.items() if fold(title) == fold(name)]
        return found[0] if found else SheetMapping()

    def floor(self, name: str) -> FloorMapping:
        """Return what is said of a floor of this name."""
        found = [part for title, part in self.floors.items() if fold(title) == fold(name)]
        return found[0] if found else FloorMapping()


SHORT_FORMS = {"asset": "id", "sheets": "read_as", "floors": "sort"}
"""By part, the key that a plain value stands for: `asset: oak` is `asset: {id: oak}`."""


class _TextLoader(yaml.SafeLoader):
    """Reads every value as text: `No` is the name of a column, and `0101` that of a unit."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names: set[Any] = set()
        for key, _ in node.value:
            if (name := self.construct_object(key, deep=True)) in names:
                raise yaml.YAMLError(f'"{name}" is given more than once')
            names.add(name)
        return super().construct_mapping(node, deep)


def read_mapping(path: Path) -> Mapping:
    """Return the mapping in a file. Raises BundleError."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_MAPPING_BYTES + 1)
        if len(content) > MAX_MAPPING_BYTES:
            raise BundleError([f"{path}: is larger than {MAX_MAPPING_BYTES:,} bytes"])
        return parse_mapping(yaml.load(content, _TextLoader) or {})  # noqa: S506 a SafeLoader
    except OSError as error:
        raise BundleError([f"{path}: {error.strerror}"]) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BundleError([f"{path}: {error}"]) from error


def parse_mapping(value: Any) -> Mapping:
    """Return the mapping that a file holds. Raises ValueError.

    >>> parse_mapping({"colums": {"Unit #": "unit"}})
    Traceback (most recent call last):
    ValueError: there is no key "colums"; did you mean "columns"?
    """
    parts = dict(_check_keys(value, Mapping, ""))
    for name, key in SHORT_FORMS.items():
        part = parts.get(name)
        if name == "asset":
            parts |= {name: _lengthen(part, key)} if part is not None else {}
        elif isinstance(part, dict):
            parts[name] = {title: _lengthen(each, key) for title, each in part.items()}
    for name, kind in (("asset", AssetMapping), ("sheets", SheetMapping), ("floors", FloorMapping)):
        named = [(name, parts[name])] if name == "asset" and name in parts else []
        if name != "asset" and isinstance(parts.get(name), dict):
            named = [(f"{name}: {title}", each) for title, each in parts[name].items()]
        for where, each in named:
            _check_keys(each, kind, f"{where}: ")
    for field in parts.get("defaults") or ():
        if field not in FIELD_NAMES:
            raise ValueError(f'defaults: there is no field "{field}"{hint_at(field, FIELD_NAMES)}')
    try:
        mapping = msgspec.convert(parts, Mapping, strict=False)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$.")
        raise ValueError(f"{path.rstrip('`') or 'the file'}: {message}") from error
    known = [TABLE, IGNORE, *(kind.name for kind in RECORD_TYPES)]
    for title, sheet in mapping.sheets.items():
        if sheet.read_as and sheet.read_as not in known:
            raise ValueError(
                f'sheets: {title}: there is nothing called "{sheet.read_as}"; there are'
                f" {', '.join(known)}{hint_at(sheet.read_as, known)}"
            )
    _check_targets(mapping)
    return mapping


def is_table_target(target: str) -> bool:
    """Return whether a column of a table of apartments can hold this."""
    prefix = next(
        (each for each in (ATTRIBUTE, ATTRIBUTES, REFERENCE) if target.startswith(each)), ""
    )
    return target in TABLE_TARGETS or bool(prefix and target.removeprefix(prefix).strip())


def _check_targets(mapping: Mapping) -> None:
    known = {*TABLE_TARGETS, *FIELD_NAMES, IGNORE}
    for columns in (mapping.columns, *(sheet.columns for sheet in mapping.sheets.values())):
        for header, target in columns.items():
            if target not in known and not is_table_target(target):
                hint = hint_at(target, known) or (
                    f"; there are {', '.join(TABLE_TARGETS)}, {ATTRIBUTE}GROUP, {ATTRIBUTES}GROUP,"
                    f" {REFERENCE}KEY, {IGNORE}, and the fields of records"
                )
                raise ValueError(f'columns: {header}: there is nothing called "{target}"{hint}')


def _lengthen(value: Any, key: str) -> Any:
    return {key: value} if isinstance(value, str) else value


def _check_keys(value: Any, part: type[_Part], where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(
            f"{where or 'a mapping file '}has keys such as {part.__struct_fields__[0]}:"
        )
    for key in value:
        if key not in part.__struct_fields__:
            hint = hint_at(str(key), part.__struct_fields__)
            known = ", ".join(part.__struct_fields__)
            raise ValueError(f'{where}there is no key "{key}"{hint or f"; there are {known}"}')
    return value
