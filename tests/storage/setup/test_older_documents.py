"""A database written by an earlier release, with fewer fields in its records."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from storage.bundles.importing.import_bundles import ImportCounts, import_bundles
from storage.catalog import RECORD_TYPES
from storage.maps import WHEELCHAIR_ROUTING
from storage.networks import publish_network
from storage.publication import Publication
from storage.setup.preparation import prepare_database
from storage.setup.validators import build_validator
from tests.storage.catalogs import ARCHIVE, SMALL, contents, small, write_arrays

pytestmark = pytest.mark.anyio

LATER_FIELDS = {
    "assets": ("name_words",),
    "units": ("map_ids", "name_words"),
    "locations": ("name_words",),
    "maps": ("feet_per_unit", "routing_tier", "name_words"),
    "floors": ("short_label", "updated_at"),
    "attribute_groups": ("one_attribute_per_unit",),
}
"""Optional fields that the earlier release did not have."""


def earlier_validator(kind: Any) -> dict[str, Any]:
    """The validator of release 1.0.0, which required all the fields that it knew."""
    validator = build_validator(kind)
    schema = validator["$jsonSchema"]
    for field in LATER_FIELDS.get(kind.name, ()):
        schema["properties"].pop(field, None)
    schema["required"] = [*schema["properties"]]
    return validator


@pytest.fixture
async def earlier(database: Any, bundle: Path) -> Any:
    """The small catalog as the earlier release has left it, with one map that is published."""
    await import_bundles(database, [bundle])
    for name, fields in LATER_FIELDS.items():
        await database[name].update_many(
            {}, {"$unset": dict.fromkeys(fields, "")}, bypass_document_validation=True
        )
    await database["maps"].update_one({"_id": "am"}, {"$set": {"network": "digest"}})
    for kind in RECORD_TYPES:
        await database.command("collMod", kind.name, validator=earlier_validator(kind))
    await database.drop_collection("migrations")
    return database


async def test_the_catalog_can_be_updated_after_a_start(
    earlier: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "floorgate.migrations"):
        await prepare_database(earlier)
        await prepare_database(earlier)
    named = sum(len(SMALL[name]) for name, fields in LATER_FIELDS.items() if "name_words" in fields)
    assert caplog.messages == [
        "migration 2, scales of networks: 0 maps changed",
        f"migration 3, words of names: {named} records changed",
        "migration 4, georeferences of drawings: 0 maps changed",
        "migration 5, networks of other formats: 1 maps no longer routable until"
        " `floorgate maps process --stale`",
    ]
    for kind in RECORD_TYPES:
        result = await earlier[kind.name].update_many({}, {"$set": {"note": "x"}})
        assert result.modified_count == len(SMALL[kind.name])
    await publish_network(earlier, Publication("bm", ARCHIVE, WHEELCHAIR_ROUTING, {}, []))
    published = await earlier["maps"].find_one({"_id": "bm"})
    assert published["routing_tier"] == WHEELCHAIR_ROUTING


async def test_importing_the_same_bundle_adds_the_fields_that_it_gives(
    earlier: Any, tmp_path: Path
) -> None:
    """Members are unchanged if their later fields have the defaults."""
    given = small()
    for group in given["attribute_groups"]:
        group.pop("one_attribute_per_unit", None)
    del given["attribute_assignments"]
    summary = await import_bundles(earlier, [write_arrays(tmp_path / "again.json", given)])
    assert summary.kinds["attribute_groups"] == ImportCounts(unchanged=2)
    assert summary.kinds["units"] == ImportCounts(updated=1, unchanged=2)  # u1 has map_ids
    floors = (await contents(earlier))["floors"]
    assert json.dumps(floors).count("short_label") == len(SMALL["floors"])
