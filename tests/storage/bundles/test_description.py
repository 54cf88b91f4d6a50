"""The JSON Schema of bundles accepts what the importer reads, and rejects what it rejects."""

import copy
import io
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.bundles.description import DIALECT, FIELDS, RECORDS, build_bundle_schema, make_example
from storage.bundles.json_bundles import read_members
from storage.bundles.violations import Violations
from storage.catalog import RECORD_TYPES
from tests.doc_pages import page, section
from tests.storage.catalogs import SMALL, Bundle

SCHEMA = build_bundle_schema()
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)
DEMO = Path(__file__).parents[3] / "samples" / "demo" / "bundle.json"


def is_read(bundle: Any) -> bool:
    """Whether the importer reads a bundle without errors."""
    violations = Violations()
    for _ in read_members(io.BytesIO(json.dumps(bundle).encode()), "b.json", violations):
        pass
    return not violations.total


def test_it_is_a_schema_of_its_dialect() -> None:
    assert SCHEMA["$schema"] == DIALECT
    assert jsonschema_rs.meta.is_valid(SCHEMA)


def test_all_fields_are_described_and_no_others() -> None:
    definitions = SCHEMA["$defs"]
    assert definitions.keys() == RECORDS.keys() == FIELDS.keys()
    for name, fields in FIELDS.items():
        assert fields.keys() <= definitions[name]["properties"].keys(), name


def test_the_demo_and_the_example_of_the_docs_are_valid() -> None:
    example = section(page("bundles.md"), "## An example").split("```json")[1].split("```")[0]
    for bundle in (SMALL, json.loads(DEMO.read_text()), json.loads(example)):
        VALIDATOR.validate(bundle)
        VALIDATOR.validate({"$schema": "https://maps.example.com/v1/bundle.schema.json", **bundle})


@pytest.mark.parametrize("kind", RECORD_TYPES, ids=lambda kind: kind.name)
def test_the_examples_of_a_member_are_valid(kind: Any) -> None:
    properties = SCHEMA["$defs"][kind.struct.__name__]["properties"]
    full = {name: rule["examples"][0] for name, rule in properties.items()}
    for member in (make_example(kind.struct), full):
        VALIDATOR.validate({kind.name: [member]})
        assert is_read({kind.name: [member]})


@pytest.mark.parametrize(
    "bundle",
    [
        [],
        {"flors": []},
        {"units": {}},
        {"$schema": 5, "units": []},
        {"assets": [{"id": "a", "name": "A", "nmae": "A"}]},
        {"assets": [{"id": "references", "name": "REST has an endpoint of this name"}]},
        {"assets": [{"id": "a", "name": "x" * 2049}]},
        {"assets": [{"id": "a", "name": "A", "created_at": "2026-01-31T12:00:00"}]},
        {"maps": [{"id": "m", "asset_id": "a", "name": "M", "feet_per_unit": 0}]},
        {"maps": [{"id": "m", "asset_id": "a", "name": "M", "url": "javascript:alert(1)"}]},
        {"floors": [{"id": "f", "asset_id": "a", "name": "F", "sort": 2**31}]},
    ],
)
def test_what_the_importer_rejects_is_invalid(bundle: Any) -> None:
    assert not is_read(bundle)
    assert not VALIDATOR.is_valid(bundle)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**33), 2**33),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: number % 1 != 0),
    st.text(max_size=4),
    st.sampled_from(["", "x" * 255, "x" * 256, "x" * 2048, "x" * 2049, "a,b", "key", "2026-01-31"]),
    st.sampled_from(["https://x", "ftp://x", "2026-01-31T12:00:00Z", "references", "parse"]),
    st.lists(st.sampled_from(["m", "", 1, None, {}, {"id": "f"}, {"key": "k", "value": ""}])),
    st.sampled_from([{}, {"id": "f"}, [[]]]),
)


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values within a bundle."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, item in items if isinstance(value, dict | list) else ():
        found += [(*path, key)]
        if isinstance(item, dict | list):
            found += paths_in(item, (*path, key))
    return found


ALL_FIELDS = sorted({name for each in SCHEMA["$defs"].values() for name in each["properties"]})


@given(st.data())
def test_random_changes_of_a_bundle_are_valid_if_the_importer_reads_them(data: Any) -> None:
    bundle: Bundle = copy.deepcopy(SMALL)
    for _ in range(data.draw(st.integers(1, 3))):
        *parents, last = data.draw(st.sampled_from(paths_in(bundle)))
        parent: Any = bundle
        for key in parents:
            parent = parent[key]
        change = data.draw(st.sampled_from(["replace", "remove", "add"]))
        if change == "replace":
            parent[last] = copy.deepcopy(data.draw(VALUES))
        elif change == "remove":
            del parent[last]
        elif isinstance(parent, dict):
            parent[data.draw(st.sampled_from([*ALL_FIELDS, "other"]))] = copy.deepcopy(
                data.draw(VALUES)
            )
    assert VALIDATOR.is_valid(bundle) == is_read(bundle)


def test_the_table_of_the_docs_has_the_fields_of_the_schema() -> None:
    rows = [line for line in section(page("bundles.md"), "## Fields").splitlines() if "| `" in line]
    assert len(rows) == len(RECORD_TYPES)
    for row in rows:
        _, name, _, cell, _ = (part.strip() for part in row.split("|"))
        kind = SCHEMA["properties"][name.strip("`")]["items"]["$ref"].rpartition("/")[2]
        record = SCHEMA["$defs"][kind]
        own = record["properties"].keys() - {"created_at", "updated_at"}
        assert all(field in cell for field in own), (name, own)
        assert all(f"**{field}**" in cell for field in record["required"]), name
