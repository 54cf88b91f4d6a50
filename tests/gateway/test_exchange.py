"""Request ids and the error responses that are sent without running the application."""

import re
import time

import orjson

from gateway.exchange import (
    build_error_messages,
    new_request_id,
)
from rest.errors import ErrorSource, HttpError


def test_request_ids_sort_by_time_and_differ() -> None:
    request_ids = [new_request_id() for _ in range(1000)]
    assert len(set(request_ids)) == 1000
    times = [request_id[:12] for request_id in request_ids]
    assert times == sorted(times)
    assert abs(int(times[-1], 16) / 1000 - time.time()) < 3600
    assert all(re.fullmatch("[0-9a-f]{32}", request_id) for request_id in request_ids)


def test_an_error_is_a_json_object_with_a_message_and_its_length() -> None:
    start, body = build_error_messages(
        HttpError(403, "No", "FORBIDDEN", headers={"A": "b"}), ErrorSource("r1", "https://x")
    )
    assert start["status"] == 403
    assert dict(start["headers"]) == {
        b"content-type": b"application/json",
        b"content-length": str(len(body["body"])).encode(),
        b"a": b"b",
    }
    assert orjson.loads(body["body"]) == {
        "message": "No",
        "code": "FORBIDDEN",
        "request_id": "r1",
        "docs": "https://x/v1/errors#FORBIDDEN",
    }
