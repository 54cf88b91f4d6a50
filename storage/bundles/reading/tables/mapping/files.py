"""Reading mapping files."""

from pathlib import Path
from typing import Any

import msgspec
import yaml

from storage.bundles.reading.tables.mapping.faults import find_faults
from storage.bundles.reading.tables.mapping.structure import Mapping
from storage.bundles.reading.violations import MAX_VIOLATIONS, Violations
from storage.errors import BundleError

MAX_MAPPING_BYTES = 1 << 20
SHORT_FORMS = {"asset": "id", "sheets": "read_as", "floors": "sort"}
"""By part, the key that a plain value stands for: `asset: oak` is `asset: {id: oak}`."""


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


def read_mapping(path: Path) -> Mapping:
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


def parse_mapping(value: Any, name: str = "the mapping") -> Mapping:
    """Return the mapping that a file holds. Raises BundleError with all that is wrong.

    >>> parse_mapping({"colums": {"Unit #": "unit"}, "dates": "us"})
    Traceback (most recent call last):
    storage.errors.BundleError: the mapping: there is no key "colums"; did you mean "columns"?
    the mapping: dates: expected day-first or month-first, not "us"
    """
    value = _lengthen_parts(value) if isinstance(value, dict) else value
    violations = Violations()
    for number, (place, message) in enumerate(find_faults(value)):
        if number == MAX_VIOLATIONS:
            errors = [*map(str, violations.list_first())]
            raise BundleError([*errors, f"{name}: there are more errors than these"])
        violations.add(": ".join((name, *place)), message)
    violations.raise_if_any()
    try:
        return msgspec.convert(value, Mapping, strict=False)
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
            long[name] = {title: _lengthen(each, key) for title, each in part.items()}
    return long


def _lengthen(value: Any, key: str) -> Any:
    return {key: value} if isinstance(value, str) else value
