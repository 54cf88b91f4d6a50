"""What is closed on a map stays closed, whatever is imported or published."""

from pathlib import Path
from typing import Any

import pytest

from storage.administration.audit import AUDIT_COLLECTION
from storage.bundles.importing.import_bundles import import_bundles
from storage.closures import Closures, set_closures
from storage.mongo import driver
from storage.networks import CurrentNetwork, find_network, publish_network
from storage.publication import Publication
from storage.records.visibility import ALL_ASSETS
from storage.setup.preparation import prepare_database
from tests.storage.catalogs import small, write_arrays

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MAP = "am"
CLOSED = Closures(doors=["d1"], connectors=["lift"])
LONG_AGO = "2001-01-01T00:00:00+00:00"


@pytest.fixture
async def routable(database: Any, tmp_path: Path) -> Any:
    """A database with a map that has a network."""
    await prepare_database(database)
    await import_bundles(database, [write_arrays(tmp_path / "small.json", small())])
    await publish_network(database, Publication(MAP, b"network", "foot_routing", {}, []))
    return database


async def close(database: Any, closures: Closures, map_id: str = MAP) -> Closures | None:
    return await set_closures(database, map_id, lambda _: closures)


async def current(database: Any) -> Closures:
    network = await find_network(database, ALL_ASSETS, MAP)
    assert isinstance(network, CurrentNetwork)
    return network.closures


async def audited(database: Any) -> list[Any]:
    where = {"action": "map.closed"}
    return [each async for each in database[AUDIT_COLLECTION].find(where, sort=[("_id", 1)])]


async def test_nothing_is_closed_until_somebody_closes_it(routable: Any) -> None:
    assert await current(routable) == Closures()
    assert not Closures()
    assert await close(routable, CLOSED) == CLOSED
    assert await current(routable) == CLOSED
    assert await close(routable, CLOSED, "missing") is None


async def test_a_change_sees_what_was_closed_before(routable: Any) -> None:
    await close(routable, CLOSED)
    opened = await set_closures(
        routable, MAP, lambda before: Closures.of(doors=[*before.doors, "d0"])
    )
    assert opened == await current(routable) == Closures(doors=["d0", "d1"])


async def test_imports_and_another_network_leave_what_is_closed(
    routable: Any, tmp_path: Path
) -> None:
    await close(routable, CLOSED)
    renamed = small()
    renamed["maps"][0]["name"] = "New"
    await import_bundles(routable, [write_arrays(tmp_path / "renamed.json", renamed)])
    assert (await routable["maps"].find_one({"_id": MAP}))["name"] == "New"
    assert await current(routable) == CLOSED
    await publish_network(routable, Publication(MAP, b"another", "foot_routing", {}, []))
    assert await current(routable) == CLOSED


async def test_a_change_has_a_time_and_a_record_and_no_change_has_neither(routable: Any) -> None:
    async def make_long_ago() -> None:
        await routable["maps"].update_one({"_id": MAP}, {"$set": {"updated_at": LONG_AGO}})

    async def updated_at() -> str:
        found: str = (await routable["maps"].find_one({"_id": MAP}))["updated_at"]
        return found

    await make_long_ago()
    await close(routable, CLOSED)
    assert await updated_at() > LONG_AGO
    await make_long_ago()
    await close(routable, CLOSED)
    assert await updated_at() == LONG_AGO
    await close(routable, Closures(doors=["d2"], connectors=["lift"]))
    first, second = await audited(routable)
    assert (first["target"]["ids"], first["asset_ids"]) == ([MAP], ["a"])
    assert [
        (change["kind"], change["operation"], change["ids"])
        for record in (first, second)
        for change in record["changes"]
    ] == [
        ("closures.connectors", "inserted", ["lift"]),
        ("closures.doors", "inserted", ["d1"]),
        ("closures.doors", "inserted", ["d2"]),
        ("closures.doors", "removed", ["d1"]),
    ]


async def test_a_precondition_that_does_not_hold_leaves_everything_open(routable: Any) -> None:
    async def refuse(session: driver.Session) -> None:
        raise PermissionError

    with pytest.raises(PermissionError):
        await set_closures(routable, MAP, lambda _: CLOSED, precondition=refuse)
    assert await current(routable) == Closures()
    assert await audited(routable) == []
