"""What arguments may hold: checked before anything in them is coerced or converted."""

from typing import Any

import graphql
import httpx
import pytest
import strawberry.types.arguments
from graphql.execution import values

from schema.definitions import Requirement, requirement_of
from schema.execution import (
    MAX_ITEMS_WHEN_DENIED,
    Executor,
    InvalidOperationError,
)
from schema.query_limits import QueryLimits
from schema.query_size import ArgumentSize, measure_value
from schema.root import GRAPHQL_SCHEMA
from tests.fixtures import MAP, SEEN, UNIT, post_graphql

pytestmark = pytest.mark.anyio

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
        Executor(GRAPHQL_SCHEMA, QueryLimits(cost=50)).get_client_operation(
            document, None, variables
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
    executor.get_client_operation(ASSIGN, None, {"data": [ASSIGNMENT] * 10_000})
    executor.get_client_operation(MATRIX, None, {"s": [WAYPOINT] * 50})
    with pytest.raises(InvalidOperationError, match="51 waypoints"):  # of one that was seen before
        executor.get_client_operation(MATRIX, None, {"s": [WAYPOINT] * 51})


def test_every_requirement_is_checked_before_arguments_are_converted() -> None:
    for type in GRAPHQL_SCHEMA.type_map.values():
        for definition in getattr(type, "fields", {}).values():
            if requirement_of(definition) != Requirement():
                assert definition.resolve.__qualname__.startswith("_guarded.")
