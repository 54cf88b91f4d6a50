"""Writes between reads: assignments of attributes, and reads by several keys of every asset.

Of 100 requests `WRITE_PERCENT` assign an attribute, in turn to units of all assets. The others read
an asset's units, its assignments, or one of its units, as likely as these addresses are many, with
the key that sees all assets or with one that sees a few.
"""

import random
from collections.abc import Iterator
from itertools import cycle, islice

import orjson

from bench.data.bundle import UNITS_PER_ASSET
from bench.data.directory import ATTRIBUTE_IDS, GROUP_ID, Directory
from bench.data.requests import LoadRequest
from bench.data.workloads import JSON, SEED, Workload

WRITE_PERCENT = 6
ASSIGNED_PER_ASSET = 2
READ_PER_ASSET = 10
"""Single units of an asset that are read."""
ASSIGNMENTS = f"/v1/units/attribute-groups/{GROUP_ID}/assignments"


def list_writes(directory: Directory) -> list[LoadRequest]:
    """Return requests that assign each attribute in turn to some units of every asset."""
    return [
        _assign(directory, asset, number, attribute)
        for attribute in ATTRIBUTE_IDS
        for number in range(ASSIGNED_PER_ASSET)
        for asset in range(_count_assets(directory))
    ]


def list_reads(directory: Directory) -> list[LoadRequest]:
    """Return every read of the mix."""
    return [
        LoadRequest(path, headers={"API-Key": key})
        for asset in range(_count_assets(directory))
        for key in (directory.key, directory.scoped_keys[asset % len(directory.scoped_keys)])
        for path in _paths(directory, asset)
    ]


def build_mix(directory: Directory) -> list[LoadRequest]:
    """Return the requests of the mix, which writes everything once."""
    writes, picked = list_writes(directory), random.Random(SEED)
    reads = list_reads(directory)
    count = len(writes) * (100 - WRITE_PERCENT) // WRITE_PERCENT
    mixed = list(islice(cycle(picked.sample(reads, len(reads))), count))
    for at, write in enumerate(writes):
        mixed.insert(at * 100 // WRITE_PERCENT, write)
    return mixed


def _count_assets(directory: Directory) -> int:
    return len(directory.unit_ids) // UNITS_PER_ASSET


def _name_asset(asset: int) -> str:
    return f"asset-{asset:06}"


def _unit(directory: Directory, asset: int, number: int) -> str:
    return directory.unit_ids[asset * UNITS_PER_ASSET + number]


def _assign(directory: Directory, asset: int, number: int, attribute: str) -> LoadRequest:
    assignment = {
        "group_id": GROUP_ID,
        "attribute_id": attribute,
        "asset_id": _name_asset(asset),
        "unit_id": _unit(directory, asset, number),
    }
    return LoadRequest(ASSIGNMENTS, "PUT", orjson.dumps({"data": [assignment]}), JSON)


def _paths(directory: Directory, asset: int) -> Iterator[str]:
    selected = f"asset={_name_asset(asset)}&per-page={UNITS_PER_ASSET}"
    yield f"/v1/units?{selected}"
    yield f"{ASSIGNMENTS}?{selected}"
    for number in range(READ_PER_ASSET):
        yield f"/v1/units/{_unit(directory, asset, number)}"


WRITES = Workload("writes", "one assignment", list_writes)
MIX = Workload("mix", f"{WRITE_PERCENT} % assignments, reads by several keys", build_mix)
