"""Making maps routable: all of it or nothing, as often as you like."""

from pathlib import Path
from typing import Any

import pytest

from resolvers.catalog import load
from resolvers.errors import InvalidInput, NotFound, RefusedDocument
from resolvers.processing import Request, is_processed, process
from storage.store import Store
from tests.resolvers.tower import SVG, processed, tower, unit_locations
from tests.world import World, data_of, serving

pytestmark = pytest.mark.anyio


async def test_a_processed_map_is_tagged_and_located(own_world: World, tmp_path: Path) -> None:
    async with processed(own_world, tmp_path) as client:
        found = (await client.get("/v1/maps?tags=pathfinding,ils")).json()["data"]
        assert [each["id"] for each in found] == ["tower"]
        located = await unit_locations(client)
        assert sorted(located) == ["lower-east", "lower-west", "upper-east", "upper-west"]
        assert located["lower-east"] == "gym"  # the map had it, under its own id
        named = (await client.get("/v1/maps/tower/locations")).json()["data"]
        assert {each["name"] for each in named} == {"Gym", "lower west", "upper west", "upper east"}


LONG_AGO = "2001-01-01T00:00:00+00:00"


async def everything(store: Store) -> list[dict[str, Any]]:
    """What is known of maps and locations."""
    return [
        document
        for collection in ("maps", "locations")
        for document in await store.database[collection].find({}).to_list(None)
    ]


async def updated_at(store: Store) -> str:
    """When the tower last changed; from then on it counts as changed long ago."""
    found = await store.database.maps.find_one_and_update(
        {"_id": "tower"}, {"$set": {"updated_at": LONG_AGO}}
    )
    at: str = found["updated_at"]
    return at


async def test_a_map_is_updated_when_what_it_publishes_is_different(
    own_world: World, tmp_path: Path
) -> None:
    async with tower(own_world, tmp_path) as store:
        await updated_at(store)
        await process(store, Request("tower", {}))
        assert await updated_at(store) > LONG_AGO
        await process(store, Request("tower", {}))
        assert await updated_at(store) == LONG_AGO
        await process(store, Request("tower", {}, feet_per_unit=1.25))
        assert await updated_at(store) > LONG_AGO
        await store.database.locations.delete_one({"processed": True})
        await process(store, Request("tower", {}, feet_per_unit=1.25))
        assert await updated_at(store) > LONG_AGO


async def test_processing_again_changes_nothing_and_importing_keeps_it(
    own_world: World, tmp_path: Path
) -> None:
    async with tower(own_world, tmp_path) as store:
        await process(store, Request("tower", {}))
        assert await is_processed(store, "tower")
        before = await everything(store)
        await process(store, Request("tower", {}))
        assert await everything(store) == before
        summary = await load(store.database, [tmp_path / "tower.json"])
        assert summary.total.changed == 0
        kept = await store.database.maps.find_one({"_id": "tower"})
        assert kept is not None
        assert kept["tags"] == ["ils", "pathfinding"]


async def test_a_map_that_cannot_be_trusted_stays_as_it_was(
    own_world: World, tmp_path: Path
) -> None:
    doorless = SVG.replace('x="8" y="19" width="4" height="3"', 'x="8" y="5" width="4" height="3"')
    async with tower(own_world, tmp_path, doorless) as store:
        outcome = await process(store, Request("tower", {}))
        assert not outcome.published
        assert outcome.report["problems"]
        kept = await store.database.maps.find_one({"_id": "tower"})
        assert kept is not None
        assert kept["tags"] == ["ils"]


async def test_what_cannot_be_processed_says_why(own_world: World, tmp_path: Path) -> None:
    async with tower(own_world, tmp_path) as store:
        with pytest.raises(NotFound):
            await process(store, Request("nope", {}))
        with pytest.raises(InvalidInput, match="no drawing of its own"):
            await process(store, Request("plain", {}))
        with pytest.raises(InvalidInput, match="belongs"):
            await process(store, Request("tower", {}, asset_id="other"))
        with pytest.raises(RefusedDocument, match="line 1"):
            await process(store, Request("new", {"plan.osm": b"<osm><"}))


async def test_a_level_that_names_no_floor_is_told_from_the_worker_process(
    own_world: World, tmp_path: Path
) -> None:
    lost = SVG.replace("floor=upper", "storey=upper")
    async with tower(own_world, tmp_path, lost) as store:
        with pytest.raises(InvalidInput, match="floor"):
            await process(store, Request("tower", {}))


async def test_operators_process_through_graphql(own_world: World, tmp_path: Path) -> None:
    async with tower(own_world, tmp_path):
        pass
    async with serving(own_world.settings(), own_world.keys.full) as client:
        data = await data_of(client, 'mutation { processMap(id: "tower") { isRoutable report } }')
        assert data["processMap"]["isRoutable"] is True
        assert data["processMap"]["report"]["map"] == "tower"
