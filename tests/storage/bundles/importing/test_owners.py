"""The facts about owners that members are validated against, staged or live."""

from typing import Any

import pytest

from storage.bundles.importing.owners import (
    Mismatch,
    OwnerCache,
    describe_missing,
    find_mismatches,
    values_at,
)
from storage.floors import FLOORS
from storage.records.kinds import ForeignKey
from tests.storage.catalogs import ONE_DRIVER, SMALL, stage

SAME_ASSET = ForeignKey("floor_id", "floors", equal_fields=(("asset_id", "asset_id"),))
OF_GROUP = ForeignKey(
    "group_id", "attribute_groups", value_in=("attribute_id", "attributes.attribute_id")
)


@pytest.mark.parametrize(
    ("document", "path", "values"),
    [
        ({"map_ids": ["m", "n"]}, "map_ids", ["m", "n"]),
        ({"map_ids": None}, "map_ids", []),
        ({}, "floors.id", []),
    ],
)
def test_a_path_has_the_values_of_all_items(
    document: dict[str, Any], path: str, values: list[str]
) -> None:
    assert values_at(document, path) == values


def test_a_member_must_match_its_owner() -> None:
    member = {"asset_id": "a"}
    assert not [*find_mismatches(SAME_ASSET, member, {"asset_id": "a"})]
    mismatches = [*find_mismatches(SAME_ASSET, member, {"asset_id": "b"})]
    assert mismatches == [Mismatch("asset_id", "asset_id", 'has asset_id "b", not "a"')]


def test_a_value_must_be_in_the_array_of_its_owner() -> None:
    facts = {"attributes.attribute_id": frozenset({"s", "t"})}
    assert not [*find_mismatches(OF_GROUP, {"attribute_id": "s"}, facts)]
    assert [each.message for each in find_mismatches(OF_GROUP, {"attribute_id": "x"}, facts)] == [
        'has no attribute_id "x"'
    ]


def test_a_missing_owner_is_named_with_the_id_that_was_meant() -> None:
    near = ["oak-1", "oak-2", "elm-1"]
    assert describe_missing(FLOORS, "aok-1", near, " in any of the files") == (
        'there is no floor "aok-1" in any of the files; did you mean "oak-1"?'
    )
    assert describe_missing(FLOORS, "z", near, " in any of the files").endswith("files")


@pytest.mark.anyio
@ONE_DRIVER
async def test_staged_owners_take_precedence_over_live_ones(database: Any) -> None:
    staging = await stage(database, {"floors": [SMALL["floors"][0] | {"asset_id": "b"}]})
    live = [
        {"_id": key, "asset_id": "a", "name": "", "sort": 1, "created_at": "", "updated_at": ""}
        for key in ("a1", "a2")
    ]
    await database["floors"].insert_many(live)
    cache = OwnerCache(database, staging, FLOORS)
    await cache.load({"a1", "a2", "missing"})
    assert cache.get("a1") == {"asset_id": "b"}
    assert cache.get("a2") == {"asset_id": "a"}
    assert cache.get("missing") is None
