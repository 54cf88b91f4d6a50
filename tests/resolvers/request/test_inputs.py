"""Inputs are checked alike by rules, JSON schemas and both executors; errors have codes."""

import asyncio
import copy
import json
import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Annotated, Any

import jsonschema_rs
import pytest
import strawberry
from hypothesis import example, given
from hypothesis import strategies as st

from resolvers.locations import LocationTags
from resolvers.maps import MapTags
from resolvers.request.caller import Caller
from resolvers.request.context import Context, Info
from resolvers.request.errors import (
    FlagRequiredError,
    InvalidInputError,
    LimitExceededError,
    MalformedDocumentError,
    NotFoundError,
    PermissionRequiredError,
    RequestError,
)
from resolvers.request.inputs import (
    ID,
    MAX_PER_PAGE,
    FieldChecks,
    InputViolation,
    Items,
    JsonSchema,
    Length,
    OneOf,
    PageArguments,
    Pattern,
    Range,
    Rule,
    Syntax,
    argument,
    batch_resolver,
    check_inputs,
    find_cursor_page_size,
    joint_rules,
    read_annotation,
    ruled_field,
)
from resolvers.request.threads import FairThreads, owner
from schema.execution import Executor
from schema.fields import resolver_field
from storage.records.filters import MAX_TERMS
from storage.records.paging import PageCursor
from storage.records.visibility import AssetScope


def is_described(rule: Rule, value: Any) -> bool:
    """Whether a value is valid under the JSON schema of a rule."""
    return _build_validator(json.dumps(rule.json_schema())).is_valid(value)


@cache
def _build_validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads(schema))


TEXTS = st.text("ab1-\x00é", max_size=6)


@given(TEXTS)
@pytest.mark.parametrize(
    "rule",
    [ID, Length(2, 4), Length(0, 3), OneOf("a", "ab"), Pattern("[a-z][a-z0-9-]{1,3}", "a key")],
    ids=lambda rule: type(rule).__name__,
)
def test_a_rule_of_texts_is_its_json_schema(rule: Rule, text: str) -> None:
    assert (rule.check(text) is None) == is_described(rule, text)


@given(st.integers(-3, 110) | st.floats(allow_nan=False, allow_infinity=False))
def test_a_range_is_its_json_schema(number: float) -> None:
    assert (Range(1, 100).check(number) is None) == is_described(Range(1, 100), number)


@given(st.lists(st.integers(), max_size=5))
def test_a_number_of_items_is_its_json_schema(items: list[int]) -> None:
    assert (Items(1, 3).check(items) is None) == is_described(Items(1, 3), items)


@pytest.mark.parametrize("argument", [MapTags, LocationTags], ids=["maps", "locations"])
@given(st.text(st.sampled_from("ab:=\\-, \t\n\x1c\x85\xa0\0é"), max_size=12) | st.text(max_size=8))
@example("ils,mls")
@example(" ils , mls ")
@example("svc:amenity==yes,-amenity")
@example("--a")
@example(r"\--a,\=")
@example("a==b==c")
@example("")
@example(",".join("a" * MAX_TERMS))
@example(",".join("a" * (MAX_TERMS + 1)))
def test_tags_are_their_json_schema(argument: Any, text: str) -> None:
    """Lists of tags and filters by tags have patterns, which clients may check before they ask."""
    rules = read_annotation(argument)[1].rules
    assert all(is_described(rule, text) for rule in rules) == (
        not any(rule.check(text) for rule in rules)
    )


@pytest.mark.parametrize(
    ("rule", "value", "message"),
    [
        (Range(-1e9, 1e9), 2e9, "must be from -1000000000 to 1000000000, not 2000000000.0"),
        (Range(0, 1), float("nan"), "must be from 0 to 1, not nan"),
        (Length(1, 3), "", "must have 1 to 3 characters, not 0"),
        (Length(3, 3), "abcd", "must have 3 characters, not 4"),
        (Length(0, 3), "abcd", "must have at most 3 characters, not 4"),
        (Items(1, 50, "waypoints"), [], "must hold 1 to 50 waypoints, not 0"),
        (OneOf("pedestrian"), "car", "must be pedestrian, not 'car'"),
        (OneOf("a", "b", "c"), "x" * 99, f"must be a, b or c, not {'x' * 50!r}"),
        (Pattern("[a-z]+", "lowercase letters"), "A", "must be lowercase letters, not 'A'"),
        (ID, "u" * 256, "must have 1 to 255 characters, not 256"),
        (ID, "a\x00", "must not contain NUL or a lone surrogate"),
        (ID, "\ud800", "must not contain NUL or a lone surrogate"),
        (ID, "tab\tand newline\n", None),
        (Syntax(int), "x", "invalid literal for int() with base 10: 'x'"),
        (Syntax(int), "7", None),
    ],
)
def test_a_message_says_the_rule_and_the_value(rule: Rule, value: Any, message: str | None) -> None:
    assert rule.check(value) == message


def test_a_page_is_at_most_as_large_as_the_maximum() -> None:
    assert PageArguments(2, MAX_PER_PAGE + 1).parse().per_page == MAX_PER_PAGE
    assert PageArguments(first=MAX_PER_PAGE, max_per_page=100).parse().per_page == 100
    assert PageArguments(max_per_page=50).parse().per_page == 50


@pytest.mark.parametrize(
    ("pages", "argument"),
    [
        (PageArguments(0, 1), "page"),
        (PageArguments(1, 0), "perPage"),
        (PageArguments(1, 1, "!"), "after"),
        (PageArguments(first=0), "first"),
        (PageArguments(1, first=1), "first"),
    ],
)
def test_an_invalid_page_is_reported_under_the_name_of_its_argument(
    pages: PageArguments, argument: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        pages.parse()
    assert [*caught.value.extensions["fields"]] == [argument]


def test_the_page_size_in_a_cursor_is_known_before_the_operation_runs() -> None:
    assert find_cursor_page_size(PageCursor(b"12345678", 2, 77, ("k",)).encode()) == 77
    assert find_cursor_page_size("no cursor") is None


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
    width_feet: float = ruled_field("Of the floor.", Range(1, 100))
    length_feet: float | None = ruled_field("Of the floor.", Range(1, 200), default=10.0)


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


@pytest.mark.parametrize(
    "error",
    [
        InvalidInputError(page="must be at least 1", after="is no cursor"),
        FlagRequiredError("references"),
        PermissionRequiredError("service.admin"),
        NotFoundError(),
        LimitExceededError("too deep", limit="depth", maximum=5),
        MalformedDocumentError("not well-formed", line=1, column=2),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_the_same_in_another_process(error: RequestError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), copy.extensions) == (str(error), error.extensions)
    assert copy.extensions["code"] == error.code


def test_invalid_input_names_every_argument() -> None:
    error = InvalidInputError(page="must be at least 1", after="is no cursor")
    assert str(error) == "page: must be at least 1; after: is no cursor"
    assert error.extensions["fields"] == {
        "page": ["must be at least 1"],
        "after": ["is no cursor"],
    }


VARIABLE: ContextVar[str] = ContextVar("variable")


class Work:
    """Calls on behalf of owners, and the order in which they ran; the first one waits."""

    def __init__(self) -> None:
        self.threads = FairThreads("test", max_threads=1)
        self.ran: list[str] = []
        self.begun, self.may_end = threading.Event(), threading.Event()

    def begin(self, name: str, key_id: str) -> asyncio.Task[None]:
        owner.set(key_id)  # the task copies the context
        return asyncio.create_task(self.threads.run(self._run, name))

    def _run(self, name: str) -> None:
        self.begun.set()
        assert self.may_end.wait(60)
        self.ran.append(name)


@pytest.fixture
def work() -> Work:
    return Work()


async def test_another_key_waits_for_one_call_and_not_for_all(work: Work) -> None:
    first = work.begin("a1", "a")
    await asyncio.to_thread(work.begun.wait, 60)
    calls = [work.begin(name, "a") for name in ("a2", "a3")]
    calls.append(work.begin("b1", "b"))
    await asyncio.sleep(0)
    work.may_end.set()
    await asyncio.gather(first, *calls)
    assert work.ran == ["a1", "b1", "a2", "a3"]
    assert not [*work.threads._turns]


async def test_a_call_that_is_cancelled_while_it_waits_never_runs(work: Work) -> None:
    first = work.begin("a1", "a")
    await asyncio.to_thread(work.begun.wait, 60)
    second, third = work.begin("a2", "a"), work.begin("a3", "a")
    await asyncio.sleep(0)
    second.cancel()
    work.may_end.set()
    await asyncio.gather(first, third)
    assert work.ran == ["a1", "a3"]


async def test_a_call_has_the_context_of_its_caller(work: Work) -> None:
    VARIABLE.set("seen")
    read: Callable[[], str] = VARIABLE.get
    assert await work.threads.run(read) == "seen"
