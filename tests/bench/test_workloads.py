"""What is sent is valid, of its directory, and the same on every run."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from graphql import OperationDefinitionNode, parse, validate

from bench.comparison import list_cold_requests
from bench.data.directory import ATTRIBUTE_IDS, SCOPED_KEYS, Directory
from bench.data.workloads import (
    ASSIGNED_PER_ASSET,
    GRAPHQL_WORKLOADS,
    PERSISTED,
    REST_WORKLOADS,
    UNIQUE,
    UNIQUE_TOKEN,
    WORKLOADS,
    WRITE_PERCENT,
    LoadRequest,
    Workload,
    build_mix,
    list_persisted_documents,
    list_writes,
)
from bench.peers import strawberry_stock
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA
from tests.endpoints import ENDPOINTS

ASSETS = 20
DIRECTORY = Directory(
    mongo_url="",
    mongod_pid=0,
    database="",
    key="all",
    unit_ids=[f"unit-{number}" for number in range(250 * ASSETS)],
    location_ids=[f"location-{number}" for number in range(100)],
    answers_path=Path(),
    scoped_keys=tuple(f"key-{number}" for number in range(SCOPED_KEYS)),
)
BY_NAME = {workload.name: workload for workload in WORKLOADS}


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_a_workload_has_the_same_requests_on_every_run(workload: Workload) -> None:
    requests = workload.requests(DIRECTORY)
    assert requests and requests == workload.requests(DIRECTORY)
    assert len({(request.path, request.body) for request in requests}) == len(requests)
    token = UNIQUE_TOKEN.encode()
    changes_each_time = all(token in x.path.encode() + x.body for x in requests)
    assert changes_each_time == (workload.name in UNIQUE)


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
        operation = asyncio.run(
            executor.load_client_operation(_find_document(parameters), None, variables)
        )
        [definition] = operation.document.definitions
        assert isinstance(definition, OperationDefinitionNode)
        declared = {each.variable.name.value for each in definition.variable_definitions or ()}
        assert {*variables} == declared


def _read_parameters(request: LoadRequest) -> dict[str, Any]:
    """Read the parameters of a request from its body or its address."""
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
    request = BY_NAME[name].requests(DIRECTORY)[0]
    named, registered = _read_parameters(request), _read_parameters(registration)
    assert "query" not in named
    assert _find_document(named) == registered["query"]


@pytest.mark.parametrize("document", strawberry_stock.DOCUMENTS.values())
def test_the_stock_schema_has_what_a_document_asks_for(document: str) -> None:
    assert validate(strawberry_stock.SCHEMA._schema, parse(document)) == []


def test_each_write_of_the_mix_changes_what_the_last_one_to_its_unit_wrote() -> None:
    written: dict[str, list[str]] = {}
    for request in list_writes(DIRECTORY):
        [assignment] = orjson.loads(request.body)["data"]
        written.setdefault(assignment["unit_id"], []).append(assignment["attribute_id"])
    assert len(written) == ASSETS * ASSIGNED_PER_ASSET
    assert all(attributes == [*ATTRIBUTE_IDS] for attributes in written.values())
    mixed = build_mix(DIRECTORY)
    writes = [request for request in mixed if request.method == "PUT"]
    assert writes == list_writes(DIRECTORY)
    assert len(writes) / len(mixed) == pytest.approx(WRITE_PERCENT / 100, abs=0.001)


def test_no_address_is_sent_twice_while_caches_are_cold() -> None:
    cold = [request.path for request in list_cold_requests(DIRECTORY)]
    assert len({*cold}) == len(cold)
