"""Request bodies become variables, and errors name the member in the body."""

import gc
import threading
from typing import Any

import pytest

from rest.bodies import (
    ASSIGNMENTS_BODY,
    DISTANCES_BODY,
    UNIT_MAP_BODY,
    RequestBody,
    pause_garbage_collection,
)
from rest.endpoint_table import ENDPOINTS
from rest.errors import HttpError
from rest.parameters import EndpointInputs
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA

EXECUTOR = Executor(GRAPHQL_SCHEMA)


def parse(request_body: RequestBody, content: bytes) -> dict[str, Any]:
    endpoint = next(row for row in ENDPOINTS if row.body is request_body)
    operation = EXECUTOR.prepare(endpoint.document)
    inputs = EndpointInputs.read(GRAPHQL_SCHEMA, endpoint, operation)
    return request_body.build_parser(inputs.body)(content)


def test_a_body_of_another_media_type_is_one_variable() -> None:
    assert [*parse(UNIT_MAP_BODY, b"<svg/>").values()] == [b"<svg/>"]
    assert UNIT_MAP_BODY.to_path("svg") == "svg"


def test_members_in_snake_case_become_variables() -> None:
    waypoints = b'{"data": {"sources": [{"x": 1, "y": 2, "floor_id": "f"}], "targets": []}}'
    variables = parse(DISTANCES_BODY, waypoints)
    assert variables["sources"] == [{"id": None, "name": None, "x": 1, "y": 2, "floorId": "f"}]
    assert variables["targets"] == []


def test_the_only_variable_may_be_the_list_in_data() -> None:
    assert parse(ASSIGNMENTS_BODY, b'{"data": []}') == {"data": []}


@pytest.mark.parametrize(
    ("request_body", "argument", "path"),
    [
        (DISTANCES_BODY, "sources[0].floorId", "data.sources[0].floor_id"),
        (ASSIGNMENTS_BODY, "data[1].unitId", "data[1].unit_id"),
    ],
)
def test_errors_have_the_path_in_the_body(
    request_body: RequestBody, argument: str, path: str
) -> None:
    assert request_body.to_path(argument) == path


@pytest.mark.parametrize(
    ("request_body", "content", "status", "message"),
    [
        (DISTANCES_BODY, b"{", 400, "at line 1, column"),
        (DISTANCES_BODY, b"[]", 422, "body: must be an object, not an array"),
        (DISTANCES_BODY, b"{}", 422, "data: must be given"),
        (DISTANCES_BODY, b'{"data": {"targets": []}}', 422, "data.sources: must be given"),
        (
            DISTANCES_BODY,
            b'{"data": {"sources": [], "targets": [], "more": 1}}',
            422,
            "data.more: unknown field",
        ),
        (DISTANCES_BODY, b'\n{"data": 1e400}', 422, "number that is too large in line 2"),
        (ASSIGNMENTS_BODY, b'{"data": 1e400}', 400, "The body is not JSON"),
        (ASSIGNMENTS_BODY, b'{"data": {}}', 422, "data: must be an array, not an object"),
        (
            ASSIGNMENTS_BODY,
            b'{"data": [{"unit_id": 1}], "more": 1}',
            422,
            "data[0].group_id: must be given; data[0].attribute_id: must be given;"
            " data[0].asset_id: must be given; data[0].unit_id: must be a string, not a number",
        ),
    ],
)
def test_an_invalid_body_is_an_error(
    request_body: RequestBody, content: bytes, status: int, message: str
) -> None:
    with pytest.raises(HttpError) as caught:
        parse(request_body, content)
    assert caught.value.status == status
    assert message in str(caught.value)


# Garbage collection


def test_garbage_is_collected_again_after_the_last_of_several_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first_ended, second_began = threading.Event(), threading.Event()
    is_on: list[bool] = []
    disable = gc.disable

    def wait_for_first() -> None:
        second_began.set()
        assert first_ended.wait(60)

    def disable_late() -> None:
        # The first pause ends between the second one's look at the collector and its own change.
        if threading.current_thread() is second:
            wait_for_first()
        disable()

    def pause_second() -> None:
        with pause_garbage_collection():
            wait_for_first()
            is_on.append(gc.isenabled())

    second = threading.Thread(target=pause_second)
    monkeypatch.setattr(gc, "disable", disable_late)
    assert gc.isenabled()
    try:
        with pause_garbage_collection():
            second.start()
            assert second_began.wait(60)
        first_ended.set()
        second.join()
        is_on.append(gc.isenabled())
    finally:
        gc.enable()
    assert is_on == [False, True]


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with pause_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
