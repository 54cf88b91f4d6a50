"""Each workload has requests that are valid, of its directory, and the same on every run."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from graphql import OperationDefinitionNode

from bench.data.directory import MAP_ID, Directory
from bench.data.requests import UNIQUE_TOKEN, LoadRequest
from bench.data.workloads import (
    GRAPHQL_MATRIX,
    GRAPHQL_NOT_MODIFIED,
    GRAPHQL_WORKLOADS,
    MATRIX,
    NEW_GRAPHQL_MATRIX,
    NEW_MATRIX,
    NOT_MODIFIED,
    PERSISTED,
    REST_WORKLOADS,
    SINGLE_UNITS,
    UNIQUE,
    WORKLOADS,
    Workload,
    list_persisted_documents,
    names_except,
)
from rest.endpoint_table import ENDPOINTS
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA

DIRECTORY = Directory(
    mongo_url="",
    mongod_pid=0,
    database="",
    key="",
    unit_ids=[f"unit-{number}" for number in range(1_000)],
    location_ids=[f"location-{number}" for number in range(100)],
    answers_path=Path(),
)
SMALL = Directory("", 0, "", "", ["unit-0"], ["location-0", "location-1"], Path())

every_workload = pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
BY_NAME = {workload.name: workload for workload in WORKLOADS}


def test_workloads_have_different_names_and_titles() -> None:
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)
    assert len({workload.title for workload in WORKLOADS}) == len(WORKLOADS)


@every_workload
@pytest.mark.parametrize("directory", [DIRECTORY, SMALL], ids=["large", "small"])
def test_a_workload_has_the_same_requests_on_every_run(
    workload: Workload, directory: Directory
) -> None:
    requests = workload.requests(directory)
    assert requests and requests == workload.requests(directory)
    assert len({(request.path, request.body) for request in requests}) == len(requests)


@every_workload
def test_a_workload_is_sent_over_enough_connections_and_expects_one_status(
    workload: Workload,
) -> None:
    assert workload.connections >= 3
    is_conditional = workload.name in (NOT_MODIFIED, GRAPHQL_NOT_MODIFIED)
    assert workload.status == (304 if is_conditional else 200)


@pytest.mark.parametrize("workload", REST_WORKLOADS, ids=lambda workload: workload.name)
def test_a_rest_request_is_one_of_the_endpoints(workload: Workload) -> None:
    for request in workload.requests(DIRECTORY)[:2]:
        path = urlsplit(request.path).path
        assert [
            row for row in ENDPOINTS if row.method == request.method and _matches(row.path, path)
        ]


def _matches(pattern: str, path: str) -> bool:
    parts, given = pattern.split("/"), path.split("/")
    return len(parts) == len(given) and all(
        part == value or (part.startswith("{") and value)
        for part, value in zip(parts, given, strict=True)
    )


@pytest.mark.parametrize("workload", GRAPHQL_WORKLOADS, ids=lambda workload: workload.name)
def test_a_graphql_request_is_valid_with_exactly_its_variables(workload: Workload) -> None:
    executor = Executor(GRAPHQL_SCHEMA)
    for request in workload.requests(DIRECTORY)[:2]:
        parameters = _read_parameters(request)
        variables = parameters.get("variables", {})
        operation = executor.get_client_operation(_find_document(parameters), None, variables)
        [definition] = operation.document.definitions
        assert isinstance(definition, OperationDefinitionNode)
        declared = {each.variable.name.value for each in definition.variable_definitions or ()}
        assert {*variables} == declared


def _read_parameters(request: LoadRequest) -> dict[str, Any]:
    """The parameters of a request, from its body or its address."""
    address = urlsplit(request.path)
    assert address.path == "/graphql"
    if request.method == "POST":
        return dict(orjson.loads(request.body))
    texts = {name: value for name, [value] in parse_qs(address.query).items()}
    return {name: x if name == "query" else orjson.loads(x) for name, x in texts.items()}


def _find_document(parameters: dict[str, Any]) -> str:
    if "query" in parameters:
        return str(parameters["query"])
    return list_persisted_documents()[parameters["extensions"]["persistedQuery"]["sha256Hash"]]


@pytest.mark.parametrize("name", PERSISTED)
def test_documents_are_registered_before_requests_name_them(name: str) -> None:
    [registration] = BY_NAME[name].registrations
    [named, registered] = (
        _read_parameters(request)
        for request in (BY_NAME[name].requests(DIRECTORY)[0], registration)
    )
    assert "query" not in named
    assert _find_document(named) == registered["query"]
    assert named["extensions"] == registered["extensions"]


def test_only_unique_requests_have_a_part_that_changes_each_time() -> None:
    token = UNIQUE_TOKEN.encode()
    changing = {
        workload.name
        for workload in WORKLOADS
        if all(token in x.path.encode() + x.body for x in workload.requests(DIRECTORY))
    }
    assert changing == {*UNIQUE}


def test_single_units_are_a_sample_of_the_directory() -> None:
    rest = [request.path.split("/")[-1] for request in BY_NAME["unit"].requests(DIRECTORY)]
    graphql = [
        orjson.loads(request.body)["variables"]["id"]
        for request in BY_NAME["graphql-unit"].requests(DIRECTORY)
    ]
    assert rest == graphql  # so that both can be compared
    assert len({*rest}) == SINGLE_UNITS
    assert {*rest} < {*DIRECTORY.unit_ids}
    assert rest != sorted(rest)


def test_a_matrix_is_of_fifty_pairs_of_different_places() -> None:
    [rest], [graphql] = (BY_NAME[name].requests(DIRECTORY) for name in (MATRIX, GRAPHQL_MATRIX))
    assert rest.path == f"/v1/maps/{MAP_ID}/distance-matrix"
    data = orjson.loads(rest.body)["data"]
    assert orjson.loads(graphql.body)["variables"] == {"map": MAP_ID, **data}
    sources, targets = ({place["id"] for place in data[end]} for end in ("sources", "targets"))
    assert len(sources) * len(targets) == 50
    assert not sources & targets
    assert sources | targets <= {*DIRECTORY.location_ids}


def test_new_matrices_are_of_the_same_places_in_other_orders() -> None:
    [known] = BY_NAME[MATRIX].requests(DIRECTORY)
    rest, graphql = (BY_NAME[name].requests(DIRECTORY) for name in (NEW_MATRIX, NEW_GRAPHQL_MATRIX))
    matrices = [orjson.loads(request.body)["data"] for request in rest]
    assert [orjson.loads(request.body)["variables"] for request in graphql] == [
        {"map": MAP_ID, **matrix} for matrix in matrices
    ]
    for end, places in orjson.loads(known.body)["data"].items():
        ids = [[place["id"] for place in matrix[end]] for matrix in matrices]
        assert {tuple(sorted(each)) for each in ids} == {
            tuple(sorted(place["id"] for place in places))
        }
        assert len({*map(tuple, ids)}) > len(ids) / 3


@pytest.mark.parametrize("count", [100, 1_000, 10_000])
def test_lists_of_units_are_of_the_size_in_their_name(count: int) -> None:
    [rest] = BY_NAME[f"units-{count}"].requests(DIRECTORY)
    [graphql] = BY_NAME[f"graphql-units-{count}"].requests(DIRECTORY)
    assert parse_qs(urlsplit(rest.path).query) == {"per-page": [str(count)]}
    assert orjson.loads(graphql.body)["variables"] == {"perPage": count}


def test_the_other_workloads_are_all_but_the_named() -> None:
    assert names_except() == {workload.name for workload in WORKLOADS}
    assert names_except("unit", "matrix") == names_except() - {"unit", "matrix"}
