"""Restricted routers are built once, apart from searches, and cached within bytes."""

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

import routing.network.restrictions as restrictions_module
from resolvers.networks.restricted_routers import RestrictedFloor, RestrictedRouters
from routing.costing import TravelMode
from routing.network.restrictions import Restrictions, restrict_networks
from routing.plan import ConnectorKind
from routing.search.router import Router
from routing.serialization import weigh_networks
from tests.routing.ascii_plans import process_drawing

pytestmark = pytest.mark.anyio

HOUSE = process_drawing(
    """
    #########
    #A.#..B.#
    #+###+###
    #,,,,,es#
    #########
    """,
    """
    #########
    #########
    #########
    #F.,,,es#
    #########
    """,
).router
CLOSED_ROOM = Restrictions(space_ids=frozenset(["room B"]))
CLOSED_STAIRS = Restrictions(
    connector_ids=frozenset(
        each.id
        for each in HOUSE.networks[TravelMode.FOOT].connectors
        if each.kind is ConnectorKind.STEPS
    )
)
NO_STAIRS = Restrictions(connector_kinds=frozenset([ConnectorKind.STEPS]))


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[Restrictions]:
    """What floor was taken away, and in which order."""
    made: list[Restrictions] = []
    build = restrictions_module.close_floor

    def close_floor(networks: Any, restrictions: Restrictions) -> Any:
        made.append(restrictions)
        return build(networks, restrictions)

    monkeypatch.setattr(restrictions_module, "close_floor", close_floor)
    return made


async def test_what_the_map_does_not_have_costs_nothing(builds: list[Restrictions]) -> None:
    routers = RestrictedRouters()
    without = Restrictions(connector_kinds=frozenset([ConnectorKind.ESCALATOR]), outdoors=True)
    for restrictions in (Restrictions(), without):
        assert await routers.get_or_build("a", HOUSE, restrictions) is HOUSE
    assert builds == []


async def test_concurrent_requests_share_one_build(builds: list[Restrictions]) -> None:
    routers = RestrictedRouters()
    built = await asyncio.gather(
        *(routers.get_or_build("a", HOUSE, CLOSED_ROOM | NO_STAIRS) for _ in range(4)),
        *(routers.get_or_build("a", HOUSE, CLOSED_ROOM) for _ in range(4)),
    )
    assert builds == [CLOSED_ROOM]
    assert np.isnan(built[0].matrix(["A"], ["B"]).feet[0, 0])
    again = await routers.get_or_build("a", HOUSE, CLOSED_ROOM | NO_STAIRS)
    assert [each is again for each in built] == [True] * 4 + [False] * 4
    assert builds == [CLOSED_ROOM]
    await routers.get_or_build("another", HOUSE, CLOSED_ROOM)
    assert len(builds) == 2


async def test_a_mode_that_loses_nothing_keeps_its_table() -> None:
    routers = RestrictedRouters()
    without_stairs = await routers.get_or_build("a", HOUSE, NO_STAIRS)
    assert without_stairs.tables.keys() == {TravelMode.WHEELCHAIR}
    assert without_stairs.networks[TravelMode.FOOT].levels is HOUSE.networks[TravelMode.FOOT].levels
    closed = await routers.get_or_build("a", HOUSE, CLOSED_ROOM)
    assert closed.tables == {}


async def test_the_least_recently_used_make_room(builds: list[Restrictions]) -> None:
    routers = RestrictedRouters(max_closed_bytes=1)
    for digest in "aab":
        await routers.get_or_build(digest, HOUSE, CLOSED_ROOM)
    assert len(builds) == 2
    await routers.get_or_build("a", HOUSE, CLOSED_ROOM)
    assert len(builds) == 3


async def test_what_clients_avoid_does_not_evict_what_is_closed(
    builds: list[Restrictions],
) -> None:
    routers = RestrictedRouters(1, 1)
    closed = await routers.get_or_build("a", HOUSE, CLOSED_STAIRS)
    for digest in "abc":
        await routers.get_or_build(digest, HOUSE, NO_STAIRS)
    assert await routers.get_or_build("a", HOUSE, CLOSED_STAIRS) is closed
    await routers.get_or_build("a", HOUSE, CLOSED_ROOM)
    for digest in "abc":
        await routers.get_or_build(digest, HOUSE, NO_STAIRS)
    builds.clear()
    await routers.get_or_build("a", HOUSE, CLOSED_ROOM)
    assert builds == []


async def test_a_router_weighs_what_it_adds_to_the_whole_one() -> None:
    def weigh(restrictions: Restrictions) -> int:
        floor = RestrictedFloor(HOUSE, restrict_networks(HOUSE.networks, restrictions))
        return floor.weigh()

    whole = weigh_networks(HOUSE.networks.values())
    assert weigh(Restrictions()) == 0
    assert 0 < weigh(CLOSED_STAIRS) < whole / 10
    assert weigh(CLOSED_ROOM) < whole


async def test_a_build_that_nobody_waits_for_any_more_is_there_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started, may_end = threading.Event(), threading.Event()
    build, builds = restrictions_module.close_floor, []

    def close_floor(networks: Any, restrictions: Restrictions) -> Any:
        builds.append(restrictions)
        started.set()
        may_end.wait(10)
        return build(networks, restrictions)

    monkeypatch.setattr(restrictions_module, "close_floor", close_floor)
    routers = RestrictedRouters()
    late = asyncio.create_task(routers.get_or_build("a", HOUSE, CLOSED_ROOM))
    assert await asyncio.to_thread(started.wait, 10)
    late.cancel()
    with pytest.raises(asyncio.CancelledError):
        await late
    may_end.set()
    assert isinstance(await routers.get_or_build("a", HOUSE, CLOSED_ROOM), Router)
    assert len(builds) == 1
