"""What an operation returns is counted while it runs, alike by both executors."""

from dataclasses import dataclass
from typing import Any

import graphql
import pytest
from graphql import FieldNode, NameNode, SelectionSetNode, Visitor
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from resolvers.request import context as budget_module
from resolvers.request.context import Budget, Context
from schema.execution import Executor, InvalidOperationError, OperationResult
from schema.query_size import OperationMeasure
from schema.root import GRAPHQL_SCHEMA
from schema.types import MATRIX_COST
from tests.fixtures import MAP, UNIT_IDS
from tests.schema.executor_comparison import (
    BOUNDLESS,
    RIGHTS,
    ExecutorComparison,
)
from tests.schema.operations import DrawnOperation, operations

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
    assert count_records(written.result.data) <= compiled.budget._cost <= computed.cost, drawn


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
    cost = max(compiled.budget._cost, compiled.budget._records_read)
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
    assert compiled.budget._cost == interpreted.budget._cost == written
    assert compiled.budget._records_read == 2 * (north + south)  # the list, and that of each asset


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
        assert each.budget._cost == map_and_locations + 2 * for_each_location
