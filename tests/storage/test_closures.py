"""What is closed on a map stays closed, whatever is imported or published."""

from pathlib import Path
from typing import Any

import pytest

from storage.administration.audit import AUDIT_COLLECTION
from storage.closures import Closures, NetworkPart, set_closures
from storage.errors import NetworkOutdatedError
from storage.importing.import_bundles import import_bundles
from storage.networks import (
    CurrentNetwork,
    find_network,
    find_network_digest,
    load_routing_reports,
    publish_network,
)
from storage.publication import Publication
from storage.records.visibility import ALL_ASSETS
from tests.storage.catalogs import ARCHIVE, small, write_arrays

MAP = "am"
CLOSED = Closures(doors=["d1"], connectors=["lift"])
LONG_AGO = "2001-01-01T00:00:00+00:00"


@pytest.fixture
async def routable(database: Any, tmp_path: Path) -> Any:
    """A database with a map that has a network."""
    await import_bundles(database, [write_arrays(tmp_path / "small.json", small())])
    await publish_network(database, Publication(MAP, ARCHIVE, "foot_routing", {}, []))
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


async def test_imports_and_another_network_leave_what_is_closed(
    routable: Any, tmp_path: Path
) -> None:
    await close(routable, CLOSED)
    renamed = small()
    renamed["maps"][0]["name"] = "New"
    await import_bundles(routable, [write_arrays(tmp_path / "renamed.json", renamed)])
    assert (await routable["maps"].find_one({"_id": MAP}))["name"] == "New"
    assert await current(routable) == CLOSED
    await publish_network(routable, Publication(MAP, ARCHIVE + b"another", "foot_routing", {}, []))
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


def part(key: str, x: float, kind: str = "elevator", floor: str = "f") -> NetworkPart:
    return NetworkPart("connectors", key, kind, [(floor, x, 0.0)])


async def publish_again(database: Any, *parts: NetworkPart) -> list[str]:
    """Publish a network with these parts; return the notes of its report."""
    publication = Publication(
        MAP, ARCHIVE + repr(parts).encode(), "foot_routing", {}, [], parts=parts
    )
    await publish_network(database, publication)
    notes: list[str] = (await load_routing_reports(database, ALL_ASSETS, [MAP]))[MAP]["notes"]
    return notes


async def close_numbered(database: Any, *parts: NetworkPart) -> None:
    digest = await find_network_digest(database, ALL_ASSETS, MAP)
    closed = Closures(connectors=[parts[0].id])
    await set_closures(database, MAP, lambda _: closed, parts=parts, digest=digest)


async def test_a_closure_follows_its_part_to_another_number(routable: Any) -> None:
    await close_numbered(routable, part("f#2", 50), part("f#1", 10))
    notes = await publish_again(routable, part("f#3", 50.5), part("f#2", 10))
    assert notes == ["closed under another id: connectors f#2 (50,0 on f), now f#3"]
    assert await current(routable) == Closures(connectors=["f#3"])
    record = await routable[AUDIT_COLLECTION].find_one(
        {"changes.kind": "closures.connectors"}, sort=[("_id", -1)]
    )
    assert [(each["operation"], each["ids"]) for each in record["changes"][-2:]] == [
        ("inserted", ["f#3"]),
        ("removed", ["f#2"]),
    ]
    assert await publish_again(routable, part("f#3", 53), part("f#2", 10)) == []
    assert await current(routable) == Closures(connectors=["f#3"])


@pytest.mark.parametrize(
    "other", [part("f#2", 10), part("f#2", 50, "steps"), part("f#2", 50, floor="g")]
)
async def test_the_number_of_a_closed_part_does_not_close_another(
    routable: Any, other: NetworkPart
) -> None:
    await close_numbered(routable, part("f#2", 50))
    assert await publish_again(routable, other) == [
        "no longer closed, because its id is now that of another part: connectors f#2 (50,0 on f)"
    ]
    assert await current(routable) == Closures()


async def test_a_number_that_is_gone_stays_closed_but_closes_no_other_later(routable: Any) -> None:
    await close_numbered(routable, part("f#2", 50))
    assert await publish_again(routable, part("f#1", 10)) == [
        "closed, but no longer on the map: connectors f#2"
    ]
    assert await current(routable) == Closures(connectors=["f#2"])
    assert await publish_again(routable, part("f#1", 10), part("f#2", 50)) == []
    await publish_again(routable, part("f#1", 10))
    await publish_again(routable, part("f#1", 10), part("f#2", 90))
    assert await current(routable) == Closures()


async def test_an_id_of_the_drawing_is_the_same_part_wherever_it_is(routable: Any) -> None:
    await close_numbered(routable, part("lift", 50))
    assert await publish_again(routable, part("lift", 90)) == []
    assert await current(routable) == Closures(connectors=["lift"])


async def test_what_is_closed_is_of_the_network_that_the_map_has(routable: Any) -> None:
    with pytest.raises(NetworkOutdatedError):
        await set_closures(
            routable, MAP, lambda _: CLOSED, parts=[part("f#2", 50)], digest="another"
        )
    assert await current(routable) == Closures()
