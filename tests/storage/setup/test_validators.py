"""MongoDB's own guard accepts what records hold and nothing else."""

from typing import Any

import pytest
from pymongo.errors import WriteError

from storage.bundles.reading.members import parse_member
from storage.catalog import RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.setup.preparation import prepare_database
from tests.storage.catalogs import SMALL

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def document(kind_name: str) -> dict[str, Any]:
    kind = RECORD_TYPES_BY_NAME[kind_name]
    return parse_member(kind, SMALL[kind_name][0])


async def test_members_of_every_kind_are_accepted(database: Any) -> None:
    await prepare_database(database)
    for kind in RECORD_TYPES:
        await database[kind.name].insert_one(document(kind.name))


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("assets", {"name": 3}),
        ("assets", {"name": None}),
        ("assets", {"_id": ""}),
        ("units", {"asset_id": "x" * 256}),
        ("units", {"map_ids": "m"}),
        ("units", {"map_ids": [3]}),
        ("floors", {"sort": 1.5}),
        ("maps", {"feet_per_unit": "1"}),
        ("attribute_groups", {"one_attribute_per_unit": 1}),
        ("attribute_groups", {"attributes": [{"attribute_id": "a"}]}),
        ("locations", {"x": None}),
        ("locations", {"tags": [{"key": "k", "value": 1, "created_at": "", "updated_at": ""}]}),
    ],
)
@pytest.mark.parametrize("client", ["motor"], indirect=True)
async def test_documents_of_another_shape_are_rejected(
    database: Any, kind: str, change: dict[str, Any]
) -> None:
    await prepare_database(database)
    with pytest.raises(WriteError, match="failed validation"):
        await database[kind].insert_one(document(kind) | change)


@pytest.mark.parametrize("client", ["motor"], indirect=True)
async def test_fields_without_default_are_required_and_others_may_be_added(database: Any) -> None:
    await prepare_database(database)
    complete = document("units")
    await database["units"].insert_one(complete | {"added": 1})
    for field in ("asset_id", "floor_id", "name"):
        part = {name: value for name, value in complete.items() if name != field}
        with pytest.raises(WriteError, match="failed validation"):
            await database["units"].insert_one(part | {"_id": field})


@pytest.mark.parametrize("client", ["motor"], indirect=True)
async def test_a_document_without_a_later_field_can_be_updated(database: Any) -> None:
    older = document("units")
    del older["map_ids"]
    await database["units"].insert_one(older)
    await prepare_database(database)
    result = await database["units"].update_one({"_id": "u1"}, {"$set": {"name": "Renamed"}})
    assert result.modified_count == 1
    with pytest.raises(WriteError, match="failed validation"):
        await database["units"].update_one({"_id": "u1"}, {"$set": {"map_ids": "m"}})
