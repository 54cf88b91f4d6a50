"""The access log, CORS, and HTTPS at a proxy."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.exchange import SCOPE_KEY_ID
from gateway.middleware import CLIENT_CLOSED_REQUEST, AccessLogMiddleware, ForwardedHttpsMiddleware
from rest.request_body import ClientDisconnectedError, receive_body
from rest.responses import WARNINGS_HEADER
from rest.scope_members import SCOPE_ROUTE
from tests.fixtures import World, gateway_client
from tests.gateway.log_lines import LogLines

pytestmark = pytest.mark.anyio

ORIGIN = {"Origin": "https://app.example"}
PREFLIGHT = {
    **ORIGIN,
    "Access-Control-Request-Method": "GET",
    "Access-Control-Request-Headers": "api-key, experimental-flags, floorgate-explain",
}


async def test_other_origins_are_not_allowed_by_default(client: httpx.AsyncClient) -> None:
    response = await client.get("/v1/units", headers=ORIGIN)
    assert not [name for name in response.headers if name.startswith("access-control")]
    preflight = await client.options("/v1/units", headers=PREFLIGHT)
    assert preflight.status_code == 204
    assert not [name for name in preflight.headers if name.startswith("access-control")]


async def test_pages_of_configured_origins_may_call(world: World) -> None:
    settings = world.settings(cors_origins="https://app.example, https://other.example")
    async with gateway_client(settings) as client:
        preflight = await client.options("/v1/units", headers=PREFLIGHT)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == "https://app.example"
        assert "api-key" in preflight.headers["access-control-allow-headers"].lower()
        response = await client.get("/v1/units", headers=ORIGIN)
        assert response.status_code == 401  # readable for the page, as any answer
        assert response.headers["access-control-allow-origin"] == "https://app.example"
        exposed = response.headers["access-control-expose-headers"]
        assert {"ETag", "Link", WARNINGS_HEADER, "RateLimit", "RateLimit-Policy"} <= {
            *exposed.split(", ")
        }
        assert "Origin" in response.headers["vary"]


async def test_other_origins_get_the_usual_error_response(world: World) -> None:
    async with gateway_client(world.settings(cors_origins="https://app.example")) as client:
        for changed in (
            {"Origin": "https://evil.example"},
            {"Access-Control-Request-Method": "DELETE"},
            {"Access-Control-Request-Headers": "x-unheard-of"},
        ):
            response = await client.options("/v1/units", headers={**PREFLIGHT, **changed})
            assert response.status_code == 400
            assert response.headers["content-type"] == "application/json"
            assert response.json()["code"] == "ORIGIN_NOT_ALLOWED"


async def test_every_origin_may_be_let_in(world: World) -> None:
    async with gateway_client(world.settings(cors_origins="*")) as client:
        response = await client.options("/v1/units", headers=PREFLIGHT)
    assert response.headers["access-control-allow-origin"] == "*"


KEY = "fgk_" + "0aZ9" * 12
Headers = list[tuple[bytes, bytes]]


def request(
    app: ASGIApp,
    headers: Iterable[tuple[bytes, bytes]] = (),
    *,
    method: str = "GET",
    body: bytes = b"",
    **members: Any,
) -> list[Message]:
    """The messages that the application behind the middleware sends."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": "/", "headers": list(headers), **members}
    asyncio.run(AccessLogMiddleware(app)(scope, receive, send))
    return sent


def responding_app(status: int = 200, body: bytes = b"{}") -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope[SCOPE_ROUTE] = "/v1/assets/{asset}"
        scope[SCOPE_KEY_ID] = "key-1"
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": body})

    return app


def raising_app(error: BaseException) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise error

    return app


def id_of(sent: list[Message]) -> str:
    identifier: bytes = dict(sent[0]["headers"])[b"x-request-id"]
    return identifier.decode()


@pytest.mark.parametrize("given_id", ["a", "7f3c-11", "Root=1-67891233-abcdef", "a" * 36])
def test_a_safe_request_id_of_the_client_is_used(given_id: str, lines: LogLines) -> None:
    assert id_of(request(responding_app(), [(b"x-request-id", given_id.encode())])) == given_id
    assert lines.last()["request_id"] == given_id


@pytest.mark.parametrize(
    "given_id", [b"", b" a", b"a b", b"a\n", b'"', b"\xe9", b"-a", b"a" * 65, KEY.encode()]
)
def test_any_other_request_id_is_replaced(given_id: bytes, lines: LogLines) -> None:
    identifier = id_of(request(responding_app(), [(b"x-request-id", given_id)]))
    assert len(identifier) == 32
    assert lines.last()["request_id"] == identifier


def test_a_request_is_one_line(lines: LogLines) -> None:
    request(responding_app(200, b"12345"), path="/v1/assets/secret", query_string=b"page=2")
    line = lines.last()
    assert len(lines.texts) == 1
    assert line.pop("duration_ms") >= 0
    assert {name: line[name] for name in ("method", "route", "status", "bytes", "key_id")} == {
        "method": "GET",
        "route": "/v1/assets/{asset}",
        "status": 200,
        "bytes": 5,
        "key_id": "key-1",
    }
    assert "secret" not in lines.texts[0]
    assert "page" not in lines.texts[0]


def test_a_head_request_counts_no_bytes(lines: LogLines) -> None:
    request(responding_app(200, b"12345"), method="HEAD")
    assert lines.last()["bytes"] == 0


@pytest.mark.parametrize(("status", "level"), [(200, "info"), (404, "info"), (503, "warning")])
def test_the_level_follows_the_status(status: int, level: str, lines: LogLines) -> None:
    request(responding_app(status))
    assert lines.last()["level"] == level


def test_an_unexpected_exception_is_masked_and_its_traceback_logged(lines: LogLines) -> None:
    sent = request(raising_app(ValueError(f"{KEY} is odd")))
    assert sent[0]["status"] == 500
    assert sent[1]["body"].startswith(b'{"message":"Server error","code":"SERVER_ERROR",')
    assert dict(sent[0]["headers"])[b"content-type"] == b"application/json"
    assert lines.last()["status"] == 500
    assert lines.last()["level"] == "error"
    assert "ValueError: [redacted] is odd" in lines.last()["exception"]


def test_an_exception_after_the_response_began_sends_nothing_more(lines: LogLines) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError

    assert [message["type"] for message in request(app)] == ["http.response.start"]
    assert "ValueError" in lines.last()["exception"]


def test_an_application_that_sends_no_response_is_an_error() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        pass

    assert request(app)[0]["status"] == 500


def test_a_client_that_left_is_logged_and_not_answered(lines: LogLines) -> None:
    assert request(raising_app(ClientDisconnectedError())) == []
    assert lines.last()["status"] == CLIENT_CLOSED_REQUEST
    assert lines.last()["level"] == "info"


def test_a_request_cut_off_by_the_end_of_draining_is_unavailable(lines: LogLines) -> None:
    sent = request(raising_app(asyncio.CancelledError()))
    assert sent[0]["status"] == 503
    assert b"retry-after" in dict(sent[0]["headers"])
    assert lines.last()["status"] == 503


ANY_BYTES_AROUND_A_KEY = st.builds(
    lambda before, after: before + KEY.encode() + after,
    st.binary(max_size=20),
    st.binary(max_size=20),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ANY_BYTES_AROUND_A_KEY,
    st.lists(st.tuples(st.sampled_from([b"x-request-id", b"api-key"]), ANY_BYTES_AROUND_A_KEY)),
    st.sampled_from([str, repr, ascii, lambda text: text[::1]]),
)
def test_no_log_line_ever_holds_a_key(
    lines: LogLines, sent: bytes, headers: Headers, show: Callable[[str], str]
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = await receive_body(receive, 1000)
        raise ValueError(show(body.decode("latin-1")), scope["path"], scope["headers"], body)

    text = sent.decode("latin-1")
    request(app, headers, method=text, body=sent, path=text, query_string=sent)
    written = lines.texts.pop()
    assert KEY not in written
    assert KEY.removeprefix("fgk_") not in written
    assert "ValueError" in written


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
