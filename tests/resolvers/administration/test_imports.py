"""A network is never used beside a drawing, a scale or floors that it was not built from."""

import asyncio
import copy
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from resolvers.processing import pipeline, stale_networks
from resolvers.processing.pipeline import ProcessingRequest, process_and_publish
from resolvers.processing.stale_networks import NETWORK_POLICIES, import_and_process
from resolvers.request.errors import RefusedDocumentError
from storage.catalog import PATHFINDING_TAG
from storage.exporting.bundles import export_bundle
from storage.importing import import_bundles
from storage.importing.change_plan import ChangeRequest
from storage.importing.import_bundles import finish_interrupted_import
from storage.mongo.lease import Lease
from storage.networks import UNLOADABLE
from storage.routing_inputs import NETWORK_FORMAT, OTHER_FORMAT, list_stale_networks
from storage.store import Store
from tests.fixtures import (
    World,
    data_of,
    gateway_client,
    make_key,
    open_database,
    post_graphql,
)
from tests.resolvers.worlds import CATALOG, FLAGS, SVG, ask_matrix, tower
from tests.storage.catalogs import text_of
from tests.waiting import TIMEOUT_SECONDS

pytestmark = pytest.mark.usefixtures("no_processes")

MOVED_DOOR = SVG.replace('x="8" y="19"', 'x="16" y="19"')
PATH: dict[str, Any] = {
    "sources": [{"id": "gym"}],
    "targets": [{"x": 5, "y": 5, "floor_id": "lower"}],
}
DRAWING_CHANGED = 'map "tower": its drawing has changed, so it '
AGAIN = "was processed again: routable by foot and wheelchair"
UNTIL = "is no longer routable until `floorgate maps process tower`"


class Service(NamedTuple):
    """A client of a gateway whose tower is routable, and what an operator has."""

    client: httpx.AsyncClient
    store: Store
    directory: Path

    async def load(
        self,
        networks: str = "withdraw",
        *,
        svg: str = SVG,
        dry_run: bool = False,
        import_id: str | None = None,
        **changes: Any,
    ) -> list[str]:
        """Import the tower with other values of its map, `floors` or `locations`; return notes."""
        catalog = copy.deepcopy(CATALOG)
        for kind in ("floors", "locations"):
            catalog[kind] = changes.pop(kind, catalog[kind])
        catalog["maps"][0] |= changes
        (self.directory / "tower.svg").write_text(svg)
        bundle = self.directory / "again.json"
        bundle.write_text(json.dumps(catalog))
        request = ChangeRequest(import_id=import_id)
        summary = await import_and_process(
            self.store, [bundle], networks, dry_run=dry_run, changes=request
        )
        return summary.notes

    async def measure(self) -> tuple[str, float]:
        """Return the method and the distance from the gym to the west room."""
        response = await ask_matrix(self.client, **PATH)
        assert response.status_code == 200, response.text
        matrix = response.json()["data"]
        return matrix["distance_method"], matrix["sources"][0]["targets"][0]["distance"]

    async def routing(self) -> tuple[bool, bool, str | None]:
        """Return what GraphQL says of the map's network; check that tag and tier agree."""
        fields = "tags routingTier routing { isRoutable isStale reason }"
        body = await post_graphql(self.client, f'{{ map(id: "tower") {{ {fields} }} }}')
        unit_map = body["data"]["map"]
        state = unit_map["routing"]
        assert (PATHFINDING_TAG in unit_map["tags"]) == state["isRoutable"]
        assert (unit_map["routingTier"] != "no_routing") == state["isRoutable"]
        return state["isRoutable"], state["isStale"], state["reason"]


@pytest.fixture
async def service(own_world: World, tmp_path: Path) -> AsyncIterator[Service]:
    async with tower(own_world, tmp_path) as store:
        assert (await process_and_publish(store, ProcessingRequest("tower", {}))).published
        async with gateway_client(own_world.settings(), own_world.keys.full) as client:
            client.headers.update(FLAGS)
            yield Service(client, store, tmp_path)


class KilledError(BaseException):
    """Ends an import as a signal does."""


ROUTABLE = (True, False, None)


async def test_a_door_that_is_moved_is_used_at_once(service: Service) -> None:
    method, before = await service.measure()
    assert method == "pathfinding"
    assert await service.load("reprocess", svg=MOVED_DOOR) == [DRAWING_CHANGED + AGAIN]
    method, after = await service.measure()
    assert method == "pathfinding"
    assert after != before
    assert await service.routing() == ROUTABLE
    assert await list_stale_networks(service.store.database) == []


async def test_the_scale_of_the_map_is_that_of_its_network(service: Service) -> None:
    _, feet = await service.measure()
    given = ProcessingRequest("tower", {}, feet_per_unit=12)
    assert (await process_and_publish(service.store, given)).published
    assert (await service.measure())[1] == pytest.approx(12 * feet, rel=0.01)
    [note] = await service.load("reprocess")  # the bundle says 1 foot again
    assert note == 'map "tower": its scale has changed, so it ' + AGAIN
    assert (await service.measure())[1] == pytest.approx(feet)


@pytest.mark.slow
async def test_a_scale_that_was_given_for_processing_stays_if_the_bundle_has_none(
    service: Service,
) -> None:
    given = ProcessingRequest("tower", {}, feet_per_unit=12)
    assert (await process_and_publish(service.store, given)).published
    feet = await service.measure()
    assert await service.load(feet_per_unit=None) == []
    assert await service.measure() == feet
    await service.load("reprocess", feet_per_unit=None, svg=SVG + "<!-- same -->")
    assert await service.measure() == feet
    assert await service.load(feet_per_unit=None, svg=SVG + "<!-- same -->") == []


FLOORS = CATALOG["floors"]
MEZZANINE = {"id": "mezzanine", "asset_id": "tower", "name": "Mezzanine", "sort": 3}
ROOF = {"id": "roof", "asset_id": "tower", "name": "Roof", "sort": 9}
HIGHER = {**FLOORS[1], "sort": 4}
GYM = CATALOG["locations"][0]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"svg": MOVED_DOOR}, "its drawing has changed"),
        pytest.param({"source": None}, "its drawing has changed", marks=pytest.mark.slow),
        pytest.param({"feet_per_unit": None}, "its scale has changed", marks=pytest.mark.slow),
        ({"floors": [FLOORS[0], HIGHER, MEZZANINE]}, "the order of its floors has changed"),
        ({"locations": [{**GYM, "x": 85}]}, "its locations have changed"),
        ({"locations": [{**GYM, "floors": [{"id": "upper"}]}]}, "its locations have changed"),
    ],
)
async def test_without_its_network_a_map_is_as_if_it_was_never_processed(
    service: Service, changes: dict[str, Any], reason: str
) -> None:
    [note] = await service.load(**changes)
    suffix = " SOURCE`" if "source" in changes else "`"
    assert note == f'map "tower": {reason}, so it ' + UNTIL[:-1] + suffix
    assert await service.routing() == (False, True, reason)
    if changes.get("feet_per_unit", 1):
        assert (await service.measure())[0] == "euclidean"
    refused = await ask_matrix(service.client, **PATH, distance_method="pathfinding")
    assert refused.status_code == 422
    for path in ("route?from=gym&to=gym", "nearest?from=gym"):
        never = await service.client.get(f"/v1/unitmaps/plain/{path}")
        withdrawn = await service.client.get(f"/v1/unitmaps/tower/{path}")
        assert withdrawn.status_code == never.status_code
    [stale] = await list_stale_networks(service.store.database)
    assert (stale.map_id, stale.reason) == ("tower", reason)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "Another name", "tags": ["mls"]},
        {"floors": [{**FLOORS[0], "name": "Ground"}, FLOORS[1], ROOF]},
        pytest.param(
            {"floors": [{**FLOORS[0], "sort": 5}, {**FLOORS[1], "sort": 8}]}, marks=pytest.mark.slow
        ),
        pytest.param({"locations": [{**GYM, "name": "Sauna", "tags": []}]}, marks=pytest.mark.slow),
        {"locations": [GYM, {**GYM, "id": "new", "x": 50}]},
    ],
)
async def test_what_the_network_was_not_built_from_may_change(
    service: Service, changes: dict[str, Any]
) -> None:
    before = await service.measure()
    assert await service.load(**changes) == []
    assert await service.routing() == ROUTABLE
    assert await service.measure() == before


@pytest.mark.slow
async def test_importing_again_processes_what_was_withdrawn_before(service: Service) -> None:
    """Such as by an import that was killed before it could."""
    audit = service.store.database["audit_log"]
    await audit.delete_many({})
    for _ in range(2):
        assert await service.load(svg=MOVED_DOOR) == [DRAWING_CHANGED + UNTIL]
    assert await audit.count_documents({}) == 1
    assert await service.load("reprocess", svg=MOVED_DOOR) == [DRAWING_CHANGED + AGAIN]
    assert await service.routing() == ROUTABLE
    assert await service.load("reprocess", svg=MOVED_DOOR) == []


async def test_a_dry_run_says_what_would_become_of_a_network(service: Service) -> None:
    for networks, result in (
        ("reprocess", "will be processed again"),
        ("withdraw", "will be no longer routable"),
    ):
        notes = await service.load(networks, svg=MOVED_DOOR, dry_run=True)
        assert notes == [DRAWING_CHANGED + result]
    assert await service.routing() == ROUTABLE


async def test_a_drawing_that_cannot_be_processed_leaves_the_map_without_a_network(
    service: Service,
) -> None:
    [_, note] = await service.load("reprocess", svg=SVG.replace("floor=upper", "floor=attic"))
    assert note.startswith(DRAWING_CHANGED + UNTIL + ", which failed: ")
    assert "attic" in note
    assert await service.routing() == (False, True, "its drawing has changed")


@pytest.mark.slow
async def test_a_plan_that_is_not_stored_cannot_be_processed_again(service: Service) -> None:
    files = {"plan.svg": MOVED_DOOR.encode()}
    await process_and_publish(service.store, ProcessingRequest("tower", files))
    [note] = await service.load("reprocess", svg=SVG + "<!-- other -->")
    assert note == DRAWING_CHANGED + UNTIL[:-1] + " SOURCE`"
    assert await service.routing() == (False, True, "its drawing has changed")


@pytest.mark.parametrize("is_committed", [False, True])
async def test_an_import_that_is_killed_leaves_no_network_beside_another_drawing(
    service: Service, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    """Killed before the commit it has changed nothing; after it, the network is gone already."""

    async def die(*_: Any) -> None:
        raise KilledError

    monkeypatch.setattr(Lease, "release", die)
    monkeypatch.setattr(import_bundles.ImportRun, "apply" if is_committed else "commit", die)
    if not is_committed:
        monkeypatch.setattr(import_bundles.ImportRun, "clean_up", die)
    with pytest.raises(KilledError):
        await service.load("reprocess", svg=MOVED_DOOR)
    monkeypatch.undo()
    withdrawn = (False, True, "its drawing has changed")
    assert await service.routing() == (withdrawn if is_committed else ROUTABLE)
    await service.store.database["imports"].update_many({}, {"$set": {"expires": Lease.EXPIRED_AT}})
    assert await finish_interrupted_import(service.store.database)
    assert await service.routing() == (withdrawn if is_committed else ROUTABLE)
    stored = await service.store.database["maps"].find_one({"_id": "tower"})
    assert stored is not None
    is_new_drawing = stored["source"] != stored["network_state"]["source"]
    assert is_new_drawing == is_committed


async def test_a_repetition_processes_the_maps_that_a_killed_import_has_left(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(*_: Any, **__: Any) -> None:
        raise KilledError

    monkeypatch.setattr(stale_networks, "settle_stale_networks", die)
    with pytest.raises(KilledError):
        await service.load("reprocess", svg=MOVED_DOOR, import_id="i")
    monkeypatch.undo()
    assert await service.routing() == (False, True, "its drawing has changed")
    said, processed = await service.load("reprocess", svg=MOVED_DOOR, import_id="i")
    assert said.startswith("the import 'i' was made at ")
    assert processed == DRAWING_CHANGED + AGAIN
    assert await service.routing() == ROUTABLE


IMPORT = """mutation ($bundle: String!, $importId: ID!, $dryRun: Boolean! = false) {
    importCatalog(input: { bundle: $bundle, importId: $importId, dryRun: $dryRun }) {
        isRepetition kinds { kind inserted } notes undo plan { digest unlisted }
    }
}"""


async def test_a_client_that_sends_an_import_again_learns_what_it_did(own_world: World) -> None:
    """By its key: for another one, there is none with this id."""
    sent = {"bundle": '{"assets": [{"id": "lark", "name": "Lark"}]}', "importId": "n-7"}
    other = sent | {"bundle": sent["bundle"].replace("Lark", "Wren")}
    async with (
        gateway_client(own_world.settings(), own_world.keys.full) as client,
        open_database(own_world) as database,
    ):
        first = (await data_of(client, IMPORT, sent))["importCatalog"]
        for options in ({}, {"dryRun": True}):
            again = (await data_of(client, IMPORT, sent | options))["importCatalog"]
            assert again["isRepetition"] and not first["isRepetition"]
            assert again["kinds"] == first["kinds"] == [{"kind": "assets", "inserted": 1}]
            assert again["plan"] == {"digest": first["plan"]["digest"], "unlisted": 1}
        [error] = (await post_graphql(client, IMPORT, other))["errors"]
        assert error["extensions"]["code"] == "INVALID_INPUT"
        assert [*error["extensions"]["fields"]] == ["input.importId"]
        for id in ("", "x" * 256):
            [error] = (await post_graphql(client, IMPORT, sent | {"importId": id}))["errors"]
            assert [*error["extensions"]["fields"]] == ["input.importId"]
        found = await data_of(client, '{ auditLog(target: "n-7") { data { importId action } } }')
        assert found["auditLog"]["data"] == [{"importId": "n-7", "action": "catalog_imported"}]
        _, key = await make_key(database, "other", permissions=("service.admin",))
        async with gateway_client(own_world.settings(), key) as another:
            made = (await data_of(another, IMPORT, other))["importCatalog"]
            assert not made["isRepetition"]
        assert (await data_of(client, IMPORT, sent))["importCatalog"]["isRepetition"]


async def test_an_import_that_waits_too_long_for_another_may_be_sent_again(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_bundles, "WAIT_SECONDS", 0.0)
    async with (
        gateway_client(own_world.settings(), own_world.keys.full) as client,
        open_database(own_world) as database,
    ):
        running = Lease(database["imports"])
        assert await running.try_acquire()
        sent = {"query": IMPORT, "variables": {"bundle": "{}", "importId": "i"}}
        async with running.keep_alive():
            response = await client.post("/graphql", json=sent)
        assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
        [error] = response.json()["errors"]
        assert (error["extensions"]["code"], error["path"]) == ("IMPORT_RUNNING", ["importCatalog"])
        assert error["message"].startswith("another import is running")


async def test_a_network_that_cannot_be_loaded_is_stale(service: Service) -> None:
    lost = {"network": "0" * 64, "network_state.network": "0" * 64}
    await service.store.database["maps"].update_one({"_id": "tower"}, {"$set": lost})
    body = await post_graphql(service.client, '{ map(id: "tower") { routing { isStale reason } } }')
    assert body["data"]["map"]["routing"] == {"isStale": True, "reason": UNLOADABLE.reason}


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("source", "other", "its drawing has changed"),
        ("network_state.network_format", NETWORK_FORMAT - 1, OTHER_FORMAT),
    ],
)
async def test_a_network_is_not_used_whoever_has_changed_the_drawing_or_the_format(
    service: Service, field: str, value: Any, reason: str
) -> None:
    """Such as a gateway of an earlier release, or an operator at MongoDB."""
    await service.store.database["maps"].update_one({"_id": "tower"}, {"$set": {field: value}})
    query = '{ map(id: "tower") { routing { isRoutable isStale reason } } }'
    state = {"isRoutable": True}
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while state["isRoutable"]:
            body = await post_graphql(service.client, query)
            state = body["data"]["map"]["routing"]
    assert state == {"isRoutable": False, "isStale": True, "reason": reason}
    assert (await service.measure())[0] == "euclidean"
    [stale] = await list_stale_networks(service.store.database)
    assert stale.reason == reason


def change_while_building(
    service: Service, monkeypatch: pytest.MonkeyPatch, drawings: list[str]
) -> None:
    """Import the next drawing each time a network has been built."""
    build = pipeline._build

    async def build_then_import(*given: Any) -> Any:
        built = await build(*given)
        if drawings:
            await service.load(svg=drawings.pop())
        return built

    monkeypatch.setattr(pipeline, "_build", build_then_import)


@pytest.mark.slow
async def test_a_map_that_is_changed_while_it_is_processed_is_processed_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, before = await service.measure()
    change_while_building(service, monkeypatch, [MOVED_DOOR])
    assert (await process_and_publish(service.store, ProcessingRequest("tower", {}))).published
    assert (await service.measure())[1] != before
    assert await list_stale_networks(service.store.database) == []


async def test_a_map_that_changes_all_the_time_is_not_published(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawings = [f"{SVG}<!-- {number} -->" for number in range(pipeline.MAX_ATTEMPTS)]
    change_while_building(service, monkeypatch, drawings)
    with pytest.raises(RefusedDocumentError, match="was changed while it was processed"):
        await process_and_publish(service.store, ProcessingRequest("tower", {}))
    assert drawings == []  # it has been tried as often
    assert await service.routing() == (False, True, "its drawing has changed")


@pytest.mark.parametrize("networks", NETWORK_POLICIES)
async def test_a_client_of_graphql_chooses_too(service: Service, networks: str) -> None:
    unit_map = {**CATALOG["maps"][0], "feet_per_unit": 2}
    del unit_map["source"]
    query = """mutation ($bundle: String!, $networks: NetworkPolicy!) {
        importCatalog(input: { bundle: $bundle, networks: $networks }) { notes }
    }"""
    await service.load()
    stored = await text_of(export_bundle(service.store.database))
    [source] = [each["source"] for each in json.loads(stored)["maps"] if each["id"] == "tower"]
    bundle = json.dumps({"maps": [{**unit_map, "source": source}]})
    body = await post_graphql(service.client, query, {"bundle": bundle, "networks": networks})
    [note] = body["data"]["importCatalog"]["notes"]
    assert note == 'map "tower": its scale has changed, so it ' + (
        AGAIN if networks == "reprocess" else UNTIL
    )
    assert (await service.routing())[0] == (networks == "reprocess")
    body = await post_graphql(service.client, query, {"bundle": "{}", "networks": "keep"})
    assert "must be reprocess or withdraw, not 'keep'" in body["errors"][0]["message"]
