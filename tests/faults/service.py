"""A service that commands can fail in: a gateway in this process, behind a proxy of MongoDB.

It has the demo property, another routable map, a key and a saved endpoint. What operations change
is put back, and what the process and MongoDB hold for a request can be looked at.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import orjson
from bson import json_util
from pymongo import MongoClient

from gateway import state as gateway_state
from gateway.app import Gateway
from gateway.cli.demo import DEMO_ASSET, load_demo_property
from gateway.settings import Settings
from resolvers.request.caller import PERMISSIONS
from storage.administration.api_keys import USES_COLLECTION
from storage.administration.import_lease import LEASE_COLLECTION, STAGING_PREFIX
from storage.cache.cache import NAMED
from storage.changes.events import ChangeCursor, ChangePosition
from storage.embedded.replica_set import HOST
from storage.errors import UnavailableCause
from storage.mongo.tasks import cancel_and_wait
from storage.setup.database import open_database
from tests.databases import Catalog, Documents, read_catalog
from tests.faults.killed_commands import MAP, REBUILT
from tests.faults.wire import Wire
from tests.fixtures import ALL_FLAGS, UNSTABLE, make_key
from tests.following.failover import EventStreamFollower, Follower, WebSocketFollower
from tests.gateway.floorgate_process import floorgate, serve_here, storage_options
from tests.storage.mongo.replica_set_of_three import Member, list_transactions

DATABASE = "floorgate"
ARCHIVE = "before.archive"
"""A backup of the database with one assignment more."""
UNIT = "ugwo2tfiznm"
_UNCHANGED = {
    "group_id": "finish-package",
    "attribute_id": "finish-package-classic",
    "asset_id": DEMO_ASSET,
    "unit_id": "ue3gjjmunkr",
}
DEADLINE_SECONDS = 1
"""Of requests. MongoDB's driver gives up single commands after three seconds."""
ENDED_SECONDS = 10.0
"""Within which a request works again after a fault, and nothing of it is left."""
SAVED_ENDPOINT = """
query UnitsOnMap @endpoint(path: "/v1/x/units-on-map", summary: "List units with their places") {
  units(perPage: 5) { data { id location { x y } } }
}
"""
_CREATE_KEY = """mutation {
  createApiKey(input: { name: "spare", assetIds: ["alder-court"] }) { apiKey { id } } }"""
_SAVE = "mutation ($text: String!) { saveEndpoints(documents: [$text]) { __typename } }"
_PROCESS = """mutation ($plan: String, $asset: ID, $map: ID!) {
  processMap(input: { id: $map, plan: $plan, asset: $asset, feetPerUnit: 0.5 }) { report }
}"""
_POLL_SECONDS = 0.05
_GRAPHQL = {"Accept": "application/graphql-response+json"}
_RANDOM = re.compile(
    r"\b(A[Q-Za-f][\w-]{21}|(?:aud|key)_[0-9a-f]+|[0-9a-f]{24}|[0-9a-f]{32}|[\w-]{40,63})\b"
)
"""Cursors, ids and keys. The digests of files are longer."""


Change = tuple[ChangePosition, str]
"""The position of a change, and what was done. Not to which record: that of an assignment names the
attribute which the unit has by then."""
State = Mapping[str, Sequence[str]]
"""The documents of collections that are not what they were."""


@dataclass(frozen=True)
class Answer:
    """What a client was answered."""

    status: int
    codes: frozenset[str]
    """Of its errors."""
    content: str
    """The body, without what differs each time."""
    has_retry_after: bool = False
    is_http: bool = True

    @classmethod
    def of(cls, response: httpx.Response) -> "Answer":
        """Read a response; that of GraphQL has the status that REST gives to its errors."""
        is_json = "json" in response.headers.get("content-type", "") and response.content
        body = orjson.loads(response.content) if is_json else {}
        errors = body.get("errors", ()) if isinstance(body, dict) else ()
        codes = {error["extensions"]["code"] for error in errors}
        if isinstance(body, dict) and response.status_code >= 400 and "code" in body:
            codes.add(body["code"])
        status = response.status_code
        if codes and status == 200:
            status = (
                503 if codes <= {*UnavailableCause} else 500 if "SERVER_ERROR" in codes else 422
            )
        has_retry_after = "retry-after" in response.headers or response.status_code == 200
        content = normalise(response.text)
        return cls(status, frozenset(codes), content, has_retry_after)

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


def normalise(text: str) -> str:
    """Return a text without ids and times that are others each time."""
    text = re.sub(r"http://127.0.0.1:\d+", "<url>", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)", "<time>", text)
    return _RANDOM.sub("<random>", re.sub(r'"\$?(?:date|binary)": ?[^,}]+', '"<value>"', text))


@dataclass(kw_only=True)
class Service:
    """A gateway whose commands go through `wire`, on a database that can be put back."""

    member: Member
    wire: Wire
    directory: Path
    client: httpx.AsyncClient
    truth: httpx.AsyncClient
    """It asks another gateway, without caches and faults, where there is one."""
    mongo: MongoClient[dict[str, Any]]
    documents: Documents = field(default_factory=dict)
    """What the database has before each operation."""
    catalog: Catalog = field(default_factory=dict)
    """Its options and indexes."""
    spare_key: str = ""
    """The id of a key that operations change."""
    cursor: str = ""
    """The cursor before the operation."""
    command_url: str = ""
    """The MongoDB of commands on the command line."""

    @property
    def database(self) -> Any:
        return self.mongo[DATABASE]

    async def prepare(self) -> None:
        """Make a map routable, create a key, and save an endpoint."""
        variables = {"plan": REBUILT.svg, "asset": DEMO_ASSET, "map": MAP}
        for text, given in (
            (_PROCESS, variables),
            (_SAVE, {"text": SAVED_ENDPOINT}),
            (_CREATE_KEY, {}),
        ):
            response = await self.truth.post("/graphql", json={"query": text, "variables": given})
            result = response.json()
            if "errors" in result:
                raise AssertionError(f"the service cannot be prepared: {result['errors']}")
        self.spare_key = result["data"]["createApiKey"]["apiKey"]["id"]
        self.documents, self.catalog = self.find_changed(), read_catalog(self.mongo, DATABASE)

    async def request(
        self, method: str, path: str, content: bytes | None = None, kind: str = ""
    ) -> Answer:
        """Send a request to an endpoint."""
        headers = {"Content-Type": kind} if content else {}
        response = await self.client.request(method, path, content=content, headers=headers)
        return Answer.of(response)

    async def query(self, text: str, /, **variables: Any) -> Answer:
        """Send a GraphQL operation."""
        body = {"query": text, "variables": variables}
        return Answer.of(await self.client.post("/graphql", json=body, headers=_GRAPHQL))

    async def ask_truth(self, path: str) -> Answer:
        """Return what the gateway without caches answers."""
        return Answer.of(await self.truth.get(path))

    async def write_elsewhere(self, assignment: Mapping[str, str]) -> None:
        """Assign an attribute through the other gateway."""
        path = f"/v1/units/attribute-groups/{assignment['group_id']}/assignments"
        response = await self.truth.put(path, json={"data": [assignment]})
        response.raise_for_status()

    def read_state(self) -> State:
        """Return what is not as in `documents` and `catalog`, without what differs each time."""
        state = {
            name: sorted(normalise(json_util.dumps(_strip(name, each))) for each in documents)
            for name, documents in self.find_changed().items()
        }
        catalog = read_catalog(self.mongo, DATABASE)
        if others := [name for name, each in self.catalog.items() if catalog.get(name) != each]:
            state["options and indexes"] = others
        return state

    def find_changed(self) -> Documents:
        """Return the documents of the collections that are not as in `documents`, at one moment.

        A snapshot does not wait for transactions that are open; `dbHash` would.
        """
        names = {*self.database.list_collection_names(), *self.documents} - UNSTABLE
        with self.mongo.start_session(snapshot=True) as session:
            found = {
                name: [*self.database[name].find({}, sort={"_id": 1}, session=session)]
                for name in sorted(names)
                if not name.startswith(STAGING_PREFIX)
            }
        return {name: each for name, each in found.items() if each != self.documents.get(name, [])}

    def restore(self) -> None:
        """Put back what operations have changed."""
        for name, documents in self.find_changed().items():
            then = {each["_id"]: each for each in self.documents.get(name, ())}
            now = {each["_id"]: each for each in documents}
            changed = [key for key in now if now[key] != then.get(key)]
            self.database[name].delete_many({"_id": {"$in": changed}})
            if missing := [then[key] for key in then if then[key] != now.get(key)]:
                self.database[name].insert_many(missing)


@dataclass(kw_only=True)
class ServiceHere(Service):
    """Its gateway runs in this process, and what it holds can be looked at."""

    command_wire: Wire
    """In front of the same MongoDB, for the command line."""
    gateway: Gateway
    first_cursor: str
    """From before the gateway was started."""

    async def prepare(self) -> None:
        """Make a backup, too."""
        await super().prepare()
        where = {"group_id": "views-and-features", "asset_id": DEMO_ASSET, "unit_id": UNIT}
        await self.write_elsewhere({**where, "attribute_id": "views-and-features-balcony"})
        while not self.database[USES_COLLECTION].count_documents({}):  # a restore counts them
            await asyncio.sleep(_POLL_SECONDS)
        storage = storage_options(self.member.connect_url(), DATABASE, self.directory)
        done = await asyncio.to_thread(floorgate, "backup", self.directory / ARCHIVE, *storage)
        assert not done.returncode, done.stderr
        self.restore()

    async def read_cursor(self) -> str:
        """Return the cursor after all changes so far."""
        cursor: str = (await self.truth.get("/v1/changes")).json()["cursor"]
        return cursor

    async def list_changes(self, client: httpx.AsyncClient, after: str) -> list[Change]:
        """Return all changes after a cursor, as one of both gateways lists them."""
        found, has_more = list[Change](), True
        while has_more:
            response = await client.get("/v1/changes", params={"after": after, "limit": 1000})
            if response.status_code == 503:  # the feed may still be away, for a moment
                await asyncio.sleep(_POLL_SECONDS)
                continue
            page = response.raise_for_status().json()
            found += [read_change(each["cursor"], each["operation"]) for each in page["data"]]
            after, has_more = page["cursor"], page["has_more"]
        return found

    @asynccontextmanager
    async def follow(self) -> AsyncIterator[Sequence[Follower]]:
        """Follow the changes after the cursor, over server-sent events and a WebSocket."""
        given = str(self.client.base_url), self.client.headers["API-Key"], self.cursor, None
        followers = EventStreamFollower(*given), WebSocketFollower(*given)
        tasks = [asyncio.create_task(each.run()) for each in followers]
        try:
            while not all(each.connections for each in followers):
                await asyncio.sleep(_POLL_SECONDS)
            yield followers
        finally:
            for task in tasks:
                await cancel_and_wait(task)

    def get_wire(self, is_command: bool) -> Wire:
        """Return the proxy in front of MongoDB that a gateway or a command has."""
        return self.command_wire if is_command else self.wire

    def clear_faults(self) -> None:
        """Let all commands pass again."""
        for each in (self.wire, self.command_wire):
            each.clear()

    async def write_unchanged(self) -> Answer:
        """Assign what another unit has already: a transaction that changes nothing."""
        path = f"/v1/units/attribute-groups/{_UNCHANGED['group_id']}/assignments"
        content = orjson.dumps({"data": [_UNCHANGED]})
        return await self.request("PUT", path, content, "application/json")

    def look(self) -> "Held":
        """Return what the process and MongoDB hold for requests at this moment."""
        status = self.mongo.admin.command("serverStatus")["metrics"]["cursor"]["open"]
        lease = self.database[LEASE_COLLECTION].find_one({}) or {}
        state = self.gateway.state
        assert state is not None
        return Held(
            transactions=len(list_transactions(self.mongo)),
            cursors=status["total"],
            permits=self.gateway.admission.in_flight,
            streams=len(self.gateway.streams.subscriptions),
            tasks=Counter(map(_name, asyncio.all_tasks() - {asyncio.current_task()})),
            busy=state.drawing_pool.state.busy + state.processing_pool.state.busy,
            collections=frozenset(self.database.list_collection_names()),
            lease=lease.get("state", "idle"),
        )

    def forget(self, *, keep_responses: bool = False) -> None:
        """Empty the caches, so that requests send their commands."""
        for name, cache in NAMED.items():
            if not (keep_responses and name in ("responses", "requests")):
                cache._entries.clear()
                cache._size_bytes = 0


@dataclass(frozen=True)
class Held:
    """What is open."""

    transactions: int
    cursors: int
    permits: int
    streams: int
    busy: int
    tasks: Counter[str]
    collections: frozenset[str]
    lease: str

    def find_left(self, before: "Held") -> list[str]:
        """Return what is open now and was not before."""
        left = []
        for name in ("transactions", "cursors", "permits", "streams", "busy"):
            more = getattr(self, name) - getattr(before, name)
            if more > 0:
                left.append(f"{more} {name}")
        if tasks := self.tasks - before.tasks:
            left.append(f"tasks {dict(tasks)}")
        if collections := self.collections - before.collections:
            left.append(f"collections {sorted(collections)}")
        if self.lease != "idle":
            left.append(f"an import that is {self.lease}")
        return left


def read_change(cursor: str, operation: str) -> Change:
    """Return the position of a change, and what was done."""
    return ChangeCursor.parse(cursor).position, operation


def describe(state: State, expected: State) -> str:
    """Return which documents of a state are not as expected."""
    lines = []
    for name in sorted(state.keys() | expected.keys()):
        now, then = Counter(state.get(name, ())), Counter(expected.get(name, ()))
        lines += [f"+ {name} {each[:300]}" for each in (now - then).elements()]
        lines += [f"- {name} {each[:300]}" for each in (then - now).elements()]
    return "; ".join(lines[:6])


def _name(task: "asyncio.Task[Any]") -> str:
    return getattr(task.get_coro(), "__qualname__", "") or ""


def _strip(collection: str, document: Mapping[str, Any]) -> dict[str, Any]:
    is_named_by_time = collection in ("audit_log", "tombstones")
    return {k: v for k, v in document.items() if not (is_named_by_time and k == "_id")}


async def load_property(member: Member) -> dict[str, str]:
    """Load the demo property; return the headers of a client that may do everything."""
    settings = Settings(mongo_url=member.connect_url(), database=DATABASE)
    async with open_database(settings.connection) as connection:
        await load_demo_property(connection[DATABASE])
        _, key = await make_key(connection[DATABASE], "full", permissions=PERMISSIONS)
    return {**ALL_FLAGS, "API-Key": key, "Accept-Encoding": "identity"}


@asynccontextmanager
async def run_service_here(
    member: Member,
    wire: Wire,
    command_wire: Wire,
    directory: Path,
    deadline_seconds: int = DEADLINE_SECONDS,
) -> AsyncIterator[ServiceHere]:
    """Serve the demo property, and what operations need besides."""
    unlimited = partial(Settings, database=DATABASE, bad_key_limit=0, rate_limit=0)
    direct = unlimited(mongo_url=member.connect_url(), cache_mb=0)
    failing = unlimited(mongo_url=wire.url, request_seconds=deadline_seconds)
    headers = await load_property(member)
    async with AsyncExitStack() as held:
        # It is an operation of its own, and not part of what is recorded of others.
        held.enter_context(patch.object(gateway_state, "PREPARATION_SECONDS", 1e6))
        clients = []
        cursor = ""
        # The named caches are those of the last one.
        for settings in (direct, failing):
            gateway = Gateway(settings)
            url = f"http://{HOST}:{await held.enter_async_context(serve_here(gateway))}"
            client = httpx.AsyncClient(base_url=url, headers=headers, timeout=60)
            clients.append(await held.enter_async_context(client))
            cursor = cursor or (await client.get("/v1/changes")).json()["cursor"]
        truth, client = clients
        mongo = held.enter_context(member.connect())
        service = ServiceHere(
            member=member,
            wire=wire,
            directory=directory,
            client=client,
            truth=truth,
            mongo=mongo,
            command_url=command_wire.url,
            command_wire=command_wire,
            gateway=gateway,
            first_cursor=cursor,
        )
        await service.prepare()
        yield service
