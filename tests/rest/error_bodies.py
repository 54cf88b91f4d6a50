"""Bodies of errors without what differs from one request to the next."""

from typing import Any

import httpx

from rest.errors import ERRORS_PATH


def read_error(response: httpx.Response) -> dict[str, Any]:
    """Return an error's `message`, `code` and `fields`, after a check of its other members."""
    body: dict[str, Any] = response.json()
    assert body.pop("request_id") == response.headers["x-request-id"]
    assert body.pop("docs").endswith(f"{ERRORS_PATH}#{body['code']}")
    assert set(body) - {"fields"} == {"message", "code"}
    return body


def read_message(response: httpx.Response) -> str:
    """Return the message of an error, after a check of its body."""
    message: str = read_error(response)["message"]
    return message
