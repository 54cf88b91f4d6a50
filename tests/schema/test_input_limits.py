"""What arguments may hold is checked first; inputs of a wrong type are named in errors."""

import asyncio
from typing import Any, cast

import graphql
import httpx
import pytest
import strawberry.types.arguments
from graphql.execution import values

from resolvers.request.caller import Caller
from resolvers.request.context import Context
from schema.compiler.coercion import measure_value
from schema.definitions import Requirement, requirement_of
from schema.errors import quote_json
from schema.execution import MAX_ITEMS_WHEN_DENIED, Executor, InvalidOperationError, OperationResult
from schema.operation_inputs import MAX_REPORTED_ERRORS, InputViolation, OperationInputs
from schema.query_limits import QueryLimits
from schema.query_size import ArgumentSize
from schema.root import GRAPHQL_SCHEMA
from storage.records.visibility import ALL_ASSETS
from storage.store import Store
from tests.endpoints import find_endpoint
from tests.fixtures import MAP, SEEN, UNIT, post_graphql

WAYPOINT = {"id": "loc-1"}
ASSIGNMENT = {"groupId": "view", "attributeId": "sea", "assetId": SEEN, "unitId": UNIT}
MATRIX = f"""query ($s: [WaypointInput!]!) {{
    map(id: "{MAP}") {{ distanceMatrix(sources: $s, targets: [{{id: "loc-1"}}]) {{
        distanceMethod
    }} }}
}}"""
ASSIGN = """mutation ($data: [AssignmentInput!]!) {
    assignUnitAttributes(input: { groupId: "view", assignments: $data }) { assignments { unitId } }
}"""


def aliased(count: int) -> str:
    """Many fields that share one variable."""
    fields = " ".join(
        f"m{number}: distanceMatrix(sources: $s, targets: $s) {{ distanceMethod }}"
        for number in range(count)
    )
    return f'query ($s: [WaypointInput!]!) {{ map(id: "{MAP}") {{ {fields} }} }}'


class Conversions:
    """Counts the values that graphql-core coerces and those that strawberry converts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.coerced = self.converted = 0
        coerce, convert = graphql.coerce_input_value, strawberry.types.arguments.convert_argument

        def coerce_input_value(*arguments: Any) -> Any:
            self.coerced += 1
            return coerce(*arguments)

        def convert_argument(*arguments: Any, **named: Any) -> Any:
            self.converted += 1
            return convert(*arguments, **named)

        monkeypatch.setattr(values, "coerce_input_value", coerce_input_value)
        monkeypatch.setattr(strawberry.types.arguments, "convert_argument", convert_argument)


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> Conversions:
    return Conversions(monkeypatch)


def codes(body: dict[str, Any]) -> list[str]:
    return [error["extensions"]["code"] for error in body["errors"]]


@pytest.mark.parametrize(
    ("document", "variables", "limit"),
    [
        (MATRIX, {"s": [{}] * 51}, "51 waypoints in one list, over the limit of 50"),
        (MATRIX, {"s": [[]] * 30_000}, "30000 waypoints in one list"),
        (MATRIX, {"s": [[{}] * 30_000]}, "more than 10000 list items"),
        (MATRIX, {"s": {"id": [[]] * 30_000}}, "more than 10000 list items"),
        # no variable at all: a default, a literal, and a literal that a hundred maps are asked with
        (MATRIX.replace("]!)", "]! = [" + "{}" * 51 + "])"), {}, "51 waypoints"),
        (MATRIX.replace("$s,", "[" + "{}" * 51 + "],"), {"s": []}, "51 waypoints"),
        (
            "{ maps(perPage: 300) { data { distanceMatrix(sources: ["
            + "{}" * 40
            + "], targets: []) { distanceMethod } } } }",
            {},
            "or costs as much, over the limit of 50000",
        ),
        (ASSIGN, {"data": [ASSIGNMENT] * 10_001}, "10001 assignments in one list"),
        (
            'mutation ($ids: [ID!]) { createApiKey(input: { name: "n", assetIds: $ids }) { key } }',
            {"ids": ["a"] * 10_001},
            "more than 10000 list items",
        ),
    ],
)
@pytest.mark.parametrize("name", ["full", "restricted"])
async def test_too_long_lists_are_rejected_before_they_are_coerced(
    conversions: Conversions,
    clients: dict[str, httpx.AsyncClient],
    name: str,
    document: str,
    variables: dict[str, Any],
    limit: str,
) -> None:
    body = await post_graphql(clients[name], document, variables)
    assert codes(body) == ["LIMIT_EXCEEDED"]
    assert limit in body["errors"][0]["message"]
    assert "data" not in body
    assert (conversions.coerced, conversions.converted) == (0, 0)


async def test_a_denied_field_converts_no_argument_and_does_not_affect_its_siblings(
    conversions: Conversions, restricted: httpx.AsyncClient
) -> None:
    document = aliased(9).replace("{ map", '{ asset(id: "north") { id } map', 1)
    body = await post_graphql(restricted, document, {"s": [WAYPOINT] * 30})
    assert body["data"] == {"asset": {"id": SEEN}, "map": {f"m{n}": None for n in range(9)}}
    assert len(body["errors"]) == 9
    [error, *_] = body["errors"]
    assert error["extensions"]["code"] == "PERMISSION_REQUIRED"
    assert error["path"] == ["map", "m0"]
    assert (conversions.coerced, conversions.converted) == (0, 0)


@pytest.mark.parametrize("count", [MAX_ITEMS_WHEN_DENIED + 1, 10_000])
async def test_a_caller_without_permission_is_denied_before_long_lists_are_read(
    conversions: Conversions, restricted: httpx.AsyncClient, count: int
) -> None:
    body = await post_graphql(restricted, ASSIGN, {"data": [ASSIGNMENT] * count})
    assert codes(body) == ["PERMISSION_REQUIRED"]
    assert "data" not in body
    assert (conversions.coerced, conversions.converted) == (0, 0)


@pytest.mark.parametrize(
    ("document", "variables"),
    [
        ("query ($n: Int = 60) { units(perPage: $n) { data { id } } }", {}),
        ("query ($n: Int) { units(perPage: $n) { data { id } } }", {"n": 60.0}),
    ],
)
def test_page_sizes_count_as_they_are_coerced(document: str, variables: dict[str, Any]) -> None:
    """A variable's default counts where none is given, and JSON's 60.0 is the Int 60."""
    with pytest.raises(InvalidOperationError, match="may return 60 records"):
        asyncio.run(
            Executor(GRAPHQL_SCHEMA, QueryLimits(cost=50)).load_client_operation(
                document, None, variables
            )
        )


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (None, 0),
        (7, 0),
        ([], 0),
        (["a", 1, None], 3),
        ([{"x": 1}, {}], 2),
        ({"pedestrian": {"mode": "foot"}}, 2),
        ([{"a": {}}, {"b": [{"c": 1}]}], 4),
        ([{"a": {}}, [{"b": {}}]], 5),
    ],
)
def test_objects_and_list_items_count(value: Any, count: int) -> None:
    assert measure_value(value, 100).items == count


@pytest.mark.parametrize(
    ("value", "characters"),
    [("text", 4), (["ab", {"x": "c", "name": ["de"]}], 5), ({"a name": None}, 0), (7, 0)],
)
def test_characters_of_texts_count(value: Any, characters: int) -> None:
    assert measure_value(value, 100).characters == characters


@pytest.mark.parametrize("literal", ["[{}]", "[1, [2]]", '{x: "text"}', '["ab", {x: "c"}]', "[]"])
def test_a_literal_counts_like_the_same_value_in_a_variable(literal: str) -> None:
    node = graphql.parse_value(literal)
    size = ArgumentSize()
    size.add_argument(node)
    counted = measure_value(graphql.value_from_ast_untyped(node), 100)
    assert (size.items, size.characters) == counted


def test_counting_ends_early() -> None:
    class Unread(dict[str, Any]):
        def values(self) -> Any:
            pytest.fail("read over the limit")

    assert measure_value([[{}] * 1_000, *[Unread()] * 50], 10).items > 10


def test_counting_is_not_limited_by_the_depth_of_a_value() -> None:
    value: list[Any] = []
    for _ in range(5_000):
        value = [value]
    assert measure_value(value, 10_000).items == 5_000


def test_the_longest_lists_are_allowed() -> None:
    executor = Executor(GRAPHQL_SCHEMA)
    asyncio.run(executor.load_client_operation(ASSIGN, None, {"data": [ASSIGNMENT] * 10_000}))
    asyncio.run(executor.load_client_operation(MATRIX, None, {"s": [WAYPOINT] * 50}))
    with pytest.raises(InvalidOperationError, match="51 waypoints"):  # of one that was seen before
        asyncio.run(executor.load_client_operation(MATRIX, None, {"s": [WAYPOINT] * 51}))


def test_every_requirement_is_checked_before_arguments_are_converted() -> None:
    for type in GRAPHQL_SCHEMA.type_map.values():
        for definition in getattr(type, "fields", {}).values():
            if requirement_of(definition) != Requirement():
                assert definition.resolve.__qualname__.startswith("_guarded.")


ROUTE = """query ($from: WaypointInput!, $avoid: [Avoidable!]) {
  map(id: "m") { nearest(from: $from, avoid: $avoid) { distance } }
}"""
UNITS = """query ($n: Int, $updated: DateTime) {
  units(first: $n, updatedSince: $updated) { data { id } }
}"""
UNIT_BY_ID = "query ($id: ID!) { unit(id: $id) { id } }"


@pytest.fixture(params=["compiled", "interpreted"])
def executor(request: pytest.FixtureRequest) -> Executor:
    return Executor(GRAPHQL_SCHEMA, compile_queries=request.param == "compiled")


def new_context() -> Context:
    """A context that reads nothing."""
    return Context(Caller("test", ALL_ASSETS), cast(Store, None))


async def run(executor: Executor, text: str, variables: dict[str, Any]) -> OperationResult:
    operation = await executor.load_client_operation(text, None, variables)
    return await executor.run(operation, variables, new_context())


@pytest.mark.parametrize(
    ("text", "variables", "name", "reason"),
    [
        (UNITS, {"n": "one"}, "n", "Int cannot represent non-integer value: 'one'"),
        (
            UNITS,
            {"updated": [None]},
            "updated",
            "Expected value of type 'DateTime', but encountered error "
            "'must be the text of a time in ISO 8601'; found: [null].",
        ),
        (UNIT_BY_ID, {}, "id", "Expected a value of non-null type 'ID!' to be provided."),
        (UNIT_BY_ID, {"id": {"x": None}}, "id", 'ID cannot represent value: {"x":null}'),
        (
            ROUTE,
            {"from": {"id": "a"}, "avoid": ["stairs", "bus"]},
            "avoid[1]",
            "A value of Avoidable must be stairs, escalators, lifts or outdoors, not 'bus'",
        ),
        (ROUTE, {"from": {"x": "1"}}, "from.x", "Float cannot represent non numeric value: '1'"),
        (
            ROUTE,
            {"from": {"door": "a", "x": None}},
            "from",
            "Expected value of type 'WaypointInput' not to include unknown field 'door', found: "
            '{"door":"a","x":null}.',
        ),
    ],
)
async def test_a_variable_of_a_wrong_type_is_named_with_what_is_right(
    executor: Executor, text: str, variables: dict[str, Any], name: str, reason: str
) -> None:
    [error] = (await run(executor, text, variables)).errors
    assert error.extensions == {
        "code": "INVALID_INPUT",
        "fields": {f"variables.{name}": [reason]},
    }
    assert error.message.endswith(f": {reason}")


async def test_all_wrong_variables_are_named(executor: Executor) -> None:
    variables = {"n": "one", "updated": 1}
    errors = (await run(executor, UNITS, variables)).errors
    names = [name for error in errors for name in (error.extensions or {})["fields"]]
    assert names == ["variables.n", "variables.updated"]


async def test_a_subscription_names_its_variables() -> None:
    executor = Executor(GRAPHQL_SCHEMA)
    text = "subscription ($kinds: [RecordKind!]) { changes(kinds: $kinds) { cursor } }"
    variables = {"kinds": ["units", None]}
    operation = await executor.load_client_operation(text, None, variables)
    result = await executor.open_events(operation, variables, new_context())
    assert isinstance(result, OperationResult)
    assert [[*(error.extensions or {})["fields"]] for error in result.errors] == [
        ["variables.kinds[1]"]
    ]


async def test_an_argument_that_a_variable_makes_null_is_named(executor: Executor) -> None:
    text = 'query ($id: ID = "u") { unit(id: $id) { id } }'
    [error] = (await run(executor, text, {"id": None})).errors
    reason = "Expected variable '$id' provided to non-null type 'ID!' not to be null."
    assert error.message == f"Argument 'id' has invalid value: {reason}"
    assert (error.extensions or {})["fields"] == {"id": [reason]}


def test_an_invalid_document_says_null(executor: Executor) -> None:
    with pytest.raises(InvalidOperationError) as caught:
        asyncio.run(executor.load_client_operation("{ unit(id: null) { id } }", None, {}))
    [error] = caught.value.errors
    assert error.message == "Expected value of non-null type 'ID!' not to be null."


def test_a_long_or_deep_value_is_cut_short() -> None:
    nested: list[Any] = []
    for _ in range(300):
        nested = [nested]
    assert quote_json([1] * 1000) == "[" + "1," * 24 + "1…"
    assert quote_json([True, None]) == "[true,null]"
    assert quote_json("x" * 1000) == repr("x" * 50)
    assert quote_json(nested) == "…"


EXECUTOR = Executor(GRAPHQL_SCHEMA)
POSITION = {"x": 1.0, "y": 2.0, "floorId": "f"}
MATRIX_INPUT = {"map": "m", "sources": [{"id": "a"}], "targets": [POSITION]}


def inputs_of(operation: str) -> OperationInputs:
    return OperationInputs(GRAPHQL_SCHEMA, EXECUTOR.prepare(find_endpoint(operation).document))


def test_an_input_has_the_description_default_and_example_of_its_argument() -> None:
    inputs = inputs_of("ListMaps").by_variable
    assert [*inputs][:6] == ["page", "perPage", "after", "totalCount", "tags", "asset"]
    page = inputs["page"]
    assert page.description.startswith("The page to return. Without it")
    assert page.default is None  # with a cursor, it is the cursor's
    assert (page.definition.example, page.is_required) == (1, False)
    assert inputs_of("CalculateDistances").by_variable["sources"].is_required


def test_a_variable_that_includes_a_field_has_the_description_of_the_field() -> None:
    steps = inputs_of("FindRoute").by_variable["steps"]
    assert (steps.is_required, steps.default) == (False, False)
    assert steps.description.startswith("Whether to include `steps`. List what to do on the way")


def test_all_errors_in_the_items_of_a_list_are_found() -> None:
    given = {"groupId": "g", "attributeId": "a", "assetId": "s", "unitId": "u"}
    data = [given, given | {"unitId": "", "assetId": "\0"}, given, given | {"groupId": "x" * 256}]
    inputs = inputs_of("AssignUnitAttributes")
    errors = inputs.find_errors({"groupId": "g", "data": data})
    assert [error.path for error in errors] == [
        "data[1].assetId",
        "data[1].unitId",
        "data[3].groupId",
    ]
    assert inputs.find_errors({"groupId": "g", "data": data[:1]}) == []
    many = inputs.find_errors({"groupId": "", "data": data * MAX_REPORTED_ERRORS})
    assert len(many) == MAX_REPORTED_ERRORS


def test_all_errors_of_different_inputs_are_found() -> None:
    errors = inputs_of("CalculateDistances").find_errors(
        {
            "sources": [POSITION, {}, {"id": "", "x": 1.0}],
            "targets": [],
            "costing": "car",
            "costingOptions": {"pedestrian": {"mode": "bus", "avoid": ["rain"]}},
            "distanceMethod": "far",
        }
    )
    assert {error.path for error in errors} == {
        "sources[1]",
        "sources[2]",
        "sources[2].id",
        "targets",
        "costing",
        "costingOptions.pedestrian.mode",
        "costingOptions.pedestrian.avoid",
        "distanceMethod",
    }


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, None),
        ({"costing": None}, None),
        (
            {"targets": [POSITION] * 51},
            InputViolation("sources", "sources times targets must be at most 50 pairs, not 51"),
        ),
        (
            {"targets": [POSITION, {"id": "a", "x": 1.0}]},
            InputViolation("targets[1]", "must have both x and y, or neither"),
        ),
        (
            {"sources": [{"name": "a"}]},
            InputViolation(
                "sources[0]", "must have the id of a location or a unit, or x, y and a floor"
            ),
        ),
    ],
)
def test_the_error_of_variables_is_found(
    changes: dict[str, Any], error: InputViolation | None
) -> None:
    inputs = inputs_of("CalculateDistances")
    assert inputs.find_errors(MATRIX_INPUT | changes)[:1] == ([error] if error else [])


@pytest.mark.parametrize(
    ("text", "are_checked_alone"),
    [
        ("query ($u: ID!) { unit(id: $u) { id } }", True),
        ("query ($u: ID!, $b: Boolean!) { unit(id: $u) { id name @include(if: $b) } }", True),
        ('{ unit(id: "u") { id } }', False),
        ('query ($u: ID = "u") { unit(id: $u) { id } }', False),
        ("query ($u: ID!) { a: unit(id: $u) { id } b: asset(id: $u) { id } }", False),
    ],
)
def test_only_variables_alone_are_checked_where_they_are_read(
    text: str, are_checked_alone: bool
) -> None:
    assert OperationInputs(GRAPHQL_SCHEMA, EXECUTOR.prepare(text)).are_checked_alone == (
        are_checked_alone
    )
