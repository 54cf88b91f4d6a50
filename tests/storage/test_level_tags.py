"""Level tags: one of each key on a map, with values in display order."""

from pathlib import Path
from typing import Any

import pytest

from storage.bundles.importing.import_bundles import ImportCounts, import_bundles
from storage.bundles.reading.members import MemberError, parse_member
from storage.level_tags import LEVEL_TAGS
from storage.records.paging import PageRequest
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.store import Store
from tests.storage.catalogs import ONE_DRIVER, SMALL, small, write_arrays

TAG = SMALL["level_tags"][0]


@pytest.mark.anyio
@pytest.mark.slow
@ONE_DRIVER
async def test_maps_have_tags_of_one_key_each_and_list_them_in_the_order_of_keys(
    client: Any, database: Any, path: Path
) -> None:
    bundle = small()
    bundle["level_tags"] = [
        TAG | {"map_id": map_id, "key": key} for map_id in ("am", "bm") for key in ("wing", "floor")
    ]
    summary = await import_bundles(database, [write_arrays(path, bundle)])
    assert summary.kinds["level_tags"] == ImportCounts(inserted=4)
    store, page = Store(client, database.name), PageRequest(1, 10)
    listed = await store.list_page(LEVEL_TAGS, ALL_ASSETS, {"map_id": "am"}, page)
    assert [(tag.map_id, tag.key) for tag in listed.data] == [("am", "floor"), ("am", "wing")]
    only_b = await store.list_page(LEVEL_TAGS, AssetScope(frozenset({"b"})), {}, page)
    assert {tag.map_id for tag in only_b.data} == {"bm"}


def test_values_keep_their_order() -> None:
    values = [{"name": name, "value": name} for name in ("Roof", "First", "Basement", "First")]
    (tag,) = LEVEL_TAGS.decode([parse_member(LEVEL_TAGS, TAG | {"values": values})])
    assert [value.name for value in tag.values] == ["Roof", "First", "Basement", "First"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"key": ""}, ".key"),
        ({"values": None}, ".values"),
        ({"values": [{"name": "First"}]}, ".values[0]"),
        ({"values": [{"name": "First", "value": ""}]}, ".values[0].value"),
    ],
)
def test_other_members_are_rejected(change: dict[str, Any], path: str) -> None:
    with pytest.raises(MemberError) as raised:
        parse_member(LEVEL_TAGS, TAG | change)
    assert {fault.path for fault in raised.value.find_faults()} == {path}
