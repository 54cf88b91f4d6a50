"""Kept answers: quick, exact, and nobody else's."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.app import Gateway
from gateway.cache import response_cache
from gateway.cache.response_cache import ResponseCache
from storage.cache import change_feed
from tests.world import (
    ALL_FLAGS,
    HIDDEN,
    SEEN,
    World,
    connected,
    data_of,
    make_key,
    running,
    speaking,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PATIENCE_SECONDS = 30
STALE_SECONDS = change_feed.CONFIRMATION_TTL_SECONDS + 0.4
"""After this nothing older is answered, whatever this machine is busy with."""

UNITS = {"unit-1": SEEN, "unit-2": SEEN, "unit-s": HIDDEN}
FLOORS = {SEEN: "n/1 %", HIDDEN: "s-1"}
RENAME = "mutation ($bundle: String!) { importCatalog(bundle: $bundle) { notes } }"


@dataclass
class Running:
    """A gateway and a client of each of its keys."""

    gateway: Gateway
    clients: dict[str, httpx.AsyncClient]

    @property
    def answers(self) -> ResponseCache:
        assert self.gateway.state is not None
        return self.gateway.state.response_cache

    @property
    def full(self) -> httpx.AsyncClient:
        return self.clients["full"]

    async def trusting(self) -> "Running":
        """Waits until the changes are followed."""
        assert self.gateway.state is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.gateway.state.change_feed.take_snapshot() is None:
                await asyncio.sleep(0.01)
        return self


@asynccontextmanager
async def gateways(
    world: World, keys: dict[str, str], count: int = 1
) -> AsyncIterator[list[Running]]:
    async with AsyncExitStack() as stack:
        made = []
        for _ in range(count):
            gateway = await stack.enter_async_context(running(world.settings()))
            clients = {
                name: await stack.enter_async_context(speaking(gateway, key))
                for name, key in keys.items()
            }
            made.append(await Running(gateway, clients).trusting())
        yield made


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gateways trust what they keep, however slow this machine is."""
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)


@pytest.fixture
async def one(patient: None, own_world: World) -> AsyncIterator[Running]:
    """A gateway and its clients."""
    named = {"full": own_world.keys.full, "narrow": own_world.keys.narrow}
    async with gateways(own_world, named) as (gateway,):
        yield gateway


async def rename(client: httpx.AsyncClient, unit: str, name: str) -> None:
    """Gives a unit another name, through a gateway."""
    asset = UNITS[unit]
    member = {"id": unit, "asset_id": asset, "floor_id": FLOORS[asset], "name": name}
    await data_of(client, RENAME, {"bundle": json.dumps({"units": [member]})})


@pytest.mark.parametrize(
    "path", ["/v1/units", "/v1/units/unit-1", "/graphql?query={units{data{id}}}"]
)
async def test_the_same_question_is_answered_from_memory(one: Running, path: str) -> None:
    made = await one.full.get(path)
    kept = await one.full.get(path)
    assert (kept.content, kept.headers["etag"]) == (made.content, made.headers["etag"])
    assert (one.answers.counters.misses, one.answers.counters.hits) == (1, 1)


@pytest.mark.usefixtures("patient")
async def test_callers_who_see_the_same_share_an_answer(own_world: World) -> None:
    async with connected(own_world) as database:
        _, first = await make_key(database, "first", asset_ids=[SEEN, HIDDEN])
        _, second = await make_key(database, "second", asset_ids=[HIDDEN, SEEN])
    async with gateways(own_world, {"first": first, "second": second}) as (one,):
        await one.clients["first"].get("/v1/units")
        await one.clients["second"].get("/v1/units")
        assert one.answers.counters.hits == 1


async def test_callers_who_see_less_never_get_it(one: Running) -> None:
    everything = await one.full.get("/v1/units/unit-s")
    assert everything.status_code == 200
    assert (await one.clients["narrow"].get("/v1/units/unit-s")).status_code == 404


async def test_a_flag_is_asked_for_before_anything_kept_is_answered(one: Running) -> None:
    assert (await one.full.get("/v1/assets/references", headers=ALL_FLAGS)).status_code == 200
    assert (await one.full.get("/v1/assets/references")).status_code == 400
    query = "/graphql?query={assetReferences{data{id}}}"
    assert "errors" not in (await one.full.get(query, headers=ALL_FLAGS)).json()
    assert "errors" in (await one.full.get(query)).json()
    assert "errors" in (await one.clients["narrow"].get(query, headers=ALL_FLAGS)).json()


async def test_what_the_client_has_already_is_not_sent_again(one: Running) -> None:
    tag = (await one.full.get("/v1/units")).headers["etag"]
    again = await one.full.get("/v1/units", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert one.answers.counters.hits == 1


async def test_a_coding_is_kept_beside_the_plain_bytes(one: Running) -> None:
    plain = await one.full.get("/v1/units")
    before = one.answers.counters.size_bytes
    coded = await one.full.get("/v1/units", headers={"Accept-Encoding": "gzip"})
    assert coded.content == plain.content
    assert coded.headers["content-encoding"] == "gzip"
    assert one.answers.counters.size_bytes > before


async def test_a_write_through_the_gateway_counts_at_once(
    one: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        change_feed.ChangeFeed, "_bump_versions", lambda *_: None
    )  # the stream tells nothing
    for number in range(5):
        await rename(one.full, "unit-1", f"Suite {number}")
        for _ in range(2):
            assert (await one.full.get("/v1/units/unit-1")).json()["name"] == f"Suite {number}"
    assert one.answers.counters.hits == 5


async def test_flags_of_no_feature_make_no_other_answer(one: Running) -> None:
    for flag in ("none", "nothing", "references-of-old"):
        await one.full.get("/graphql?query={units{data{id}}}", headers={"Experimental-Flags": flag})
    assert one.answers.counters.entries == 1


async def test_a_change_ends_only_what_was_read_from_there(one: Running, own_world: World) -> None:
    await one.full.get("/v1/units/unit-1")
    await one.full.get("/v1/assets")
    async with connected(own_world) as database:
        await database["units"].update_one({"_id": "unit-1"}, {"$set": {"name": "Elsewhere"}})
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await one.full.get("/v1/units/unit-1")).json()["name"] != "Elsewhere":
            await asyncio.sleep(0.01)
    made = one.answers.counters.misses
    await one.full.get("/v1/assets")
    assert one.answers.counters.misses == made


async def test_what_nobody_keeps_track_of_is_not_kept(one: Running) -> None:
    for _ in range(2):
        await data_of(one.full, "{ apiKeys { data { id lastUsedAt } } assets { data { id } } }")
    assert one.answers.counters.entries == 0


@pytest.mark.parametrize(
    "path",
    [
        "/v1/units/none",
        "/graphql?query={units(page:0){data{id}}}",
        "/graphql?query={units{data{id}}assetReferences{data{id}}}",
    ],
)
async def test_errors_are_not_kept(one: Running, path: str) -> None:
    await one.full.get(path)
    assert one.answers.counters.entries == 0


@pytest.mark.usefixtures("patient")
async def test_the_least_recently_used_give_way(own_world: World) -> None:
    named = {"full": own_world.keys.full}
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(running(own_world.settings(cache_mb=1)))
        client = await stack.enter_async_context(speaking(gateway, named["full"]))
        one = await Running(gateway, {"full": client}).trusting()
        for page in range(1, 500):
            await client.get(f"/v1/units?page={page}")
        counters = one.answers.counters
        assert counters.evictions > 0
        assert counters.entries + counters.evictions == counters.misses
        assert counters.size_bytes <= 1_000_000


async def test_what_is_larger_than_all_that_may_be_kept_evicts_nothing(one: Running) -> None:
    one.answers._max_bytes = 5_000
    await one.full.get("/v1/assets")
    await one.full.get("/v1/units")
    assert (one.answers.counters.entries, one.answers.counters.evictions) == (1, 0)


async def test_a_gateway_told_to_keep_nothing_keeps_nothing(own_world: World) -> None:
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(running(own_world.settings(cache_mb=0)))
        client = await stack.enter_async_context(speaking(gateway, own_world.keys.full))
        one = await Running(gateway, {"full": client}).trusting()
        for _ in range(3):
            await client.get("/v1/units")
        assert (one.answers.counters.entries, one.answers.counters.hits) == (0, 0)


@pytest.mark.usefixtures("patient")
async def test_the_counters_are_logged_when_they_have_changed(
    own_world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(response_cache, "REPORT_INTERVAL_SECONDS", 0.01)
    with caplog.at_level(logging.INFO, "floorgate.answers"):
        async with gateways(own_world, {"full": own_world.keys.full}) as (one,):
            await one.full.get("/v1/units")
            async with asyncio.timeout(PATIENCE_SECONDS):
                while one.answers.counters.entries == 0 or not caplog.records:
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
    reports = [record.__dict__["fields"] for record in caplog.records]
    assert reports[-1] | {"made": 1, "entries": 1} == reports[-1]
    assert all(before != after for before, after in pairwise(reports))


@dataclass
class History:
    """The names that the units had, state by state, and who made each state when."""

    states: list[dict[str, str]]
    made: list[tuple[int, float]] = field(default_factory=lambda: [(-1, float("-inf"))])

    def write(self, gateway: int, unit: str, name: str) -> None:
        self.states.append(self.states[-1] | {unit: name})
        self.made.append((gateway, time.monotonic()))

    def allowed(self, gateway: int, asked_at: float) -> list[dict[str, str]]:
        """What a gateway may answer: nothing older than its own last write, or than the bound."""
        oldest = max(
            number
            for number, (writer, at) in enumerate(self.made)
            if writer == gateway or at < asked_at - STALE_SECONDS
        )
        return self.states[oldest:]


GATEWAYS = st.sampled_from([0, 1])
UNIT = st.sampled_from(sorted(UNITS))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), GATEWAYS, UNIT),
        st.tuples(st.just("read"), GATEWAYS, st.sampled_from(["all", "north", "south", "none"])),
        st.tuples(st.just("wait"), st.integers(0, 60), st.none()),
    ),
    min_size=4,
    max_size=16,
)
SCOPES = {"all": {SEEN, HIDDEN}, "north": {SEEN}, "south": {HIDDEN}, "none": set()}


async def shown(client: httpx.AsyncClient) -> list[dict[str, str]]:
    """The units' names as each door shows them."""
    listed = (await client.get("/v1/units?per-page=1000")).json()["data"]
    asked = await data_of(client, "{ units(perPage: 1000) { data { id name } } }")
    single = {}
    for unit in UNITS:
        response = await client.get(f"/v1/units/{unit}")
        if response.status_code == 200:
            single[unit] = response.json()["name"]
    return [
        {each["id"]: each["name"] for each in listed if each["id"] in UNITS},
        {each["id"]: each["name"] for each in asked["units"]["data"] if each["id"] in UNITS},
        single,
    ]


@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
async def test_every_answer_is_true_for_its_caller(
    own_world: World, steps: list[tuple[str, Any, Any]]
) -> None:
    """Random writes, readers and pauses, through two gateways on one database."""
    keys = {"full": own_world.keys.full}
    async with connected(own_world) as database:
        for name, assets in SCOPES.items():
            _, keys[name] = await make_key(database, name, asset_ids=sorted(assets))
        found = await database["units"].find({"_id": {"$in": sorted(UNITS)}}).to_list(None)
    history = History([{unit["_id"]: unit["name"] for unit in found}])
    async with gateways(own_world, keys, count=2) as both:
        for number, (what, which, whose) in enumerate(steps):
            if what == "wait":
                await asyncio.sleep(which / 1000)
            elif what == "write":
                await rename(both[which].full, whose, f"Name {number}")
                history.write(which, whose, f"Name {number}")
            else:
                asked_at = time.monotonic()
                for names in await shown(both[which].clients[whose]):
                    assert names in [
                        {unit: name for unit, name in state.items() if UNITS[unit] in SCOPES[whose]}
                        for state in history.allowed(which, asked_at)
                    ]
