"""Endpoints from files of operations: what is read from them, and which faults are named."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLField,
    Source,
    parse,
    print_ast,
)

from rest.endpoint_files import (
    FILES,
    FOLDER,
    Endpoint,
    EndpointLoader,
    InvalidEndpointsError,
    read_folder,
)
from rest.endpoint_rules import load_own_endpoints
from rest.openapi import description
from rest.responses import (
    DataForm,
    DocumentForm,
    Form,
    LinkedListForm,
    ListForm,
    NoBodyForm,
    ObjectForm,
    PageForm,
)
from schema.definitions import strawberry_field_of
from schema.query_limits import QueryLimits
from schema.root import GRAPHQL_SCHEMA
from schema.types import MAX_PER_PAGE
from tests.endpoints import ENDPOINTS, find_endpoint

DESCRIBED = Path(__file__).with_name("endpoints.txt")
NOT_IN_REST = {"Map.feetPerUnit"}


def load(*texts: str) -> tuple[Endpoint, ...]:
    """Load files named `0.graphql`, `1.graphql` and so on."""
    sources = [Source(text, f"{number}.graphql") for number, text in enumerate(texts)]
    return load_sources(sources)


def load_sources(sources: Iterable[Source]) -> tuple[Endpoint, ...]:
    loader = EndpointLoader(GRAPHQL_SCHEMA)
    loader.read(sources)
    return loader.finish(is_validated=True)


def load_one(text: str) -> Endpoint:
    [endpoint] = load(text)
    return endpoint


def faults_of(*texts: str) -> list[str]:
    with pytest.raises(InvalidEndpointsError) as caught:
        load(*texts)
    assert str(caught.value).splitlines() == [*map(str, caught.value.faults)]
    return [*map(str, caught.value.faults)]


def test_the_folder_is_valid_and_has_no_other_files() -> None:
    assert len(load_sources(read_folder())) == len(ENDPOINTS)
    assert {path.stem for path in FOLDER.iterdir()} == {*FILES}


def test_the_description_has_the_endpoints_that_are_recorded() -> None:
    """`make schema` records them anew."""
    assert describe_endpoints() == DESCRIBED.read_text()


def describe_endpoints() -> str:
    """Return a line for each endpoint, with what clients are generated from."""
    lines = []
    for path, methods in description.build_description(GRAPHQL_SCHEMA)["paths"].items():
        for method, operation in methods.items():
            parameters = [each.get("name", each.get("$ref")) for each in operation["parameters"]]
            bodies = operation.get("requestBody", {}).get("content", {})
            contents = {
                status: [*response.get("content", {})]
                for status, response in operation["responses"].items()
                if status.startswith("2")
            }
            described = (method.upper(), path, operation["operationId"], operation["tags"][0])
            names = " ".join(name.rpartition("/")[2] for name in parameters)
            lines.append(f"{' | '.join(described)} | {names} | {' '.join(bodies)} | {contents}\n")
    return "".join(lines)


def test_rest_shows_all_that_records_hold() -> None:
    shown: dict[str, set[str]] = {}
    for fragment in iter_fragments():
        fields = [each for each in fragment.selection_set.selections if isinstance(each, FieldNode)]
        shown.setdefault(fragment.type_condition.name.value, set()).update(
            each.name.value for each in fields
        )
    missing = {
        f"{name}.{field}"
        for name, fields in shown.items()
        for field, definition in getattr(GRAPHQL_SCHEMA.get_type(name), "fields", {}).items()
        if field not in fields and is_stored(definition)
    }
    assert missing == NOT_IN_REST


def iter_fragments() -> Iterator[FragmentDefinitionNode]:
    for source in read_folder():
        for node in parse(source).definitions:
            if isinstance(node, FragmentDefinitionNode):
                yield node


def is_stored(definition: GraphQLField) -> bool:
    field = strawberry_field_of(definition)
    return field is not None and field.base_resolver is None


def test_whole_lists_ask_for_the_largest_page() -> None:
    texts = [endpoint.document for endpoint in ENDPOINTS]
    sizes = {size for text in texts for size in re.findall(r"perPage:? ?(?:Int = )?(\d+)", text)}
    assert sizes == {str(MAX_PER_PAGE)}


def test_a_document_has_aliases_paging_and_its_fragments_and_none_of_the_directives() -> None:
    units, other = load(
        """query Units($page: Int @parameter(name: "p"))
        @endpoint(path: "/v1/x/units", summary: "List") {
          units(page: $page) { data { ...U floor { shortLabel } } }
        }
        query Unit($unit: ID!)
        @endpoint(path: "/v1/x/units/{unit}", summary: "Get") { unit(id: $unit) { ...U } }""",
        "fragment U on Unit { id assetId own: floorId asset { ...A } }"
        "fragment A on Asset { createdAt }",
    )
    fragments = """
        fragment U on Unit { id asset_id: assetId own: floorId asset { ...A } }
        fragment A on Asset { created_at: createdAt }"""
    paging = "paging { per_page: perPage current_page: currentPage next }"
    expected = f"""query Units($page: Int) {{
        units(page: $page) {{ {paging} data {{ ...U floor {{ short_label: shortLabel }} }} }}
    }} {fragments}"""
    assert print_ast(parse(units.document)) == print_ast(parse(expected))
    expected = f"query Unit($unit: ID!) {{ unit(id: $unit) {{ ...U }} }} {fragments}"
    assert print_ast(parse(other.document)) == print_ast(parse(expected))
    assert units.members == ("id", "asset_id", "own", "asset", "floor")
    assert units.query_names == {"page": "p"}


@pytest.mark.parametrize(
    ("options", "selection", "form", "path"),
    [
        ("", "units { data { id } }", PageForm, ("units",)),
        ("", "assetReferences { data { id } }", PageForm, ("asset_references",)),
        (
            'result: "a.units"',
            'a: asset(id: "x") { units { data { id } } }',
            PageForm,
            ("a", "units"),
        ),
        ("as: LINKED_LIST", "units { data { id } }", LinkedListForm, ("units",)),
        ("as: LIST", "units { data { id } }", ListForm, ("units",)),
        ('result: "units.data"', "units { data { id } }", ListForm, ("units", "data")),
        ("", 'unit(id: "x") { id }', ObjectForm, ("unit",)),
        ("as: DATA", 'unit(id: "x") { id }', DataForm, ("unit",)),
        (
            'as: DATA, result: "unit.floorId"',
            'unit(id: "x") { floorId }',
            DataForm,
            ("unit", "floor_id"),
        ),
        ('result: "map.parsed"', 'map(id: "x") { parsed }', DocumentForm, ("map", "parsed")),
        (
            'result: "map.picture"',
            'map(id: "x") { picture { format } }',
            ObjectForm,
            ("map", "picture"),
        ),
        ("as: NONE", 'unit(id: "x") { id }', NoBodyForm, ("unit",)),
    ],
)
def test_the_form_follows_from_the_type_unless_it_is_said(
    options: str, selection: str, form: type[Form], path: tuple[str, ...]
) -> None:
    text = f'query Q @endpoint(path: "/v1/x/q", summary: "Q" {options}) {{ {selection} }}'
    found = load_one(text).form
    assert (type(found), found.result_path) == (form, path)
    assert (found.media_type == "application/json") == (form is not DocumentForm)


def test_a_result_may_be_in_a_fragment() -> None:
    endpoint = load_one(
        """query Q @endpoint(path: "/v1/x/q", summary: "Q", result: "asset.units") { ...F }
        fragment F on Query { asset(id: "x") { units { data { id } } } }"""
    )
    assert endpoint.form.result_path == ("asset", "units")
    assert "units { paging {" in endpoint.document


def test_variables_that_are_not_in_the_path_are_in_the_query_or_in_the_body() -> None:
    assert find_endpoint("ListAssignments").path_parameters == {"group-id": "groupId"}
    assert find_endpoint("ListLocations").path_parameters == {"unitMapId": "map"}
    assert find_endpoint("ListMapLocations").path_parameters == {"map": "map"}
    assert find_endpoint("GetPicture").body is None
    parsing = find_endpoint("ParseMap").body
    assert parsing is not None and (parsing.variable, parsing.max_bytes) == ("svg", 20 << 20)
    closing = load_one(
        """mutation Close($map: ID!, $doors: [ID!])
        @endpoint(method: PUT, path: "/v1/x/maps/{map}", summary: "Close", as: NONE) {
          setClosures(input: { map: $map, doors: $doors }) { __typename }
        }"""
    ).body
    assert closing is not None
    assert (getattr(closing, "title", ""), closing.max_bytes) == ("CloseRequest", 1_000_000)


HEAD = 'query Q @endpoint(path: "/v1/x/q", summary: "Q")'
UNIT = "{ unit(id: 1) { id } }"
VALID = f'query Valid @endpoint(path: "/v1/x/valid", summary: "It") {UNIT}'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("query {", "1:8: Syntax Error: Expected Name, found <EOF>."),
        ("type T { id: ID }", "1:1: Only operations and fragments may be here"),
        ("\n query Q { units { data { id } } }", "2:2: An endpoint has a name and the directive"),
        (HEAD.replace(" Q", "", 1) + " { units { data { id } } }", "1:1: An endpoint has a name"),
        (
            HEAD.replace("summary", "method: PUT, summary") + " { units { data { id } } }",
            "1:36: PUT",
        ),
        (HEAD.replace('"Q"', "Q") + " { units { data { id } } }", "String cannot represent"),
        (HEAD.replace("/q", "/{q}") + " { units { data { id } } }", "{q} of /v1/x/{q} has no var"),
        (HEAD + " { units { data { id } } maps { data { id } } }", "`result` must name one of"),
        (HEAD[:-1] + ' result: "unit") { units { data { id } } }', "The result has no 'unit'"),
        (HEAD[:-1] + " as: MATRIX) { unit(id: 1) { id } }", "`as` must say the form of a Unit"),
        (HEAD[:-1] + " as: PAGE) { unit(id: 1) { id } }", "`as` must say the form of a Unit"),
        (
            HEAD[:-1] + ' result: "unit.id") { unit(id: 1) { id } }',
            "the form of a ID!: DATA or NONE",
        ),
        (HEAD[:-1] + ' changes: "W") { unit(id: 1) { id } }', "1:1: `changes` must name"),
        (
            HEAD[:-1] + " deprecated: 2027) { unit(id: 1) { id } }",
            "1:61: Expected value of type 'Date'",
        ),
        (
            HEAD[:-1] + ' deprecated: "2027-02-01", sunset: "2027-01-01") { unit(id: 1) { id } }',
            "the sunset 2027-01-01 is before",
        ),
        # Validation names places in the file, not in the text with the aliases.
        (HEAD + " { unit(id: 1) { assetId name nope } }", "1:79: Cannot query field 'nope'"),
        (HEAD + " { unit(id: 1) { asset_id: id assetId } }", "1:66: Fields 'asset_id' conflict"),
        (HEAD + "\n{ units { data { ...F } } }", "2:21: Unknown fragment 'F'."),
        (HEAD[:-1] + " nope: 1) { unit(id: 1) { id } }", "Unknown argument 'nope'"),
    ],
)
def test_a_fault_is_named_with_its_place(text: str, fault: str) -> None:
    faults = faults_of(VALID, text)
    assert all(each.startswith("1.graphql:") for each in faults)
    assert any(fault in each for each in faults), faults


def test_all_faults_of_all_files_are_named() -> None:
    assert faults_of(f"{HEAD} {UNIT}", f"query {{\n\n{UNIT} 7", f"{HEAD} {UNIT}") == [
        "1.graphql:3:1: Syntax Error: Expected Name, found '{'.",
        "2.graphql:1:1: The name Q is taken at 0.graphql:1:1",
    ]
    other = HEAD.replace("query Q", "query R")
    assert faults_of(f"{HEAD} {UNIT}", f"\n{other} {UNIT}") == [
        "0.graphql:1:1: GET /v1/x/q collides with GET /v1/x/q of R: the same addresses fit both",
        "1.graphql:2:1: GET /v1/x/q collides with GET /v1/x/q of Q: the same addresses fit both",
    ]


def load_own(*texts: str) -> tuple[Endpoint, ...]:
    """Load an operator's files, named `0.graphql` and so on."""
    sources = [Source(text, f"{number}.graphql") for number, text in enumerate(texts)]
    return load_own_endpoints(sources, GRAPHQL_SCHEMA, QueryLimits())


def test_own_files_may_have_other_operations_and_fragments() -> None:
    units, asset = load_own(
        """{ nope }
        query Nope { nope }
        query Units($asset: ID!)  # of an asset
        @endpoint(path: "/v1/x/assets/{asset}/units", summary: "List", result: "asset.units") {
          asset(id: $asset) { ...F }
        }""",
        """query Asset($asset: ID!) @endpoint(path: "/v1/x/assets/{asset}", summary: "Get") {
          asset(id: $asset) { ...F }
        }
        fragment F on Asset { units { data { floorId } } }
        fragment G on Nope { nope }""",
    )
    assert (units.place, asset.place) == (("0.graphql", 3, 9), ("1.graphql", 1, 1))
    # The paging of one page is not in the other's object.
    assert ("paging" in units.document, "paging" in asset.document) == (True, False)
    for endpoint in (units, asset):
        (again,) = load_own(endpoint.source)
        names = ("name", "address", "document", "members", "source")
        assert [getattr(again, name) for name in names] == [
            getattr(endpoint, name) for name in names
        ]


def own_faults_of(*texts: str) -> list[str]:
    with pytest.raises(InvalidEndpointsError) as caught:
        load_own(*texts)
    assert str(caught.value).splitlines() == [*map(str, caught.value.faults)]
    return [str(fault).removeprefix("0.graphql:") for fault in caught.value.faults]


@pytest.mark.parametrize(
    "path",
    [
        *("/v1/units", "/v1/x", "/v1/x/", "/v1/x/a//b", "/v1/x/a/", "/v1/x/..", "/v1/x/a b"),
        *("/v1/x/caf\u00e9", "/v1/x/%2e", "/v1/x/q?a", "/v1/x/{a}.json", "/v1/x/{unitId}"),
        *("/v1/x/{}", "/v1/x/{a}/{a}", "/v1/x/" + "a" * 200, "/v1/x/1/2/3/4/5/6/7/8/9"),
    ],
)
def test_a_path_is_below_its_own_prefix_and_plain(path: str) -> None:
    text = f'query Q($a: ID!) @endpoint(path: "{path}", summary: "Q") {{ unit(id: $a) {{ id }} }}'
    [found] = [each for each in own_faults_of(text) if "The path" in each]
    assert found.startswith("1:28: The path must be /v1/x/ and segments of A-Z,")
    assert f", not {path[:200]!r}" in found


def test_a_parameter_of_a_path_is_a_variable() -> None:
    text = f'query Q @endpoint(path: "/v1/x/{{b}}", summary: "Q") {UNIT}'
    assert own_faults_of(text) == ["1:19: {b} of /v1/x/{b} has no variable: declare $b: ID!"]


GET = '@endpoint(path: "/v1/x/q", summary: "Q")'
PUT = '@endpoint(method: PUT, path: "/v1/x/q", summary: "Q")'
CLOSE = "setClosures(input: {map: 1, doors: $a}) { map { id } }"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("query Q { maps { data { id } } }", ["1:1: No operation here has @endpoint(path:"]),
        (f"{{ a }} query {GET} {UNIT}", ["1:7: An endpoint has a name"]),
        (f"query Q {GET} {{ unit(id: 1) {{ nam }} }}", ["1:66: Cannot query field 'nam' on type"]),
        (f"query Q {GET} {{ units {{ data {{ ...F }} }} }} fragment F on Unit {{ nam }}", ["nam"]),
        (f"query {'Q' * 101} {GET} {UNIT}", ["1:7: A name has at most 100 characters"]),
        (f"query _Q {GET} {UNIT}", ["1:7: A name begins with a letter"]),
        (
            f"query Q @endpoint(method: PUT, path: 1, summary: 2) {UNIT}",
            ["1:38: String cannot", "1:50: String cannot"],
        ),
        (
            f'query Q @endpoint(method: PUT, path: "q", summary: "", tag: "\\u0007") {UNIT}',
            ["1:19: PUT is a mutation", "1:32: The path", "1:43: `summary`", "1:56: `tag`"],
        ),
        (
            f'query Q($a: String!) @endpoint(path: "/v1/x/q", summary: $a) {UNIT}',
            ["1:22: What @endpoint needs must be written out"],
        ),
        (
            f'query Q @endpoint(path: {{ a: {{ b: 1 }} }}, summary: "Q") {UNIT}',
            ["1:1: String cannot represent a non string value: {"],
        ),
        (
            f'query Q($a: String) @endpoint(path: "/v1/x/q", summary: "Q", description: $a) {UNIT}',
            ["1:62: `description` must be written out"],
        ),
        (
            f'query Q @endpoint(path: "/v1/x/q", summary: "Q", number: "1", alsoAt: []) {UNIT}',
            ["1:50: `number` is for built-in", "1:63: `alsoAt` is for built-in"],
        ),
        (
            """query Q @endpoint(path: "/v1/x/q", summary: "Q", result: "map.matrix", as: MATRIX) {
              map(id: 1) { matrix: distanceMatrix(sources: [], targets: []) { __typename } }
            }""",
            ["1:72: `as: MATRIX` is for built-in endpoints"],
        ),
        (
            f'query Q @endpoint(path: "/v1/x/q", summary: "Q", sunset: "2027-01-01") {UNIT}',
            ["1:50: `sunset` needs `deprecated`"],
        ),
        (
            f"query Q($a: ID, $b: [ID!]!, $c: Boolean!) "
            f'@endpoint(path: "/v1/x/{{a}}/{{b}}/{{c}}", summary: "Q") {UNIT}',
            ["1:9: $a is in the path", "1:17: $b is in the path", "1:29: $c is in the path"],
        ),
        (
            f"query Q($api_key: ID, $fields: ID) {GET} {UNIT}",
            ["1:9: The parameter", "1:23:"],
        ),
        (f"query Q($perPage: Int, $per_page: Int) {GET} {UNIT}", ["1:24: The parameter per-page"]),
        (f'query Q($a: ID @parameter(name: "b c")) {GET} {UNIT}', ["1:16: A parameter has a name"]),
        (f'query Q($page: Int @parameter(name: "p")) {GET} {UNIT}', ["1:9: $page is named as in"]),
        (
            f"query Q($a: [WaypointInput!], $b: [[ID!]], $c: CostingOptions, $d: SvgDocument) "
            f"{GET} {UNIT}",
            ["1:9: $a is in the query", "1:31: $b", "1:44: $c", "1:64: $d"],
        ),
        (f"mutation Q($a: [ID!], $a_b: ID, $aB: ID) {PUT} {{ {CLOSE} }}", ["1:33: The member a_b"]),
        (f"mutation Q($a: [ID!], $b: JSON) {PUT} {{ {CLOSE} }}", ["1:23: $b is in the body"]),
        (
            f'mutation Q($a: [ID!] @parameter(name: "b")) {PUT} {{ {CLOSE} }}',
            ["1:12: $a is in the body: remove @parameter"],
        ),
        (f"query Q {GET} @body {UNIT}", ["1:50: `@body` is for built-in endpoints"]),
        (
            f'query Q @endpoint(path: "/v1/x/q", summary: "Q", changes: "Q") {UNIT}',
            ["1:50: `changes` is for one mutation of"],
        ),
        (f"query Q {GET} {{ units {{ paging {{ next }} }} }}", ["1:52: A page must select `data`"]),
        (
            f"query Q($a: Boolean!) {GET} {{ units {{ data @include(if: $a) {{ id }} }} }}",
            ["1:66: A page must select `data`, without a condition"],
        ),
        (
            f"query Q {GET} {{ units {{ data: edges {{ cursor }} paging: totalCount }} }}",
            [
                "1:60: `data` cannot be the alias",
                "1:83: Fields 'paging' conflict",
                "1:83: `paging`",
            ],
        ),
        (
            f"query Q($a: Boolean!) {GET} {{ units @skip(if: $a) {{ data {{ id }} }} }}",
            ["1:66: The result may lack 'units'"],
        ),
        (
            'query Q @endpoint(path: "/v1/x/q", summary: "Q", result: "units.data.id") '
            "{ units { data { id } } }",
            ["1:50: `result` cannot lead through a list to 'id'"],
        ),
        (
            'query Q @endpoint(path: "/v1/x/q", summary: "Q", result: "node.name") '
            "{ node(id: 1) { __typename ... on Unit { name } } }",
            ["1:112: The result may lack 'name'"],
        ),
        (f'mutation Q($a: [ID!]) {PUT[:-1]}, result: "setClosures.map") {{ {CLOSE} }}', ["DATA"]),
        (f"query Q {GET} {{ __schema {{ types {{ name }} }} }}", ["1:52: `result`"]),
    ],
)
def test_every_fault_of_an_own_endpoint_is_named_where_it_is(text: str, faults: list[str]) -> None:
    found = [each for each in own_faults_of(text) if "is never used" not in each]
    assert len(found) == len(faults), found
    for fault, each in zip(faults, found, strict=True):
        assert fault in each


def test_names_are_unique_in_all_files() -> None:
    own = f"query Q {GET} {UNIT} fragment F on Unit {{ id }}"
    assert own_faults_of(own, own) == [
        "1.graphql:1:1: The name Q is taken at 0.graphql:1:1",
        "1.graphql:1:73: The name F is taken at 0.graphql:1:73",
    ]


def test_an_endpoint_is_within_the_limits_of_one_request() -> None:
    def nested(size: str) -> str:
        page = "data { id }"
        for _ in range(4):
            page = f"data {{ floors(perPage: {size}) {{ data {{ units {{ {page} }} }} }} }}"
        return f"query Q($size: Int = 1000) {GET} {{ assets(perPage: $size) {{ {page} }} }}"

    large = "units(perPage: 1000) { data { asset { units(perPage: 1000) { data { id } } } } }"
    aliased = " ".join(f"a{number}: id" for number in range(31))
    for text, fault in (
        (nested("9"), "1:1: The operation nests"),
        (f"query Q {GET} {{ {large} }}", "1:1: The operation may return 1002000 records, or"),
        (f"query Q {GET} {{ unit(id: 1) {{ {aliased} }} }}", "1:1: The operation has 31 aliases"),
        (f"query Q {GET} {{ unit(id: 1) {{ {'id ' * 2_000} }} }}", "1:1: The document has more"),
        (f"query Q {GET} {{ unit(id: 1) {{ id #{'#' * 50_000}\n }} }}", "1:1: The document has"),
        ("query Q { a" * 1_000, "The document is nested too deeply"),
        (f"query Q {GET} {{ unit(id: {'1' * 5_000}) {{ id }} }}", "1:1: The document has a number"),
        ("#" * 1_000_001, "1:1: The document has 1000001 characters"),
    ):
        (found,) = own_faults_of(text)
        assert fault in found


def test_the_aliases_of_snake_case_names_are_not_counted() -> None:
    names = " ".join(f"...F{number}" for number in range(40))
    fragments = " ".join(f"fragment F{number} on Unit {{ floorId }}" for number in range(40))
    load_own(f"query Q {GET} {{ units {{ data {{ {names} }} }} }} {fragments}")


def test_at_most_two_thousand_endpoints_are_read() -> None:
    texts = [f'query Q{n} @endpoint(path: "/v1/x/q{n}", summary: "Q") {UNIT}' for n in range(2_001)]
    assert own_faults_of("\n".join(texts)) == [
        "2001:1: There may be 2,000 endpoints together at most"
    ]


if __name__ == "__main__":
    DESCRIBED.write_text(describe_endpoints())
