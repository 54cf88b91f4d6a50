"""Processing makes a map routable; repeating it changes nothing."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from resolvers.administration.catalog import import_catalog
from resolvers.processing import pipeline, process_pool
from resolvers.processing.build_task import BuildTask
from resolvers.processing.pipeline import ProcessingRequest, is_processed, process_and_publish
from resolvers.request.errors import RefusedDocumentError
from storage.bundles.drawings import to_data_url
from storage.store import Store
from tests.fixtures import World, gateway_client, open_database
from tests.resolvers.worlds import FLAGS, SVG, ask_matrix, processed, tower, unit_locations

here = pytest.mark.usefixtures("no_processes")
"""Marks tests that are not about the process in which a network is built."""

VENUE = Path(__file__).parents[3] / "samples" / "imdf" / "harbour-hall.zip"


@here
async def test_a_processed_map_is_tagged_and_located(own_world: World, tmp_path: Path) -> None:
    async with processed(own_world, tmp_path) as client:
        found = (await client.get("/v1/maps?tags=pathfinding,ils")).json()["data"]
        assert [each["id"] for each in found] == ["tower"]
        assert found[0]["routing_tier"] == "wheelchair_routing"
        located = await unit_locations(client)
        assert sorted(located) == ["lower-east", "lower-west", "upper-east", "upper-west"]
        assert located["lower-east"] == "gym"  # the map had it, under its own id
        named = (await client.get("/v1/maps/tower/locations")).json()["data"]
        assert {each["name"] for each in named} == {"Gym", "lower west", "upper west", "upper east"}


NODES = "".join(f'<node id="{n}" lat="1" lon="1"/>' for n in range(10_000))
OSM = f'<osm version="0.6">{NODES}</osm>'


async def test_a_map_that_takes_too_much_cpu_time_is_refused(
    own_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "MAX_PROCESSING_CPU_SECONDS", 0.001)
    monkeypatch.setattr(process_pool, "WALL_SECONDS_PER_CPU_SECOND", 100_000.0)
    async with tower(own_world, tmp_path) as store:
        before = await everything(store)
        with pytest.raises(RefusedDocumentError, match=r"over 0\.001 seconds .*divide it"):
            await process_and_publish(store, ProcessingRequest("tower", {"plan.osm": OSM.encode()}))
        assert await everything(store) == before


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
    found = await store.database["maps"].find_one_and_update(
        {"_id": "tower"}, {"$set": {"updated_at": LONG_AGO}}
    )
    assert found is not None
    at: str = found["updated_at"]
    return at


@here
async def test_a_map_is_updated_when_what_it_publishes_is_different(
    own_world: World, tmp_path: Path
) -> None:
    async with tower(own_world, tmp_path) as store:
        await updated_at(store)
        await process_and_publish(store, ProcessingRequest("tower", {}))
        assert await updated_at(store) > LONG_AGO
        await process_and_publish(store, ProcessingRequest("tower", {}))
        assert await updated_at(store) == LONG_AGO
        await process_and_publish(store, ProcessingRequest("tower", {}, feet_per_unit=1.25))
        assert await updated_at(store) > LONG_AGO
        await store.database["locations"].delete_one({"processed": True})
        await process_and_publish(store, ProcessingRequest("tower", {}, feet_per_unit=1.25))
        assert await updated_at(store) > LONG_AGO


@here
async def test_processing_again_changes_nothing_and_importing_keeps_it(
    own_world: World, tmp_path: Path
) -> None:
    async with tower(own_world, tmp_path) as store:
        await process_and_publish(store, ProcessingRequest("tower", {}))
        assert await is_processed(store, "tower")
        before = await everything(store)
        await process_and_publish(store, ProcessingRequest("tower", {}))
        assert await everything(store) == before
        summary = await import_catalog(store.database, [tmp_path / "tower.json"])
        assert summary.total.written == 0
        stored = await store.database["maps"].find_one({"_id": "tower"})
        assert stored is not None
        assert stored["tags"] == ["ils", "pathfinding"]
        assert stored["routing_tier"] == "wheelchair_routing"


DOORLESS = SVG.replace('x="8" y="19"', 'x="8" y="5"')
"""Two rooms of the four have their doors within, where they lead nowhere."""
APART = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 30">
  <g data-type="Level" data-tags="floor=lower"><g data-type="UnitLayer">
    <rect id="lower-west" x="0" y="0" width="20" height="20"/>
    <rect id="lower-east" x="80" y="0" width="20" height="20"/>
  </g></g>
</svg>"""
"""Two rooms with nothing between them."""


def given(svg: str) -> ProcessingRequest:
    return ProcessingRequest("tower", {"plan.svg": svg.encode()})


async def tags_and_tier(store: Store) -> tuple[list[str], str]:
    found = await store.database["maps"].find_one({"_id": "tower"})
    assert found is not None
    return found["tags"], found["routing_tier"]


async def up_the_tower(client: httpx.AsyncClient, **asked: Any) -> tuple[str, float | None]:
    """How far it is from one floor to the other, and by which method that was found."""
    places = [{"x": 50, "y": 25, "floor_id": floor} for floor in ("lower", "upper")]
    response = await ask_matrix(client, sources=places[:1], targets=places[1:], **asked)
    data = response.json()["data"]
    return data["distance_method"], data["sources"][0]["targets"][0]["distance"]


@here
@pytest.mark.parametrize("map_id", ["tower", "copy"])
async def test_a_plan_that_names_the_floors_of_its_asset_leaves_them_and_their_units_as_they_are(
    own_world: World, tmp_path: Path, map_id: str
) -> None:
    async with tower(own_world, tmp_path) as store:
        database = store.database
        await database["maps"].update_one({"_id": "tower"}, {"$unset": {"source": 1}})
        before = [await database[name].find({}).to_list(None) for name in ("floors", "units")]
        request = given(SVG)._replace(map_id=map_id, asset_id="tower", feet_per_unit=1.0)
        assert (await process_and_publish(store, request)).published
        after = [await database[name].find({}).to_list(None) for name in ("floors", "units")]
        assert after == before
        located = await database["locations"].find({"unit_map_id": map_id}).to_list(None)
        assert {each["floors"][0]["id"] for each in located} == {"lower", "upper"}


@here
async def test_a_map_that_routes_on_foot_alone_says_so(own_world: World, tmp_path: Path) -> None:
    narrow = SVG.replace('door=yes"', 'door=yes;width=0.6"')
    async with tower(own_world, tmp_path, narrow) as store:
        assert (await process_and_publish(store, ProcessingRequest("tower", {}))).report[
            "modes"
        ] == ["foot"]
        assert await tags_and_tier(store) == (["ils", "pathfinding"], "foot_routing")


@here
async def test_a_plan_without_reachable_locations_withdraws_the_network(
    own_world: World, tmp_path: Path
) -> None:
    async with tower(own_world, tmp_path) as store:
        nothing = given(APART)
        before = await everything(store)
        outcome = await process_and_publish(store, nothing)
        assert not outcome.published
        assert outcome.report["refusal"] == "no two locations reach each other"
        assert await everything(store) == before
        await process_and_publish(store, ProcessingRequest("tower", {}))
        located = await store.database["locations"].find({}).to_list(None)
        await updated_at(store)
        outcome = await process_and_publish(store, nothing)
        assert not outcome.published
        assert "was routable before, and no longer is" in outcome.report["refusal"]
        assert await tags_and_tier(store) == (["ils"], "no_routing")
        assert await updated_at(store) > LONG_AGO
        assert not await is_processed(store, "tower")
        assert await store.database["locations"].find({}).to_list(None) == located
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        client.headers.update(FLAGS)
        assert await up_the_tower(client) == ("euclidean", 0)
        asked = [{"id": "gym"}]
        response = await ask_matrix(
            client, sources=asked, targets=asked, distance_method="pathfinding"
        )
        assert response.status_code == 422


@here
async def test_below_the_required_share_nothing_changes(own_world: World, tmp_path: Path) -> None:
    async with tower(own_world, tmp_path) as store:
        assert (
            await process_and_publish(store, ProcessingRequest("tower", {}, require=100))
        ).published
        before = await everything(store)
        for svg, require in ((DOORLESS, 50.1), (APART, 51)):
            outcome = await process_and_publish(store, given(svg)._replace(require=require))
            assert not outcome.published
            assert f"fewer than the {require}% required; nothing was changed" in str(
                outcome.report["refusal"]
            )
            assert await everything(store) == before
        assert (await process_and_publish(store, given(DOORLESS)._replace(require=50))).published


def die(_: BuildTask) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
async def test_a_killed_process_is_reported(
    own_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "build_network", die)
    async with tower(own_world, tmp_path) as store:
        with pytest.raises(RefusedDocumentError, match="perhaps for lack of memory"):
            await process_and_publish(store, ProcessingRequest("tower", {}))


def fail(*_: object) -> None:
    raise ValueError("a corner has two sides")


@here
async def test_a_fault_of_ours_is_a_sentence_to_report(
    own_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(pipeline, "build_network", fail)
    said = "'tower' could not be processed: please report it.*ValueError: a corner has two sides"
    async with tower(own_world, tmp_path) as store:
        with pytest.raises(RefusedDocumentError, match=said):
            await process_and_publish(store, ProcessingRequest("tower", {}))
    assert "'tower' could not be processed" in caplog.text


async def test_the_progress_of_the_process_is_reported(own_world: World, tmp_path: Path) -> None:
    steps: list[tuple[float, str]] = []
    async with tower(own_world, tmp_path) as store:
        request = ProcessingRequest("tower", {})
        await process_and_publish(store, request, lambda *step: steps.append(step))
    assert (steps[0], steps[-1][0]) == ((0.0, "reading the plan"), 1.0)


@here
@pytest.mark.parametrize("drawing", [{}, {"source": to_data_url(SVG.encode())}])
async def test_importing_again_keeps_a_map_that_a_plan_has_made_routable(
    own_world: World, drawing: dict[str, Any]
) -> None:
    """What a bundle says of the map stays, and what the plan has brought stays too."""
    bundle = {
        "assets": [{"id": "hall", "name": "Hall"}],
        "maps": [{"id": "hall", "asset_id": "hall", "name": "Plates", "tags": ["ils"], **drawing}],
    }
    async with open_database(own_world) as database:
        store = Store(database.client, database.name)
        await import_catalog(database, [json.dumps(bundle).encode()])
        await process_and_publish(
            store, ProcessingRequest("hall", {"hall.zip": VENUE.read_bytes()})
        )
        before = await database["maps"].find_one({"_id": "hall"})
        assert before is not None and before["name"] == "Plates" and before["network"]
        assert before["tags"] == ["ils", "pathfinding"]
        summary = await import_catalog(database, [json.dumps(bundle).encode()])
        assert (summary.stale_networks, summary.total.written) == ([], 0)
        assert await database["maps"].find_one({"_id": "hall"}) == before
