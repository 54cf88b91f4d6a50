"""Behind a proxy, requests that reached the proxy over plain HTTP are rejected."""

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from gateway.middleware.proxy import ForwardedHttpsMiddleware

Headers = list[tuple[bytes, bytes]]


def status_and_scheme(headers: Headers, path: str = "/v1/assets") -> tuple[int, str]:
    """The status, and the scheme that the application saw (`none` when it was not asked)."""
    seen: list[str] = []
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["scheme"])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "path": path, "scheme": "http", "headers": headers}
    asyncio.run(ForwardedHttpsMiddleware(app)(scope, receive, send))
    return sent[0]["status"], seen[0] if seen else "none"


@pytest.mark.parametrize("value", [b"https", b"HTTPS", b" https ", b"https, https"])
def test_a_request_that_came_over_https_is_served_as_such(value: bytes) -> None:
    assert status_and_scheme([(b"x-forwarded-proto", value)]) == (200, "https")


@pytest.mark.parametrize("value", [b"http", b"", b"https, http", b"http,https", b"httpsx", b","])
def test_any_other_request_is_rejected(value: bytes) -> None:
    assert status_and_scheme([(b"x-forwarded-proto", value)]) == (403, "none")


def test_a_request_without_the_header_is_rejected() -> None:
    assert status_and_scheme([]) == (403, "none")
    assert status_and_scheme([(b"forwarded", b"proto=https")]) == (403, "none")


def test_a_second_header_does_not_hide_the_first() -> None:
    headers = [(b"x-forwarded-proto", b"http"), (b"x-forwarded-proto", b"https")]
    assert status_and_scheme(headers) == (403, "none")


def test_health_is_answered_without_the_header() -> None:
    assert status_and_scheme([], "/health/live") == (200, "http")
