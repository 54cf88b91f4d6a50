"""The mix writes to every asset and reads each of them with several keys."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import orjson
import pytest

from bench.data.directory import ATTRIBUTE_IDS, SCOPED_KEYS, Directory
from bench.data.mix import (
    ASSIGNED_PER_ASSET,
    READ_PER_ASSET,
    WRITE_PERCENT,
    build_mix,
    list_reads,
    list_writes,
)

ASSETS = 20
KEYS = tuple(f"key-{number}" for number in range(SCOPED_KEYS))
UNITS = [f"unit-{number}" for number in range(250 * ASSETS)]
DIRECTORY = Directory("", 0, "", "all", UNITS, [], Path(), KEYS)


def test_each_write_changes_what_the_last_one_to_its_unit_wrote() -> None:
    written: dict[str, list[str]] = {}
    for request in list_writes(DIRECTORY):
        [assignment] = orjson.loads(request.body)["data"]
        assert DIRECTORY.unit_ids.index(assignment["unit_id"]) // 250 == int(
            assignment["asset_id"].removeprefix("asset-")
        )
        written.setdefault(assignment["unit_id"], []).append(assignment["attribute_id"])
    assert len(written) == ASSETS * ASSIGNED_PER_ASSET
    assert all(attributes == [*ATTRIBUTE_IDS] for attributes in written.values())


def test_reads_are_of_every_asset_with_keys_that_see_it() -> None:
    reads = Counter(request.headers["API-Key"] for request in list_reads(DIRECTORY))
    of_an_asset = READ_PER_ASSET + 2
    assert reads["all"] == ASSETS * of_an_asset
    assert all(reads[key] == ASSETS // SCOPED_KEYS * of_an_asset for key in KEYS)


def test_writes_are_spread_evenly_between_reads() -> None:
    mixed = build_mix(DIRECTORY)
    places = [at for at, request in enumerate(mixed) if request.method == "PUT"]
    assert [mixed[at] for at in places] == list_writes(DIRECTORY)
    assert len(places) / len(mixed) == pytest.approx(WRITE_PERCENT / 100, abs=0.001)
    gaps = {after - before for before, after in pairwise(places)}
    assert gaps <= {16, 17}
