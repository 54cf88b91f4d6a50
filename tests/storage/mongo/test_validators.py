"""MongoDB's own guard accepts what records hold and nothing else."""

from typing import Any

import pytest
from pymongo.errors import WriteError

from storage.bundles.members import parse_member
from storage.bundles.violations import Violations
from storage.catalog import KINDS, KINDS_BY_NAME
from storage.mongo.setup import prepare_database
from tests.storage.catalogs import SMALL

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def document(kind_name: str) -> dict[str, Any]:
    kind = KINDS_BY_NAME[kind_name]
    found = parse_member(kind, SMALL[kind_name][0], [], "$", Violations())
    assert found is not None
    return found


async def test_members_of_every_kind_are_accepted(database: Any) -> None:
    await prepare_database(database)
    for kind in KINDS:
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
async def test_documents_of_another_shape_are_refused(
    database: Any, kind: str, change: dict[str, Any]
) -> None:
    await prepare_database(database)
    with pytest.raises(WriteError, match="failed validation"):
        await database[kind].insert_one(document(kind) | change)


@pytest.mark.parametrize("client", ["motor"], indirect=True)
async def test_a_missing_field_is_refused_and_one_more_is_not(database: Any) -> None:
    await prepare_database(database)
    whole = document("units")
    await database["units"].insert_one(whole | {"added": 1})
    for field in whole.keys() - {"_id"}:
        part = {name: value for name, value in whole.items() if name != field}
        with pytest.raises(WriteError, match="failed validation"):
            await database["units"].insert_one(part | {"_id": field})
