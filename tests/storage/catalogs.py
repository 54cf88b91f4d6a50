"""Catalogs for tests, as bundles hold them."""

import copy
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from storage.administration.import_lease import LEASE_COLLECTION, LEASE_ID, ImportLease
from storage.bundles.json_bundles import read_members
from storage.bundles.violations import Violations
from storage.errors import BundleError
from storage.importing.import_bundles import import_bundles
from storage.importing.staging import Staging
from storage.routing_inputs import NETWORK_FORMAT

ARCHIVE = b'FLOORRTE%s{"kind":"routable","version":%d,' % (bytes(8), NETWORK_FORMAT)
"""What a network begins with that this release has published."""

Bundle = dict[str, list[dict[str, Any]]]

SMALL: Bundle = {
    "assets": [{"id": "a", "name": "Alder Court"}, {"id": "b", "name": "Birch House"}],
    "floors": [
        {"id": "a1", "asset_id": "a", "name": "First", "sort": 1},
        {"id": "b1", "asset_id": "b", "name": "First", "sort": 1},
    ],
    "maps": [
        {"id": "am", "asset_id": "a", "name": "Plates", "background_id": "ab", "tags": ["ils"]},
        {"id": "bm", "asset_id": "b", "name": "Plates"},
    ],
    "backgrounds": [
        {"id": "ab", "unit_map_id": "am", "name": "Daylight"},
        {"id": "bb", "unit_map_id": "bm", "name": "Daylight"},
    ],
    "units": [
        {"id": "u1", "asset_id": "a", "floor_id": "a1", "name": "101", "map_ids": ["am"]},
        {"id": "u2", "asset_id": "a", "floor_id": "a1", "name": "102"},
        {"id": "v1", "asset_id": "b", "floor_id": "b1", "name": "101"},
    ],
    "level_tags": [
        {
            "map_id": "am",
            "key": "floor",
            "name": "Floor",
            "values": [{"name": "First", "value": "a1"}, {"name": "Roof", "value": "roof"}],
        }
    ],
    "asset_references": [{"id": "r", "asset_id": "a", "key": "keyring", "value": "KR-1"}],
    "unit_references": [
        {"group_id": "g", "asset_id": "a", "unit_id": "u1", "key": "keyring", "value": "1_2"}
    ],
    "attribute_groups": [
        {
            "group_id": "plan",
            "group_name": "Floor plan",
            "one_attribute_per_unit": True,
            "attributes": [
                {"attribute_id": "s", "attribute_name": "Studio", "attribute_key": "studio"},
                {"attribute_id": "t", "attribute_name": "Two rooms", "attribute_key": "two"},
            ],
        },
        {
            "group_id": "extras",
            "group_name": "Extras",
            "attributes": [
                {"attribute_id": "view", "attribute_name": "View", "attribute_key": "view"},
                {"attribute_id": "quiet", "attribute_name": "Quiet", "attribute_key": "quiet"},
            ],
        },
    ],
    "attribute_assignments": [
        {"group_id": "plan", "attribute_id": "s", "asset_id": "a", "unit_id": "u1"},
        {"group_id": "extras", "attribute_id": "view", "asset_id": "a", "unit_id": "u1"},
        {"group_id": "extras", "attribute_id": "quiet", "asset_id": "a", "unit_id": "u1"},
    ],
    "locations": [
        {
            "id": "l",
            "asset_id": "a",
            "unit_map_id": "am",
            "name": "Pool",
            "x": 1.5,
            "y": -2,
            "floors": [{"id": "a1"}],
            "tags": [{"key": "svc:amenity", "value": "yes"}],
        }
    ],
}
"""Two properties with records of every kind."""


def small() -> Bundle:
    """A copy of `SMALL` to change."""
    return copy.deepcopy(SMALL)


def write_arrays(path: Path, bundle: Bundle) -> Path:
    """Write a bundle as JSON."""
    path.write_text(json.dumps(bundle))
    return path


def write_lines(path: Path, bundle: Bundle) -> Path:
    """Write a bundle as JSON lines."""
    members = [{"type": kind, **member} for kind, array in bundle.items() for member in array]
    path.write_text("".join(json.dumps(member) + "\n" for member in members))
    return path


async def stage(database: Any, *bundles: Bundle, import_id: str = "import") -> Staging:
    """Stage the members of bundles named b0, b1, ... as one import. Raises BundleError."""
    staging = Staging(database, import_id)
    violations = Violations()
    for number, bundle in enumerate(bundles):
        content = io.BytesIO(json.dumps(bundle).encode())
        members = [*read_members(content, f"b{number}", violations)]
        await staging.add_members(members, violations)
    await staging.build_indexes(violations)
    violations.raise_if_any()
    return staging


async def contents(database: Any) -> dict[str, list[dict[str, Any]]]:
    """Return all documents by collection, except leases and migrations."""
    names = sorted(set(await database.list_collection_names()) - {"imports", "migrations"})
    found = {name: await database[name].find().sort("_id", 1).to_list(None) for name in names}
    return {name: documents for name, documents in found.items() if documents}


async def text_of(parts: AsyncIterator[bytes]) -> bytes:
    """Return the parts of a stream as one text."""
    return b"".join([part async for part in parts])


async def import_violations(database: Any, *paths: Path) -> list[str]:
    """Import invalid bundles; return the violations. Nothing may have changed."""
    before = await contents(database)
    with pytest.raises(BundleError) as caught:
        await import_bundles(database, paths)
    assert await contents(database) == before
    return caught.value.violations


async def expire_lease(database: Any) -> None:
    """As if the seconds had passed after which the lease of a dead process ends."""
    where = {"_id": LEASE_ID}
    await database[LEASE_COLLECTION].update_one(
        where, {"$set": {"expires": ImportLease.EXPIRED_AT}}
    )
