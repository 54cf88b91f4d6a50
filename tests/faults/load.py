"""Clients that write and read without pause, and record what they were answered."""

import asyncio
import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Any, Literal

import orjson

from storage.errors import UnavailableCause
from tests.faults.catalog import (
    ASSET,
    ATTRIBUTES,
    BLOCK_UNITS,
    MANY,
    ONE,
    build_import,
    read_extras,
    read_registers,
)
from tests.faults.checking.history import ANY, Operation, Page, Request
from tests.faults.http_client import HttpConnection, NoResponseError, NotSentError, Response

READ_PAUSE, WRITE_PAUSE, IMPORT_PAUSE = 0.05, 0.08, 0.5
EXPECTED_CODES = {*UnavailableCause}
"""Of errors in a GraphQL response, which is 200 if only a field has failed."""
CACHED_PER_PAGE = 10_000
"""Others are read once."""
KEY_END_SECONDS = 1.0
"""How long after its revocation a key may still work."""
_CREATE_KEY = (
    'mutation { createApiKey(input: { name: "faults", allAssets: true }) { apiKey { id } key } }'
)
_REVOKE_KEY = 'mutation { revokeApiKey(input: { id: "%s" }) { __typename } }'
_IMPORT = "mutation($bundle: String!) { importCatalog(input: { bundle: $bundle }) { notes } }"
_GRAPHQL = "Accept: application/graphql-response+json\r\n"


class Recorder:
    """The histories of all clients. Lists are only appended to, so any thread may read them."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.requests: list[Request] = []
        self.extra_pages: list[Page] = []
        self.lists: list[tuple[str, Page, bytes]] = []
        """Responses that are not read yet, each with its group."""
        self.counts: Counter[str] = Counter()
        """Pages, and what was wrong on them."""
        self.are_writes_paused = False
        """Whether clients wait before they write."""

    async def wait_to_write(self) -> None:
        """Wait while writes are paused."""
        while self.are_writes_paused:
            await asyncio.sleep(WRITE_PAUSE / 4)

    def read_lists(self) -> None:
        """Read the responses: when the clients have ended, as it would keep them waiting."""
        registers: dict[tuple[str, bytes], tuple[dict[str, str | None], Counter[str]]] = {}
        for group, page, content in self.lists:
            if (group, content) not in registers:  # many are the same
                read = read_registers if group == ONE else read_extras
                registers[group, content] = read(orjson.loads(content)["data"])
            values, problems = registers[group, content]
            self.counts[f"pages of {group}"] += 1
            self.counts.update(problems)
            shown = replace(page, values=values)
            if group == ONE:
                self.operations += [shown.read(register) for register in values]
            else:
                self.extra_pages.append(shown)
        self.lists.clear()

    def find_success(self, kind: str, gateway: int, after: float) -> bool:
        """Return whether a request that was sent after a moment was answered as it should be."""
        return any(
            each.is_success and each.kind == kind and each.gateway == gateway and each.sent > after
            for each in reversed(self.requests)
            if each.ended > after
        )

    def find_quick_read(self, gateway: int, after: float, seconds: float) -> float | None:
        """Return when a list that may be cached was first read in less than this time."""
        ended = (
            each.ended
            for each in self.requests
            if each.is_success and each.gateway == gateway and each.sent > after
            if each.path.endswith(f"per-page={CACHED_PER_PAGE}") and each.seconds < seconds
        )
        return min(ended, default=None)


class Client:
    """A client of one gateway, with a connection of its own."""

    _ids = itertools.count()

    def __init__(self, name: str, gateway: int, port: int, key: str, recorder: Recorder) -> None:
        self.name = f"{name}@{gateway}"
        self.gateway = gateway
        self.recorder = recorder
        self.port = port
        self.connection = HttpConnection(port, key)

    async def send(
        self, kind: str, method: str, path: str, body: Any = None, headers: str = ""
    ) -> Response | None:
        """Send a request and record it; None without a response. Raises NotSentError."""
        content = b"" if body is None else orjson.dumps(body)
        sent, response = time.monotonic(), None
        try:
            response = await self.connection.request(method, path, content, headers)
        except NoResponseError:
            pass
        except NotSentError:
            self._record(kind, path, sent, None)
            await asyncio.sleep(READ_PAUSE)
            raise
        self._record(kind, path, sent, response)
        return response

    def _record(self, kind: str, path: str, sent: float, response: Response | None) -> None:
        status = None if response is None else response.status
        has_retry_after = response is not None and "retry-after" in response.headers
        code = response.code if response is not None and status == 503 else ""
        times = sent, time.monotonic()
        self.recorder.requests.append(
            Request(
                *(self.name, self.gateway, kind, path, *times, status, has_retry_after, code),
            )
        )

    async def change(
        self,
        action: Literal["write", "remove"],
        group: str,
        register: str,
        attribute: str,
        units: Iterable[str],
        leave_after: float | None = None,
        condition: tuple[str, str, str | None] | None = None,
    ) -> bool:
        """Assign or remove an attribute; return whether it was acknowledged.

        `condition` is the query and the ETag of a list, and the value that it showed.
        """
        data = [
            {"group_id": group, "attribute_id": attribute, "asset_id": ASSET, "unit_id": unit}
            for unit in units
        ]
        path = f"/v1/units/attribute-groups/{group}/assignments"
        method, path = ("PUT", path) if action == "write" else ("POST", f"{path}/remove")
        value, must_change = attribute, action == "write"
        if group == MANY:  # assigned once and removed once: two writes
            value, action = ("yes" if action == "write" else "gone"), "write"
        request_id = f"faults-{time.time_ns()}-{next(self._ids)}"
        headers = f"X-Request-Id: {request_id}\r\n"
        replaces: str | None = ANY
        if condition is not None:
            query, etag, replaces = condition
            path, headers = f"{path}?{query}", f"{headers}If-Match: {etag}\r\n"
        await self.recorder.wait_to_write()
        invoked, returned, status = time.monotonic(), float("inf"), None
        try:
            if leave_after is not None:
                body = orjson.dumps({"data": data})
                await self.connection.send_and_leave(method, path, body, headers, leave_after)
            else:
                response = await self.send("write", method, path, {"data": data}, headers)
                status = None if response is None else response.status
        except NotSentError:
            return False
        if status in (200, 204):
            returned = time.monotonic()
        if status in (None, 200, 204) or status >= 500:
            self.recorder.operations.append(
                Operation(
                    *(register, action, value, invoked, returned, self.name, self.gateway),
                    request_id=request_id,
                    must_change=must_change,
                    replaces=replaces,
                )
            )
        return status in (200, 204)

    async def swap(self, register: str, attribute: str, units: list[str]) -> bool:
        """Read what a register has, and assign an attribute unless that has changed since."""
        per_page = next(_uncached_per_page)
        response = await self.read_group(ONE, per_page, is_cached=False)
        if response is None:
            return False
        values, _ = read_registers(response.json()["data"])
        query, etag = f"asset={ASSET}&per-page={per_page}", response.headers["etag"]
        condition = query, etag, values[register]
        return await self.change("write", ONE, register, attribute, units, condition=condition)

    async def read_group(self, group: str, per_page: int, *, is_cached: bool) -> Response | None:
        """List the assignments of a group, and record the value of each register."""
        path = f"/v1/units/attribute-groups/{group}/assignments?asset={ASSET}&per-page={per_page}"
        invoked = time.monotonic()
        response = await self.send("read", "GET", path)
        returned = time.monotonic()
        if response is None or response.status != 200:
            return None
        page = Page(invoked, returned, self.name, self.gateway, is_cached, {})
        self.recorder.lists.append((group, page, response.content))
        return response

    async def read_asset(self) -> None:
        """Read the version of the last import."""
        invoked = time.monotonic()
        response = await self.send("read", "GET", f"/v1/assets/{ASSET}")
        if response is not None and response.status == 200:
            name = response.json()["name"]
            self.recorder.operations.append(
                Operation(
                    *("asset", "read", name, invoked, time.monotonic(), self.name, self.gateway),
                    is_cached=True,
                )
            )

    async def import_version(self, number: int) -> bool:
        """Import a version of the asset and its imported units."""
        version = f"version {number}"
        invoked, returned = time.monotonic(), float("inf")
        if await self.mutate("import", _IMPORT, bundle=build_import(version)) is not None:
            returned = time.monotonic()
        self.recorder.operations.append(
            Operation("asset", "write", version, invoked, returned, self.name, self.gateway)
        )
        return returned < float("inf")

    async def mutate(self, kind: str, query: str, **variables: Any) -> Any:
        """Run a GraphQL mutation; return its data, or None if it was not acknowledged."""
        await self.recorder.wait_to_write()
        body = {"query": query, "variables": variables}
        response = await self.send(kind, "POST", "/graphql", body, _GRAPHQL)
        if response is None or response.status != 200:
            return None
        result = response.json()
        if not EXPECTED_CODES.issuperset(
            error["extensions"]["code"] for error in result.get("errors", ())
        ):
            self.recorder.requests[-1] = replace(self.recorder.requests[-1], status=500)
        return None if "errors" in result else result["data"]


Step = Callable[[Client], Coroutine[Any, Any, None]]
"""What a client repeats."""
_uncached_per_page = itertools.cycle(range(CACHED_PER_PAGE // 2, CACHED_PER_PAGE))


async def read_one(client: Client) -> None:
    """Read what all readers read: after the first time, from the cache."""
    await client.read_group(ONE, CACHED_PER_PAGE, is_cached=True)


async def read_one_uncached(client: Client) -> None:
    """Read a page that nobody has read."""
    await client.read_group(ONE, next(_uncached_per_page), is_cached=False)


async def read_many(client: Client) -> None:
    """Read the group of many attributes, alternately from the cache."""
    await client.read_group(MANY, CACHED_PER_PAGE, is_cached=True)
    await client.read_group(MANY, next(_uncached_per_page), is_cached=False)


class RegisterWriter:
    """Gives a unit or a block one attribute after another, and reads each back at once."""

    def __init__(self, register: str, units: list[str], values: "itertools.count[int]") -> None:
        self.register = register
        self.units = units
        self.values = values

    async def __call__(self, client: Client) -> None:
        """Write the next attribute, read it, and sometimes remove it."""
        attribute = ATTRIBUTES[next(self.values) % len(ATTRIBUTES)]
        if await client.change("write", ONE, self.register, attribute, self.units):
            await self._read_back(client)
            # An unknown write is not removed: their orders would be too many to check.
            if len(self.units) == 1 and random.random() < 0.2:
                await client.change("remove", ONE, self.register, attribute, self.units)
        await asyncio.sleep(WRITE_PAUSE)

    async def _read_back(self, client: Client) -> None:
        # A new connection may lead to the other worker.
        client.connection.close()
        await read_one(client)
        await read_one_uncached(client)


class ExtrasWriter:
    """Assigns an attribute to a block of units, and removes it again."""

    def __init__(self, block: int, values: "itertools.count[int]") -> None:
        self.block = block
        self.values = values

    async def __call__(self, client: Client) -> None:
        """Assign the next attribute, and remove it."""
        attribute = ATTRIBUTES[next(self.values) % len(ATTRIBUTES)]
        units = BLOCK_UNITS[self.block]
        register = f"extra {self.block} {attribute}"
        await client.change("write", MANY, register, attribute, units)
        await asyncio.sleep(WRITE_PAUSE)
        await client.change("remove", MANY, register, attribute, units)
        await asyncio.sleep(WRITE_PAUSE)


class Importer:
    """Imports one version of the asset and its imported units after another."""

    def __init__(self, values: "itertools.count[int]") -> None:
        self.values = values

    async def __call__(self, client: Client) -> None:
        """Import the next version."""
        await client.import_version(next(self.values))
        await asyncio.sleep(IMPORT_PAUSE)


async def use_keys(client: Client) -> None:
    """Create a key, use it at once, revoke it, and see that it has ended."""
    created = await client.mutate("key", _CREATE_KEY)
    if created is None:
        return
    key = created["createApiKey"]
    user = HttpConnection(client.port, key["key"])
    try:
        response = await user.request("GET", f"/v1/assets/{ASSET}")
        if response.status not in (200, 503):
            client.recorder.counts["new keys that do not work"] += 1
        if await client.mutate("key", _REVOKE_KEY % key["apiKey"]["id"]) is None:
            return
        await asyncio.sleep(KEY_END_SECONDS)
        response = await user.request("GET", f"/v1/assets/{ASSET}")
        client.recorder.counts["keys revoked"] += 1
        if response.status not in (401, 403, 503):
            client.recorder.counts["revoked keys that still work"] += 1
    except NoResponseError:
        pass
    finally:
        user.close()


class Load:
    """Clients that repeat their step until they are told to stop, in a thread of their own."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="load", daemon=True)
        self._thread.start()
        self._stopping = False
        self._running: list[Future[None]] = []

    def add(self, client: Client, step: Step) -> None:
        """Add a client, which starts at once."""
        self._running.append(
            asyncio.run_coroutine_threadsafe(self._repeat(client, step), self._loop)
        )

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something to its end among the clients."""
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        """Let each client end its step; raise what one has raised."""
        self._stopping = True
        wait(self._running)
        for each in self._running:
            each.result()

    def close(self) -> None:
        """End the thread."""
        self._stopping = True
        wait(self._running)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _repeat(self, client: Client, step: Step) -> None:
        try:
            while not self._stopping:
                try:
                    await step(client)
                except NotSentError:
                    await asyncio.sleep(READ_PAUSE)
                await asyncio.sleep(READ_PAUSE)
        finally:
            client.connection.close()
