"""What a key was not given does not exist for it: not in lists, by id, as a filter, or nested."""

from collections.abc import Callable, Iterator
from typing import Any

from graphql import GraphQLObjectType, get_named_type, is_leaf_type
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.app import Gateway
from resolvers.request.caller import FLAGS, PERMISSIONS, Caller
from resolvers.request.context import Context
from rest.responses import PageForm
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA
from storage.records.visibility import AssetScope
from tests.endpoints import ENDPOINTS
from tests.fixtures import CATALOG, HIDDEN, SEEN
from tests.test_rest_and_graphql_agree import variables

OWNED: dict[str, Callable[[dict[str, Any]], str]] = {
    "assets": lambda record: record["id"],
    **dict.fromkeys(
        ["floors", "units", "maps", "asset_references", "locations"],
        lambda record: record["asset_id"],
    ),
}
IDS = {
    kind: {record["id"]: owner(record) for record in CATALOG[kind]} for kind, owner in OWNED.items()
}
IDS["backgrounds"] = {
    record["id"]: IDS["maps"][record["unit_map_id"]] for record in CATALOG["backgrounds"]
}

ANY_ASSETS = st.frozensets(st.sampled_from([SEEN, HIDDEN, "none", "nor", "north2"]))
NAMED = st.fixed_dictionaries(
    {
        "asset": st.sampled_from(sorted(IDS["assets"])),
        "floor": st.sampled_from(sorted(IDS["floors"])),
        "map": st.sampled_from(sorted(IDS["maps"])),
        "unitMapId": st.sampled_from(sorted(IDS["maps"])),
        "background": st.sampled_from(sorted(IDS["backgrounds"])),
        "unit": st.sampled_from(sorted(IDS["units"])),
        "group-id": st.just("view"),
    }
)
READS = [row for row in ENDPOINTS if row.method == "GET" and "WaypointInput" not in row.document]

MARKS = {
    SEEN: {SEEN, "North House", "plan/one", "plan-two", "ref-1", "loc-1", "bg-2", "n-2"},
    HIDDEN: {HIDDEN, "South House", "south-plan", "ref-s", "loc-s", "bg-s", "s-1", "unit-s"},
}
"""Texts that stand in records of one asset alone."""


def texts(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value


def assert_within(value: Any, assets: frozenset[str] | None) -> None:
    """Nothing in the value is of an asset beyond the scope."""
    shown = set(texts(value))
    for asset, marks in MARKS.items():
        if assets is not None and asset not in assets:
            assert not shown & marks


def caller(assets: frozenset[str] | None) -> Caller:
    """Somebody who may do everything with a few assets."""
    return Caller("any", AssetScope(assets), frozenset(PERMISSIONS), frozenset(FLAGS))


async def run(gateway: Gateway, document: str, given: Any, assets: frozenset[str] | None) -> Any:
    assert gateway.state is not None
    executor = Executor(GRAPHQL_SCHEMA)
    context = Context(caller(assets), gateway.state.store, change_hub=gateway.state.change_hub)
    result = await executor.run(executor.prepare(document), given, context)
    assert not result.errors
    return result.data


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(assets=ANY_ASSETS, named=NAMED, row=st.sampled_from(READS), page=st.integers(1, 3))
async def test_no_endpoint_shows_what_is_beyond_the_scope(
    gateway: Gateway, assets: frozenset[str], named: dict[str, str], row: Any, page: int
) -> None:
    given = variables(row, named)
    if isinstance(row.form, PageForm):
        given |= {"page": page, "perPage": 2}
    if "$asset: " in row.document:
        given |= {"asset": named["asset"]}
    data = await run(gateway, row.document, given, assets)
    assert_within(data, assets)
    owners = {named[name] for name in ("asset",) if name in row.path_parameters}
    if owners - assets:
        assert set(data.values()) == {None}


COMPUTED = ("nearest", "picture")
"""Fields that need a network, which the maps here do not have; `tests/authorisation` has some.
Pictures cost so much that paths to many maps reach the limit; they have tests of their own.
"""


def paths(type: GraphQLObjectType, depth: int) -> Iterator[str]:
    """Selections of every way through the graph, up to a depth of objects."""
    for name, field in type.fields.items():
        needs = any(str(argument.type).endswith("!") for argument in field.args.values())
        inner = get_named_type(field.type)
        if needs or name in COMPUTED or not isinstance(inner, GraphQLObjectType):
            continue
        if depth:
            yield from (f"{name} {{ {path} }}" for path in paths(inner, depth - 1))
        if scalars := leaves(inner):
            yield f"{name} {{ {scalars} }}"


def leaves(type: GraphQLObjectType) -> str:
    """The fields of a type that are values themselves."""
    return " ".join(
        name
        for name, field in type.fields.items()
        if is_leaf_type(get_named_type(field.type)) and not field.args
    )


QUERY = GRAPHQL_SCHEMA.query_type
assert QUERY is not None
FOR_ALL_ASSETS = ("apiKeys", "auditLog")
"""Fields that a key limited to assets may not read."""
PATHS = sorted({path for path in paths(QUERY, 5) if not path.startswith(FOR_ALL_ASSETS)})


async def test_no_way_through_the_graph_leads_beyond_the_scope(gateway: Gateway) -> None:
    assert len(PATHS) > 100
    assets = frozenset([SEEN])
    for path in PATHS:  # one at a time, since some reach the limit of records
        assert_within(await run(gateway, f"{{ {path} }}", {}, assets), assets)


async def test_the_same_ways_do_lead_there_for_a_key_that_sees_everything(
    gateway: Gateway,
) -> None:
    shown = set(texts(await run(gateway, f"{{ {PATHS[0]} units {{ data {{ id }} }} }}", {}, None)))
    assert shown & MARKS[HIDDEN]
    assert shown & MARKS[SEEN]


async def test_a_key_without_assets_sees_an_empty_directory(
    gateway: Gateway,
) -> None:
    data = await run(
        gateway,
        "{ assets { data { id } } units { data { id } } maps { data { id } } }",
        {},
        frozenset(),
    )
    assert data == {name: {"data": []} for name in ("assets", "units", "maps")}
