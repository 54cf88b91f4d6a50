"""Mutations: their inputs and payloads, importCatalog, and deadlines that are true of writes."""

import asyncio
import base64
import json
import selectors
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple, cast

import httpx
import pytest
import strawberry
from graphql import GraphQLInputObjectType, GraphQLNonNull, GraphQLObjectType

from resolvers.request import context
from resolvers.request.caller import ADMINISTER, Caller
from resolvers.request.context import Context, DataLoader, Info, extend_read, without_deadline
from resolvers.request.errors import InvalidInputError, UnavailableCause, UnavailableError
from resolvers.request.inputs import Length, argument
from schema.definitions import Requirement, guard_fields
from schema.execution import Executor, OperationResult
from schema.fields import mutation_field, resolver_field
from schema.root import GRAPHQL_SCHEMA
from storage.mongo import driver, unavailable
from storage.records.visibility import ALL_ASSETS
from storage.store import Store
from tests.fixtures import SEEN, World, data_of, gateway_client, post_graphql


class CountingContext:
    """Counts how often mutations said that records may have changed."""

    has_checked_inputs = False

    def __init__(self) -> None:
        self.ended = 0

    def end_loads(self) -> None:
        self.ended += 1


class Renamed(NamedTuple):
    """What `rename` returns."""

    label: str


@strawberry.type(description="The new label.")
class RenamePayload:
    label: str


async def rename(
    info: Info,
    unit_id: Annotated[strawberry.ID, argument("Of the unit.")],
    name: Annotated[str, argument("What it is called.", Length(1, 5))] = "none",
) -> Renamed:
    """Give a unit another name."""
    if name == "taken":
        raise InvalidInputError(**{"name": "is another's", "unitId": "has a name"})
    return Renamed(f"{unit_id} {name}")


@strawberry.type
class Query:
    ok: bool = True


@strawberry.type
class Mutation:
    rename = mutation_field(rename, RenamePayload)


SCHEMA = strawberry.Schema(query=Query, mutation=Mutation)
SDL = '''type Mutation {
  """Give a unit another name."""
  rename(
    """What the mutation needs; see the fields."""
    input: RenameInput!
  ): RenamePayload
}

type Query {
  ok: Boolean!
}

"""Input of `rename`."""
input RenameInput {
  """Of the unit."""
  unitId: ID!

  """What it is called."""
  name: String! = "none"
}

"""The new label."""
type RenamePayload {
  label: String!
}'''


def test_parameters_become_fields_of_the_input_with_their_texts_and_defaults() -> None:
    assert SCHEMA.as_str() == SDL


async def test_members_of_the_input_are_the_parameters() -> None:
    context = CountingContext()
    text = """mutation ($input: RenameInput!) {
        a: rename(input: $input) { label } b: rename(input: { unitId: "2" }) { label }
    }"""
    given = {"input": {"unitId": "1", "name": "hall"}}
    result = await SCHEMA.execute(text, given, context_value=context)
    assert result.errors is None
    assert result.data == {"a": {"label": "1 hall"}, "b": {"label": "2 none"}}
    assert context.ended == 2


async def test_errors_name_members_from_the_input_on_and_leave_other_mutations_their_data() -> None:
    text = """mutation {
        a: rename(input: { unitId: "1" }) { label }
        b: rename(input: { unitId: "2", name: "taken" }) { label }
        c: rename(input: { unitId: "3", name: "too long" }) { label }
        d: rename(input: { unitId: "4" }) { label }
    }"""
    result = await SCHEMA.execute(text, context_value=CountingContext())
    assert result.data == {"a": {"label": "1 none"}, "b": None, "c": None, "d": {"label": "4 none"}}
    assert result.errors is not None
    taken, too_long = (error.extensions and error.extensions["fields"] for error in result.errors)
    assert taken == {"input.name": ["is another's"], "input.unitId": ["has a name"]}
    assert too_long == {"input.name": ["must have 1 to 5 characters, not 8"]}


WITH_ARGUMENTS = ("saveEndpoints", "removeEndpoints")


def test_every_mutation_takes_its_own_input_and_returns_its_own_payload() -> None:
    assert GRAPHQL_SCHEMA.mutation_type is not None
    for name, field in GRAPHQL_SCHEMA.mutation_type.fields.items():
        type_name = name[0].upper() + name[1:]
        assert isinstance(field.type, GraphQLObjectType), f"{name} must be nullable"
        assert field.type.name == f"{type_name}Payload"
        if name in WITH_ARGUMENTS:
            assert all(argument.description for argument in field.args.values()), name
            continue
        assert list(field.args) == ["input"]
        given = field.args["input"].type
        assert isinstance(given, GraphQLNonNull)
        assert isinstance(given.of_type, GraphQLInputObjectType)
        assert given.of_type.name == f"{type_name}Input"
        assert all(member.description for member in given.of_type.fields.values()), name


IMPORT = """mutation ($bundle: String!, $dryRun: Boolean!) {
    importCatalog(input: { bundle: $bundle, dryRun: $dryRun }) {
        kinds { kind inserted updated unchanged } notes
    }
}"""
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def bundle(**maps: str) -> str:
    members = [{"id": id, "asset_id": SEEN, "name": id, "source": at} for id, at in maps.items()]
    return json.dumps({"assets": [{"id": "new", "name": "New"}], "maps": members})


def inlined(svg: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


async def test_a_bundle_is_imported_with_its_drawings(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        text = bundle(m=inlined(SVG))
        planned = await data_of(client, IMPORT, {"bundle": text, "dryRun": True})
        assert await data_of(client, '{ asset(id: "new") { id } }') == {"asset": None}
        done = await data_of(client, IMPORT, {"bundle": text, "dryRun": False})
        assert planned == done
        assert done["importCatalog"]["kinds"] == [
            {"kind": "assets", "inserted": 1, "updated": 0, "unchanged": 0},
            {"kind": "maps", "inserted": 1, "updated": 0, "unchanged": 0},
        ]
        found = await data_of(client, '{ map(id: "m") { parsed } }')
        assert found["map"]["parsed"]["width"] == 1


@pytest.mark.parametrize("source", ["/etc/passwd", "drawing.svg"])
async def test_no_file_of_the_server_is_read(own_world: World, source: str) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        body = await post_graphql(client, IMPORT, {"bundle": bundle(m=source), "dryRun": False})
        assert body["errors"][0]["extensions"]["code"] == "REFUSED_DOCUMENT"
        assert body["errors"][0]["message"] == (
            "bundle: $.maps[0].source: must be a data URL, because the bundle is not a file"
        )
        assert await data_of(client, '{ asset(id: "new") { id } }') == {"asset": None}


async def test_only_operators_may_import(restricted: httpx.AsyncClient) -> None:
    body = await post_graphql(restricted, IMPORT, {"bundle": "{}", "dryRun": True})
    assert body["errors"][0]["message"].endswith("lacks the permission service.admin")


CAN_WRITE = Requirement(permission="write")
DEADLINE_SECONDS = 1.0
WRITTEN: list[str] = []
ENDED: list[str] = []


async def wait(info: Info, name: str) -> int:
    """A read that would last for ever."""

    async def load(keys: list[str]) -> list[int]:
        try:
            await asyncio.Event().wait()
        finally:
            ENDED.extend(keys)
        return []

    info.context._loads.loaders[name] = loader = DataLoader(load, 10)
    return await loader.load_one(name)


async def write(info: Info, name: str, seconds: float = 0.0) -> bool:
    """A write that takes its time."""
    await asyncio.sleep(seconds)
    WRITTEN.append(name)
    return True


async def do_work(info: Info, seconds: float) -> bool:
    """A read with a bound of its own, which takes longer than others may."""
    with extend_read(60.0):
        await asyncio.sleep(seconds)
    return True


async def ask_database(info: Info, seconds: float) -> bool:
    """A read that MongoDB ends."""
    await asyncio.sleep(seconds)
    raise UnavailableError("stopped", UnavailableCause.DEADLINE_EXCEEDED)


async def replace_everything(info: Info, seconds: float) -> bool:
    """A write that may take as long as it needs."""
    with without_deadline("import"):
        await asyncio.sleep(seconds)
        assert driver.remaining_seconds() is None
    return True


@strawberry.type
class SlowQuery:
    wait = resolver_field(wait, int | None)
    work = resolver_field(do_work, bool | None)
    admin_work = resolver_field(do_work, bool | None, ADMINISTER)
    ask_database = resolver_field(ask_database, bool | None)


@strawberry.type
class SlowMutation:
    write = resolver_field(write, bool | None, CAN_WRITE)
    replace_all = resolver_field(replace_everything, bool | None, CAN_WRITE)
    admin_replace_all = resolver_field(replace_everything, bool | None, ADMINISTER)


SLOW_SCHEMA = strawberry.Schema(query=SlowQuery, mutation=SlowMutation)._schema
guard_fields(SLOW_SCHEMA)
USE_NO = "w: work(seconds: 0) @include(if: $no)"
both_ways = pytest.mark.parametrize("compile_queries", [True, False])


class JumpingClock(selectors.DefaultSelector):
    """Waits for no time: it is later at once."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> Any:
        """Return the events that there are; if there is none, the time of the wait is over."""
        events = super().select(0)
        if not events and timeout:
            self.now += timeout
        return events


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the result of an operation that runs by the jumping clock."""
    WRITTEN.clear()
    ENDED.clear()

    def run(text: str, *, compile_queries: bool = True) -> OperationResult:
        clock = JumpingClock()
        time = SimpleNamespace(monotonic=lambda: clock.now)
        monkeypatch.setattr(context, "time", time)
        monkeypatch.setattr(unavailable, "time", time)

        def make_loop() -> asyncio.AbstractEventLoop:
            loop = asyncio.SelectorEventLoop(clock)
            loop.time = time.monotonic  # type: ignore[method-assign]
            return loop

        caller = Caller("key", ALL_ASSETS, permissions=frozenset({"write"}))
        executor = Executor(
            SLOW_SCHEMA, compile_queries=compile_queries, deadline_seconds=DEADLINE_SECONDS
        )
        with asyncio.Runner(loop_factory=make_loop) as runner:
            operation = executor.prepare(text)
            result = runner.run(executor.run(operation, {}, Context(caller, cast(Store, None))))
            runner.run(asyncio.sleep(0))
        return result

    return run


def codes(result: OperationResult) -> list[tuple[Any, Any]]:
    return [((error.extensions or {})["code"], error.path) for error in result.errors]


@both_ways
def test_a_query_ends_at_its_deadline_with_all_that_it_has_begun(
    run: Any, compile_queries: bool
) -> None:
    result = run('{ a: wait(name: "a") b: wait(name: "b") }', compile_queries=compile_queries)
    assert result.data is None
    assert codes(result) == [("DEADLINE_EXCEEDED", None)]
    assert sorted(ENDED) == ["a", "b"]


@both_ways
def test_a_write_is_not_cancelled_and_no_other_begins_after_the_deadline(
    run: Any, compile_queries: bool
) -> None:
    text = 'mutation { a: write(name: "a", seconds: 1.5) b: write(name: "b") }'
    result = run(text, compile_queries=compile_queries)
    assert result.data == {"a": True, "b": None}
    assert codes(result) == [("DEADLINE_EXCEEDED", ["b"])]
    assert "carried out" in result.errors[0].message
    assert WRITTEN == ["a"]


@both_ways
def test_work_with_a_bound_of_its_own_extends_the_deadline_of_its_query(
    run: Any, compile_queries: bool
) -> None:
    result = run("{ work(seconds: 59) }", compile_queries=compile_queries)
    assert (result.data, result.errors) == ({"work": True}, [])


def test_others_have_no_more_time_than_that_work_has_taken(run: Any) -> None:
    result = run('{ a: work(seconds: 0.2) b: work(seconds: 1.5) w: wait(name: "a") }')
    assert codes(result) == [("DEADLINE_EXCEEDED", None)]
    assert ENDED == ["a"]
    assert "over 2.5 seconds" in result.errors[0].message


@both_ways
@pytest.mark.parametrize(
    "field",
    [
        "work(seconds: 0) @skip(if: true)",
        "work(seconds: 0) @include(if: $no)",
        "adminWork(seconds: 0)",
    ],
    ids=["skipped", "not included", "without the permission"],
)
def test_work_that_does_not_begin_extends_no_deadline(
    run: Any, compile_queries: bool, field: str
) -> None:
    text = f'query ($no: Boolean! = false) {{ {field} wait(name: "a") {USE_NO} }}'
    result = run(text, compile_queries=compile_queries)
    assert codes(result) == [("DEADLINE_EXCEEDED", None)]
    assert "over 1 seconds" in result.errors[0].message


def test_other_reads_of_the_query_keep_the_deadline_of_their_commands(run: Any) -> None:
    result = run("{ work(seconds: 2.5) askDatabase(seconds: 1.5) }")
    assert codes(result) == [("DEADLINE_EXCEEDED", None)]
    assert "over 1 seconds" in result.errors[0].message


@both_ways
@pytest.mark.parametrize(
    ("field", "begins"),
    [
        ("replaceAll(seconds: 1.5)", True),
        ("replaceAll(seconds: 0) @skip(if: true)", False),
        ("adminReplaceAll(seconds: 0)", False),
    ],
    ids=["begins", "skipped", "without the permission"],
)
def test_the_time_of_a_write_without_deadline_does_not_count_for_the_others(
    run: Any, compile_queries: bool, field: str, begins: bool
) -> None:
    """A write of 0.9 seconds leaves time for another, and that one for none."""
    text = f"""mutation {{
        {field}
        a: write(name: "a", seconds: 0.9)
        b: write(name: "b", seconds: 0.2)
        c: write(name: "c")
    }}"""
    result = run(text, compile_queries=compile_queries)
    assert ("DEADLINE_EXCEEDED", ["c"]) in codes(result)
    assert WRITTEN == ["a", "b"]
    assert result.data is not None
    assert result.data.get("replaceAll", False) is begins
