"""The endpoints that every gateway has."""

from typing import Final

from rest.bodies import RequestBody
from rest.endpoint_files import Endpoint, built_in_endpoints

ENDPOINTS: Final = built_in_endpoints()


def find_endpoint(name: str) -> Endpoint:
    """Return the endpoint of an operation."""
    return next(endpoint for endpoint in ENDPOINTS if endpoint.name == name)


def body_of(name: str) -> RequestBody:
    """Return the body of an operation's endpoint."""
    body = find_endpoint(name).body
    assert body is not None
    return body
