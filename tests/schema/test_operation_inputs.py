"""The inputs of an operation are what the arguments say that its variables feed."""

from typing import Any

import pytest

from schema.execution import Executor
from schema.operation_inputs import MAX_REPORTED_ERRORS, InputViolation, OperationInputs
from schema.root import GRAPHQL_SCHEMA
from tests.endpoints import find_endpoint

EXECUTOR = Executor(GRAPHQL_SCHEMA)
POSITION = {"x": 1.0, "y": 2.0, "floorId": "f"}
MATRIX = {"map": "m", "sources": [{"id": "a"}], "targets": [POSITION]}


def inputs_of(operation: str) -> OperationInputs:
    return OperationInputs(GRAPHQL_SCHEMA, EXECUTOR.prepare(find_endpoint(operation).document))


def test_an_input_has_the_description_default_and_example_of_its_argument() -> None:
    inputs = inputs_of("ListMaps").by_variable
    assert [*inputs][:6] == ["page", "perPage", "after", "totalCount", "tags", "asset"]
    page = inputs["page"]
    assert page.description.startswith("The page to return. Without it")
    assert page.default is None  # with a cursor, it is the cursor's
    assert (page.definition.example, page.is_required) == (1, False)
    assert inputs_of("CalculateDistances").by_variable["sources"].is_required


def test_a_variable_that_includes_a_field_has_the_description_of_the_field() -> None:
    steps = inputs_of("FindRoute").by_variable["steps"]
    assert (steps.is_required, steps.default) == (False, False)
    assert steps.description.startswith("Whether to include `steps`. List what to do on the way")


def test_all_errors_in_the_items_of_a_list_are_found() -> None:
    given = {"groupId": "g", "attributeId": "a", "assetId": "s", "unitId": "u"}
    data = [given, given | {"unitId": "", "assetId": "\0"}, given, given | {"groupId": "x" * 256}]
    inputs = inputs_of("AssignUnitAttributes")
    errors = inputs.find_errors({"groupId": "g", "data": data})
    assert [error.path for error in errors] == [
        "data[1].assetId",
        "data[1].unitId",
        "data[3].groupId",
    ]
    assert inputs.find_errors({"groupId": "g", "data": data[:1]}) == []
    many = inputs.find_errors({"groupId": "", "data": data * MAX_REPORTED_ERRORS})
    assert len(many) == MAX_REPORTED_ERRORS


def test_all_errors_of_different_inputs_are_found() -> None:
    errors = inputs_of("CalculateDistances").find_errors(
        {
            "sources": [POSITION, {}, {"id": "", "x": 1.0}],
            "targets": [],
            "costing": "car",
            "costingOptions": {"pedestrian": {"mode": "bus", "avoid": ["rain"]}},
            "distanceMethod": "far",
        }
    )
    assert {error.path for error in errors} == {
        "sources[1]",
        "sources[2]",
        "sources[2].id",
        "targets",
        "costing",
        "costingOptions.pedestrian.mode",
        "costingOptions.pedestrian.avoid",
        "distanceMethod",
    }


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, None),
        ({"costing": None}, None),
        (
            {"targets": [POSITION] * 51},
            InputViolation("sources", "sources times targets must be at most 50 pairs, not 51"),
        ),
        (
            {"targets": [POSITION, {"id": "a", "x": 1.0}]},
            InputViolation("targets[1]", "must have both x and y, or neither"),
        ),
        (
            {"sources": [{"name": "a"}]},
            InputViolation(
                "sources[0]", "must have the id of a location or a unit, or x, y and a floor"
            ),
        ),
    ],
)
def test_the_error_of_variables_is_found(
    changes: dict[str, Any], error: InputViolation | None
) -> None:
    inputs = inputs_of("CalculateDistances")
    assert inputs.find_errors(MATRIX | changes)[:1] == ([error] if error else [])
