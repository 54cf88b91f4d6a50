"""Enums of the schema: their values in documents, in variables, in lists and as defaults."""

import asyncio
from typing import Any, NamedTuple, get_args

import pytest
import strawberry
from graphql import GraphQLEnumType

from resolvers.drawings.shapes import PATH_BY_KIND
from resolvers.networks.waypoints import Avoidable
from resolvers.request.caller import PERMISSIONS
from resolvers.request.context import Context
from resolvers.request.kinds import name_word
from routing.costing import TravelMode
from routing.plan import ConnectorKind, SpaceKind
from schema.errors import explain_enums
from schema.execution import Caller, Executor, InvalidOperationError
from schema.root import GRAPHQL_SCHEMA
from storage.administration import audit
from storage.catalog import RECORD_TYPES
from storage.records.visibility import ALL_ASSETS

ENUMS = {
    name: type
    for name, type in GRAPHQL_SCHEMA.type_map.items()
    if isinstance(type, GraphQLEnumType) and not name.startswith("__")
}


@strawberry.input
class Options:
    mode: TravelMode | None = TravelMode.FOOT


@strawberry.type
class Query:
    @strawberry.field
    async def mode(self, mode: TravelMode | None = TravelMode.FOOT) -> TravelMode | None:
        assert mode is None or isinstance(mode, TravelMode)
        return mode

    @strawberry.field
    async def avoided(self, avoid: list[Avoidable] | None = None) -> list[Avoidable]:
        return avoid or []

    @strawberry.field
    async def nested(self, options: Options) -> TravelMode | None:
        return options.mode

    @strawberry.field
    async def stored(self, word: str) -> TravelMode | None:
        return word  # type: ignore[return-value]


CALLER = Caller("key", ALL_ASSETS)
SCHEMA = strawberry.Schema(Query)._schema
explain_enums(SCHEMA)


class Answer(NamedTuple):
    data: Any
    errors: list[str]


def ask(text: str, **variables: Any) -> Answer:
    """Run an operation compiled and interpreted, and return the result, which is the same."""
    answers = []
    for is_compiled in (True, False):
        executor = Executor(SCHEMA, compile_queries=is_compiled)
        operation = executor.get_client_operation(text, None, variables)
        for _ in range(2):  # without generated code, then with it
            operation = executor.get_client_operation(text, None, variables)
            context = Context(CALLER, _store=None)  # type: ignore[arg-type]
            run = executor.run(operation, variables, context)
            result = asyncio.run(run)
            answers.append(Answer(result.data, [error.message for error in result.errors]))
    assert all(answer == answers[0] for answer in answers)
    return answers[0]


@pytest.mark.parametrize(
    ("text", "variables", "value"),
    [
        ("{ mode }", {}, "foot"),
        ("{ mode(mode: wheelchair) }", {}, "wheelchair"),
        ("{ mode(mode: null) }", {}, None),
        ("query($m: TravelMode) { mode(mode: $m) }", {"m": "wheelchair"}, "wheelchair"),
        ("query($m: TravelMode) { mode(mode: $m) }", {}, "foot"),
        ("query($m: TravelMode = wheelchair) { mode(mode: $m) }", {}, "wheelchair"),
        ("{ avoided(avoid: [stairs, lifts]) }", {}, ["stairs", "lifts"]),
        ("query($a: Avoidable!) { avoided(avoid: [$a]) }", {"a": "lifts"}, ["lifts"]),
        ("query($a: [Avoidable!]) { avoided(avoid: $a) }", {"a": "stairs"}, ["stairs"]),
        ("{ nested(options: {}) }", {}, "foot"),
        ("query($m: TravelMode) { nested(options: {mode: $m}) }", {"m": "foot"}, "foot"),
        ("query($o: Options!) { nested(options: $o) }", {"o": {"mode": "foot"}}, "foot"),
        ('{ stored(word: "wheelchair") }', {}, "wheelchair"),
    ],
)
def test_a_value_is_read_and_returned_by_its_name(
    text: str, variables: dict[str, Any], value: Any
) -> None:
    assert [*ask(text, **variables).data.values()] == [value]


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("bus", "A value of TravelMode must be foot or wheelchair, not bus"),
        (
            '"foot"',
            'A value of TravelMode must be foot or wheelchair without quotation marks, not "foot"',
        ),
        ("[foot]", "A value of TravelMode must be foot or wheelchair, not [foot]"),
    ],
)
def test_a_wrong_literal_is_told_what_is_right(literal: str, message: str) -> None:
    with pytest.raises(InvalidOperationError) as caught:
        ask(f"{{ mode(mode: {literal}) }}")
    assert [error.message for error in caught.value.errors] == [message]


def test_a_word_that_is_no_value_makes_its_field_null() -> None:
    answer = ask('{ stored(word: "bus") mode }')
    assert answer.data == {"stored": None, "mode": "foot"}
    assert len(answer.errors) == 1


def test_an_enum_has_each_word_that_there_is() -> None:
    for name, words in (
        ("AuditAction", audit.ACTIONS),
        ("AuditInterface", get_args(audit.Interface)),
        ("AuditOperation", get_args(audit.Operation)),
        ("ClosableKind", (*ConnectorKind, *SpaceKind)),
        ("Permission", PERMISSIONS),
        ("RecordKind", tuple(kind.name for kind in RECORD_TYPES)),
    ):
        assert tuple(value.value for value in ENUMS[name].values.values()) == words
    assert {*ENUMS["ShapeType"].values} == {*PATH_BY_KIND}


@pytest.mark.parametrize("name", ENUMS)
def test_names_are_the_words_of_rest_as_far_as_graphql_allows(name: str) -> None:
    for value_name, value in ENUMS[name].values.items():
        assert value_name == name_word(value.value)
        assert value.description
