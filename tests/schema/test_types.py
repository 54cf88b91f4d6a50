"""The types of records, derived from what resolvers return, with every field and enum they show."""

import asyncio
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

import msgspec
import pytest
import strawberry
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    get_named_type,
)
from msgspec import Struct
from strawberry.schema.schema_converter import GraphQLCoreConverter

from resolvers.distances import Avoidable
from resolvers.drawings.shapes import PATH_BY_KIND
from resolvers.request.caller import PERMISSIONS, Caller
from resolvers.request.context import Context
from resolvers.request.errors import FlagRequiredError, PermissionRequiredError
from resolvers.request.kinds import name_word
from routing.costing import TravelMode
from routing.plan import ConnectorKind, SpaceKind
from schema.definitions import Requirement
from schema.errors import explain_enums
from schema.execution import Executor, InvalidOperationError
from schema.fields import output_type, resolver_field
from schema.root import GRAPHQL_SCHEMA
from storage import catalog
from storage.administration import audit
from storage.administration.api_keys import ApiKey
from storage.catalog import RECORD_TYPES
from storage.records.kinds import Record
from storage.records.visibility import ALL_ASSETS
from tests.fixtures import SEEN, UNIT_IDS
from tests.resolvers.directory import Directory

RECORDS: dict[str, Any] = {"ApiKey": ApiKey} | {
    name: record
    for name, record in vars(catalog).items()
    if isinstance(record, type) and issubclass(record, Record)
    if record.__module__ == catalog.__name__
}
SHOWN_OTHERWISE = {
    "LevelTag.map_id": "a level tag is only reached from its map",
    "Map.source": "the digest of a file: `parsed` and `url` show what is in it",
    "Unit.map_ids": "`maps` lists them, and every map of the asset for None",
}
"""Fields of records that have no field of their own in GraphQL."""
OTHER_NAMES = {"LocationFloor.id": "floorId"}


def fields_of(name: str) -> dict[str, GraphQLField]:
    type = GRAPHQL_SCHEMA.type_map[name]
    assert isinstance(type, GraphQLObjectType)
    fields: dict[str, GraphQLField] = type.fields
    return fields


def is_resolved(field: GraphQLField) -> bool:
    """Whether a resolver answers the field, and not the record itself."""
    definition = field.extensions[GraphQLCoreConverter.DEFINITION_BACKREF]
    return definition.base_resolver is not None


FIELDS = [
    (name, field)
    for name, record in RECORDS.items()
    for field in msgspec.structs.fields(record)
    if f"{name}.{field.name}" not in SHOWN_OTHERWISE
]


def graphql_name(record: str, field: str) -> str:
    first, *others = field.split("_")
    camel_case = first + "".join(word.capitalize() for word in others)
    return OTHER_NAMES.get(f"{record}.{field}", camel_case)


@pytest.mark.parametrize(
    ("record", "field"), FIELDS, ids=[f"{name}.{field.name}" for name, field in FIELDS]
)
def test_a_field_of_a_record_is_a_field_of_its_type(
    record: str, field: msgspec.structs.FieldInfo
) -> None:
    shown = fields_of(record)[graphql_name(record, field.name)]
    can_be_none = get_origin(field.type) in (Union, UnionType) and NoneType in get_args(field.type)
    assert isinstance(shown.type, GraphQLNonNull) is not can_be_none
    is_id = field.name == "id" or field.name.endswith(("_id", "_ids"))
    assert (get_named_type(shown.type).name == "ID") is (
        is_id or (record, field.name) == ("LevelTagValue", "value")
    )
    assert (get_named_type(shown.type).name == "DateTime") is field.name.endswith("_at")


@pytest.mark.parametrize("name", RECORDS)
def test_what_a_record_does_not_have_a_resolver_finds(name: str) -> None:
    own = {graphql_name(name, field.name) for field in msgspec.structs.fields(RECORDS[name])}
    others = {shown for shown, field in fields_of(name).items() if not is_resolved(field)}
    assert others <= own


PAGES = [name for name in GRAPHQL_SCHEMA.type_map if name.endswith("Page")]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_named_for_its_records_and_never_holds_null(name: str) -> None:
    page = fields_of(name)
    assert [*page] == ["paging", "data", "edges", "pageInfo", "totalCount"]
    assert str(page["data"].type) == f"[{name.removesuffix('Page')}!]!"
    assert str(page["paging"].type) == "Paging!"
    assert str(page["edges"].type) == f"[{name.removesuffix('Page')}Edge!]!"
    assert str(page["pageInfo"].type) == "PageInfo!"
    assert str(page["totalCount"].type) == "Int"


CONNECTION = """query ($first: Int, $after: String) {
    units(first: $first, after: $after) {
        totalCount
        edges { cursor node { id } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
}"""


async def test_a_loop_that_passes_only_the_end_cursor_ends(directory: Directory) -> None:
    found: list[str] = []
    after, first = None, 1
    while True:
        page = (await directory.read(CONNECTION, [SEEN], first=first, after=after))["units"]
        info = page["pageInfo"]
        assert info["hasPreviousPage"] is (after is not None)
        assert info["endCursor"] == page["edges"][-1]["cursor"]
        assert page["totalCount"] == len(UNIT_IDS)
        found += [edge["node"]["id"] for edge in page["edges"]]
        if not info["hasNextPage"]:
            break
        after, first = info["endCursor"], first + 1  # sizes may differ
    assert found == UNIT_IDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<svg/>", b"<svg/>"),
        ("<svg>\u00e9</svg>", "<svg>\u00e9</svg>".encode()),
        ("<?xml version='1.0' encoding='latin-1' standalone='no'?><svg/>",
         b"<?xml version='1.0' standalone='no'?><svg/>"),
        ('\ufeff<?xml version="1.0" encoding="utf-16"?>',
         '\ufeff<?xml version="1.0"?>'.encode()),
        ('<svg encoding="x"/>', b'<svg encoding="x"/>'),
        (b'<?xml version="1.0" encoding="latin-1"?>', b'<?xml version="1.0" encoding="latin-1"?>'),
    ],
)  # fmt: skip
def test_text_is_encoded_as_utf8_and_bytes_stay_as_they_were_sent(
    text: str | bytes, expected: bytes
) -> None:
    assert _svg_document().coerce_input_value(text) == expected


def test_a_drawing_must_be_text() -> None:
    with pytest.raises(ValueError, match="must be the text of an SVG document"):
        _svg_document().coerce_input_value(1)


def _svg_document() -> GraphQLScalarType:
    scalar = GRAPHQL_SCHEMA.type_map["SvgDocument"]
    assert isinstance(scalar, GraphQLScalarType)
    return scalar


class Step(Struct, frozen=True):
    """One step of a walk."""

    floor_id: str
    connector_id: str | None
    feet: Annotated[float, "How long it is."]


class Walk(NamedTuple):
    """A walk."""

    name: str
    steps: list[Step]


def find_walk(name: str) -> Walk:
    """A walk by its name."""
    return Walk(name, [Step("lower", None, 2.5)])


SDL = '''type Query {
  """A walk by its name."""
  walk(name: String!): Walk
}

"""One step of a walk."""
type Step {
  floorId: ID!
  connectorId: ID

  """How long it is."""
  feet: Float!
}

"""A walk."""
type Walk {
  name: String!
  steps: [Step!]!
}'''


@strawberry.type
class Query:
    walk = resolver_field(find_walk, output_type(Walk))


SCHEMA = strawberry.Schema(query=Query)


def test_a_result_type_becomes_a_graphql_type_with_its_texts_and_ids() -> None:
    assert SCHEMA.as_str() == SDL


def test_results_are_resolved_without_conversion() -> None:
    result = SCHEMA.execute_sync('{ walk(name: "home") { name steps { floorId feet } } }')
    assert result.data == {"walk": {"name": "home", "steps": [{"floorId": "lower", "feet": 2.5}]}}


def test_a_result_type_has_one_graphql_type() -> None:
    assert output_type(Step) is output_type(Step)


BOTH = Requirement(flag="beta", permission="units.write")


def caller(*, flags: tuple[str, ...] = (), permissions: tuple[str, ...] = ()) -> Caller:
    return Caller("key", ALL_ASSETS, frozenset(permissions), frozenset(flags))


def test_a_missing_flag_is_reported_before_a_missing_permission() -> None:
    with pytest.raises(FlagRequiredError, match="beta"):
        BOTH.check(caller())
    with pytest.raises(PermissionRequiredError, match=r"units\.write"):
        BOTH.check(caller(flags=("beta",)))
    BOTH.check(caller(flags=("beta",), permissions=("units.write",)))


@pytest.mark.parametrize("flags", [(), ("beta",)])
@pytest.mark.parametrize("permissions", [(), ("units.write",)])
def test_a_requirement_is_met_if_its_check_passes(
    flags: tuple[str, ...], permissions: tuple[str, ...]
) -> None:
    assert BOTH.is_met(caller(flags=flags, permissions=permissions)) == bool(flags and permissions)


ENUMS = {
    name: type
    for name, type in GRAPHQL_SCHEMA.type_map.items()
    if isinstance(type, GraphQLEnumType) and not name.startswith("__")
}


@strawberry.input
class Options:
    mode: TravelMode | None = TravelMode.FOOT


@strawberry.type
class EnumQuery:
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
ENUM_SCHEMA = strawberry.Schema(EnumQuery)._schema
explain_enums(ENUM_SCHEMA)


class Answer(NamedTuple):
    data: Any
    errors: list[str]


def ask(text: str, **variables: Any) -> Answer:
    """Run an operation compiled and interpreted, and return the result, which is the same."""
    answers = []
    for is_compiled in (True, False):
        executor = Executor(ENUM_SCHEMA, compile_queries=is_compiled)
        operation = asyncio.run(executor.load_client_operation(text, None, variables))
        for _ in range(2):  # without generated code, then with it
            operation = asyncio.run(executor.load_client_operation(text, None, variables))
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
