"""The plan of one map may change the floors of others: what happens to these is reported."""

import json
import logging
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from resolvers.administration.catalog import import_catalog
from resolvers.processing import pipeline
from resolvers.processing.pipeline import ProcessingRequest, process_and_publish
from resolvers.processing.stale_networks import process_with_other_maps
from resolvers.request.errors import InvalidInputError, RefusedDocumentError
from storage.catalog import MAPS
from storage.errors import NetworkOutdatedError
from storage.importing import import_bundles
from storage.networks import load_state
from storage.records.visibility import ALL_ASSETS
from storage.routing_inputs import list_stale_networks
from storage.store import Store
from tests.fixtures import World
from tests.resolvers.worlds import CATALOG, SVG, tower

pytestmark = pytest.mark.usefixtures("no_processes")

BASEMENT = {"floors": [{**CATALOG["floors"][0], "sort": -1}]}
ANNEX = SVG.replace('rect id="', 'rect id="annex-').replace("floor=", "floor=annex-")
"""A plan that brings floors between those of the tower, whose lower one is a basement."""
GIVEN = ProcessingRequest("annex", {"annex.svg": ANNEX.encode()}, "svg", "tower", 2)
REASON = 'map "tower": the order of its floors has changed, so it '
AGAIN = REASON + "was processed again: routable by foot and wheelchair"
UNTIL = REASON + "is no longer routable until `floorgate maps process tower`"


@pytest.fixture
async def store(own_world: World, tmp_path: Path) -> AsyncIterator[Store]:
    """A store with a tower that is routable."""
    async with tower(own_world, tmp_path) as store:
        await import_catalog(store.database, [json.dumps(BASEMENT).encode()])
        assert (await process_and_publish(store, ProcessingRequest("tower", {}))).published
        yield store


async def stale_maps(store: Store) -> list[str]:
    return [each.map_id for each in await list_stale_networks(store.database)]


async def test_other_maps_are_processed_again(store: Store) -> None:
    outcome = await process_with_other_maps(store, GIVEN)
    assert outcome.published
    assert outcome.report["notes"][-1] == AGAIN
    assert await stale_maps(store) == []


async def test_or_they_are_withdrawn_if_the_operator_chose_that(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "floorgate.networks")
    outcome = await process_with_other_maps(store, GIVEN, "withdraw")
    assert outcome.published
    assert outcome.report["notes"][-1] == UNTIL
    assert await stale_maps(store) == ["tower"]
    logged = [each for each in caplog.records if each.name == "floorgate.networks"]
    [line] = [vars(each)["fields"] for each in logged]
    assert line == {"map_id": "tower", "reason": "the order of its floors has changed"}
    # The record of the import, not that of the map that was processed, has the withdrawn one.
    records = store.database["audit_log"].find({"action": "catalog.imported"})
    imported = (await records.to_list(None))[-1]
    [withdrawn] = [each for each in imported["changes"] if each["before"] is not None]
    assert withdrawn["ids"] == ["tower"]


@pytest.mark.slow
async def test_nothing_changes_if_the_map_is_changed_while_it_is_processed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any) -> None:
        raise NetworkOutdatedError("the map has changed")

    monkeypatch.setattr(import_bundles, "check_unchanged", refuse)
    with pytest.raises(RefusedDocumentError, match="the map has changed"):
        await process_with_other_maps(store, GIVEN)
    assert await store.load_record(MAPS, ALL_ASSETS, "annex") is None
    assert await stale_maps(store) == []


DRAWN = {
    **{"id": "annex", "asset_id": "tower", "name": "Annex", "feet_per_unit": 2},
    "source": f"data:image/svg+xml;base64,{b64encode(SVG.encode()).decode()}",
}


async def test_a_plan_is_stored_until_the_map_is_processed_from_its_own_drawing(
    store: Store,
) -> None:
    async def process_again() -> str | None:
        assert (await process_and_publish(store, ProcessingRequest("annex", {}))).published
        return (await load_state(store.database, "annex")).plan

    await process_with_other_maps(store, GIVEN)
    plan = (await load_state(store.database, "annex")).plan
    assert plan is not None
    assert await process_again() == plan
    await store.database["floors"].delete_many({"_id": {"$regex": "^annex-"}})
    with pytest.raises(RefusedDocumentError, match="the asset lacks floors of the plan"):
        await process_again()
    await import_catalog(store.database, [json.dumps({"maps": [DRAWN]}).encode()])
    annex, _ = await list_stale_networks(store.database)
    assert (annex.map_id, annex.can_be_rebuilt) == ("annex", False)
    assert await process_again() is None


@pytest.mark.slow
async def test_a_stored_plan_does_not_replace_one_that_was_processed_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def build(*given: Any) -> Any:
        built = await original(*given)
        newer = {"$set": {"network_state.plan": "newer"}}
        await store.database["maps"].update_one({"_id": "annex"}, newer)
        return built

    await process_with_other_maps(store, GIVEN)
    original = pipeline._build
    monkeypatch.setattr(pipeline, "_build", build)
    with pytest.raises(InvalidInputError, match="has no drawing or stored plan"):
        await process_with_other_maps(store, ProcessingRequest("annex", {}))
