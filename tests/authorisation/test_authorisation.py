"""A key sees its assets and nothing else: whatever it asks, whatever others asked before.

Random requests over every endpoint, field and argument, each compared with an oracle of its own.
`make fuzz` tries more of them.
"""

import logging
import ssl
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import msgspec
import pytest
from graphql import GraphQLObjectType, get_named_type
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from resolvers.administration.catalog import import_catalog
from resolvers.processing.pipeline import ProcessingRequest, process_and_publish
from resolvers.request.caller import FLAGS
from rest.endpoint_files import Endpoint
from schema.definitions import Requirement, requirement_of
from schema.root import GRAPHQL_SCHEMA
from storage.catalog import RECORD_TYPES_BY_NAME
from storage.records.kinds import TIMESTAMP_FIELDS
from storage.store import Store
from tests.authorisation import catalog as catalogs
from tests.authorisation.checking import ApiCaller, Checker
from tests.authorisation.directory import OPERATORS, REQUIRED, Directory
from tests.authorisation.edges import EDGES
from tests.authorisation.generation import (
    graphql_requests,
    has_path_to,
    requests_along,
    requests_of,
    rest_requests,
)
from tests.authorisation.oracle import SCHEMA
from tests.authorisation.requests import ApiRequest
from tests.authorisation.values import Values
from tests.endpoints import ENDPOINTS
from tests.fixtures import BASE_URL, Keys, World, drop_world, make_key, open_database
from tests.gateway.floorgate_process import run_serve_command, serve_with_fast_path, storage_options
from tests.gateway.log_lines import capture_log_lines
from tests.resolvers.worlds import work_here

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.xdist_group("authorisation"),
    # A failure is made smaller for minutes before it is shown.
    pytest.mark.timeout(900),
]

CATALOG, DRAWINGS = catalogs.build_catalog()
STRAYS = catalogs.build_strays(CATALOG)
WHOLE = {kind: [*records, *STRAYS.get(kind, ())] for kind, records in CATALOG.items()}
RIGHTS = catalogs.list_rights(CATALOG)
ROUTABLE = [each["id"] for each in CATALOG["maps"] if "pathfinding" in each["tags"]]
VALUES = Values(Directory(WHOLE, {}, frozenset()))

LIMITS: dict[str, Any] = {
    "graphql_cost": 10**9,
    "graphql_aliases": 1000,
    "graphql_depth": 50,
    "request_seconds": 120,
}
"""Of operations: what is tested here is not their size."""

CALLERS = st.builds(
    ApiCaller,
    st.sampled_from(sorted(RIGHTS)),
    st.one_of(st.just(frozenset(FLAGS)), st.frozensets(st.sampled_from(FLAGS))),
)
REQUESTS = st.one_of(rest_requests(VALUES), rest_requests(VALUES), graphql_requests(VALUES))
EXAMPLE = st.tuples(
    st.lists(CALLERS, min_size=1, max_size=4), st.lists(REQUESTS, min_size=1, max_size=3)
)

STRAY_TIME = "2026-01-31T12:00:00+00:00"
"""When records that no import wrote were written."""


@pytest.fixture(scope="module")
async def prepared(
    mongo_url: str, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[tuple[World, dict[str, str]]]:
    """A database with the catalog, two routable maps and all keys."""
    world = World(mongo_url, uuid.uuid4().hex, Keys("", "", "", ""))
    bundle = tmp_path_factory.mktemp("authorisation") / "bundle.json"
    bundle.write_bytes(catalogs.to_bundle(CATALOG))
    async with open_database(world) as database:
        with work_here():
            await import_catalog(database, [bundle])
            for map_id in ROUTABLE:
                request = ProcessingRequest(map_id, {})
                outcome = await process_and_publish(Store(database.client, database.name), request)
                assert outcome.published, outcome.report
        for kind, records in STRAYS.items():
            record_type = RECORD_TYPES_BY_NAME[kind]
            for record in records:
                times = {
                    name: STRAY_TIME
                    for name in TIMESTAMP_FIELDS
                    if name in record_type.struct.__struct_fields__
                }
                stored = msgspec.convert(times | record, record_type.struct)
                owner = {"one_attribute_per_unit": False} if "attribute_id" in record else {}
                await database[kind].insert_one(record_type.to_document(stored, owner))
        keys = {}
        for name, (assets, permissions) in RIGHTS.items():
            asset_ids = None if assets is None else sorted(assets)
            made = await make_key(
                database, name, permissions=tuple(permissions), asset_ids=asset_ids
            )
            keys[name] = made[1]
    yield world, keys
    drop_world(world)


@pytest.fixture(scope="module")
async def checker(prepared: tuple[World, dict[str, str]]) -> AsyncIterator[Checker]:
    """A checker of one gateway in this process, behind a socket, with all of its caches."""
    world, keys = prepared
    with (
        pytest.MonkeyPatch.context() as patch,
        capture_log_lines(logging.getLogger("floorgate"), logging.INFO) as log,
    ):
        async with (
            serve_with_fast_path(world.settings(base_url=BASE_URL, **LIMITS), patch) as served,
            open_client(f"http://127.0.0.1:{served.port}") as client,
            open_database(world) as database,
        ):

            def take_log() -> str:
                text = "\n".join(log.texts)
                log.texts.clear()
                return text

            directory = new_directory()
            checker = Checker(directory, RIGHTS, keys, [client], database, take_log)
            checker.forget_caches = lambda: served.gateway.state.change_feed.count_write()  # type: ignore[union-attr]
            yield checker
            # Not all GETs are cached, and pytest-xdist may have sent most of them elsewhere.
            if checker.statuses.get(304, 0) > 100:
                assert 200 in served.found, "the fast path was never taken"


@asynccontextmanager
async def open_client(address: str, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Accept-Encoding": "identity"}
    async with httpx.AsyncClient(
        base_url=address, headers=headers, timeout=60, **options
    ) as client:
        yield client


def new_directory() -> Directory:
    records = {kind: [*each] for kind, each in WHOLE.items()}
    drawings = {id: catalogs.parse_drawing(svg) for id, svg in DRAWINGS.items()}
    return Directory(records, drawings, frozenset(ROUTABLE))


async def check_example(
    checker: Checker, callers: list[ApiCaller], requests: list[ApiRequest]
) -> None:
    """Every key sends every request, after what others have left in the caches."""
    await checker.reset()
    sent = []
    try:
        for request in requests:
            for caller in callers:
                sent.append(f"{caller.key}, {sorted(caller.flags)}: {request.describe()}")
                await checker.check(caller, request)
    except AssertionError as error:
        error.add_note("\n".join(sent))  # the last one failed
        raise


def test_the_oracle_knows_every_field_that_is_not_stored() -> None:
    for type in SCHEMA.type_map.values():
        for name, definition in type.fields.items() if isinstance(type, GraphQLObjectType) else ():
            coordinate = f"{type.name}.{name}"
            is_root = type in (SCHEMA.query_type, SCHEMA.mutation_type)
            is_known = REQUIRED.get(coordinate) in OPERATORS or type.name.startswith("__")
            if not is_known and (is_root or definition.args):
                is_open = coordinate in (
                    *("Map.route", "Map.closable", "Reachable.areas", "Query.removals"),
                    *("Drawing.shapes", "Unit.shape"),
                    *("Query.changes", "Subscription.changes"),
                )
                assert coordinate in EDGES or is_open, coordinate


def test_the_oracle_requires_what_the_schema_says() -> None:
    """Of the service's own list, so that a field with a new requirement is not forgotten."""
    sdl = {}
    for type in GRAPHQL_SCHEMA.type_map.values():
        for name, definition in type.fields.items() if isinstance(type, GraphQLObjectType) else ():
            requirement = requirement_of(definition)
            if requirement != Requirement():
                sdl[f"{type.name}.{name}"] = (requirement.flag, requirement.permission)
    assert sdl == REQUIRED


def draw_requests(strategy: st.SearchStrategy[ApiRequest], count: int) -> list[ApiRequest]:
    """Return the same requests each time, but for `make fuzz`."""
    drawn: list[ApiRequest] = []

    @settings(max_examples=count, database=None, phases=[Phase.generate])
    @given(strategy)
    def draw(request: ApiRequest) -> None:
        drawn.append(request)

    draw()
    return drawn


EVERY_FLAG = frozenset(FLAGS)
FEW = [
    ApiCaller("pair", EVERY_FLAG),
    ApiCaller("only-1", EVERY_FLAG),
    ApiCaller("reader", frozenset()),
]
MANY = [ApiCaller(key, EVERY_FLAG) for key in RIGHTS]
MANY += [ApiCaller(key, frozenset()) for key in ("all", "reader")]


async def test_every_endpoint_is_requested_by_some_keys(checker: Checker) -> None:
    for endpoint in ENDPOINTS:
        await check_example(checker, FEW, draw_requests(requests_of(endpoint, VALUES), 2))


@pytest.mark.slow
@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda row: f"{row.number} {row.path}")
async def test_every_endpoint_is_requested_by_every_key(
    checker: Checker, endpoint: Endpoint
) -> None:
    """The rows one by one, with every right and every flag, for visible and hidden records."""
    # Waypoints and writes may be wrong in many ways.
    count = 12 if "Input!" in endpoint.document else 3
    await check_example(checker, MANY, draw_requests(requests_of(endpoint, VALUES), count))


EDGES_OF_TYPES = sorted(
    f"{type.name}.{name}"
    for type in SCHEMA.type_map.values()
    if isinstance(type, GraphQLObjectType) and not type.name.startswith("__")
    for name, definition in type.fields.items()
    if isinstance(get_named_type(definition.type), GraphQLObjectType)
    and type is not SCHEMA.mutation_type
    and has_path_to(type)
)


async def test_every_edge_is_followed_by_some_keys(checker: Checker) -> None:
    for coordinate in EDGES_OF_TYPES:
        await check_example(checker, FEW[:2], draw_requests(requests_along(coordinate, VALUES), 1))


@pytest.mark.slow
@pytest.mark.parametrize("coordinate", EDGES_OF_TYPES)
async def test_every_edge_is_followed_by_every_key(checker: Checker, coordinate: str) -> None:
    """From all records that have it to all that it leads to."""
    type_name, name = coordinate.split(".")
    type = SCHEMA.type_map[type_name]
    assert isinstance(type, GraphQLObjectType)
    # Edges to one record of many, by its id.
    count = 12 if "id" in type.fields[name].args else 1
    await check_example(checker, MANY, draw_requests(requests_along(coordinate, VALUES), count))


@settings(
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)
@given(example=EXAMPLE)
async def test_random_requests_show_what_the_oracle_does(
    checker: Checker, example: tuple[list[ApiCaller], list[ApiRequest]]
) -> None:
    await check_example(checker, *example)


@pytest.fixture(scope="module")
async def shared_checker(
    prepared: tuple[World, dict[str, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Checker]:
    """A checker of two gateways of two workers each, in processes of their own."""
    world, keys = prepared
    options = ["--base-url", BASE_URL, "--log-level", "error", "--workers", 2]
    options += storage_options(world.mongo_url, world.database, tmp_path_factory.mktemp("url"))
    for name, limit in LIMITS.items():
        options += [f"--{name.replace('_', '-')}", limit]
    async with AsyncExitStack() as stack:
        clients = []
        for name in ("one", "two"):
            folder = tmp_path_factory.mktemp(name)
            server = stack.enter_context(run_serve_command(folder, *options))
            trusted = ssl.create_default_context(cafile=str(server.certificate))
            # Of three connections, some reach the same worker.
            for _ in range(3):
                client = open_client(server.address, verify=trusted)
                clients.append(await stack.enter_async_context(client))
        database = await stack.enter_async_context(open_database(world))
        yield Checker(new_directory(), RIGHTS, keys, clients, database, str, may_be_stale=True)


@pytest.mark.slow
@settings(
    max_examples=settings().max_examples // 2,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(example=EXAMPLE)
async def test_so_do_several_workers_and_gateways_on_one_database(
    shared_checker: Checker, example: tuple[list[ApiCaller], list[ApiRequest]]
) -> None:
    await check_example(shared_checker, *example)
