"""Limits of operations: known before they run, and counted alike while they run."""

import asyncio
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import graphql
import httpx
import orjson
import pytest
from graphql import FieldNode, NameNode, SelectionSetNode, Visitor
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from resolvers.request import context as budget_module
from resolvers.request.context import Budget, Context
from resolvers.request.errors import LimitExceededError
from rest.endpoint_files import Endpoint
from schema import query_size
from schema.execution import Executor, InvalidOperationError, OperationResult
from schema.query_limits import QueryLimits
from schema.query_size import (
    LIMIT_MESSAGES,
    OperationMeasure,
    QuerySize,
    check_limits,
    estimate_bytes,
)
from schema.root import GRAPHQL_SCHEMA
from schema.types import MATRIX_COST
from tests.endpoints import ENDPOINTS
from tests.fixtures import MAP, UNIT_IDS, post_graphql
from tests.schema.executor_comparison import BOUNDLESS, RIGHTS, ExecutorComparison
from tests.schema.operations import DrawnOperation, operations

HUGE = QueryLimits(**{limit.name: 10**300 for limit in dataclasses.fields(QueryLimits)})


def measured(document: str, **variables: Any) -> QuerySize:
    parsed = graphql.parse(document)
    operation = next(
        node for node in parsed.definitions if isinstance(node, graphql.OperationDefinitionNode)
    )
    return OperationMeasure(GRAPHQL_SCHEMA, parsed, operation).check(variables, HUGE)


def nested_fragments(levels: int) -> str:
    """Each fragment spreads the next twice: written out, 2 ** levels selections."""
    fragments = " ".join(
        f"fragment F{level} on Unit {{ floor {{ asset {{ units {{ data {{ "
        f"...F{level + 1} ...F{level + 1} }} }} }} }} }}"
        for level in range(levels)
    )
    return f"{{ units {{ data {{ ...F0 }} }} }} {fragments} fragment F{levels} on Unit {{ id }}"


def flat_fragments(levels: int) -> str:
    fragments = " ".join(
        f"fragment F{level} on Query {{ ...F{level + 1} ...F{level + 1} }}"
        for level in range(levels)
    )
    return f"{{ ...F0 }} {fragments} fragment F{levels} on Query {{ __typename }}"


class Counting:
    """Counts how often selections are measured."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps = 0
        original = query_size._Walk.measure_selection

        def selection(walk: Any, node: Any, on: Any) -> Any:
            self.steps += 1
            return original(walk, node, on)

        monkeypatch.setattr(query_size._Walk, "measure_selection", selection)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counting]:
    yield Counting(monkeypatch)


@pytest.mark.parametrize("make", [nested_fragments, flat_fragments])
def test_nested_fragments_are_measured_once_each(counting: Counting, make: Any) -> None:
    steps = []
    for levels in (15, 30, 60):
        before = counting.steps
        measured(make(levels))
        steps.append(counting.steps - before)
    assert steps[1] - steps[0] == (steps[2] - steps[1]) / 2  # a straight line
    assert steps[2] < 400


def test_a_fragment_that_spreads_itself_ends_the_walk() -> None:
    measured("{ ...A } fragment A on Query { ...B } fragment B on Query { ...A __typename }")


def test_depth_counts_fields_through_fragments() -> None:
    assert measured("{ units { data { id } } }").depth == 3
    assert measured("{ ...A } fragment A on Query { units { ... { data { id } } } }").depth == 3


def test_aliases_count_as_often_as_a_fragment_is_spread() -> None:
    document = "{ ...A ...A } fragment A on Query { a: __typename b: __typename }"
    assert measured(document).aliases == 4


def test_breadth_is_the_most_fields_asked_of_one_object() -> None:
    assert measured("{ units { data { id name floorId } } }").breadth == 3
    assert measured("{ units { data { ...A ...A } } } fragment A on Unit { id name }").breadth == 4


@pytest.mark.parametrize(
    ("document", "cost"),
    [
        ("{ __typename }", 0),
        ("{ unit(id: 1) { id } }", 1),
        ("{ units { data { id } } }", 100),
        ("{ units(perPage: 7) { data { id } paging { next } } }", 7),
        ("{ units(perPage: 7) { data { floor { id } asset { id } } } }", 7 * 3),
        ("{ asset(id: 1) { units { data { id } } } }", 11),  # nested without size: ten
        ("{ assets(perPage: 3) { data { units(perPage: 5) { data { id } } } } }", 3 * 6),
        ("{ units(perPage: 999999999999) { data { id } } }", 10_000),
        ("{ units(perPage: -5) { data { id } } }", 1),
        ("{ ...A } fragment A on Query { units { data { id } } }", 100),
        ("{ units(perPage: 7) { totalCount } }", 107),  # it is counted once, not for each record
        ("{ units(perPage: 7) { ...A } } fragment A on UnitPage { totalCount data { id } }", 107),
        ("{ assets(perPage: 3) { data { units(perPage: 5) { totalCount } } } }", 3 * 106),
        ("{ units(perPage: 7) { a: data { id } b: data { id floor { id } } } }", 7 * 3),
        ('{ map(id: 1) { nearest(from: {id: "a"}, limit: 7) { location { id } } } }', 2_015),
        ('{ map(id: 1) { nearest(from: {id: "a"}) { distance } } }', 2_011),
        ("{ unit(id: 1) { nearest(limit: 7) { location { id } } } }", 2_015),
        (
            '{ map(id: 1) { nearestFromSources(sources: [{id: "a"}, {id: "b"}], limit: 7) { '
            "locations { time } } } }",
            5_000 + 1 + 2 * 7 * 2,
        ),
        (
            '{ map(id: 1) { reachable(from: {id: "a"}, minutes: 5) { '
            "locations { time } units(limit: 7) { time } areas { floorId } } } }",
            1_002 + 2_100 + 2_007 + 20_001,
        ),
        (
            '{ maps(perPage: 50) { data { reachable(from: {id: "a"}, minutes: 0) { mode } } } }',
            50 * 1_002,
        ),
        ("{ map(id: 1) { closable(perPage: 7) { paging { next } } } }", 1_008),
    ],
)
def test_cost_is_the_number_of_records_that_may_come(document: str, cost: int) -> None:
    assert measured(document).cost == cost


def test_page_sizes_in_variables_count() -> None:
    document = "query ($n: Int) { units(perPage: $n) { data { id } } }"
    assert measured(document, n=30).cost == 30
    assert measured(document, n="x").cost == 100
    assert measured(document).cost == 100


def test_a_list_of_sources_in_a_variable_counts_for_each() -> None:
    document = """query ($from: [WaypointInput!]!, $n: Int) { map(id: 1) {
        nearestFromSources(sources: $from, limit: $n) { locations { time } }
    } }"""
    near = {"id": "a"}
    sizes = [measured(document, **{"from": [near] * count}, n=5).cost for count in (1, 3)]
    assert sizes == [5_001 + 5 * 2, 5_001 + 3 * 5 * 2]


REFUSED = {
    "characters": "{ __typename }" + " " * 100,
    "tokens": "{ " + "__typename " * 60 + "}",
    "depth": "{ units { data { floor { units { data { id } } } } } }",
    "aliases": "{ a: __typename b: __typename c: __typename d: __typename }",
    "breadth": "{ a: __typename ...A } fragment A on Query { b: __typename __typename __typename }",
    "cost": "{ units(perPage: 50) { data { id } } }",
}
SMALL = QueryLimits(characters=100, tokens=50, depth=5, aliases=3, breadth=3, cost=40)
PHRASES = {
    "characters": "has 114 characters, over the limit of 100",
    "tokens": "has more than 50 tokens",
    "depth": "nests 6 fields, over the limit of 5",
    "aliases": "has 4 aliases, over the limit of 3",
    "breadth": "asks 4 fields of one object, over the limit of 3",
    "cost": "may return 50 records, or costs as much, over the limit of 40; ask for smaller pages",
}


@pytest.mark.parametrize("limit", REFUSED)
def test_an_operation_over_a_limit_is_rejected_with_the_limit_and_its_size(limit: str) -> None:
    bounds = QueryLimits(**{limit: getattr(SMALL, limit)})
    with pytest.raises(InvalidOperationError) as raised:
        asyncio.run(
            Executor(GRAPHQL_SCHEMA, bounds).load_client_operation(REFUSED[limit], None, {})
        )
    assert PHRASES[limit] in str(raised.value)


def test_an_operation_is_measured_alone_and_again_with_other_variables() -> None:
    executor = Executor(GRAPHQL_SCHEMA, QueryLimits(cost=40))
    document = (
        "query A { units { data { id } } } query B($n: Int) { units(perPage: $n) { data { id } } }"
    )
    asyncio.run(executor.load_client_operation(document, "B", {"n": 40}))
    for name, variables in (("A", {}), ("B", {"n": 41})):
        with pytest.raises(InvalidOperationError, match="over the limit of 40"):
            asyncio.run(executor.load_client_operation(document, name, variables))


def test_an_operation_is_walked_again_only_for_other_page_sizes(counting: Counting) -> None:
    document = graphql.parse(
        "query ($n: Int, $id: ID!) { asset(id: $id) { units(perPage: $n) { data { id } } } }"
    )
    [operation] = document.definitions
    assert isinstance(operation, graphql.OperationDefinitionNode)
    measure = OperationMeasure(GRAPHQL_SCHEMA, document, operation)
    selections = 4
    for walks, page_size in [(1, 5), (1, 5), (2, 7), (2, 5.0), (2, 7), (3, None)]:
        size = measure.check({"n": page_size, "id": f"asset-{walks}"}, HUGE)
        assert size.cost == 1 + int(page_size or 10)
        assert counting.steps == walks * selections
    for page_size in range(1, 100):
        measure.check({"n": page_size}, HUGE)
    assert len(measure._walks) <= query_size.MAX_REMEMBERED_WALKS


async def test_a_list_longer_than_was_estimated_is_cut_off_by_the_request_itself(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resolvers.request.context.MAX_RECORDS_PER_REQUEST", 20)
    body = await post_graphql(client, '{ asset(id: "north") { units { data { id } } } }')
    assert body["errors"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"
    assert "perPage" in body["errors"][0]["message"]


def test_the_operation_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schema.execution.MAX_CACHED_OPERATIONS", 3)
    executor = Executor(GRAPHQL_SCHEMA)
    for number in range(5):
        asyncio.run(executor.load_client_operation(f"query Q{number} {{ __typename }}", None, {}))
    assert len(executor._operation_cache) == 3


def test_the_operation_cache_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schema.execution.MAX_OPERATION_BYTES", 20_000)
    executor = Executor(GRAPHQL_SCHEMA)
    for number in range(9):
        text = f"query Q{number} {{ __typename }}"
        asyncio.run(executor.load_client_operation(text, None, {}))
    assert 3 <= len(executor._operation_cache) < 9


def test_only_the_first_of_many_errors_are_reported() -> None:
    with pytest.raises(InvalidOperationError) as raised:
        asyncio.run(
            Executor(GRAPHQL_SCHEMA).load_client_operation(
                "{" + " ".join(f"x{n}" for n in range(100)) + "}", None, {}
            )
        )
    assert len(raised.value.errors) <= 6


async def test_a_node_counts_what_fragments_select_of_each_type() -> None:
    of_unit = "... on Unit { maps(perPage: 3) { data { id } } }"
    one = measured(f'{{ node(id: "x") {{ nodeId {of_unit} }} }}').cost
    assert one == measured('{ unit(id: "x") { maps(perPage: 3) { data { id } } } }').cost == 4
    spread = (
        'query { node(id: "x") { ...U } } fragment U on Unit { maps(perPage: 3) { data { id } } }'
    )
    assert measured(spread).cost == one
    document = f"query ($ids: [ID!]!) {{ nodes(ids: $ids) {{ {of_unit} }} }}"
    assert measured(document, ids=["x"] * 50).cost == 50 * one
    assert measured(f'{{ nodes(ids: ["x", "y"]) {{ {of_unit} }} }}').cost == 2 * one
    assert (
        measured('{ node(id: "x") { ... on Map { nearest(from: {}) { distance } } } }').cost > 2_000
    )


LIMITS = QueryLimits()
NOT_MEASURED = {"characters", "tokens", "response_bytes"}
"""Checked before the operation is parsed, or when its result is written."""
MEASURED = sorted({limit.name for limit in dataclasses.fields(QueryLimits)} - NOT_MEASURED)


def test_every_limit_is_checked_before_or_after_parsing() -> None:
    assert {*MEASURED} == {*LIMIT_MESSAGES}
    assert {*MEASURED} <= {*QuerySize._fields}


@pytest.mark.parametrize("limit", MEASURED)
def test_a_limit_is_the_most_that_is_allowed(limit: str) -> None:
    bound = getattr(LIMITS, limit)
    check_limits(QuerySize(**{limit: bound}), LIMITS)
    with pytest.raises(LimitExceededError, match=str(bound)):
        check_limits(QuerySize(**{limit: bound + 1}), LIMITS)


@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: row.document.split("(")[0].split()[1])
def test_what_rest_asks_may_be_asked_through_graphql(row: Endpoint) -> None:
    asyncio.run(Executor(GRAPHQL_SCHEMA, LIMITS).load_client_operation(row.document, None, {}))


def test_tools_may_introspect_the_whole_schema() -> None:
    query = graphql.get_introspection_query(
        specified_by_url=True, directive_is_repeatable=True, input_value_deprecation=True
    )
    asyncio.run(Executor(GRAPHQL_SCHEMA, LIMITS).load_client_operation(query, None, {}))


UNIT = {"id": "unit-1", "name": "Unit 1", "sort": 12, "floor": {"id": "floor-1"}, "tags": []}


@pytest.mark.parametrize(
    "data",
    [
        {"units": {"data": [UNIT] * 10_000}},
        {"units": {"data": [{"id": "x" * (number % 50)} for number in range(1_000)]}},
        {"assets": [{"floors": [{"units": [UNIT] * 20}] * 10}] * 30},
        {"maps": [{"locations": [{"tags": ["x" * 255, *["yes"] * 9]}] * 50}] * 20},
        {"assets": [{"floors": [{"units": ["A" * 200, *["B"] * 20]}] * 8}] * 30},
        {"unit": UNIT},
    ],
)
def test_an_estimate_is_near_the_size(data: Any) -> None:
    assert estimate_bytes(data) == pytest.approx(len(orjson.dumps(data)), rel=0.25)


def test_an_estimate_looks_at_few_items() -> None:
    looked_at = 0

    class Counted(dict[str, Any]):
        def values(self) -> Any:
            nonlocal looked_at
            looked_at += 1
            return super().values()

    data: Any = Counted(id="x")
    for _ in range(4):
        data = [data] * 20
    estimate_bytes([Counted(data=data)] * 50)
    assert 0 < looked_at < 2_000


@pytest.mark.parametrize("data", [None, True, 1, 1.5, [], {}])
def test_anything_has_an_estimate(data: Any) -> None:
    assert 0 < estimate_bytes(data) < 10


PARTS = {
    *(
        "Paging",
        "PageInfo",
        "LocationFloor",
        "LocationTag",
        "LevelTagValue",
        "MatrixSource",
        "MatrixTarget",
    ),
    *("AuditActor", "AuditChange", "AuditTarget"),
}
"""Types of objects that are parts of a record or of a page."""
TYPENAME_KEY = "typename__"
EVERY_UNIT_WITH_ITS_SIBLINGS = (
    "{ units(perPage: 100) { data { asset { units(perPage: 100) { data { "
    "asset { units(perPage: 100) { data { id } } } } } } } } }"
)


@dataclass
class Run:
    """One run of an operation, with what it has counted."""

    result: OperationResult
    budget: Budget

    @property
    def codes(self) -> list[str]:
        return [(error.extensions or {})["code"] for error in self.result.errors]


def run(
    comparison: ExecutorComparison,
    executor: Executor,
    drawn: DrawnOperation,
    max_bytes: int | None = None,
) -> Run:
    budget = Budget(max_bytes=max_bytes)
    context = Context(RIGHTS["full"], comparison.stores["sound"], budget=budget)
    operation = comparison.compiling.prepare(drawn.text)
    result = comparison.runner.run(executor.run(operation, drawn.variables, context))
    return Run(result, budget)


def run_both(
    comparison: ExecutorComparison, drawn: DrawnOperation, max_bytes: int | None = None
) -> list[Run]:
    executors = (comparison.compiling, comparison.interpreting)
    return [run(comparison, executor, drawn, max_bytes) for executor in executors]


def succeeded(comparison: ExecutorComparison, drawn: DrawnOperation) -> list[Run]:
    """The runs of an operation that has no error; other operations are not considered."""
    try:
        runs = run_both(comparison, drawn)
    except InvalidOperationError:
        assume(False)
    assume(not any(run.result.errors for run in runs))
    return runs


class _AddTypenames(Visitor):
    def leave_selection_set(self, node: SelectionSetNode, *_: Any) -> SelectionSetNode:
        typename = FieldNode(
            name=NameNode(value="__typename"),
            alias=NameNode(value=TYPENAME_KEY),
            arguments=(),
            directives=(),
            selection_set=None,
        )
        return SelectionSetNode(selections=(*node.selections, typename))


def count_records(data: Any, parent: str = "Query") -> int:
    """Count the records in a result that has the name of each object's type."""
    if isinstance(data, list):
        return sum(count_records(item, parent) for item in data)
    if not isinstance(data, dict) or TYPENAME_KEY not in data:  # the value of a scalar
        return 0
    name = data[TYPENAME_KEY]
    is_record = name not in PARTS and not name.endswith("Page") and name != "Query"
    # The attributes of a group are in its record; the one of an assignment is looked up.
    is_record &= (parent, name) != ("AttributeGroup", "Attribute")
    return is_record + sum(count_records(value, name) for value in data.values())


@settings(
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(operations(is_exact=True))
def test_no_more_records_are_written_than_were_computed(
    comparison: ExecutorComparison, drawn: DrawnOperation
) -> None:
    compiled, interpreted = succeeded(comparison, drawn)
    assert compiled.budget == interpreted.budget
    document = graphql.parse(drawn.text)
    named = graphql.print_ast(graphql.visit(document, _AddTypenames()))
    written = run(comparison, comparison.interpreting, DrawnOperation(named, drawn.variables))
    node = comparison.compiling.prepare(drawn.text).node
    computed = OperationMeasure(GRAPHQL_SCHEMA, document, node).check(drawn.variables, BOUNDLESS)
    assert count_records(written.result.data) <= compiled.budget.cost <= computed.cost, drawn


@settings(
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(operations(is_exact=True), st.data())
def test_both_executors_end_an_operation_over_a_limit_with_the_same_error(
    comparison: ExecutorComparison, drawn: DrawnOperation, data: st.DataObject
) -> None:
    compiled, interpreted = succeeded(comparison, drawn)
    assert compiled.budget == interpreted.budget
    # A page that selects no `data` is read, but returns no record.
    cost = max(compiled.budget.cost, compiled.budget.records_read)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget_module, "MAX_RECORDS_PER_REQUEST", cost)
        for exact in run_both(comparison, drawn):
            assert not exact.result.errors
        if not cost:
            return
        patch.setattr(budget_module, "MAX_RECORDS_PER_REQUEST", data.draw(st.integers(0, cost - 1)))
        first, second = run_both(comparison, drawn)
    assert first.codes == second.codes == ["LIMIT_EXCEEDED"], drawn
    assert first.result.data is second.result.data is None
    assert first.result.errors[0].formatted == second.result.errors[0].formatted


def test_records_that_siblings_share_count_each_time_they_are_written(
    comparison: ExecutorComparison,
) -> None:
    drawn = DrawnOperation(EVERY_UNIT_WITH_ITS_SIBLINGS, {})
    compiled, interpreted = run_both(comparison, drawn)
    north, south = len(UNIT_IDS), 2
    written = sum(units * (2 + units * (2 + units)) for units in (north, south))
    assert compiled.budget.cost == interpreted.budget.cost == written
    assert compiled.budget.records_read == 2 * (north + south)  # the list, and that of each asset


def test_a_drawing_counts_as_often_as_it_is_written(comparison: ExecutorComparison) -> None:
    once = DrawnOperation(f'{{ map(id: "{MAP}") {{ parsed }} }}', {})
    size = run_both(comparison, once)[0].budget.drawing_bytes
    thrice = DrawnOperation(
        f'{{ map(id: "{MAP}") {{ parsed again: parsed asset {{ map: maps {{ data {{ parsed }} }} '
        "} } }",
        {},
    )
    for each in run_both(comparison, thrice):
        assert each.budget.drawing_bytes == 3 * size


def test_drawings_are_not_read_if_they_exceed_the_limit_together(
    comparison: ExecutorComparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "storage.mongo.files.read_files", lambda *_: pytest.fail("reads the drawings")
    )
    drawn = DrawnOperation("{ maps { data { parsed } } }", {})
    for each in run_both(comparison, drawn, max_bytes=435):
        [error] = each.result.errors
        assert (error.extensions or {})["requested"] == 436
        assert "at least" in error.message


def test_an_expensive_field_costs_as_often_as_it_is_in_the_response(
    comparison: ExecutorComparison,
) -> None:
    matrix = 'distanceMatrix(sources: [{id: "loc-1"}], targets: [{id: "loc-2"}])'
    text = (
        f'{{ map(id: "{MAP}") {{ locations(perPage: 2) {{ data {{ map {{ {matrix} '
        "{ distanceMethod } } } } } }"
    )
    map_and_locations, for_each_location = 1 + 2, 1 + MATRIX_COST + 1
    for each in run_both(comparison, DrawnOperation(text, {})):
        assert not each.result.errors
        assert each.budget.cost == map_and_locations + 2 * for_each_location
