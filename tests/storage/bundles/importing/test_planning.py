"""The plan of an import says of each staged member whether it is new, changed or unchanged."""

from typing import Any

import pytest

from storage.bundles.importing.planning import ChangePlanner, MemberChange, PlannedBatch
from storage.bundles.reading.members import parse_member
from storage.catalog import RECORD_TYPES_BY_NAME
from storage.mongo import iteration
from tests.storage.catalogs import ONE_DRIVER, SMALL, Bundle, small, stage

pytestmark = [pytest.mark.anyio, ONE_DRIVER]

NOW = "2026-05-01T00:00:00+00:00"
LONG_AGO = "2001-01-01T00:00:00+00:00"
STAMPS = {"created_at": LONG_AGO, "updated_at": LONG_AGO}
UNIT = SMALL["units"][0]


def live(kind: str, member: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The document of a member that was imported long ago, with other or further fields."""
    return parse_member(RECORD_TYPES_BY_NAME[kind], {**member}) | STAMPS | fields


async def plan_batches(database: Any, kind: str, bundle: Bundle) -> list[PlannedBatch]:
    staging = await stage(database, bundle)
    try:
        planner = ChangePlanner(database, staging, NOW)
        return [batch async for batch in planner.plan_batches(RECORD_TYPES_BY_NAME[kind])]
    finally:
        await staging.drop(await staging.list_names())


async def plan(database: Any, kind: str, bundle: Bundle) -> list[MemberChange]:
    batches = await plan_batches(database, kind, bundle)
    return [change for batch in batches for change in batch.changes]


def describe(change: MemberChange) -> str:
    if change.fields is None:
        return "unchanged"
    return "new" if change.is_new else "changed"


async def test_a_member_that_the_catalog_lacks_is_new(database: Any) -> None:
    (change,) = await plan(database, "units", {"units": [UNIT]})
    fields = change.fields or {}
    assert change == MemberChange("u1", True, fields)
    assert fields | UNIT | {"created_at": NOW, "updated_at": NOW} == fields | {"id": "u1"}


@pytest.mark.parametrize(
    ("catalog", "member", "planned"),
    [
        ({}, {}, "unchanged"),
        ({}, {"name": "101A"}, "changed"),
        ({}, {"map_ids": []}, "changed"),
        ({}, {"map_ids": None}, "changed"),
        ({}, {"updated_at": "2026-04-01T00:00:00Z"}, "unchanged"),
        ({"added_by_a_later_release": 1}, {}, "unchanged"),
        ({"name": "101A"}, {}, "changed"),
    ],
)
async def test_a_member_is_changed_if_its_content_is(
    database: Any, catalog: dict[str, Any], member: dict[str, Any], planned: str
) -> None:
    await database["units"].insert_one(live("units", UNIT, **catalog))
    (change,) = await plan(database, "units", {"units": [UNIT | member]})
    assert describe(change) == planned


@pytest.mark.parametrize(("style", "planned"), [("a", "unchanged"), ("b", "changed")])
async def test_a_field_that_an_older_document_lacks_counts_as_its_default(
    database: Any, style: str, planned: str
) -> None:
    older = live("maps", SMALL["maps"][0])
    del older["style"], older["feet_per_unit"]
    await database["maps"].insert_one(older)
    (change,) = await plan(database, "maps", {"maps": [SMALL["maps"][0] | {"style": style}]})
    assert describe(change) == planned


@pytest.mark.parametrize(
    ("staged_maps", "live_maps", "asset_id"),
    [
        ([SMALL["maps"][0]], [], "a"),
        ([], [live("maps", SMALL["maps"][0])], "a"),
        ([SMALL["maps"][0] | {"asset_id": "b"}], [live("maps", SMALL["maps"][0])], "b"),
        ([], [], None),
    ],
)
async def test_fields_are_copied_from_the_staged_owner_or_else_the_live_one(
    database: Any, staged_maps: list[Any], live_maps: list[Any], asset_id: str | None
) -> None:
    if live_maps:
        await database["maps"].insert_many(live_maps)
    bundle: Bundle = {"maps": staged_maps, "backgrounds": SMALL["backgrounds"][:1]}
    (batch,) = await plan_batches(database, "backgrounds", bundle)
    assert batch.documents[0]["asset_id"] == asset_id
    assert batch.changes[0].fields
    assert batch.changes[0].fields["asset_id"] == asset_id


@pytest.mark.parametrize(("single", "key"), [(True, "plan\0u1"), (False, "plan\0u1\0s")])
async def test_the_group_decides_about_the_key_of_an_assignment(
    database: Any, single: bool, key: str
) -> None:
    bundle: Bundle = {
        "attribute_groups": [SMALL["attribute_groups"][0] | {"one_attribute_per_unit": single}],
        "attribute_assignments": SMALL["attribute_assignments"][:1],
    }
    (change,) = await plan(database, "attribute_assignments", bundle)
    assert change.key == key


@pytest.mark.parametrize("tags", [["ils"], ["ils", "pathfinding"]])
async def test_what_processing_has_set_is_kept_and_is_no_change(
    database: Any, tags: list[str]
) -> None:
    unit_map = SMALL["maps"][0]
    routing = {"network": "digest", "routing_tier": "foot_routing", "tags": ["ils", "pathfinding"]}
    await database["maps"].insert_one(live("maps", unit_map, **routing))
    member = unit_map | {"tags": tags}
    (same,) = await plan(database, "maps", {"maps": [member]})
    assert describe(same) == "unchanged"
    (renamed,) = await plan(database, "maps", {"maps": [member | {"name": "Renamed"}]})
    assert renamed.fields
    assert renamed.fields | routing == renamed.fields


async def test_documents_origins_and_changes_of_a_batch_are_aligned(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iteration, "BATCH_DOCUMENTS", 2)
    await database["units"].insert_many([live("units", each) for each in SMALL["units"][1:]])
    bundle = small()
    bundle["units"][2]["name"] = "Renamed"
    batches = await plan_batches(database, "units", bundle)
    seen = [
        [
            (document["_id"], origin, describe(change), document["_id"] in batch.live)
            for document, origin, change in zip(
                batch.documents, batch.origins, batch.changes, strict=True
            )
        ]
        for batch in batches
    ]
    assert seen == [
        [
            ("u1", "b0: $.units[0]", "new", False),
            ("u2", "b0: $.units[1]", "unchanged", True),
        ],
        [("v1", "b0: $.units[2]", "changed", True)],
    ]
