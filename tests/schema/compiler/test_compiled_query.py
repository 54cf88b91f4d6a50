"""Compiled queries have the same result as interpreted ones, to the byte."""

import asyncio
import threading
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from graphql import (
    GraphQLBoolean,
    GraphQLFloat,
    GraphQLID,
    GraphQLInt,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLString,
    Undefined,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resolvers.request.context import Context
from schema.compiler.compiled_query import MAX_PLANS, QueryPlan
from schema.compiler.plan import PlannedField
from schema.compiler.rows import InvalidResultError, build_completion, build_type_test
from schema.compiler.selection import MAX_FIELDS, UnsupportedQueryError
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA
from tests.schema.executor_comparison import CALLERS, RIGHTS, STORES, ExecutorComparison
from tests.schema.operations import DrawnOperation, operations

UNIT = 'unit(id: "unit-1")'


COMPILED: list[tuple[str, dict[str, Any]]] = [
    ("{ __typename }", {}),
    ("{ units { paging { perPage next } data { id name } } }", {}),
    (f"{{ b: {UNIT} {{ y: name x: id }} a: {UNIT} {{ id }} }}", {}),
    (f"{{ {UNIT} {{ id floor {{ id }} name floor {{ name id }} }} }}", {}),
    (f"{{ {UNIT} {{ ...A ...A name ...B }} }} fragment A on Unit {{ id ...B }} "
     "fragment B on Unit { floor { ... on Floor { ... { name } } } }", {}),
    (f"query ($s: Boolean!, $i: Boolean = true) {{ {UNIT} {{ name @skip(if: $s) "
     "floor @include(if: $i) { id @skip(if: true) } id @skip(if: $s) name } }", {"s": True}),
    ("query ($n: Int, $a: String) { units(perPage: $n, after: $a) { data { id } } }", {"n": None}),
    ("query ($n: Int = 2) { units(perPage: $n) { data { id } } }", {}),
    ("query ($id: ID!) { asset(id: $id) { id } }", {"id": 7}),
    ("{ unit(id: \"'] + __import__('os').name + ['\") { id } }", {}),
    ('query ($s: [WaypointInput!]!) { map(id: "plan/one") { distanceMatrix(sources: $s, '
     'targets: [{id: "loc-1"}, {id: "loc-2"}], distanceMethod: euclidean) '
     "{ distanceMethod sources { index targets { distance time } } } } }",
     {"s": {"x": 1, "y": 2.5, "floorId": "n-2"}}),
    ("{ assets { data { floors { data { units { data { asset { name } maps { data { url parsed } "
     "} } } } } } } }", {}),
    ("{ units { data { location { floors { floor { name } } unit { id } map { id } } } } }", {}),
    ("{ attributeGroups { data { attributes { attributeId } assignments { data { attribute { "
     "attributeName } unit { id } asset { id } } } } } }", {}),
    ("query (" + ", ".join(f"$c{n}: Boolean = true" for n in range(6)) + ") { "
     + " ".join(f"a{n}: __typename @include(if: $c{n})" for n in range(6)) + " }", {}),
    ("{ apiKeys { data { id permissions assetIds createdAt expiresAt } } }", {}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "variables"), COMPILED)
def test_supported_queries_run_compiled(
    comparison: ExecutorComparison, text: str, variables: dict[str, Any]
) -> None:
    before = comparison.compiled
    comparison.check(DrawnOperation(text, variables))
    assert comparison.compiled == before + 1


INTERPRETED = [
    "{ __schema { queryType { name } types { name fields { name } } } }",
    '{ __type(name: "Unit") { name } }',
    "{ units { data { " + " ".join(f"a{n}: id" for n in range(MAX_FIELDS)) + " } } }",
]


@pytest.mark.parametrize("text", INTERPRETED)
def test_unsupported_queries_are_interpreted(comparison: ExecutorComparison, text: str) -> None:
    before = (comparison.answered, comparison.compiled)
    comparison.check(DrawnOperation(text, {}))
    assert (comparison.answered, comparison.compiled) == (before[0] + 1, before[1])


FAILING: list[tuple[str, dict[str, Any]]] = [
    ("{ units { data { name } } }", {}),
    ("{ floors: assets { data { floors { data { sort } } } } }", {}),
    ("{ maps { data { tags } } }", {}),
    ("{ maps { data { locations { data { x } } } } }", {}),
    ('{ asset(id: "") { id } units { data { id } } }', {}),
    ("query ($n: Int!) { units(perPage: $n) { data { id } } }", {}),
    ("query ($n: Int!) { units(perPage: $n) { data { id } } }", {"n": "two"}),
    ('query ($id: ID = "unit-1") { unit(id: $id) { id } }', {"id": None}),
    ('{ a: asset(id: "") { id } b: assets { data { units(page: 0) { data { id } } } } }', {}),
    (
        'mutation { b: revokeApiKey(input: { id: "none" }) { apiKey { id } }'
        ' a: revokeApiKey(input: { id: "" }) { __typename } }',
        {},
    ),
]


@pytest.mark.parametrize(("text", "variables"), FAILING)
def test_errors_are_those_of_graphql_core(
    comparison: ExecutorComparison, text: str, variables: dict[str, Any]
) -> None:
    before = comparison.failed
    comparison.check(DrawnOperation(text, variables), store="broken")
    assert comparison.failed == before + 1


def test_an_unmet_requirement_is_an_error_only_if_its_field_is_reached(
    comparison: ExecutorComparison,
) -> None:
    for id in ("unit-1", "none"):
        text = f'{{ unit(id: "{id}") {{ location {{ id }} }} }}'
        comparison.check(DrawnOperation(text, {}), caller="plain")


def test_random_operations_have_the_same_result_and_most_of_them_compile(
    comparison: ExecutorComparison,
) -> None:
    """A sample; `make fuzz` compares thousands, and makes one that differs as small as it can."""

    @given(operations(), st.sampled_from(CALLERS), st.sampled_from(STORES))
    @settings(suppress_health_check=list(HealthCheck))
    def check(drawn: DrawnOperation, caller: str, store: str) -> None:
        comparison.check(drawn, caller, store)

    comparison.answered = comparison.compiled = comparison.failed = comparison.invalid = 0
    check()
    comparison.require_shares(answered=0.2, compiled=0.5, invalid=0.3)


def test_code_is_generated_the_second_time_a_query_is_sent() -> None:
    executor = Executor(GRAPHQL_SCHEMA)
    for generates_code in (False, True):
        compiled = asyncio.run(executor.load_client_operation("{ __typename }", None, {})).compiled
        assert compiled is not None
        assert compiled.generates_code is generates_code


def test_no_code_is_generated_for_mutations() -> None:
    compiled = (
        Executor(GRAPHQL_SCHEMA)
        .prepare('mutation { revokeApiKey(input: { id: "k" }) { __typename } }')
        .compiled
    )
    assert compiled is not None
    assert not compiled.generates_code


def test_an_operation_knows_its_requirements() -> None:
    text = "query A { assetReferences { data { id } } } query B { units { data { id } } }"
    executor = Executor(GRAPHQL_SCHEMA)
    [requirement] = asyncio.run(executor.load_client_operation(text, "A", {})).requirements
    assert (requirement.flag, requirement.permission) == (
        "references",
        "service.asset-references.read",
    )
    assert asyncio.run(executor.load_client_operation(text, "B", {})).requirements == ()


CONDITIONAL = (
    "query ($a: Boolean!, $b: Boolean!, $c: Boolean!) {"
    " a: __typename @include(if: $a) b: __typename @include(if: $b) c: __typename @skip(if: $c) }"
)


def test_only_a_few_combinations_of_conditions_are_remembered(
    comparison: ExecutorComparison,
) -> None:
    executor = Executor(GRAPHQL_SCHEMA)
    operation = executor.prepare(CONDITIONAL)
    assert operation.compiled is not None
    sizes = []
    for values in product((False, True), repeat=3):
        variables = dict(zip("abc", values, strict=True))
        context = Context(RIGHTS["full"], comparison.stores["sound"])
        result = comparison.runner.run(executor.run(operation, variables, context))
        expected = [name for name in "abc" if variables[name] is (name != "c")]
        assert [*(result.data or {})] == expected
        sizes.append(operation.size_bytes)
    assert sizes[0] < sizes[MAX_PLANS - 1]
    assert len(set(sizes[MAX_PLANS - 1 :])) == 1


def test_code_is_generated_outside_of_the_event_loop(
    comparison: ExecutorComparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    generate = QueryPlan.generate_code

    def note(plan: QueryPlan) -> None:
        threads.append(threading.current_thread())
        generate(plan)

    monkeypatch.setattr(QueryPlan, "generate_code", note)
    executor = Executor(GRAPHQL_SCHEMA)
    for _ in range(3):
        operation = asyncio.run(
            executor.load_client_operation("{ units(perPage: 1) { data { id } } }", None, {})
        )
        context = Context(RIGHTS["full"], comparison.stores["sound"])
        comparison.runner.run(executor.run(operation, {}, context))
    [thread] = threads
    assert thread is not threading.main_thread()


def test_a_query_of_one_field_at_a_time_expects_no_siblings(
    comparison: ExecutorComparison,
) -> None:
    for text, is_sequential in (
        (f"{{ {UNIT} {{ id floor {{ asset {{ id }} }} }} }}", True),
        (f"{{ {UNIT} {{ floor {{ id }} asset {{ id }} }} }}", False),
        (f"{{ a: {UNIT} {{ id }} b: {UNIT} {{ id }} }}", False),
    ):
        context = Context(RIGHTS["full"], comparison.stores["sound"])
        operation = comparison.compiling.prepare(text)
        assert not comparison.runner.run(comparison.compiling.run(operation, {}, context)).errors
        assert context._loads.is_sequential is is_sequential


VALUES: list[Any] = [
    None, True, False, 0, 1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 1.0, 1.5,
    float("inf"), float("-inf"), float("nan"), "", "text", b"bytes", [], {}, Undefined,
]  # fmt: skip


def passes_fast_test(output_type: GraphQLOutputType, value: Any) -> bool:
    test = build_type_test(output_type)
    assert test is not None
    return bool(eval(test.format("value"), {"value": value}))


@pytest.mark.parametrize(
    "scalar", [GraphQLID, GraphQLString, GraphQLInt, GraphQLFloat, GraphQLBoolean], ids=str
)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_that_passes_the_fast_test_is_serialized_unchanged(scalar: Any, value: Any) -> None:
    if passes_fast_test(scalar, value):
        completed = build_completion(scalar)(value)
        assert (type(completed), completed) == (type(value), value)


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        (GraphQLID, "a"),
        (GraphQLString, ""),
        (GraphQLInt, -1),
        (GraphQLFloat, 0.5),
        (GraphQLBoolean, False),
    ],
)
def test_the_usual_values_pass_the_fast_test(scalar: Any, value: Any) -> None:
    assert passes_fast_test(scalar, value)
    assert passes_fast_test(GraphQLNonNull(scalar), value)
    assert passes_fast_test(scalar, None)
    assert not passes_fast_test(GraphQLNonNull(scalar), None)


def test_times_that_are_stored_as_text_have_the_test_of_text() -> None:
    timestamp: Any = GRAPHQL_SCHEMA.type_map["DateTime"]
    parsed_map: Any = GRAPHQL_SCHEMA.type_map["ParsedMap"]
    assert build_type_test(timestamp) == build_type_test(GraphQLString)
    assert build_type_test(parsed_map) is None


def test_completion_converts_as_graphql_core_does() -> None:
    assert build_completion(GraphQLFloat)(1) == 1.0
    assert build_completion(GraphQLString)(True) == "true"
    assert build_completion(GraphQLInt)(Undefined) is None
    with pytest.raises(InvalidResultError, match="non-integer"):
        build_completion(GraphQLInt)("one")


def test_a_list_is_no_leaf() -> None:
    with pytest.raises(UnsupportedQueryError, match=r"\[Int\] is not a leaf type"):
        build_type_test(GraphQLList(GraphQLInt))


OBJECT = GraphQLObjectType("Floor", {})
REQUIRED = GraphQLNonNull(OBJECT)
A, B, ERROR = object(), object(), ValueError()
ROW_A, ROW_B, ROW_A2 = {"id": "a"}, {"id": "b"}, {"id": "a again"}


def field_of(output_type: GraphQLOutputType) -> PlannedField:
    named = SimpleNamespace(name=SimpleNamespace(value="floor"))
    parent = SimpleNamespace(name="Unit")
    selected: Any = SimpleNamespace(key="floor", output_type=output_type, node=named, parent=parent)
    return PlannedField(selected, None, None, {}, None, None)


def test_siblings_that_share_an_object_share_its_row() -> None:
    field, values = field_of(OBJECT), [A, None, B, A]
    assert field.flatten(values, None) == ([A, B], [2, 1])
    assert field.flatten(values, [2, 3, 4, 5]) == ([A, B], [7, 4])
    assert field.put_back(values, [A, B], [ROW_A, ROW_B]) == [ROW_A, None, ROW_B, ROW_A]


def test_lists_keep_their_lengths() -> None:
    field, values = field_of(GraphQLList(OBJECT)), [[A], [], (B, A)]
    assert field.flatten(values, [1, 5, 2]) == ([A, B, A], [1, 2, 2])
    rows = [ROW_A, ROW_B, ROW_A2]
    assert field.put_back(values, [A, B, A], rows) == [[ROW_A], [], [ROW_B, ROW_A2]]
    assert field.put_back([[A, B]], [A, B], [ROW_A, ROW_B]) == [[ROW_A, ROW_B]]


@pytest.mark.parametrize(
    ("output_type", "values", "objects"),
    [
        (REQUIRED, [A, None], [A]),
        (REQUIRED, [None], []),
        (OBJECT, [ERROR, A], [A]),
        (OBJECT, [ERROR], []),
        (GraphQLList(REQUIRED), [[A, None]], [A]),
        (GraphQLList(OBJECT), [[ERROR]], []),
        (GraphQLList(OBJECT), [[A], None], [A]),
        (GraphQLList(OBJECT), ["text"], []),
        (GraphQLList(OBJECT), [{}], []),
        (GraphQLList(GraphQLList(OBJECT)), [[[A]]], [A]),
    ],
)
def test_values_that_need_a_closer_look_are_told_apart(
    output_type: GraphQLOutputType, values: list[Any], objects: list[Any]
) -> None:
    field = field_of(output_type)
    assert [*field.flatten(values, None)[0]] == objects
    assert field.put_back(values, objects, [ROW_A] * len(objects)) is None
