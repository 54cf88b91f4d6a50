"""The fields and arguments of an operation: fragments are flattened, values coerced."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from graphql import (
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLInputType,
    OperationDefinitionNode,
    Undefined,
    build_schema,
    get_variable_values,
    is_input_type,
    parse,
    parse_type,
    type_from_ast,
)
from graphql.utilities import coerce_input_value
from hypothesis import given
from hypothesis import strategies as st

from resolvers.distances import CostingOptions, PedestrianOptions, TravelMode, WaypointInput
from resolvers.request.listing import MAX_JOINED_RECORDS, ListedKind
from schema.compiler import coercion, selection
from schema.compiler.coercion import (
    MAX_EXACT_INTEGER,
    FallbackNeededError,
    InvalidVariablesError,
    VariableCoercer,
    build_arguments,
    build_coercion,
    convert,
)
from schema.compiler.plan import RunInfo, plan_levels
from schema.compiler.selection import (
    FieldCollector,
    SelectedField,
    Selection,
    UnsupportedQueryError,
    find_document_lists,
    fragments_by_name,
)
from schema.root import GRAPHQL_SCHEMA
from storage.catalog import UNITS
from storage.records.paging import Order
from tests.fixtures import HIDDEN, HIDDEN_MAP, MAP, SEEN
from tests.resolvers.directory import Directory, open_directory
from tests.schema.executor_comparison import CALLERS, STORES, ExecutorComparison
from tests.schema.operations import DrawnOperation


def collect(text: str, **conditions: bool) -> Selection:
    document = parse(text)
    node = document.definitions[0]
    assert isinstance(node, OperationDefinitionNode)
    assert GRAPHQL_SCHEMA.query_type is not None
    collector = FieldCollector(GRAPHQL_SCHEMA, fragments_by_name(document), conditions)
    return collector.collect_fields([node.selection_set], GRAPHQL_SCHEMA.query_type)


def tree(fields: Selection) -> dict[str, Any]:
    """Return response keys, with those inside of them."""
    inside: dict[str, Any] = {}
    for field in fields:
        if isinstance(field, SelectedField):
            [*selections] = field.selections.values()
            inside[field.key] = tree(selections[0]) if selections else {}
        else:
            inside[field.key] = "typename"
    return inside


def test_fields_have_their_response_keys_in_order_of_first_appearance() -> None:
    fields = collect("{ b: units { data { id } } a: assets { data { name } } }")
    assert tree(fields) == {"b": {"data": {"id": {}}}, "a": {"data": {"name": {}}}}
    assert [*tree(fields)] == ["b", "a"]


def test_repeated_fields_are_merged() -> None:
    fields = collect("{ units { data { id } } units { data { name } paging { next } } }")
    assert tree(fields) == {"units": {"data": {"id": {}, "name": {}}, "paging": {"next": {}}}}


def test_fragments_are_flattened() -> None:
    text = """{ unit(id: "u") { ...A ... on Unit { floor { id } } ... on Asset { market } } }
        fragment A on Unit { id ...B } fragment B on Unit { floor { name } }"""
    assert tree(collect(text)) == {"unit": {"id": {}, "floor": {"name": {}, "id": {}}}}


@pytest.mark.parametrize(
    ("condition", "is_included"),
    [
        ("@skip(if: $yes)", False),
        ("@skip(if: $no)", True),
        ("@include(if: $yes)", True),
        ("@include(if: $no)", False),
        ("@include(if: false)", False),
        ("@skip(if: $no) @include(if: $no)", False),
    ],
)
def test_conditions_apply_to_fields_and_fragments(condition: str, is_included: bool) -> None:
    text = "{ assets { paging { next } } %s } fragment A on Query { units { data { id } } }"
    for conditional in (f"units {condition} {{ data {{ id }} }}", f"...A {condition}"):
        fields = collect(text % conditional, yes=True, no=False)
        assert ("units" in tree(fields)) is is_included


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{ __schema { queryType { name } } }", "introspection by __schema"),
        ("{ units { data { id @skip(if: 1) } } }", "neither a variable nor a boolean"),
    ],
)
def test_what_only_graphql_core_supports_is_an_error(text: str, message: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=message):
        collect(text)


def test_fragments_may_not_multiply_fields_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MAX_FIELDS", 6)
    text = "{ a: units { data { ...A } } b: units { data { ...A } } } fragment A on Unit { id }"
    assert tree(collect(text))
    with pytest.raises(UnsupportedQueryError, match="more than 6 fields"):
        collect(text.replace("{ id }", "{ id name }"))


ID = "{ data { id } }"


def find_page(text: str) -> Any:
    """Return the page that is read with the record of a query, or None."""
    root = plan_levels(collect(text), GRAPHQL_SCHEMA).fields[0].resolver
    assert root is not None
    listed = root.joined_list
    if listed is None:
        return None
    context: Any = SimpleNamespace(with_first_page=lambda page: page)
    run = RunInfo(context, {})
    joined = listed.read_with_record(run)
    return None if joined is run else joined.context


@pytest.mark.parametrize(
    ("text", "kind", "order", "size"),
    [
        (f"{{ asset(id: 1) {{ floors {ID} }} }}", "floors", Order("sort"), 100),
        (f"{{ asset(id: 1) {{ name units(first: 7) {ID} }} }}", "units", Order(), 7),
        (f"{{ floor(id: 1) {{ units(orderBy: name_desc, page: 1) {ID} __typename }} }}", "units",
         Order("name", True), 100),
        (f"{{ map(id: 1) {{ backgrounds(perPage: 100) {ID} }} }}", "backgrounds", Order(), 100),
        ("{ map(id: 1) { levelTags(perPage: 9000) { data { key } } } }", "level_tags", Order(),
         9000),
        ("{ floor(id: 1) { units { data { asset { name } } } } }", "units", Order(), 100),
    ],
)  # fmt: skip
def test_a_record_and_its_only_list_are_read_together(
    text: str, kind: str, order: Order, size: int
) -> None:
    page = find_page(text)
    assert page.relation.kind.name == kind
    assert (page.request.order, page.request.per_page) == (order, size)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{ asset(id: 1) { id } }", "there is no list"),
        (f"{{ asset(id: 1) {{ floors {ID} units {ID} }} }}", "there are two"),
        (f"{{ a: asset(id: 1) {{ floors {ID} }} b: asset(id: 2) {{ floors {ID} }} }}",
         "all assets are read with one command, and all floors with another"),
        (f"{{ assets {{ data {{ floors {ID} }} }} }}", "there are many assets"),
        (f'{{ node(id: "x") {{ ... on Asset {{ floors {ID} }} }} }}', "it may be of any type"),
        ("{ asset(id: 1) { floors { totalCount } } }", "the list is counted"),
        (f"{{ asset(id: 1) {{ units(page: 2) {ID} }} }}", "a bookmark may save the skipping"),
        (f'{{ asset(id: 1) {{ units(after: "x") {ID} }} }}', "two ranges may be read"),
        (f"{{ asset(id: 1) {{ units(ids: [1]) {ID} }} }}", "there is a filter"),
        (f'{{ asset(id: 1) {{ units(search: "a") {ID} }} }}', "words are counted first"),
        (f"{{ asset(id: 1) {{ units(perPage: {MAX_JOINED_RECORDS + 1}) {ID} }} }}",
         "MongoDB reads long lists faster alone"),
        (f"{{ asset(id: 1) {{ units(perPage: 0) {ID} }} }}", "it is an error"),
        (f"{{ map(id: 1) {{ units {ID} }} }}", "the condition needs the asset of the map"),
        (f"{{ map(id: 1) {{ locations {ID} }} }}", "it needs a flag"),
    ],
)  # fmt: skip
def test_everything_else_is_read_one_after_the_other(text: str, reason: str) -> None:
    assert find_page(text) is None, reason


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("caller", CALLERS[:2])
def test_answers_are_those_of_separate_reads(
    comparison: ExecutorComparison, caller: str, store: str
) -> None:
    """Also of records that are damaged, hidden, or absent, and of lists that are."""
    fields = "{ paging { next } data { id name createdAt } }"
    texts = [
        f'{{ asset(id: "{asset}") {{ id market {name}(perPage: 2) {fields} }} }}'
        for asset in (SEEN, HIDDEN, "none")
        for name in ("floors", "units", "maps")
    ]
    texts += [
        f'query ($a: ID = "unit-1") {{ asset(id: "{SEEN}") {{ units(ids: [$a]) {ID} }} }}',
        f'{{ map(id: "{MAP}") {{ style levelTags {{ data {{ key values {{ name }} }} }} }} }}',
        f'{{ map(id: "{HIDDEN_MAP}") {{ backgrounds {{ edges {{ node {{ id }} }} }} }} }}',
        '{ floor(id: "n-2") { sort units { data { id name floor { sort } } } } }',
    ]
    for text in texts:
        comparison.check(DrawnOperation(text, {}), caller, store)
    assert comparison.answered > comparison.invalid == 0


FLOORS, TAGS = "floors { floorId }", "tags { key value }"


@pytest.mark.parametrize(
    "text",
    [
        "{ units { data { id name createdAt } paging { next } totalCount } }",
        "{ units { data { id } again: data { name } } }",
        "{ asset(id: 1) { units(orderBy: NAME) { data { __typename id } } } }",
        f"{{ map(id: 1) {{ locations {{ data {{ {FLOORS} {TAGS} }} }} }} }}",
        "{ map(id: 1) { locations { data { id name } } } }",
    ],
)
def test_lists_of_plain_fields_are_read_as_documents(text: str) -> None:
    assert find_document_lists(collect(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{ units { data { id floor { name } } } }", "the floor needs the record of its unit"),
        ("{ maps { data { id url } } }", "a resolver makes the address from the record"),
        ("{ units { edges { node { id } } } }", "an edge has a record and a cursor"),
        ("{ units { paging { next } } }", "no record is shown"),
        ("{ units { data { __typename } } }", "reading a record tells whether it is damaged"),
        ("{ map(id: 1) { locations { data { tags { key } } } } }", "values may be damaged"),
        ("{ units { data { id asset { units { data { id } } } } } }", "both may be the same list"),
        ("{ asset(id: 1) { floors { data { label } } } }", "an empty label is that of the name"),
        ("{ unit(id: 1) { id } }", "it is no list"),
    ],
)
def test_other_lists_are_read_as_records(text: str, reason: str) -> None:
    assert not find_document_lists(collect(text)), reason


async def test_rows_have_the_fields_in_the_order_of_the_selection(directory: Directory) -> None:
    query = "query ($id: ID!) { asset(id: $id) { units { data { name __typename i: id name } } } }"
    first = (await directory.read(query, id=SEEN))["asset"]["units"]["data"][0]
    assert [*first] == ["name", "__typename", "i"]
    assert first["__typename"] == "Unit"


@pytest.mark.parametrize(
    "text",
    [
        "{ units { data { name floorId } } }",
        "{ units { data { name } } again: units { data { floorId } } }",
    ],
)
def test_only_what_is_selected_is_read(text: str) -> None:
    lists = find_document_lists(collect(text)).values()
    assert {each.fields for each in lists} == {frozenset({"_id", "name", "floor_id"})}


@pytest.fixture
async def units(mongo_url: str, database_name: str) -> AsyncIterator[Directory]:
    """Two units of an earlier release, which had no `map_ids`."""
    async with open_directory(mongo_url, database_name) as directory:
        stamps = {"created_at": "", "updated_at": ""}
        await directory.store.database["units"].insert_many(
            [{"_id": id, "asset_id": "a", "floor_id": "f", "name": id, **stamps} for id in "uv"]
        )
        yield directory


async def test_a_document_of_an_earlier_release_has_defaults(units: Directory) -> None:
    rows = (await units.read("{ units { data { id name } } }"))["units"]["data"]
    assert rows == [{"id": "u", "name": "u"}, {"id": "v", "name": "v"}]
    assert units.collections_read == ["units"]


@pytest.mark.parametrize("damage", [{"$unset": {"name": ""}}, {"$set": {"name": [1]}}])
async def test_a_damaged_record_is_an_error_of_its_own(
    units: Directory, damage: dict[str, Any]
) -> None:
    await units.store.database["units"].update_one(
        {"_id": "v"}, damage, bypass_document_validation=True
    )
    result = await units.run("{ units { data { id name } } }")
    assert [error.path[:3] for error in result.errors if error.path] == [["units", "data", 1]]
    assert units.collections_read == ["units"]


async def test_documents_of_several_fields_are_decoded_for_each_of_them() -> None:
    documents = [{"_id": f"{number}", "name": "a", "floor_id": "f"} for number in range(300)]
    listed = ListedKind(UNITS)
    [[named], [placed, other]] = await asyncio.gather(
        listed.decode([documents], {"_id", "name"}),
        listed.decode([documents, None], {"_id", "floor_id"}),
    )
    assert all(isinstance(each, dict) for each in documents)
    assert {(unit.id, unit.name) for unit in named} == {(d["_id"], "a") for d in documents}
    assert {unit.floor_id for unit in placed} == {"f"}
    assert other is None


async def test_an_error_elsewhere_reads_no_list_again(units: Directory) -> None:
    query = '{ units { data { id } totalCount } maps(after: "x") { data { id } } }'
    result = await units.run(query)
    listed = {"data": [{"id": "u"}, {"id": "v"}], "totalCount": 2}
    assert result.data == {"units": listed, "maps": None}
    assert [error.path for error in result.errors] == [["maps"]]
    assert units.collections_read == ["units", "units"]  # the list, and its count


WAYPOINT = {"id": "gym", "name": None, "x": 1.5, "y": 2, "floorId": "lower"}
TYPES = [
    "ID",
    "String!",
    "Boolean",
    "Int",
    "Float",
    "Float!",
    "[ID!]",
    "[[Int]!]!",
    "WaypointInput",
    "[WaypointInput!]!",
    "CostingOptions",
    "AssignmentInput!",
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(
        [2**31, -(2**31), MAX_EXACT_INTEGER, MAX_EXACT_INTEGER + 1, 10**400, Undefined]
    ),
    st.floats(),
    st.text(max_size=3),
)
NAMES = st.sampled_from(
    ["id", "name", "x", "y", "floorId", "floor_id", "pedestrian", "mode", "groupId", "unitId"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner),
        st.dictionaries(NAMES, inner, max_size=5),
        st.fixed_dictionaries({}, optional={"id": inner, "x": inner, "pedestrian": inner}),
    ),
    max_leaves=12,
)


def declared(text: str) -> GraphQLInputType:
    found = type_from_ast(GRAPHQL_SCHEMA, parse_type(text))
    assert is_input_type(found)
    return found


def coerce_fast(type: GraphQLInputType, value: Any) -> Any:
    return build_coercion({"value": type})({"value": value})["value"]


@given(text=st.sampled_from(TYPES), value=VALUES)
def test_fast_coercion_equals_that_of_graphql_core(text: str, value: Any) -> None:
    type = declared(text)
    try:
        coerced = coerce_fast(type, value)
    except FallbackNeededError:
        return
    # The same to the class and to the order of its members.
    assert repr(coerced) == repr(convert(coerce_input_value(value, type), type))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[WaypointInput!]!", [WAYPOINT, {}, {"id": "pool"}]),
        ("CostingOptions", None),
        ("CostingOptions", {"pedestrian": None}),
        ("CostingOptions!", {"pedestrian": {}}),
        ("[[Int]!]!", [[1, None], []]),
        ("Float", 7),
    ],
)
def test_plain_values_are_coerced(text: str, value: Any) -> None:
    type = declared(text)
    assert repr(coerce_fast(type, value)) == repr(convert(coerce_input_value(value, type), type))


def test_resolvers_get_their_inputs() -> None:
    type = declared("[WaypointInput!]!")
    made = coerce_fast(type, [WAYPOINT, {}])
    gym = WaypointInput(id="gym", name=None, x=1.5, y=2.0, floor_id="lower")  # type: ignore[arg-type]
    assert made == [gym, WaypointInput()]
    options = declared("CostingOptions")
    given = {"pedestrian": {"mode": "wheelchair"}}
    on_foot = CostingOptions(pedestrian=PedestrianOptions(mode=TravelMode.FOOT))
    assert coerce_fast(options, {"pedestrian": {}}) == on_foot
    rolling = CostingOptions(pedestrian=PedestrianOptions(mode=TravelMode.WHEELCHAIR))
    assert coerce_fast(options, given) == rolling
    assert coerce_fast(options, None) is None


@pytest.mark.parametrize(
    "fields",
    [
        "inner: Odd",  # within itself
        "when: Date = null",
        "names: [String!] = []",  # a default that could be changed
        "x: Float",  # without a default it may be absent
    ],
)
def test_other_types_are_not_covered(fields: str) -> None:
    schema = build_schema(f"scalar Date input Odd {{ {fields} }} type Query {{ a(b: Odd): Int }}")
    type = schema.type_map["Odd"]
    assert isinstance(type, GraphQLInputObjectType)
    with pytest.raises(UnsupportedQueryError):
        build_coercion({"value": type})


def operation_of(text: str) -> OperationDefinitionNode:
    node = parse(text).definitions[0]
    assert isinstance(node, OperationDefinitionNode)
    return node


def coerce(declared: str, **inputs: Any) -> dict[str, Any]:
    operation = operation_of(f"query ({declared}) {{ __typename }}")
    return VariableCoercer(GRAPHQL_SCHEMA, operation).coerce(inputs)


def arguments(field: str, declared: str = "", **inputs: Any) -> dict[str, Any] | None:
    """Return what the resolver of a field of Query is called with."""
    operation = operation_of(f"query {f'({declared})' if declared else ''} {{ {field} }}")
    assert GRAPHQL_SCHEMA.query_type is not None
    collector = FieldCollector(GRAPHQL_SCHEMA, {}, {})
    fields = collector.collect_fields([operation.selection_set], GRAPHQL_SCHEMA.query_type)
    (selected,) = fields
    while isinstance(selected, SelectedField) and selected.key == "map":
        ((selected,),) = selected.selections.values()
    assert isinstance(selected, SelectedField)
    build = build_arguments(selected)
    return build and build(VariableCoercer(GRAPHQL_SCHEMA, operation).coerce(inputs))


def test_absent_and_null_variables_differ() -> None:
    assert coerce("$n: Int") == {}
    assert coerce("$n: Int", n=None) == {"n": None}
    assert coerce("$n: Int = 3") == {"n": 3}
    assert coerce("$n: Int = 3", n=None) == {"n": None}


@pytest.mark.parametrize(
    "declared",
    ["$n: Int! = 3", "$b: Boolean = false", "$s: String = null", "$o: UnitOrder = name"],
)
def test_an_absent_variable_has_its_default_as_with_graphql_core(declared: str) -> None:
    nodes = operation_of(f"query ({declared}) {{ __typename }}").variable_definitions
    by_graphql_core = get_variable_values(GRAPHQL_SCHEMA, nodes or (), {})
    assert not isinstance(by_graphql_core, list)
    assert coerce(declared) == by_graphql_core.coerced


@pytest.mark.parametrize("inputs", [{}, {"n": None}, {"n": "one"}, {"n": 2**31}])
def test_errors_of_variables_are_those_of_graphql_core(inputs: dict[str, Any]) -> None:
    with pytest.raises(InvalidVariablesError) as caught:
        coerce("$n: Int!", **inputs)
    [error] = caught.value.errors
    assert "$n" in error.message


FILTERS = {"ids": None, "search": None, "updated_since": None}
DEFAULTS = {"page": None, "per_page": None, "after": None, "first": None} | FILTERS
"""Of a list without filters."""


def test_an_absent_variable_leaves_the_default() -> None:
    field, declared = "assets(perPage: $n) { data { id } }", "$n: Int"
    assert arguments(field, declared) == DEFAULTS
    assert (arguments(field, declared, n=None) or {})["per_page"] is None
    assert (arguments(field, declared, n=7) or {})["per_page"] == 7


def test_a_required_argument_needs_its_variable() -> None:
    assert arguments("unit(id: $id) { id }", "$id: ID!", id="u") == {"id": "u"}
    with pytest.raises(GraphQLError, match="Argument"):
        arguments("unit(id: $id) { id }", '$id: ID = "u"', id=None)


@pytest.mark.parametrize(
    ("start", "declared", "inputs"),
    [
        ('{id: "a"}', "", {}),
        ("$from", "$from: WaypointInput!", {"from": {"id": "a"}}),
        ("{id: $id}", "$id: ID!", {"id": "a"}),
    ],
)
def test_input_objects_become_their_classes(
    start: str, declared: str, inputs: dict[str, Any]
) -> None:
    field = f'map(id: "m") {{ nearest(from: {start}) {{ __typename }} }}'
    built = arguments(field, declared, **inputs)
    assert built is not None
    assert WaypointInput(id="a") in built.values()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "declared", "inputs"),
    [
        (
            'map(id: "m") { distanceMatrix(sources: $s, targets: $s) { distanceMethod } }',
            "$s: [WaypointInput!]!",
            {"s": [{"id": "a"}]},
        ),
        ("units(perPage: $n) { data { id } }", "$n: Int", {"n": 2}),
    ],
)
def test_absent_lists_and_objects_are_built_without_graphql_core(
    field: str, declared: str, inputs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(coercion, "_build_converted_arguments")
    built = arguments(field, declared, **inputs)
    assert built is not None
    assert None in built.values()


@pytest.mark.parametrize("id", ["a", 7])  # the second is coerced by graphql-core
def test_variables_inside_a_list_become_their_classes(id: Any) -> None:
    matrix = "distanceMatrix(sources: [$from, {id: $id}], targets: []) { distanceMethod }"
    declared = "$from: WaypointInput!, $id: ID!"
    built = arguments(f'map(id: "m") {{ {matrix} }}', declared, **{"from": {"id": id}, "id": id})
    waypoint = WaypointInput(id=str(id))  # type: ignore[arg-type]
    assert (built or {})["sources"] == [waypoint, waypoint]
