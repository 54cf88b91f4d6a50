"""The catalog that clients change, and how pages of it are read as registers."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from pymongo.database import Database

from storage.administration.audit import AUDIT_COLLECTION

ASSET, OTHER_ASSET = "tower", "annex"
ONE, MANY = "one", "many"
"""The groups: one attribute per unit, and many."""
ATTRIBUTES = [f"v{number}" for number in range(2_000)]
"""A round that writes more values to a register is not judged: each tells which write it is of."""
GATEWAYS = 2
SINGLE_UNITS = [f"single-{number}" for number in range(GATEWAYS)]
"""A unit for each gateway: all its writes go through that one."""
BLOCKS_PER_GATEWAY = 2
BLOCK_SIZE = 40
BLOCK_UNITS = [
    [f"block-{block}-{number}" for number in range(BLOCK_SIZE)]
    for block in range(GATEWAYS * BLOCKS_PER_GATEWAY)
]
"""Blocks of units that one request changes, so that they always have the same attribute."""
IMPORTED_UNITS = [f"imported-{number}" for number in range(60)]
FLOOR = "tower-1"


def find_home(register: str) -> int:
    """Return the gateway through which a register is written.

    >>> [find_home(name) for name in ("single-1", "block 1", "block 2", "extra 3 v7", "asset")]
    [1, 0, 1, 1, 0]
    """
    if register.startswith("single-"):
        return int(register.removeprefix("single-"))
    kind, *rest = register.split()
    return int(rest[0]) // BLOCKS_PER_GATEWAY if kind in ("block", "extra") else 0


def build_catalog(attributes: Sequence[str] = ATTRIBUTES) -> dict[str, list[dict[str, Any]]]:
    """Return the catalog of the beginning."""
    units = [*SINGLE_UNITS, *(unit for block in BLOCK_UNITS for unit in block)]
    members = [
        {"attribute_id": name, "attribute_name": name, "attribute_key": name} for name in attributes
    ]
    return {
        "assets": [{"id": ASSET, "name": "version 0"}],
        "floors": [{"id": FLOOR, "asset_id": ASSET, "name": "First", "sort": 1}],
        "units": [_unit(unit, unit) for unit in units]
        + [_unit(unit, "version 0") for unit in IMPORTED_UNITS],
        "attribute_groups": [
            {
                "group_id": group,
                "group_name": group,
                "one_attribute_per_unit": group == ONE,
                "attributes": members,
            }
            for group in (ONE, MANY)
        ],
    }


def build_import(version: str) -> str:
    """Return the bundle that names the asset and the imported units after a version."""
    return json.dumps(
        {
            "assets": [{"id": ASSET, "name": version}],
            "units": [_unit(unit, version) for unit in IMPORTED_UNITS],
        }
    )


def _unit(unit_id: str, name: str) -> dict[str, Any]:
    return {"id": unit_id, "asset_id": ASSET, "floor_id": FLOOR, "name": name}


Rows = list[dict[str, Any]]


def read_registers(rows: Rows) -> tuple[dict[str, str | None], Counter[str]]:
    """Return the attribute of each unit and block, and how often which rule is broken."""
    attributes: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        attributes[row["unit_id"]].append(row["attribute_id"])
    problems = Counter(
        {"units with two attributes": sum(len(each) > 1 for each in attributes.values())}
    )
    values = {unit: next(iter(attributes[unit]), None) for unit in SINGLE_UNITS}
    for number, units in enumerate(BLOCK_UNITS):
        found = {next(iter(attributes[unit]), None) for unit in units}
        if len(found) == 1:
            values[f"block {number}"] = found.pop()
        else:
            problems["half batches"] += 1
    return values, problems


def read_extras(rows: Rows) -> tuple[dict[str, str | None], Counter[str]]:
    """Return which attributes each block has ("yes") or in part ("half"), and the rest as above."""
    counts: Counter[tuple[int, str]] = Counter()
    for row in rows:
        counts[int(row["unit_id"].split("-")[1]), row["attribute_id"]] += 1
    values: dict[str, str | None] = {
        f"extra {block} {attribute}": "yes" if count == BLOCK_SIZE else "half"
        for (block, attribute), count in counts.items()
    }
    return values, Counter({"half batches": sum(each == "half" for each in values.values())})


def read_stored(
    database: Database[dict[str, Any]],
) -> tuple[dict[str, str | None], Counter[str], list[str]]:
    """Return the registers, how many audit records each request has, and what is wrong."""
    rows = [*database["attribute_assignments"].find()]
    one, half = read_registers([row for row in rows if row["group_id"] == ONE])
    many, more = read_extras([row for row in rows if row["group_id"] == MANY])
    problems = [f"in the database: {count} x {what}" for what, count in (half + more).items()]
    versions = {unit["name"] for unit in database["units"].find({"_id": {"$in": IMPORTED_UNITS}})}
    asset = database["assets"].find_one({"_id": ASSET})
    assert asset is not None
    if versions != {asset["name"]}:
        problems.append(f"half an import: {asset['name']}, units {sorted(versions)}")
    audited = Counter(
        each["request_id"] for each in database[AUDIT_COLLECTION].find({}, {"request_id": 1})
    )
    registers = one | {"asset": asset["name"]}
    registers |= {name: value for name, value in many.items() if value == "yes"}
    return registers, audited, problems
