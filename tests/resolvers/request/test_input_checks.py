"""Checks of inputs: built from resolvers, the same in interpreted and compiled execution."""

import copy
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import pytest
import strawberry

from resolvers.request.caller import Caller
from resolvers.request.context import Context, Info
from resolvers.request.errors import InvalidInputError
from resolvers.request.input_checks import FieldChecks, check_inputs
from resolvers.request.inputs import (
    InputViolation,
    Items,
    JsonSchema,
    Length,
    Range,
    argument,
    input_field,
    joint_rules,
    required_input_field,
)
from resolvers.request.listing import batch_resolver
from schema.execution import Executor
from schema.fields import resolver_field
from storage.records.visibility import AssetScope

pytestmark = pytest.mark.anyio


class WidthBelowLength:
    """A joint rule."""

    def check(self, values: Mapping[str, Any]) -> InputViolation | None:
        if values["width_feet"] <= (values["length_feet"] or 0):
            return None
        return InputViolation(".widthFeet", "must not exceed lengthFeet")

    def json_schema(self) -> JsonSchema:
        return {}


@joint_rules(WidthBelowLength())
@strawberry.input
class Room:
    width_feet: float = required_input_field("Of the floor.", Range(1, 100))
    length_feet: float | None = input_field("Of the floor.", Range(1, 200), default=10.0)


Rooms = Annotated[list[Room], argument("The rooms.", Items(1, 2, "rooms"))]
Title = Annotated[str | None, argument("Their name.", Length(0, 5), name="name")]


async def measure(info: Info, rooms: Rooms, title: Title = None) -> float:
    """Add up the widths."""
    return sum(room.width_feet for room in rooms)


@batch_resolver
async def measure_each(
    parents: Sequence[object], info: Info, rooms: Rooms, title: Title = None
) -> list[float]:
    """Add up the widths, for many parents."""
    return [sum(room.width_feet for room in rooms) for _ in parents]


@strawberry.type
class House:
    measure_each = resolver_field(measure_each, float)


def get_house() -> House:
    return House()


@strawberry.type
class Query:
    measure = resolver_field(measure, float)
    house: House = strawberry.field(resolver=get_house)


INVALID = [
    ([], None, "rooms", "must hold 1 to 2 rooms, not 0"),
    ([{"widthFeet": 3.0}], "abcdef", "name", "must have at most 5 characters, not 6"),
    (
        [{"widthFeet": 3.0}, {"widthFeet": 0.0}],
        None,
        "rooms[1].widthFeet",
        "must be from 1 to 100, not 0.0",
    ),
    ([{"widthFeet": 11.0}], None, "rooms[0].widthFeet", "must not exceed lengthFeet"),
]


@pytest.mark.parametrize(("rooms", "name", "path", "message"), INVALID)
@pytest.mark.parametrize("is_compiled", [True, False], ids=["compiled", "interpreted"])
@pytest.mark.parametrize(
    "text",
    [
        "query ($rooms: [Room!]!, $name: String) { measure(rooms: $rooms, name: $name) }",
        "query ($rooms: [Room!]!, $name: String) {"
        " house { measureEach(rooms: $rooms, name: $name) } }",
    ],
)
async def test_a_field_checks_its_arguments_however_it_is_executed(
    text: str, is_compiled: bool, rooms: list[Any], name: str | None, path: str, message: str
) -> None:
    schema = strawberry.Schema(Query)._schema
    executor = Executor(schema, compile_queries=is_compiled)
    operation = executor.prepare(text)
    variables = {"rooms": copy.deepcopy(rooms), "name": name}
    context = Context(Caller("key", AssetScope(None)), None)  # type: ignore[arg-type]
    result = await executor.run(operation, variables, context)
    (error,) = result.errors
    assert error.extensions == {"code": "INVALID_INPUT", "fields": {path: [message]}}


def test_all_errors_are_found_one_at_each_place() -> None:
    rooms = [{"widthFeet": 0.0}, {"widthFeet": 300.0, "lengthFeet": 201.0}]
    errors = FieldChecks(measure).find_errors({"rooms": rooms, "title": "abcdef"})
    assert errors == [
        ("rooms[0].widthFeet", "must be from 1 to 100, not 0.0"),
        ("rooms[1].widthFeet", "must not exceed lengthFeet"),
        ("rooms[1].lengthFeet", "must be from 1 to 200, not 201.0"),
        ("name", "must have at most 5 characters, not 6"),
    ]
    assert FieldChecks(measure).find_errors({"rooms": rooms * 2, "title": None}) == [
        ("rooms", "must hold 1 to 2 rooms, not 4")
    ]


async def test_valid_arguments_reach_the_resolver() -> None:
    assert await check_inputs(measure)(None, rooms=[Room(width_feet=3.0)]) == 3.0


async def test_a_checked_batch_resolver_is_still_one() -> None:
    checked = check_inputs(measure_each)
    with pytest.raises(InvalidInputError, match="rooms: must hold 1 to 2 rooms"):
        await checked(None, None, rooms=[])
