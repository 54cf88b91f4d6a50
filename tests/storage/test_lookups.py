"""What was looked up by key is not read again until its collection changes."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from storage import changes, setup
from storage.assets import ASSETS
from storage.changes import Changes, is_same
from storage.lookups import Lookup, Lookups
from storage.visibility import EVERYTHING, NOTHING, Scope
from tests.storage.test_changes import known, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

STAMPS = {"created_at": "2026-01-01T00:00:00+00:00", "updated_at": "2026-01-01T00:00:00+00:00"}
OAK = Scope(frozenset(["oak"]))


class Directory:
    """Assets, and how often they were read."""

    def __init__(self, database: Any, lookups: Lookups) -> None:
        self.database = database
        self.lookups = lookups
        self.reads = 0

    async def name(self, key: str, scope: Scope = EVERYTHING) -> str | None:
        """What an asset is called, for those who see it."""
        return await self.lookups.of(Lookup(ASSETS.name, "name", scope, key), self.read(key, scope))

    def read(self, key: str, scope: Scope) -> Callable[[], Awaitable[str | None]]:
        async def read() -> str | None:
            self.reads += 1
            where = scope.limit(ASSETS, {"_id": key})
            found = await self.database[ASSETS.name].find_one(where)
            return found["name"] if found else None

        return read

    async def rename(self, key: str, name: str) -> None:
        await self.database[ASSETS.name].update_one({"_id": key}, {"$set": {"name": name}})


@asynccontextmanager
async def following(database: Any) -> AsyncIterator[Changes]:
    await setup.prepare(database)
    async with Changes(database).running() as followed:
        await known(followed)
        yield followed


@pytest.fixture
async def directory(database: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Directory]:
    """Two assets whose changes are trusted however slow this machine is."""
    monkeypatch.setattr(changes, "TRUSTED_SECONDS", 3600.0)
    async with following(database) as followed:
        before = await known(followed)
        await database[ASSETS.name].insert_many(
            [{"_id": key, "name": key.title(), "market": "m", **STAMPS} for key in ("oak", "elm")]
        )
        await until(followed, lambda now: not is_same(before, now, [ASSETS.name]))
        yield Directory(database, Lookups(followed))


async def test_what_was_found_is_read_once(directory: Directory) -> None:
    assert [await directory.name("oak") for _ in range(3)] == ["Oak"] * 3
    assert directory.reads == 1


async def test_what_was_not_found_is_looked_for_again(directory: Directory) -> None:
    assert [await directory.name("ash") for _ in range(2)] == [None] * 2
    assert directory.reads == 2


async def test_no_scope_is_answered_with_what_another_found(directory: Directory) -> None:
    assert await directory.name("elm") == "Elm"
    assert await directory.name("elm", OAK) is None
    assert await directory.name("elm", NOTHING) is None
    assert await directory.name("oak", OAK) == "Oak"
    assert await directory.name("elm", Scope(frozenset(["elm", "oak"]))) == "Elm"
    assert directory.reads == 5


async def test_a_change_by_anybody_ends_what_was_found(directory: Directory) -> None:
    await directory.name("oak")
    followed = directory.lookups._changes
    before = await known(followed)
    await directory.rename("oak", "Great Oak")
    await until(followed, lambda now: not is_same(before, now, [ASSETS.name]))
    assert await directory.name("oak") == "Great Oak"


async def test_a_write_by_this_gateway_counts_at_once(directory: Directory) -> None:
    for number in range(5):
        await directory.rename("oak", f"Oak {number}")
        directory.lookups._changes.wrote()
        assert await directory.name("oak") == f"Oak {number}"


async def test_a_change_during_the_read_ends_what_it_found(directory: Directory) -> None:
    followed = directory.lookups._changes

    async def read() -> str:
        followed.wrote()
        return "Oak before the change"

    lookup = Lookup(ASSETS.name, "name", EVERYTHING, "oak")
    assert await directory.lookups.of(lookup, read) == "Oak before the change"
    assert await directory.name("oak") == "Oak"


async def test_a_change_elsewhere_ends_nothing(directory: Directory) -> None:
    followed = directory.lookups._changes
    await directory.name("oak")
    before = await known(followed)
    await directory.database["backgrounds"].insert_one(
        {"_id": "b", "asset_id": "oak", "unit_map_id": "m", "name": "B", **STAMPS}
    )
    await until(followed, lambda now: not is_same(before, now, ["backgrounds"]))
    await directory.name("oak")
    assert directory.reads == 1


async def test_nothing_known_is_used_while_changes_may_go_unnoticed(database: Any) -> None:
    async with following(database) as followed:
        pass
    directory = Directory(database, Lookups(followed))
    await database[ASSETS.name].insert_one({"_id": "oak", "name": "Oak", "market": "m", **STAMPS})
    assert [await directory.name("oak") for _ in range(2)] == ["Oak"] * 2
    assert directory.reads == 2


async def test_the_least_recently_used_give_way(directory: Directory) -> None:
    directory.lookups = Lookups(directory.lookups._changes, most=1)
    for key in ("oak", "elm", "elm", "oak"):
        await directory.name(key)
    assert directory.reads == 3
