"""`/v1` and `/graphql` give the same answers and apply the same rules."""

import re
from collections import Counter
from typing import Any

import graphql
import httpx
import pytest

from resolvers.request import errors
from rest.endpoint_files import Endpoint
from rest.errors import STATUS_BY_CODE
from rest.parameters import EndpointInputs
from rest.responses import DocumentForm, LinkedListForm, ListForm, ObjectForm, PageForm
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA
from tests.endpoints import ENDPOINTS
from tests.fixtures import (
    ALL_FLAGS,
    BACKGROUND,
    FLOOR,
    HIDDEN,
    HIDDEN_MAP,
    MAP,
    SEEN,
    UNIT,
    data_of,
    post_graphql,
)
from tests.rest.error_bodies import read_message

SPECIFIED = {
    ("E1", "GET", "/v1/assets"),
    ("E2", "GET", "/v1/assets/{asset}"),
    ("E3", "GET", "/v1/assets/{asset}/floors"),
    ("E4", "GET", "/v1/assets/{asset}/floors/{floor}"),
    ("E5", "GET", "/v1/assets/references"),
    ("E6", "GET", "/v1/units"),
    ("E7", "GET", "/v1/units/{unit}"),
    ("E8", "GET", "/v1/units/references"),
    ("E9", "GET", "/v1/maps"),
    ("E10", "POST", "/v1/maps/parse"),
    ("E11", "GET", "/v1/maps/{map}"),
    ("E12", "GET", "/v1/maps/{map}/backgrounds"),
    ("E13", "GET", "/v1/maps/{map}/backgrounds/{background}"),
    ("E14", "GET", "/v1/maps/{map}/levels/tags"),
    ("E15", "GET", "/v1/maps/{map}/units"),
    ("E16", "GET", "/v1/maps/{map}/units/{unit}"),
    ("E17", "GET", "/v1/unitmaps/{unitMapId}/locations"),
    ("E17", "GET", "/v1/maps/{map}/locations"),
    ("E18", "POST", "/v1/unitmaps/{unitMapId}/distance-matrix"),
    ("E18", "POST", "/v1/maps/{map}/distance-matrix"),
    ("E19", "GET", "/v1/units/attribute-groups"),
    ("E20", "GET", "/v1/units/attribute-groups/{group-id}/assignments"),
    ("E21", "PUT", "/v1/units/attribute-groups/{group-id}/assignments"),
    ("E22", "POST", "/v1/units/attribute-groups/{group-id}/assignments/remove"),
}

NAMED = {
    "asset": SEEN,
    "floor": FLOOR,
    "map": MAP,
    "unitMapId": MAP,
    "background": BACKGROUND,
    "unit": UNIT,
    "group-id": "view",
}
"""The value of each path parameter in the test catalog."""

READS = [row for row in ENDPOINTS if row.method == "GET" and "WaypointInput" not in row.document]
"""Routes need a routable map, which tests/resolvers/processing/test_pipeline.py makes."""
LISTS = [row for row in READS if isinstance(row.form, PageForm)]


def name_of(row: Endpoint) -> str:
    return f"{row.number}-{row.path}"


def address(row: Endpoint, named: dict[str, str] = NAMED) -> str:
    """The path of a row with the parameters filled in."""
    encoded = {
        name: "".join(f"%{byte:02X}" for byte in value.encode()) for name, value in named.items()
    }
    return row.path.format_map(encoded)


def variables(row: Endpoint, named: dict[str, str] = NAMED) -> dict[str, Any]:
    """The same parameters as variables of the row's operation."""
    return {variable: named[name] for name, variable in row.path_parameters.items()}


def test_every_endpoint_of_the_specification_is_in_the_table() -> None:
    assert {(row.number, row.method, row.path) for row in ENDPOINTS} >= SPECIFIED


def test_no_endpoint_is_in_the_table_twice() -> None:
    assert max(Counter((row.method, row.path) for row in ENDPOINTS).values()) == 1


def test_every_operation_has_a_name_of_its_own() -> None:
    names = Counter(
        node.name.value
        for row in ENDPOINTS
        for node in graphql.parse(row.document).definitions
        if isinstance(node, graphql.OperationDefinitionNode) and node.name
    )
    assert len(names) == len(ENDPOINTS)


@pytest.mark.parametrize("row", ENDPOINTS, ids=name_of)
def test_every_input_of_an_endpoint_is_described_by_the_argument_that_it_feeds(
    row: Endpoint,
) -> None:
    operation = Executor(GRAPHQL_SCHEMA).prepare(row.document)
    inputs = EndpointInputs.read(GRAPHQL_SCHEMA, row, operation)
    assert inputs.path.keys() == row.path_parameters.keys()
    assert bool(inputs.body) == (row.body is not None)
    for source in inputs.operation.by_variable.values():
        assert source.description


@pytest.mark.parametrize("page", [{}, {"page": 1, "perPage": 2}, {"page": 2, "perPage": 1}])
@pytest.mark.parametrize("row", READS, ids=name_of)
async def test_an_endpoint_returns_what_its_operation_returns(
    client: httpx.AsyncClient, row: Endpoint, page: dict[str, int]
) -> None:
    page = page if isinstance(row.form, PageForm) else {}
    query = {"per-page" if name == "perPage" else name: value for name, value in page.items()}
    rest = await client.get(address(row), params=query, headers=ALL_FLAGS)
    assert rest.status_code == 200
    picked = row.form.get_resource(await data_of(client, row.document, {**variables(row), **page}))
    body = rest.json()
    match row.form:
        case LinkedListForm() | ListForm():
            assert body == {"data": picked["data"]}
        case PageForm():
            paging = body.pop("paging")
            assert body == {"data": picked["data"]}
            assert paging["per_page"] == picked["paging"]["per_page"]
            assert paging["current_page"] == picked["paging"]["current_page"]
            assert bool(paging["next_url"]) == bool(picked["paging"]["next"])
        case ObjectForm() | DocumentForm():
            # The cursor of changes moves on with the clock of MongoDB, which all workers share.
            assert {**body, "cursor": None} == {**picked, "cursor": None}


@pytest.mark.parametrize(
    "text",
    [
        """query Q($q: String! @parameter(name: "x")) @endpoint(path: $q, summary: "Any") {
            units(search: $q) { data { id } } paging: nope
        }""",
        """query Q($q: String! @parameter(name: "x"), $a: Boolean = true)
        @endpoint(path: $q, summary: "Any", as: NONE, deprecated: "2027-01-01") {
            units(search: $q) { data { id @skip(if: $a) name } }
        }""",
        """mutation M($q: ID!)
        @endpoint(method: PUT, path: "/v1/x/maps", summary: "Any") @body(title: "Any") {
            setClosures(input: { map: $q }) { __typename }
        }""",
    ],
)
async def test_in_graphql_an_operation_runs_as_without_the_directives_of_endpoints(
    client: httpx.AsyncClient, text: str
) -> None:
    plain = re.sub(r"@(endpoint|body|parameter)\([^)]*\)", "", text)
    found = [await post_graphql(client, each, {"q": "none"}) for each in (text, plain)]
    for error in (error for each in found for error in each.get("errors", ())):
        error.pop("locations", None)
    assert found[0] == found[1]


@pytest.mark.parametrize("row", [row for row in LISTS if "closable" not in row.path], ids=name_of)
async def test_a_list_in_the_world_is_not_empty(client: httpx.AsyncClient, row: Endpoint) -> None:
    assert (await client.get(address(row), headers=ALL_FLAGS)).json()["data"]


def requirements_of(row: Endpoint) -> tuple[str | None, str | None]:
    """The flag and the permission that a row asks for, from its operation."""
    found = Executor(GRAPHQL_SCHEMA).prepare(row.document).requirements
    flags = [demand.flag for demand in found if demand.flag]
    permissions = [demand.permission for demand in found if demand.permission]
    return next(iter(flags), None), next(iter(permissions), None)


DEMANDED = {
    "E5": ("references", "service.asset-references.read"),
    "E8": ("references", "service.unit-references.read"),
    "E10": (None, "service.unit-maps.parse"),
    "E17": ("locations-resource", None),
    "E18": ("distances", "service.distances.calculate"),
    "E19": ("unit-attributes-resource", "service.unit-attributes.read"),
    "E20": ("unit-attributes-resource", "service.unit-attributes.read"),
    "E21": ("unit-attributes-resource", "service.unit-attributes.write"),
    "E22": ("unit-attributes-resource", "service.unit-attributes.write"),
}
"""Flags and permissions of the specification."""


@pytest.mark.parametrize(
    "row", [row for row in ENDPOINTS if row.number.startswith("E")], ids=name_of
)
def test_an_endpoint_requires_the_flags_and_permissions_of_the_specification(row: Endpoint) -> None:
    assert requirements_of(row) == DEMANDED.get(row.number, (None, None))


FLAGGED = [row for row in ENDPOINTS if requirements_of(row)[0]]
PERMITTED = [row for row in ENDPOINTS if requirements_of(row)[1]]


@pytest.mark.parametrize("sent", [None, "", "References", "references2", "distance,x;y"])
@pytest.mark.parametrize("row", FLAGGED, ids=name_of)
async def test_an_experimental_endpoint_checks_its_flag_first(
    restricted: httpx.AsyncClient, row: Endpoint, sent: str | None
) -> None:
    headers = {} if sent is None else {"Experimental-Flags": sent}
    url = address(row, dict.fromkeys(NAMED, "none")) + "?page=x"
    response = await restricted.request(row.method, url, headers=headers)
    assert response.status_code == 400
    flag, _ = requirements_of(row)
    assert read_message(response) == f"Experimental-Flags header must include {flag}"


@pytest.mark.parametrize("row", PERMITTED, ids=name_of)
async def test_an_endpoint_checks_its_permission_before_its_input(
    restricted: httpx.AsyncClient, row: Endpoint
) -> None:
    url = address(row, dict.fromkeys(NAMED, "none")) + "?page=x"
    response = await restricted.request(row.method, url, headers=ALL_FLAGS)
    assert response.status_code == 403
    _, permission = requirements_of(row)
    assert read_message(response) == f"Access denied: this key lacks the permission {permission}"


async def test_flags_are_split_at_commas_and_may_come_in_several_lines(
    client: httpx.AsyncClient,
) -> None:
    for lines in (
        ["references"],
        ["distances,references"],
        [" distances ,\treferences "],
        ["distances", "references"],
        [",,references,"],
    ):
        headers = [("Experimental-Flags", line) for line in lines]
        assert (await client.get("/v1/assets/references", headers=headers)).status_code == 200


GUARDED = [
    ("{ assetReferences { data { id } } }", {}),
    ("{ unitReferences { data { key } } }", {}),
    ("{ attributeGroups { data { groupId } } }", {}),
    ("query ($id: ID!) { map(id: $id) { locations { data { id } } } }", {"id": MAP}),
    ("query ($id: ID!) { unit(id: $id) { location { id } } }", {"id": UNIT}),
    ("query ($id: ID!) { unit(id: $id) { references { data { key } } } }", {"id": UNIT}),
    ("query ($id: ID!) { unit(id: $id) { attributes { data { groupId } } } }", {"id": UNIT}),
    ("query ($id: ID!) { asset(id: $id) { references { data { id } } } }", {"id": SEEN}),
]


@pytest.mark.parametrize(("query", "given"), GUARDED)
async def test_experimental_fields_require_their_flag_and_permission(
    client: httpx.AsyncClient, restricted: httpx.AsyncClient, query: str, given: dict[str, str]
) -> None:
    body = {"query": query, "variables": given}
    (error,) = (await client.post("/graphql", json=body)).json()["errors"]
    assert error["extensions"]["code"] == "FLAG_REQUIRED"
    assert error["message"].startswith("Experimental-Flags header must include ")
    assert "errors" not in await post_graphql(client, query, given)
    if "location" not in query:
        (error,) = (await post_graphql(restricted, query, given))["errors"]
        assert error["extensions"]["code"] == "PERMISSION_REQUIRED"


INVISIBLE = {
    "asset": HIDDEN,
    "floor": "s-1",
    "map": HIDDEN_MAP,
    "unitMapId": HIDDEN_MAP,
    "background": "bg-s",
    "unit": "unit-s",
}

BY_ID = [
    row for row in READS if {*row.path_parameters} - {"group-id"} and not requirements_of(row)[1]
]


@pytest.mark.parametrize("row", BY_ID, ids=name_of)
async def test_rest_answers_hidden_records_as_missing_ones(
    restricted: httpx.AsyncClient, client: httpx.AsyncClient, row: Endpoint
) -> None:
    assert (await client.get(address(row, INVISIBLE), headers=ALL_FLAGS)).status_code == 200
    answers = []
    for named in (INVISIBLE, dict.fromkeys(NAMED, "none"), dict.fromkeys(NAMED, "x" * 256)):
        rest = await restricted.get(
            address(row, named), headers={**ALL_FLAGS, "X-Request-Id": "the-same"}
        )
        for name in ("x-request-id", "ratelimit"):
            del rest.headers[name]
        answers.append((rest.status_code, rest.headers.multi_items(), rest.content))
    assert answers[0][0] == 404
    assert b'"code":"NOT_FOUND"' in answers[0][2]
    assert answers == [answers[0]] * 3


@pytest.mark.parametrize("row", BY_ID, ids=name_of)
async def test_in_graphql_hidden_records_are_null_as_missing_ones(
    restricted: httpx.AsyncClient, row: Endpoint
) -> None:
    bodies = [
        await post_graphql(restricted, row.document, variables(row, named))
        for named in (INVISIBLE, dict.fromkeys(NAMED, "none"))
    ]
    assert bodies[0] == bodies[1]
    assert "errors" not in bodies[0]


async def test_a_record_is_found_only_under_its_own_owner(client: httpx.AsyncClient) -> None:
    for path in (
        "/v1/assets/south%2F%20%25/floors/n-2",  # of north
        "/v1/maps/plan-two/backgrounds/bg-2",  # of plan/one
        "/v1/maps/south-plan/units/unit-1",  # of another asset
        "/v1/maps/plan%2Fone/units/" + "%F0%9F%98%80",  # on plan-two alone
    ):
        assert (await client.get(path)).status_code == 404
    assert (await client.get("/v1/maps/plan-two/units/%F0%9F%98%80")).status_code == 200


@pytest.mark.parametrize("row", LISTS, ids=name_of)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("page", "0"),
        ("page", "-1"),
        ("page", ""),
        ("page", "1.0"),
        ("page", "+1"),
        ("page", "\u0661"),
        ("page", "1_0"),
        ("page", "2147483648"),
        ("per-page", "0"),
        ("per-page", "x"),
        ("per-page", "9" * 5000),
        ("after", "!"),
        ("after", "AAAA"),
    ],
)
async def test_an_invalid_page_is_rejected_before_records_are_looked_up(
    client: httpx.AsyncClient, row: Endpoint, name: str, value: str
) -> None:
    response = await client.get(
        address(row, dict.fromkeys(NAMED, "none")), params={name: value}, headers=ALL_FLAGS
    )
    assert response.status_code == 422
    body = response.json()
    assert list(body["fields"]) == [name]
    assert body["message"] == f"{name}: {body['fields'][name][0]}"
    assert len(body["message"]) < 200


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ("page: 0", "page"),
        ("perPage: -1", "perPage"),
        ('after: "!"', "after"),
        ('asset: ""', "asset"),
        (f'asset: "{"x" * 256}"', "asset"),
        ('tags: ""', "tags"),
        ('tags: "ils,,mls"', "tags"),
    ],
)
async def test_graphql_rejects_the_same_input(
    client: httpx.AsyncClient, arguments: str, field: str
) -> None:
    (error,) = (await post_graphql(client, f"{{ maps({arguments}) {{ data {{ id }} }} }}"))[
        "errors"
    ]
    assert error["extensions"]["code"] == "INVALID_INPUT"
    assert list(error["extensions"]["fields"]) == [field]


def test_every_code_of_an_operation_has_a_status() -> None:
    kinds = [errors.RequestError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    codes = {kind.code for kind in kinds}
    assert codes - {errors.RequestError.code} <= set(STATUS_BY_CODE)
