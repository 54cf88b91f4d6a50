"""Plans say what an import or removal would do."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from storage.bundles.changes.change_plan import FieldChange, RecordChange
from storage.bundles.changes.change_request import ChangeRequest
from storage.bundles.importing.import_bundles import import_bundles
from storage.bundles.reading.sources import to_data_url
from tests.storage.bundles.removing.mirroring import mirror
from tests.storage.catalogs import SMALL, small

pytestmark = pytest.mark.anyio


async def test_a_plan_names_what_is_added_and_each_field_that_changes(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    source = {"units": [*small()["units"], {**SMALL["units"][0], "id": "u9"}]}
    source["units"][0] |= {"name": "x" * 200, "map_ids": None}
    source["level_tags"] = [SMALL["level_tags"][0] | {"values": []}]
    summary = await mirror(database, path, source, dry_run=True)
    assert summary.plan is not None
    assert summary.plan.changes == [
        RecordChange(
            "units",
            "changed",
            "u1",
            [
                FieldChange("name", '"101"', '"' + "x" * 78 + "\N{HORIZONTAL ELLIPSIS}"),
                FieldChange("map_ids", '["am"]', "null"),
            ],
        ),
        RecordChange("units", "added", "u9"),
        RecordChange(
            "level_tags",
            "changed",
            "am/floor",
            [
                FieldChange(
                    "values",
                    '[{"name":"First","value":"a1"},{"name":"Roof","value":"roof"}]',
                    "[]",
                )
            ],
        ),
    ]


async def test_a_plan_shows_the_items_and_drawings_that_differ(
    database: Any, bundle: Path, path: Path
) -> None:
    plan = small()["attribute_groups"][0]
    plan["attributes"] = [
        {"attribute_id": each, "attribute_name": each.title(), "attribute_key": each}
        for each in ("s", "vacant", "occupied", "leased")
    ]
    group = {"attribute_groups": [{**plan, "attributes": plan["attributes"][:3]}]}
    drawing = {
        "id": "am",
        "asset_id": "a",
        "name": "Plates",
        "background_id": "ab",
        "tags": ["ils"],
    }
    old, new = (to_data_url(f"<svg>{text}</svg>".encode()) for text in ("one", "x" * 1_000))
    await import_bundles(database, [bundle])
    written: list[RecordChange] = []
    request = ChangeRequest(is_planned=True, write_change=written.append)
    await mirror(database, path, {**group, "maps": [{**drawing, "source": old}]}, request)
    written.clear()
    source = {"attribute_groups": [plan], "maps": [{**drawing, "source": new}]}
    summary = await mirror(database, path, source, request, dry_run=True)
    assert summary.plan is not None
    shown = {each.record_id: each.fields for each in summary.plan.changes}
    leased = '{"attribute_id":"leased","attribute_name":"Leased","attribute_key":"leased"}'
    assert shown["plan"] == [FieldChange("attributes", "[…]", f"[…,{leased}]")]
    [change] = shown["am"]
    assert re.fullmatch(r"drawing [0-9a-f]{8} \(14 bytes\)", change.before)
    assert re.fullmatch(r"drawing [0-9a-f]{8} \(1.0 kB\)", change.after)
    [whole] = [each.fields[0] for each in written if each.record_id == "plan"]
    assert json.loads(whole.after) == plan["attributes"]


async def test_a_plan_lists_the_first_changes_and_writes_all(
    database: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.bundles.changes.change_plan.MAX_LISTED_CHANGES", 2)
    written: list[RecordChange] = []
    request = ChangeRequest(is_planned=True, write_change=written.append)
    summary = await mirror(database, path, SMALL, request)
    assert summary.plan is not None
    total = sum(len(array) for array in SMALL.values())
    assert len(written) == total == len(summary.plan.changes) + summary.plan.unlisted
    assert sum(change.kind == "units" for change in summary.plan.changes) == 2
