"""Routable maps come back from archives, are shared and restricted; waypoints are completed."""

import asyncio
import errno
import hashlib
import mmap
import os
import tempfile
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import routing.network.restrictions as restrictions_module
from resolvers import routable_maps
from resolvers.distances import (
    LocationOrPosition,
    Waypoint,
    WaypointInput,
    find_locations,
    resolve_waypoints,
    to_waypoint_refs,
)
from resolvers.request.caller import Caller
from resolvers.request.context import Context
from resolvers.request.errors import InvalidInputError
from resolvers.routable_maps import (
    ARCHIVE_KIND,
    ArchiveFiles,
    Placement,
    RestrictedFloor,
    RestrictedRouters,
    RoutableMap,
    RoutableMapCache,
    deserialize_routable_map,
    find_private_directory,
    serialize_routable_map,
    to_placement,
)
from routing.archive import FORMAT_VERSION, pack_archive, serialize_router, weigh_networks
from routing.costing import TravelMode
from routing.errors import ArchiveError
from routing.network.restrictions import Restrictions
from routing.plan import ConnectorKind
from routing.search.matrix import Position
from routing.search.router import Router
from storage.catalog import Location, LocationFloor, Map
from storage.importing.import_bundles import import_bundles
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS
from storage.routing_inputs import NETWORK_FORMAT, read_format
from storage.store import Store
from tests.routing.ascii_plans import process_drawing
from tests.routing.hard_areas import restrict_networks
from tests.storage.catalogs import SMALL, write_arrays

PLACEMENTS = [
    Placement("A", "Gym", 2.0, 2.5, ("0", "1")),
    Placement("B", "", 10.0, 2.0, ()),
]


def test_the_format_of_an_archive_is_recorded_as_that_of_this_release() -> None:
    archive = serialize_routable_map(process_drawing("A,,B").router, [])
    assert read_format(archive) == FORMAT_VERSION == NETWORK_FORMAT
    assert read_format(b"something else") is None


def test_router_and_placements_are_read_back() -> None:
    router = process_drawing("A,,B").router
    archive = serialize_routable_map(router, PLACEMENTS)
    read = deserialize_routable_map(memoryview(archive))
    assert read.placements == {placement.id: placement for placement in PLACEMENTS}
    assert read.router.matrix(["A"], ["B"]).feet == router.matrix(["A"], ["B"]).feet


@pytest.mark.parametrize("archive", [b"", b"something else"])
def test_other_bytes_are_an_error(archive: bytes) -> None:
    with pytest.raises(ArchiveError):
        deserialize_routable_map(archive)


ROUTER = {"router": np.frombuffer(serialize_router(process_drawing("A,,B").router), np.uint8)}


@pytest.mark.parametrize(
    ("values", "arrays"),
    [
        ({}, ROUTER),
        ({"placements": None}, ROUTER),
        ({"placements": [["A", "Gym", 2.0, 2.5]]}, ROUTER),
        ({"placements": []}, {}),
        ({"placements": []}, {"router": np.zeros(64, np.uint8)}),
    ],
)
def test_a_damaged_archive_is_an_error(values: dict[str, Any], arrays: dict[str, Any]) -> None:
    with pytest.raises(ArchiveError):
        deserialize_routable_map(pack_archive(ARCHIVE_KIND, values, arrays))


def test_a_placement_has_the_floors_of_its_location() -> None:
    floors = [LocationFloor(id="f2"), LocationFloor(id="f1")]
    location = Location(id="l", asset_id="a", unit_map_id="m", name="Pool", x=1, y=2, floors=floors)
    assert to_placement(location) == Placement("l", "Pool", 1, 2, ("f2", "f1"))
    assert to_placement(location).floor_id == "f2"
    assert PLACEMENTS[1].floor_id == ""


def digest(content: bytes) -> str:
    """Return the name of a file with this content."""
    return hashlib.sha256(content).hexdigest()


def add(files: ArchiveFiles, content: bytes) -> bytes:
    """Add a file that can be written; return what was mapped."""
    mapped = files.add(digest(content), content)
    assert isinstance(mapped, mmap.mmap)
    return mapped[:]


def test_what_was_added_is_found_by_any_process(tmp_path: Path) -> None:
    key = digest(b"archive")
    assert ArchiveFiles(tmp_path).find(key) is None
    assert add(ArchiveFiles(tmp_path), b"archive") == b"archive"
    found = ArchiveFiles(tmp_path).find(key)
    assert found is not None and found[:] == b"archive"


def test_the_least_recently_used_make_room_and_stay_readable_where_they_are_mapped(
    tmp_path: Path,
) -> None:
    def names() -> set[str]:
        return {path.name for path in tmp_path.iterdir()}

    files = ArchiveFiles(tmp_path, max_bytes=20)
    first, second, third, huge = (
        bytes([kind]) * size for kind, size in enumerate([10, 10, 10, 99])
    )
    mapped = files.add(digest(first), first)
    add(files, second)
    for at, content in enumerate((first, second)):
        os.utime(tmp_path / digest(content), (1_000 + at, 1_000 + at))
    files.find(digest(first))
    add(files, third)
    assert names() == {digest(first), digest(third)}
    add(files, huge)
    assert names() == {digest(huge)}
    assert mapped[:] == first


@pytest.mark.parametrize("left", [b"", b"arch", b"ARCHIVE"])
def test_a_file_that_was_damaged_is_written_again(left: bytes, tmp_path: Path) -> None:
    files, key = ArchiveFiles(tmp_path), digest(b"archive")
    (tmp_path / key).write_bytes(left)
    assert files.find(key) is None
    assert add(files, b"archive") == b"archive"


def test_without_room_for_a_file_the_content_stays_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    assert ArchiveFiles(tmp_path).add(digest(b"archive"), b"archive") == b"archive"
    assert not [*tmp_path.iterdir()]
    assert "No space left on device" in caplog.text


def test_without_a_directory_for_files_the_content_stays_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/proc/none")
    files = ArchiveFiles()
    assert files.find("a") is None
    assert files.add("a", b"archive") == b"archive"


def test_the_directory_is_the_same_for_all_processes_and_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    directory = find_private_directory()
    assert find_private_directory() == directory
    assert directory.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("way", ["open to others", "a link", "a link to nothing", "a file"])
def test_a_directory_that_others_may_have_made_is_not_used(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    named = tmp_path / f"floorgate-maps-{os.getuid()}"
    if way == "a file":
        named.touch()
    elif way.startswith("a link"):
        if way == "a link":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
        named.symlink_to(tmp_path / "elsewhere")
    else:
        named.mkdir()
        named.chmod(0o777)
    used = find_private_directory()
    assert used != named and used.stat().st_mode & 0o777 == 0o700


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


A, B, C = map(digest_of, (b"aaaa", b"bbbb", b"cccc"))


class Files:
    """Archives by digest, and the digests that were read."""

    def __init__(self, directory: Path, *contents: bytes) -> None:
        self.contents = {digest_of(content): content for content in contents}
        self.reads: list[str] = []
        self.mapped = ArchiveFiles(directory)

    async def read(self, digest: str) -> bytes | None:
        self.reads.append(digest)
        assert driver.remaining_seconds() is None  # whichever request is the first
        await asyncio.sleep(0)
        return self.contents.get(digest)

    def cache(self, max_bytes: int = 1_000) -> RoutableMapCache:
        return RoutableMapCache(self.read, max_bytes, self.mapped)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An archive is a map of its own name, listed when it is loaded; an empty one is unusable."""
    loaded: list[str] = []

    def deserialize(content: Any) -> str:
        if not content:
            raise ArchiveError("empty")
        loaded.append(bytes(content).decode())
        return loaded[-1]

    monkeypatch.setattr(routable_maps, "deserialize_routable_map", deserialize)
    return loaded


async def test_concurrent_requests_share_one_read_that_is_within_the_deadline_of_none(
    loads: list[str], tmp_path: Path
) -> None:
    files = Files(tmp_path, b"aaaa")
    routers = files.cache()
    with driver.limit_time(60):
        maps: list[object] = await asyncio.gather(
            *(routers.get_or_load(A, "hall") for _ in range(3))
        )
    assert [*maps, await routers.get_or_load(A, "hall")] == ["aaaa"] * 4
    assert (files.reads, loads) == ([A], ["aaaa"])


async def test_the_least_recently_used_router_is_evicted_and_loaded_again_from_its_file(
    loads: list[str], tmp_path: Path
) -> None:
    files = Files(tmp_path, b"aaaa", b"bbbb", b"cccc")
    routers = files.cache(max_bytes=8)
    for key in (A, B, A, C, A, B):
        await routers.get_or_load(key, "map")
    assert loads == ["aaaa", "bbbb", "cccc", "bbbb"]
    assert files.reads == [A, B, C]


async def test_an_unusable_archive_is_read_once_and_a_missing_one_each_time(
    loads: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = Files(tmp_path, b"")
    routers = files.cache()
    for key in (digest_of(b""), digest_of(b""), "none", "none"):
        assert await routers.get_or_load(key, "hall") is None
    assert files.reads == [digest_of(b""), "none", "none"]
    messages = [each.message for each in caplog.records if each.name == "floorgate.routable_maps"]
    assert messages == ["the map 'hall' has no usable network: empty"]


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


MAP = Map(id="am", asset_id="a", name="Plates", feet_per_unit=2.0)
ABSENT: dict[str, Any] = {"id": None, "unit_id": None, "x": None, "y": None, "floor_id": None}


def waypoint(**given: Any) -> WaypointInput:
    return WaypointInput(**{"name": None, **ABSENT, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"id": "l"}, None),
        ({"x": 1, "y": 2, "floor_id": "f"}, None),
        ({"id": "l", "x": 1, "y": 2}, None),
        ({"unit_id": "u"}, None),
        ({"unit_id": "u", "x": 1, "y": 2, "floor_id": "f"}, None),
        ({"id": "l", "unit_id": "u"}, "must have an id or a unit id, not both"),
        ({}, "must have the id of a location or a unit, or x, y and a floor"),
        ({"x": 1, "y": 2}, "must have the id of a location or a unit, or x, y and a floor"),
        ({"id": "l", "x": 1}, "must have both x and y, or neither"),
    ],
)
def test_a_waypoint_has_an_id_or_a_position(given: dict[str, Any], message: str | None) -> None:
    error = LocationOrPosition().check(ABSENT | given)
    assert (error and error.message) == message


@pytest.fixture
async def context(mongo_url: str, database_name: str, tmp_path: Path) -> AsyncIterator[Context]:
    client = driver.connect(mongo_url, timeout_seconds=30)
    bundle = write_arrays(tmp_path / "b.json", SMALL)
    await import_bundles(client[database_name], [bundle])
    yield Context(Caller("key", ALL_ASSETS), Store(client, database_name))
    await driver.close(client)


async def test_waypoints_are_completed_from_their_locations(context: Context) -> None:
    resolved = await resolve_waypoints(
        context,
        MAP,
        None,
        [
            ("from", waypoint(id="l")),
            ("to", waypoint(id="l", name="Here", x=1.0, y=2.0, floor_id="a1")),
            ("via", waypoint(x=3.0, y=4.0, floor_id="a1")),
        ],
    )
    assert resolved == [
        Waypoint("l", "Pool", 1.5, -2, "a1", True, "l"),
        Waypoint("l", "Here", 1.0, 2.0, "a1", False, "l"),
        Waypoint(None, None, 3.0, 4.0, "a1", False),
    ]


async def test_all_waypoints_that_are_not_of_the_map_are_reported(context: Context) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await resolve_waypoints(
            context,
            MAP,
            None,
            [
                ("sources[0]", waypoint(id="missing")),
                ("sources[1]", waypoint(x=1.0, y=2.0, floor_id="b1")),
                ("sources[2]", waypoint(unit_id="a101")),
            ],
        )
    assert caught.value.extensions["fields"] == {
        "sources[0].id": ["must be a location of this map, or a unit that has one, not 'missing'"],
        "sources[1].floorId": ["must be a floor of this map, not 'b1'"],
        "sources[2].unitId": ["must be a unit that has a location on this map, not 'a101'"],
    }


async def test_what_the_network_knows_is_not_read_again(context: Context) -> None:
    router = process_drawing("A,,,").router
    routable = RoutableMap(router, {"A": Placement("A", "Gym", 1, 1, ("0",))})
    (resolved,) = await resolve_waypoints(
        context, MAP, routable, [("from", waypoint(id="A", floor_id="0"))]
    )
    assert resolved == Waypoint("A", "Gym", 1, 1, "0", True, "A")
    assert not context.reads.collections


async def test_waypoints_that_only_name_locations_of_the_network_are_found_at_once(
    context: Context,
) -> None:
    placements = {
        "A": Placement("A", "Gym", 1, 1, ("0", "1")),
        "B": Placement("B", "Bar", 2, 3, ()),
    }
    points = [waypoint(id="A"), waypoint(id="B", name="Here"), waypoint(id="A", name="")]
    found = find_locations(placements, points)
    routable = RoutableMap(process_drawing("A,B,").router, placements)
    named = [("sources[0]", point) for point in points]
    assert found == await resolve_waypoints(context, MAP, routable, named)
    assert [each.name for each in found or ()] == ["Gym", "Here", ""]


@pytest.mark.parametrize(
    "other",
    [
        {"id": "C"},
        {"unit_id": "A"},
        {"id": "A", "floor_id": "0"},
        {"id": "A", "x": 1.0, "y": 1.0},
        {"x": 1.0, "y": 1.0, "floor_id": "0"},
    ],
)
def test_other_waypoints_are_left_to_be_resolved(other: dict[str, Any]) -> None:
    placements = {"A": Placement("A", "Gym", 1, 1, ("0",))}
    assert find_locations(placements, [waypoint(id="A"), waypoint(**other)]) is None


def test_routing_gets_the_id_of_a_location_or_a_position_in_feet() -> None:
    router = process_drawing("A,,,").router
    location = Waypoint("A", "Gym", 1, 1, "0", True, "A")
    unit = Waypoint("suite", "Gym", 1, 1, "0", True, "A")
    moved = Waypoint("A", "Gym", 2, 3, "0", False, "A")
    unknown = Waypoint("B", "Bar", 2, 3, "0", True, "B")
    position = Position("0", 4, 6)
    waypoints = [location, unit, moved, unknown]
    assert to_waypoint_refs(router, MAP, waypoints) == ["A", "A", position, position]
