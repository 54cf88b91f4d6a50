"""One handler for every endpoint: what it checks first, what it shares, what it sends."""

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from resolvers.request.caller import FLAGS, PERMISSIONS
from rest.dispatch import PathRouter
from rest.endpoint_files import Endpoint
from rest.endpoints import CacheKey, EndpointHandler, build_handlers, build_routes
from rest.errors import HttpError
from schema.execution import (
    Caller,
    Context,
    Executor,
    InvalidOperationError,
    Operation,
    OperationResult,
)
from schema.root import GRAPHQL_SCHEMA
from storage.catalog import ASSETS, MAPS, UNITS
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.store import Store
from tests.endpoints import ENDPOINTS
from tests.fixtures import BASE_URL, HIDDEN, MAP, SEEN
from tests.resolvers.directory import Directory

pytestmark = pytest.mark.anyio

ANYBODY = Caller("key", ALL_ASSETS, frozenset(PERMISSIONS), frozenset(FLAGS))
EXECUTOR = Executor(GRAPHQL_SCHEMA)
PLAN = quote(MAP, safe="")
VIEW = "/v1/units/attribute-groups/view/assignments"
MATRIX = f"/v1/maps/{PLAN}/distance-matrix"


@dataclass
class Endpoints:
    """The endpoints on the shared world, for the caller that is set, and their services."""

    store: Store
    executor: Executor = EXECUTOR
    caller: Caller | None = ANYBODY
    base_url: str = BASE_URL
    keys: list[CacheKey] = field(default_factory=list)
    """The key of each response that may be cached."""

    @cached_property
    def app(self) -> PathRouter:
        return PathRouter(lambda: build_routes(build_handlers(self).values()), Starlette())

    async def authenticate(self, request: Request) -> Caller:
        if self.caller is None:
            raise HttpError(401, "No key", "KEY_REQUIRED")
        return self.caller

    def create_context(self, caller: Caller, request: Request, **options: Any) -> Context:
        return Context(caller, self.store, self.base_url, **options)

    async def load_client_operation(
        self, text: str, name: str | None, variables: Mapping[str, Any]
    ) -> Operation:
        raise NotImplementedError

    async def run_operation(
        self, operation: Operation, variables: dict[str, Any], context: Context
    ) -> OperationResult:
        return await self.executor.run(operation, variables, context)

    def depend_on(self, endpoint: Endpoint, context: Context) -> None:
        raise NotImplementedError

    async def get_or_create_response(
        self,
        key: CacheKey,
        context: Context,
        create: Callable[[], Awaitable[Response]],
        is_read: bool,
    ) -> Response:
        assert is_read
        self.keys.append(key)
        return await create()

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
            return await client.request(method, path, **options)

    async def key_of(self, path: str, method: str = "GET", **options: Any) -> CacheKey:
        """The key of the response to a request."""
        response = await self.request(method, path, **options)
        assert response.status_code == 200, response.text
        return self.keys[-1]


@pytest.fixture(scope="module")
def prepared(directory: Directory) -> Endpoints:
    """Endpoints with their operations prepared, which takes most of a request's time here."""
    return Endpoints(directory.store)


@pytest.fixture
def endpoints(prepared: Endpoints) -> Endpoints:
    prepared.caller, prepared.base_url, prepared.keys = ANYBODY, BASE_URL, []
    return prepared


def test_every_endpoint_of_the_table_has_one_handler(endpoints: Endpoints) -> None:
    routes = build_routes(build_handlers(endpoints).values())
    assert max(Counter(route.path for route in routes).values()) == 1
    handled = {
        (method, route.path) for route in routes for method in route.handlers if method != "HEAD"
    }
    assert handled == {(row.method, row.path) for row in ENDPOINTS}


def test_an_operation_that_does_not_fit_the_schema_cannot_be_prepared(endpoints: Endpoints) -> None:
    broken = dataclasses.replace(ENDPOINTS[0], document="query Broken { assets { data { size } } }")
    with pytest.raises(InvalidOperationError, match="size"):
        EndpointHandler(broken, endpoints)


UNSEEN = VIEW.replace("view", "none")
GIVEN: dict[str, Any] = {
    "group_id": "none",
    "attribute_id": "sea",
    "asset_id": SEEN,
    "unit_id": "u",
}
RIGHTLESS = replace(ANYBODY, permissions=frozenset())
FLAGLESS = replace(RIGHTLESS, flags=frozenset())


@pytest.mark.parametrize(
    ("caller", "path", "status"),
    [
        (None, f"{UNSEEN}?page=0", 401),
        (FLAGLESS, f"{UNSEEN}?page=0", 400),
        (RIGHTLESS, f"{UNSEEN}?page=0", 403),
        (ANYBODY, f"{UNSEEN}?page=0", 422),
        (ANYBODY, UNSEEN, 404),
        (ANYBODY, VIEW, 200),
    ],
)
async def test_key_flag_permission_input_and_existence_are_checked_in_this_order(
    endpoints: Endpoints, caller: Caller | None, path: str, status: int
) -> None:
    endpoints.caller = caller
    assert (await endpoints.request("GET", path)).status_code == status


@pytest.mark.parametrize(
    ("caller", "options", "status"),
    [
        (None, {"content": b"{"}, 401),
        (FLAGLESS, {"content": b"{"}, 400),
        (RIGHTLESS, {"content": b"{"}, 403),
        (ANYBODY, {"content": b"{"}, 415),
        (ANYBODY, {"content": b"{", "headers": {"Content-Type": "application/json"}}, 400),
        (ANYBODY, {"json": {"data": [{}]}}, 422),
        (ANYBODY, {"json": {"data": [{**GIVEN, "unit_id": ""}]}}, 422),
        (ANYBODY, {"json": {"data": [GIVEN]}}, 404),
    ],
)
async def test_a_body_is_read_after_the_permission_and_checked_before_existence(
    endpoints: Endpoints, caller: Caller | None, options: dict[str, Any], status: int
) -> None:
    endpoints.caller = caller
    response = await endpoints.request("PUT", UNSEEN, **options)
    assert response.status_code == status


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/v1/maps?tags=ils&asset=north", "/v1/maps?asset=north&tags=ils"),
        ("/v1/maps?tags=ils", "/v1/maps?tags=ils&colour=red"),
        ("/v1/units/a%2Fb", "/v1/units/%61%2fb"),
        ("/v1/units?per-page=7", "/v1/units?per-page=007"),
    ],
)
async def test_requests_for_the_same_share_a_response(
    endpoints: Endpoints, one: str, other: str
) -> None:
    assert await endpoints.key_of(one) == await endpoints.key_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/v1/units/unit-1", "/v1/units/unit-2"),
        ("/v1/maps?tags=ils", "/v1/maps"),
        ("/v1/units", "/v1/assets"),
        ("/v1/units?page=1", "/v1/units?page=2"),
        (f"/v1/maps/{PLAN}/locations", f"/v1/unitmaps/{PLAN}/locations"),
        (f"/v1/maps/{PLAN}", f"/v1/maps/{PLAN}/parsed"),
    ],
)
async def test_other_requests_do_not(endpoints: Endpoints, one: str, other: str) -> None:
    assert await endpoints.key_of(one) != await endpoints.key_of(other)


async def test_callers_share_a_response_if_they_see_the_same(endpoints: Endpoints) -> None:
    key = await endpoints.key_of("/v1/units")
    endpoints.caller = replace(ANYBODY, key_id="other", permissions=frozenset(), flags=frozenset())
    assert await endpoints.key_of("/v1/units") == key
    endpoints.caller = replace(ANYBODY, scope=AssetScope(frozenset({SEEN, HIDDEN})))
    assert await endpoints.key_of("/v1/units") != key
    endpoints.caller, endpoints.base_url = ANYBODY, "https://elsewhere.example"
    assert await endpoints.key_of("/v1/units") != key  # which its addresses begin with


PLACE = {"x": 1, "y": 2, "floor_id": "n-2"}
PAIR = {"data": {"sources": [PLACE], "targets": [PLACE], "distance_method": "pathfinding"}}
SVG = b'<svg viewBox="0 0 1 1"/>'


async def test_bodies_with_their_members_in_another_order_share_a_response(
    endpoints: Endpoints,
) -> None:
    place = dict(reversed(PLACE.items()))
    data = {"targets": [place], "distance_method": "pathfinding", "sources": [place]}
    for body in (PAIR, {"data": data}):
        await endpoints.request("POST", MATRIX, json=body)
    first, second = endpoints.keys
    assert first == second


async def test_an_answer_to_a_body_is_shared_unless_the_body_is_a_drawing_or_written(
    endpoints: Endpoints,
) -> None:
    await endpoints.request("POST", MATRIX, json=PAIR)
    assert len(endpoints.keys) == 1
    media_type = {"Content-Type": "application/vnd.map+xml"}
    parsed = await endpoints.request("POST", "/v1/maps/parse", content=SVG, headers=media_type)
    removed = await endpoints.request("POST", f"{UNSEEN}/remove", json={"data": [GIVEN]})
    assert (parsed.status_code, removed.status_code) == (200, 404)
    assert len(endpoints.keys) == 1


@pytest.mark.parametrize(
    ("path", "media_type"),
    [("/v1/units", "application/json"), (f"/v1/maps/{PLAN}/parsed", "application/vnd.map+json")],
)
async def test_a_response_may_be_kept_by_its_caller_alone_and_is_revalidated(
    endpoints: Endpoints, path: str, media_type: str
) -> None:
    headers = (await endpoints.request("GET", path)).headers
    assert headers["content-type"] == media_type
    assert headers["cache-control"] == "private, no-cache"
    assert headers["vary"] == "API-Key, Experimental-Flags, Accept-Encoding, Origin"
    assert "link" not in headers


async def test_a_response_without_content_has_no_media_type(endpoints: Endpoints) -> None:
    absent = {**GIVEN, "group_id": "view", "unit_id": "unit-3"}
    response = await endpoints.request("POST", f"{VIEW}/remove", json={"data": [absent]})
    assert (response.status_code, response.content) == (204, b"")
    assert "content-type" not in response.headers
    assert response.headers["cache-control"] == "private, no-cache"


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("GET", "/v1/units?per-page=0", None, "per-page"),
        ("GET", f"/v1/maps/{PLAN}/reachable?from=none&minutes=1", None, "from"),
        ("GET", f"/v1/maps/{PLAN}/reachable?from=1,2,none&minutes=61", None, "minutes"),
        ("GET", f"/v1/maps/{PLAN}/nearest?from=1,2,none", None, "from"),
        ("GET", f"/v1/maps/{PLAN}/route?from=loc-1&to=none", None, "to"),
        ("POST", MATRIX, {"sources": [PLACE], "targets": [{"id": "none"}]}, "data.targets[0].id"),
        ("POST", MATRIX, PAIR["data"], "data.distance_method"),
        ("POST", MATRIX, {"sources": [], "targets": [PLACE]}, "data.sources"),
        ("PUT", VIEW, [{**GIVEN, "group_id": "view"}], "data[0].unit_id"),
    ],
)
async def test_an_argument_that_is_wrong_has_its_name_in_rest(
    endpoints: Endpoints, method: str, path: str, body: Any, field: str
) -> None:
    options = {} if body is None else {"json": {"data": body}}
    response = await endpoints.request(method, path, **options)
    assert response.status_code == 422, response.text
    assert [*response.json()["fields"]] == [field]


# The table


def test_a_further_path_has_the_same_operation_under_another_name() -> None:
    first, other = (row for row in ENDPOINTS if row.number == "E17")
    assert (first.path.split("/")[2], other.path.split("/")[2]) == ("unitmaps", "maps")
    name = re.compile(r"\Aquery \w+")
    assert name.match(first.document) and name.match(other.document)
    assert name.sub("", first.document) == name.sub("", other.document)
    assert first.document != other.document
    assert other.summary == f"{first.summary}, as at /v1/unitmaps"


def test_ids_that_a_path_of_the_table_shadows_cannot_be_imported() -> None:
    paths = [path.split("/") for path in {row.path for row in ENDPOINTS}]
    reserved = {
        "assets": ASSETS.reserved_ids,
        "units": UNITS.reserved_ids,
        "maps": MAPS.reserved_ids,
    }
    shadowed = defaultdict(set)
    for path in paths:
        collection, name = path[2], path[3] if len(path) > 3 else "{}"
        if not name.startswith("{"):
            shadowed[collection].add(name)
    assert reserved == shadowed
