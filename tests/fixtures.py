"""A small catalog of two assets, gateways that serve it, and HTTP clients for them."""

import asyncio
import base64
import json
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from pymongo import MongoClient

from gateway.app import Gateway
from gateway.rate_limits import RateLimitStatus
from gateway.settings import Settings
from resolvers.drawings.shown_units import parse_with_units
from resolvers.request.caller import FLAGS, PERMISSIONS
from storage.administration import api_keys
from storage.bundles.drawings import ParsedSource
from storage.cache import change_feed
from storage.importing.import_bundles import import_bundles
from storage.mongo import driver
from tests.databases import Documents, ReusedDatabase, read_documents
from tests.gateway.small_app import admitting
from tests.rest.demo_service import NO_BAD_KEY_LIMIT, DemoService, demo_service
from tests.waiting import TIMEOUT_SECONDS

BASE_URL = "https://directory.test"

SEEN = "north"
HIDDEN = "south/ %"
FLOOR = "n/1 %"
MAP = "plan/one"
OTHER_MAP = "plan-two"
BACKGROUND = "b g/1"
HIDDEN_MAP = "south-plan"
UNIT = "unit-1"

ODD_IDS = (
    "a/b",
    "/",
    "50%",
    "%2F",
    "x y",
    "a+b",
    "a?b#c&d=e",
    "$gt",
    "$where",
    '"quoted\\"',
    "<b>",
    "case",
    "CASE",
    "tab\tnewline\n",
    "\u00fcn\u00efcode",
    "\u65e5\u672c",
    "\uff5e",  # after 日本 and before the emoji by code point, behind it in UTF-16
    "\U0001f600",
    "u" * 255,
    "\u00df" * 255,
)
"""Ids that something between a client and MongoDB could take for something else."""

UNIT_IDS = sorted([*ODD_IDS, *(f"unit-{number}" for number in range(1, 6))])

DRAWING = "data:image/svg+xml;base64," + base64.b64encode(
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8">'
    b'<g data-type="Georeference" data-latitude="56" data-longitude="10" data-zoom="20"/>'
    b'<g data-type="UnitLayer"><rect id="unit-1" width="4" height="8" fill="red"/></g></svg>'
).decode("ascii")

CATALOG: dict[str, list[dict[str, Any]]] = {
    "assets": [
        {"id": SEEN, "name": "North House"},
        {"id": HIDDEN, "name": "South House", "market": "office"},
    ],
    "floors": [
        {"id": FLOOR, "asset_id": SEEN, "name": "First", "short_label": "1", "sort": 1},
        {"id": "n-2", "asset_id": SEEN, "name": "Second", "sort": 2},
        {"id": "s-1", "asset_id": HIDDEN, "name": "First"},
    ],
    "backgrounds": [
        {"id": BACKGROUND, "unit_map_id": MAP, "name": "Plain"},
        {"id": "bg-2", "unit_map_id": MAP, "name": "Night"},
        {"id": "bg-s", "unit_map_id": HIDDEN_MAP, "name": "South"},
    ],
    "maps": [
        {
            "id": MAP,
            "asset_id": SEEN,
            "name": "All floors",
            "tags": ["ils", "mls"],
            "background_id": BACKGROUND,
            "source": DRAWING,
        },
        {"id": OTHER_MAP, "asset_id": SEEN, "name": "Second floor", "tags": ["ils", "IlS"]},
        {"id": HIDDEN_MAP, "asset_id": HIDDEN, "name": "South", "source": DRAWING},
    ],
    "units": [
        *({"id": id, "asset_id": SEEN, "floor_id": FLOOR, "name": id[:20]} for id in UNIT_IDS[:-1]),
        {
            "id": UNIT_IDS[-1],
            "asset_id": SEEN,
            "floor_id": "n-2",
            "name": "On one map",
            "map_ids": [OTHER_MAP],
        },
        {"id": "unit-s", "asset_id": HIDDEN, "floor_id": "s-1", "name": "South 1"},
        {"id": "!unit-s", "asset_id": HIDDEN, "floor_id": "s-1", "name": "South 2"},
    ],
    "level_tags": [
        {
            "map_id": MAP,
            "key": "floor",
            "name": "Floor",
            "values": [{"name": "First", "value": FLOOR}, {"name": "Second", "value": "n-2"}],
        },
        {"map_id": MAP, "key": "building", "name": "Building"},
        {"map_id": HIDDEN_MAP, "key": "floor", "name": "Floor"},
    ],
    "asset_references": [
        {"id": "ref-1", "asset_id": SEEN, "key": "crm", "value": "N"},
        {"id": "ref-2", "asset_id": SEEN, "key": "erp", "value": "1"},
        {"id": "ref-s", "asset_id": HIDDEN, "key": "crm", "value": "S"},
    ],
    "unit_references": [
        {"group_id": "g", "asset_id": SEEN, "unit_id": UNIT, "key": "crm", "value": "1_2"},
        {"group_id": "g", "asset_id": SEEN, "unit_id": UNIT, "key": "crm-unit-ids", "value": "2"},
        {"group_id": "g", "asset_id": SEEN, "unit_id": "a/b", "key": "crm", "value": "3"},
        {"group_id": "g", "asset_id": HIDDEN, "unit_id": "unit-s", "key": "crm", "value": "S"},
    ],
    "attribute_groups": [
        {
            "group_id": "view",
            "group_name": "View",
            "one_attribute_per_unit": True,
            "attributes": [
                {"attribute_id": "sea", "attribute_name": "Sea", "attribute_key": "sea"},
                {"attribute_id": "yard", "attribute_name": "Yard", "attribute_key": "yard"},
            ],
        },
        {
            "group_id": "fit/out %",
            "group_name": "Fittings",
            "one_attribute_per_unit": False,
            "attributes": [
                {"attribute_id": "oven", "attribute_name": "Oven", "attribute_key": "oven"}
            ],
        },
    ],
    "attribute_assignments": [
        {"group_id": "view", "attribute_id": "sea", "asset_id": SEEN, "unit_id": UNIT},
        {"group_id": "view", "attribute_id": "yard", "asset_id": SEEN, "unit_id": "a/b"},
        {"group_id": "view", "attribute_id": "sea", "asset_id": HIDDEN, "unit_id": "unit-s"},
    ],
    "locations": [
        {
            "id": "loc-1",
            "asset_id": SEEN,
            "unit_map_id": MAP,
            "name": "Unit 1",
            "x": 1.5,
            "y": 2,
            "floors": [{"id": FLOOR}],
            "tags": [{"key": "svc:id", "value": UNIT}, {"key": "svc:type", "value": "unit"}],
        },
        {
            "id": "loc-2",
            "asset_id": SEEN,
            "unit_map_id": MAP,
            "name": "Pool",
            "x": 3,
            "y": 4,
            "floors": [{"id": "n-2"}],
            "tags": [{"key": "svc:amenity", "value": "yes"}],
        },
        {
            "id": "loc-s",
            "asset_id": HIDDEN,
            "unit_map_id": HIDDEN_MAP,
            "name": "South pool",
            "x": 3,
            "y": 4,
            "floors": [{"id": "s-1"}],
            "tags": [{"key": "svc:amenity", "value": "yes"}],
        },
    ],
}

ALL_FLAGS = {"Experimental-Flags": ", ".join(FLAGS)}


@dataclass(frozen=True)
class Keys:
    """One key of each kind; all see both assets but `restricted`, which sees `SEEN`."""

    full: str
    restricted: str
    """Sees one asset and has no permission."""
    revoked: str
    expired: str


@dataclass(frozen=True)
class World:
    """A database with the catalog and keys in it."""

    mongo_url: str
    database: str
    keys: Keys

    def settings(self, **given: Any) -> Settings:
        """A gateway's settings for this world. All tests have one client address, and much time."""
        given = {"base_url": BASE_URL, "bad_key_limit": 0, "request_seconds": 120, **given}
        return Settings(mongo_url=self.mongo_url, database=self.database, **given)


@asynccontextmanager
async def open_database(world: World) -> AsyncIterator[driver.Database]:
    """The world's database, over a connection apart from the gateway's."""
    client = driver.connect(world.mongo_url, timeout_seconds=30)
    try:
        yield client[world.database]
    finally:
        await driver.close(client)


async def make_key(
    database: driver.Database,
    name: str,
    *,
    permissions: tuple[str, ...] = (),
    asset_ids: list[str] | None = None,
    origins: Sequence[str] = (),
    expires_at: datetime | None = None,
) -> tuple[str, str]:
    """A new key: its id and its text."""
    record, key = await api_keys.create_api_key(
        database,
        name=name,
        permissions=[*permissions],
        asset_ids=asset_ids,
        origins=origins,
        expires_at=expires_at,
    )
    return record.id, key


async def parse_here(svg: bytes) -> ParsedSource:
    """Parse a drawing without the process that an import starts for it, which takes a second."""
    return ParsedSource(*parse_with_units(svg))


async def create_world(
    mongo_url: str, database_name: str, bundle: Path, catalog: dict[str, Any] = CATALOG
) -> World:
    """Imports the catalog, by way of a file at `bundle`, and makes the keys."""
    bundle.write_text(json.dumps(catalog))
    client = driver.connect(mongo_url, timeout_seconds=30)
    database = client[database_name]
    await import_bundles(database, [bundle], parse_source=parse_here)
    past = datetime.now(UTC) - timedelta(seconds=1)
    revoked_id, revoked = await make_key(database, "revoked", permissions=PERMISSIONS)
    await api_keys.revoke_api_key(database, revoked_id)
    made = Keys(
        full=(await make_key(database, "full", permissions=PERMISSIONS))[1],
        restricted=(await make_key(database, "restricted", asset_ids=[SEEN]))[1],
        revoked=revoked,
        expired=(await make_key(database, "expired", expires_at=past))[1],
    )
    await driver.close(client)
    return World(mongo_url, database_name, made)


@pytest.fixture(scope="session")
def demo(mongo_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoService]:
    """The running service with the demo property, as a new user starts it, but for one limit.

    Tests of the group `clients` share it, and undo what they write.
    """
    with demo_service(mongo_url, tmp_path_factory.mktemp("demo"), NO_BAD_KEY_LIMIT) as service:
        yield service


@pytest.fixture(scope="session")
def world(mongo_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The world that tests only read, and that is at the end what it was at the start."""
    bundle = tmp_path_factory.mktemp("world") / "bundle.json"
    world = asyncio.run(create_world(mongo_url, uuid.uuid4().hex, bundle))
    before = hash_collections(world)
    yield world
    after = hash_collections(world)
    drop_world(world)
    assert after == before, "a test changed the shared world: it needs own_world"


@pytest.fixture(scope="session")
def world_documents(world: World) -> Documents:
    """What the database of the world has."""
    with MongoClient[dict[str, Any]](world.mongo_url) as client:
        return read_documents(client, world.database)


@pytest.fixture
def own_world(world: World, world_documents: Documents, reused_database: ReusedDatabase) -> World:
    """A copy of the world that the test may change."""
    reused_database.refill(world_documents)
    return replace(world, database=reused_database.name)


UNSTABLE = {"api_key_uses", "conditional_writes", "imports"}


def hash_collections(world: World) -> dict[str, str]:
    """The hashes of the collections that only a write changes, by their names.

    A gateway notes when keys were last used, and takes the lease of imports when it starts. Each
    assignment writes a guard, also one that changes nothing.
    """
    with MongoClient[dict[str, Any]](world.mongo_url) as client:
        hashes: dict[str, str] = client[world.database].command("dbHash")["collections"]
    return {name: hashes[name] for name in hashes.keys() - UNSTABLE}


def drop_world(world: World) -> None:
    """Removes the world's database."""
    with MongoClient[dict[str, Any]](world.mongo_url) as client:
        client.drop_database(world.database)


@asynccontextmanager
async def gateway_client(
    settings: Settings, key: str | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway of its own, in this process; `key` goes with every request."""
    async with run_gateway(settings) as gateway, open_client(gateway, key) as client:
        yield client


@asynccontextmanager
async def run_gateway(settings: Settings) -> AsyncIterator[Gateway]:
    """A gateway that has started."""
    gateway = Gateway(settings)
    async with gateway.run():
        yield gateway


def freeze_limiter(gateway: Gateway) -> None:
    """Make every request come at the same moment, so that nothing becomes available again."""
    check, at = gateway.rate_limiter.check, time.monotonic()

    def check_then(name: str, now: float) -> RateLimitStatus:
        return check(name, at)

    gateway.rate_limiter.check = check_then  # type: ignore[method-assign]


@asynccontextmanager
async def open_client(gateway: Gateway, key: str | None) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the gateway's application."""
    transport = httpx.ASGITransport(admitting(gateway.build_app(), gateway.admission))
    headers = {} if key is None else {"API-Key": key}
    async with httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=headers) as client:
        # httpx asks for gzip by default; a test gets it only by asking for it
        client.headers["Accept-Encoding"] = "identity"
        yield client


@pytest.fixture(scope="session")
async def gateway(world: World, anyio_backend: str) -> AsyncIterator[Gateway]:
    """The gateway of the shared world."""
    async with run_gateway(world.settings()) as gateway:
        yield gateway


@pytest.fixture(scope="session")
async def clients(gateway: Gateway, world: World) -> AsyncIterator[dict[str, httpx.AsyncClient]]:
    """Clients of the shared gateway by the name of their key; `anonymous` has none."""
    async with AsyncExitStack() as stack:
        named = {"full": world.keys.full, "restricted": world.keys.restricted, "anonymous": None}
        yield {
            name: await stack.enter_async_context(open_client(gateway, key))
            for name, key in named.items()
        }


@pytest.fixture
def client(clients: dict[str, httpx.AsyncClient]) -> httpx.AsyncClient:
    """Sees everything and may do everything."""
    return clients["full"]


@pytest.fixture
def restricted(clients: dict[str, httpx.AsyncClient]) -> httpx.AsyncClient:
    """Sees `SEEN` alone and has no permission."""
    return clients["restricted"]


@pytest.fixture
def anonymous(clients: dict[str, httpx.AsyncClient]) -> httpx.AsyncClient:
    """Has no key."""
    return clients["anonymous"]


async def post_graphql(
    client: httpx.AsyncClient, query: str, variables: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The body of the answer to a GraphQL operation, with every experimental flag set.

    Each error names the request, as its header does; what is returned is without.
    """
    response = await client.post(
        "/graphql", json={"query": query, "variables": variables or {}}, headers=ALL_FLAGS
    )
    body: dict[str, Any] = response.json()
    for error in body.get("errors", ()):
        assert error["extensions"].pop("requestId") == response.headers["x-request-id"]
    return body


async def data_of(
    client: httpx.AsyncClient, query: str, variables: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The data of a GraphQL operation that has no error."""
    body = await post_graphql(client, query, variables)
    assert "errors" not in body, body["errors"]
    data: dict[str, Any] = body["data"]
    return data


@pytest.fixture
def never_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cached stays valid, and writes wait, however late the change stream reports."""
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    monkeypatch.setattr(change_feed, "REPORT_SECONDS", 3600.0)


@asynccontextmanager
async def run_following_gateway(settings: Settings) -> AsyncIterator[Gateway]:
    """A gateway that follows the changes of its database: until then, it caches nothing."""
    async with run_gateway(settings) as gateway:
        assert gateway.state is not None
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while gateway.state.change_feed.take_snapshot() is None:
                await asyncio.sleep(0.01)
        yield gateway
