"""Units are named in steps and in what can be closed, but only those that the key sees."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from resolvers import steps
from tests.fixtures import (
    SEEN,
    create_world,
    data_of,
    drop_world,
    gateway_client,
    make_key,
    open_database,
)
from tests.resolvers.yard import FLAGS, PLACES, yard_client

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

STEPS = """query ($from: WaypointInput!, $to: WaypointInput!) {
    map(id: "yard") { route(from: $from, to: $to) { steps { text spaces passed } } }
}"""


@pytest.fixture(scope="module")
async def clients(
    mongo_url: str, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Clients with a key for all assets, and with one for the asset of the map only.

    One unit that is drawn has been deleted, and one is now another asset's.
    """
    directory = tmp_path_factory.mktemp("names")
    world = await create_world(mongo_url, uuid.uuid4().hex, directory / "world.json")
    async with yard_client(world, directory) as full:
        async with open_database(world) as database:
            await database["units"].delete_one({"_id": "upper-west"})
            await database["units"].update_one(
                {"_id": "lower-east"}, {"$set": {"asset_id": SEEN, "name": "Secret"}}
            )
            _, key = await make_key(
                database,
                "tower",
                permissions=("service.distances.calculate",),
                asset_ids=["tower"],
            )
        async with gateway_client(world.settings(), key) as limited:
            limited.headers.update(FLAGS)
            yield [full, limited]
    drop_world(world)


async def list_steps(client: httpx.AsyncClient, start: Any, end: Any) -> list[dict[str, Any]]:
    found = await data_of(client, STEPS, {"from": start, "to": end})
    made: list[dict[str, Any]] = found["map"]["route"]["steps"]
    return made


async def test_steps_name_the_units_that_they_leave_enter_and_pass(
    clients: list[httpx.AsyncClient],
) -> None:
    for client in clients:
        away = await list_steps(client, PLACES["A"], PLACES["B"])
        assert away[0]["spaces"] == ["lower west"]
        back = await list_steps(client, PLACES["B"], PLACES["A"])
        assert back[-2]["text"].startswith("Turn right through the door into lower west")
        assert back[-1]["text"] == "Arrive at lower west."
        hall = [{"x": x, "y": 25, "floorId": "lower"} for x in (1, 40)]
        assert (await list_steps(client, *hall))[0]["passed"] == ["lower west"]


async def test_a_deleted_unit_and_another_assets_have_no_name(
    clients: list[httpx.AsyncClient],
) -> None:
    for client in clients:
        for start, end in ("AB", "BA", "CD", "DC"):
            made = await list_steps(client, PLACES[start], PLACES[end])
            assert "Secret" not in str(made)
            assert "upper west" not in str(made)
            assert ("upper east" in str(made)) is ("D" in (start, end))


async def test_what_can_be_closed_has_the_names_of_units(clients: list[httpx.AsyncClient]) -> None:
    for client in clients:
        listed = (await client.get("/v1/maps/yard/closable")).json()["data"]
        names = {each["id"]: each["name"] for each in listed if each["part"] == "space"}
        assert names["west-hall"] == "West hall"  # as on the plan
        assert (names["lower-west"], names["upper-east"]) == ("lower west", "upper east")
        assert names["lower-east"] is names["upper-west"] is names["gallery"] is None


async def test_few_units_are_looked_up_for_a_route(
    clients: list[httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "MAX_UNITS_TO_NAME", 0)
    made = await list_steps(clients[0], PLACES["A"] | {"y": 11}, PLACES["B"])
    assert "lower west" not in str(made)
