"""A text of a known shape has the response that it has when it is parsed, to the byte."""

import asyncio
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resolvers.request.context import Context
from schema.costs.query_limits import QueryLimits
from schema.execution import Executor, InvalidOperationError
from schema.parameterised import template_cache
from schema.parameterised.templates import BoundOperation
from schema.parameterised.text_shapes import FLOAT, INTEGER, STRING, kind_of, split_text
from schema.root import GRAPHQL_SCHEMA
from tests.fixtures import HIDDEN, MAP, SEEN, UNIT, UNIT_IDS
from tests.schema.executor_comparison import (
    BOUNDLESS,
    CALLERS,
    LONG_SECONDS,
    RIGHTS,
    STORES,
    ExecutorComparison,
)
from tests.schema.operations import operations

LITERALS = {
    STRING: [f'"{text}"' for text in ("", "none", SEEN, HIDDEN, MAP, UNIT, *UNIT_IDS[:2], "é")],
    INTEGER: ["0", "1", "2", "-1", "-0", "50", "2147483647", "-2147483648", "9" * 18],
    FLOAT: ["0.0", "-1.5", "2.5e3", "1e400", "1E-400"],
}
LAYOUTS = (" ", "\n", " # comment\n  ", ",\t")


class Pair:
    """An executor that makes templates, and one that parses each text."""

    def __init__(
        self, comparison: ExecutorComparison, limits: QueryLimits = BOUNDLESS, caller: str = "full"
    ) -> None:
        self.comparison = comparison
        self.caller = caller
        self.binding, self.parsing = (
            Executor(GRAPHQL_SCHEMA, limits, deadline_seconds=LONG_SECONDS) for _ in range(2)
        )
        self.parsing.templates = None
        self.bound = 0
        """How many texts were not parsed before they ran."""

    def check(
        self,
        text: str,
        variables: dict[str, Any] | None = None,
        name: str | None = None,
        store: str = "sound",
    ) -> list[str]:
        """Return the codes of the errors, after comparing both responses."""

        async def respond(executor: Executor) -> tuple[Any, ...]:
            rights = RIGHTS[self.caller]
            context = Context(rights, self.comparison.stores[store], "https://directory.test")
            sent = variables or {}
            try:
                operation = await executor.load_client_operation(text, name, sent)
                self.bound += isinstance(operation, BoundOperation)
                assert operation.text == text
                size = operation.measure_size(sent, executor.limits)
                result = await executor.run(operation, sent, context)
            except InvalidOperationError as error:
                return None, None, None, [each.formatted for each in error.errors]
            errors = [error.formatted for error in result.errors]
            found = executor.find_name(text, name), operation.name
            return orjson.dumps(result.data), found, size.cost, errors

        async def respond_twice() -> tuple[Any, Any]:
            return await respond(self.binding), await respond(self.parsing)

        bound, parsed = self.comparison.runner.run(respond_twice())
        assert bound == parsed, text
        return [error["extensions"]["code"] for error in parsed[-1]]


@pytest.mark.slow
def test_random_operations_with_other_literals_have_the_same_responses(
    comparison: ExecutorComparison,
) -> None:
    counts = {"bound": 0, "texts": 0}

    @given(operations(), st.sampled_from(CALLERS), st.sampled_from(STORES), st.data())
    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    def check(drawn: Any, caller: str, store: str, data: st.DataObject) -> None:
        split = split_text(drawn.text)
        if split is None:
            return
        pair = Pair(comparison, caller=caller)
        for number in range(5):
            layout = data.draw(st.sampled_from(LAYOUTS))
            literals = iter(split.literals)
            parts = []
            for part in split.shape.split(" "):
                if part in LITERALS:
                    part = next(literals)
                    if number > 1 and data.draw(st.booleans()):
                        part = data.draw(st.sampled_from(LITERALS[kind_of(part)]))
                parts.append(f"Q{number}" if part == "-" else part)
            pair.check(layout.join(parts), drawn.variables, store=store)
        counts["texts"] += 3
        counts["bound"] += pair.bound

    check()
    assert counts["bound"] > counts["texts"] * 0.3, counts


UNIT_TEXT = 'query Q%d { unit(id: "%s") { id name } }'


def test_the_third_text_of_a_shape_is_not_parsed(comparison: ExecutorComparison) -> None:
    pair = Pair(comparison)
    for number, id in enumerate((UNIT, UNIT, "none", "unit-s", "unit-1")):
        assert not pair.check(UNIT_TEXT % (number, id))
        assert pair.bound == max(0, number - 1)


FAILING = [
    ("{ units(perPage: %s) { data { id } } }", ["1", "2", "-1", "0", "3", "9" * 12]),
    ('{ asset(id: "%s") { id } }', ["a", "b", "", "c"]),
    ("{ asset(id: %s) { id } }", ["1", "2", "-0", "3"]),
    ('{ unit(id: "%s") { id wrong } }', ["a", "b", "c"]),
    ('query ($n: Int!) { unit(id: "%s") { id } units(perPage: $n) { data { id } } }', [*"abcd"]),
    ("query ($n: Int = %s) { units(perPage: $n) { data { id } } }", ["1", "1", "1", "2", "-1"]),
    ("{ units(first: 2, after: %s) { data { id } } }", ['""', '""', '"x"', "1"]),
    ('{ units(updatedSince: "%s") { data { id } } }', ["2026-01-01", "2027-01-01", "now", "x"]),
    ("{ units(perPage: 1) { data { id @include(if: %s) } } }", ["true", "true", "1", '"a"']),
    ('{ a: unit(id: "1") { id } a: unit(id: "%s") { id } }', ["1", "1", "2", "1"]),
    ('{ __type(name: "%s") { name } }', ["Unit", "Floor", "Asset", "None"]),
    ('{ node(id: "%s") { id } }', ["a", "b", "c"]),
    ('query ($_literal0: ID!) { unit(id: $_literal0) { id } asset(id: "%s") { id } }', [*"abc"]),
    ('{ unit(id: "%s") { ...F } } fragment F on Unit { id maps(perPage: 1) { data { id } } }',
     [*UNIT_IDS[:3]]),
    ('{ map(id: "plan/one") { distanceMatrix(sources: [{x: %s, y: 2, floorId: "n-2"}], targets: '
     '[{id: "loc-1"}], distanceMethod: euclidean) { sources { targets { distance } } } } }',
     ["1", "2", "3", "0", "1.5"]),
    ('mutation { revokeApiKey(input: { id: "%s" }) { __typename } }', ["n1", "n2", "n3", ""]),
    ('query A { unit(id: "%s") { id } } query B { __typename }', ["a", "b", "c"]),
]  # fmt: skip


@pytest.mark.parametrize(("form", "values"), FAILING)
@pytest.mark.parametrize("caller", CALLERS)
def test_errors_are_those_of_the_text(
    comparison: ExecutorComparison, form: str, values: list[str], caller: str
) -> None:
    pair = Pair(comparison, caller=caller)
    for number, value in enumerate(values):
        text = "\n" * number + form % value
        pair.check(text, {"n": 2, "_literal0": "unit-1"})
        pair.check(text, {"n": "two"})  # again, with other variables
        pair.check(text, {}, name="A")


def test_the_name_of_the_operation_is_that_of_the_text(comparison: ExecutorComparison) -> None:
    pair = Pair(comparison)
    for number, name in enumerate(("Q0", None, "Q2", "Q3", "Wrong")):
        codes = pair.check(UNIT_TEXT % (number, "unit-1"), name=name)
        assert codes == (["OPERATION_RESOLUTION_FAILURE"] if name == "Wrong" else [])
    assert pair.bound == 2


UNIT_OF = '{ unit(id: "%s") { id } }'
LIMITED = [
    (QueryLimits(cost=10), "{ units(perPage: %s) { data { id } } }", "11"),
    (QueryLimits(text=10), UNIT_OF, "x" * 11),
    (QueryLimits(characters=40), UNIT_OF, "x" * 40),
    (QueryLimits(), UNIT_OF, "1" * 1_001),
]


@pytest.mark.parametrize(("limits", "form", "value"), LIMITED)
def test_limits_hold_for_literals(
    comparison: ExecutorComparison, limits: QueryLimits, form: str, value: str
) -> None:
    pair = Pair(comparison, limits)
    for small in (1, 2, 3):
        assert not pair.check(form % small)
    assert pair.bound == 1
    assert pair.check(form % value) == ["LIMIT_EXCEEDED"]
    assert not pair.check(form % 4)


def test_damaged_records_are_errors_at_their_places(comparison: ExecutorComparison) -> None:
    pair = Pair(comparison)
    for size in range(2, 7):
        codes = pair.check(f"\n{{ units(perPage: 5{size}) {{ data {{ name }} }} }}", store="broken")
        assert codes == ["SERVER_ERROR"]


def test_an_operation_runs_again_within_its_deadline(comparison: ExecutorComparison) -> None:
    executor = Executor(GRAPHQL_SCHEMA, BOUNDLESS)
    store = comparison.stores["sound"]

    async def run(size: int, waited: float) -> list[str]:
        units = f"units(perPage: {size}) {{ data {{ id }} }}"
        text = f"{{ {units} wrong: units(page: 0) {{ data {{ id }} }} }}"
        operation = await executor.load_client_operation(text, None, {})
        context = Context(RIGHTS["full"], store, waited_seconds=waited)
        result = await executor.run(operation, {}, context)
        return [(error.extensions or {})["code"] for error in result.errors]

    for size in (1, 2, 3):
        assert comparison.runner.run(run(size, 0)) == ["INVALID_INPUT"]
    assert comparison.runner.run(run(4, executor.deadline_seconds)) == ["DEADLINE_EXCEEDED"]


def test_templates_are_few(comparison: ExecutorComparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_cache, "MAX_TEMPLATES", 2)
    pair = Pair(comparison)
    for field in ("id", "name", "floorId"):
        for id in "abc":
            pair.check(f'{{ unit(id: "{id}") {{ {field} }} }}')
    assert pair.binding.templates is not None
    assert len(pair.binding.templates._shapes) == 2


def test_a_long_text_is_parsed(comparison: ExecutorComparison) -> None:
    pair = Pair(comparison)
    for id in "abcd":
        pair.check(f'{{ unit(id: "{id}") {{ id }} }} #' + "x" * 4_000)
    assert not pair.bound


def test_a_new_text_is_run_as_code(comparison: ExecutorComparison) -> None:
    pair = Pair(comparison)
    for number in range(4):
        pair.check(UNIT_TEXT % (number, "unit-1"))
    operation = asyncio.run(pair.binding.load_client_operation(UNIT_TEXT % (5, "x"), None, {}))
    assert operation.compiled is not None
    assert operation.compiled.generates_code
    assert pair.binding.counters.counts.compiled == 4
