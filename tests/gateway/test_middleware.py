"""What each request passes: its fields, the access log, HTTPS at a proxy, deadlines."""

import asyncio
import dataclasses
import re
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.exchange import (
    SCOPE_KEY_ID,
    fields_of,
    get_forwarded_address,
    group_address,
    new_request_id,
    normalize_address,
    parse_weights,
    serialize_error,
)
from gateway.graphql.endpoint import negotiate_media_type
from gateway.middleware import CLIENT_CLOSED_REQUEST, RequestMiddleware
from resolvers import maps
from resolvers.administration import imports
from resolvers.processing import process_pool, stale_networks
from resolvers.processing.task_process import MAX_PARSE_CPU_SECONDS
from resolvers.request.context import extend_read
from resolvers.request.errors import RefusedDocumentError
from rest import dispatch
from rest.bodies import receive_body
from rest.errors import ErrorSource, HttpError
from rest.scope_members import SCOPE_ROUTE, ClientDisconnectedError
from storage.cache.api_key_cache import ApiKeyCache
from storage.mongo import driver
from storage.store import Store
from tests.fixtures import World, open_client, run_gateway
from tests.gateway.log_lines import LogLines
from tests.rest.error_bodies import read_message

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
    asyncio.run(RequestMiddleware(app)(scope, receive, send))
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
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        raise ValueError

    start, body = request(app)
    assert (start["status"], body["body"]) == (200, b"a")
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
        await send({"type": "http.response.body"})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "scheme": "http", "headers": headers}
    asyncio.run(RequestMiddleware(app, is_behind_proxy=True)(scope, receive, send))
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


def test_request_ids_sort_by_time_and_differ() -> None:
    request_ids = [new_request_id() for _ in range(1000)]
    assert len(set(request_ids)) == 1000
    times = [request_id[:12] for request_id in request_ids]
    assert times == sorted(times)
    assert abs(int(times[-1], 16) / 1000 - time.time()) < 3600
    assert all(re.fullmatch("[0-9a-f]{32}", request_id) for request_id in request_ids)


def test_an_error_is_a_json_object_with_a_message_and_its_length() -> None:
    error = HttpError(403, "No", "FORBIDDEN", headers={"A": "b"})
    lines, body = serialize_error(error, ErrorSource("r1", "https://x"), closes=True)
    assert lines.decode().splitlines() == [
        "content-type: application/json",
        f"content-length: {len(body)}",
        "a: b",
        "connection: close",
    ]
    assert orjson.loads(body) == {
        "message": "No",
        "code": "FORBIDDEN",
        "request_id": "r1",
        "docs": "https://x/v1/errors#FORBIDDEN",
    }


def test_a_copy_of_a_scope_with_other_headers_has_those() -> None:
    scope: dict[str, Any] = {"headers": [(b"api-key", b"first")]}
    assert fields_of(scope)[b"api-key"] == b"first"
    assert fields_of({**scope, "headers": [(b"api-key", b"second")]})[b"api-key"] == b"second"
    assert fields_of(scope)[b"api-key"] == b"first"


PEER = "10.0.0.1"


def forwarded(*values: bytes) -> Headers:
    return [(b"host", b"a"), *((b"x-forwarded-for", value) for value in values)]


@pytest.mark.parametrize(
    ("headers", "hops", "address"),
    [
        (forwarded(b"192.0.2.1"), 1, "192.0.2.1"),
        # The client sent an address of its own choice; the proxy appended the true one.
        (forwarded(b"203.0.113.9, 192.0.2.1"), 1, "192.0.2.1"),
        (forwarded(b"203.0.113.9", b"192.0.2.1"), 1, "192.0.2.1"),
        (forwarded(b"203.0.113.9,192.0.2.1,10.0.0.2"), 2, "192.0.2.1"),
        # Fewer entries than proxies: the request did not come through all of them.
        (forwarded(b"192.0.2.1"), 2, PEER),
        (forwarded(), 1, PEER),
        # Nothing that a proxy appends.
        (forwarded(b""), 1, PEER),
        (forwarded(b"192.0.2.1, "), 1, PEER),
        (forwarded(b"unknown"), 1, PEER),
        (forwarded(b"192.0.2.1\x00"), 1, PEER),
        (forwarded(b"\xff" * 9000), 1, PEER),
        ([(b"forwarded", b"for=192.0.2.1")], 1, PEER),
    ],
)
def test_the_proxy_nearest_to_the_client_vouches_for_its_address(
    headers: Headers, hops: int, address: str
) -> None:
    assert get_forwarded_address(PEER, headers, hops) == address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("1.2.3.4:567", "1.2.3.4"),
        ("[::1]:5", "::1"),
        ("[::1]", "::1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("[::ffff:1.2.3.4]:80", "1.2.3.4"),
        ("1.2.3.4:", ""),
        ("[::1]5", ""),
        ("[::1", ""),
        ("fe80::1%eth0", ""),
        ("01.2.3.4", ""),
        ("", ""),
    ],
)
def test_an_address_has_one_spelling_and_no_port(text: str, address: str) -> None:
    assert normalize_address(text) == address


def test_the_addresses_of_one_ipv6_network_are_one_client() -> None:
    assert group_address("2001:db8::1") == group_address("2001:db8::ffff:2")
    assert group_address("2001:db8::1") != group_address("2001:db8:0:1::1")
    assert group_address("192.0.2.1") != group_address("192.0.2.2")


@pytest.mark.parametrize(
    ("member", "weight"),
    [
        ("a", 1.0),
        ("a;q=1", 1.0),
        ("a;q=0", 0.0),
        ("a; Q=0.25", 0.25),
        ("a ; q = 0.5", 0.5),
        ("a;charset=utf-8;q=0.5", 0.5),
        ("a;q=.2", 0.2),  # HttpURLConnection of Java 8
        ("a;q=0.33333", 0.33333),
        ("a;q=2", 0.0),  # no weight is above 1
        ("a;q=", 0.0),
        ("a;q=high", 0.0),
        ("a;q=nan", 0.0),
        ("a;q=1e0", 0.0),
        ("a;q=²", 0.0),  # a digit to str.isdigit, not to float
        ("a;q=٠.٥", 0.0),  # digits to float, not to HTTP
    ],
)
def test_a_weight_is_a_number_from_0_to_1_or_else_0(member: str, weight: float) -> None:
    assert parse_weights(member) == {"a": weight}


@given(st.text(alphabet=st.characters(max_codepoint=255)))
def test_any_header_has_weights_from_0_to_1(header: str) -> None:
    assert all(0 <= weight <= 1 for weight in parse_weights(header).values())


@given(st.text(alphabet=st.characters(max_codepoint=255)))
def test_any_accept_header_gets_a_media_type_or_none(header: str) -> None:
    assert "json" in (negotiate_media_type(header) or "json")


class Hang:
    """Reads of lists that never end."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def list_page(self, *_: Any) -> Any:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()

    @property
    def goes_on(self) -> bool:
        """On a busy machine, the deadline may come before a read begins."""
        return self.begun.is_set() and not self.ended.is_set()


@pytest.fixture
async def hang(monkeypatch: pytest.MonkeyPatch, anyio_backend: str) -> Hang:
    hang = Hang()
    monkeypatch.setattr(Store, "list_page", hang.list_page)
    return hang


@pytest.fixture
async def impatient(world: World, anyio_backend: str) -> AsyncIterator[httpx.AsyncClient]:
    async with run_gateway(world.settings()) as gateway:
        gateway.executor.deadline_seconds = 0.05
        async with open_client(gateway, world.keys.full) as client:
            yield client


async def test_rest_answers_503_at_the_deadline(impatient: httpx.AsyncClient, hang: Hang) -> None:
    response = await impatient.get("/v1/units")
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert "took over 0.05 seconds" in response.json()["message"]
    assert not hang.goes_on


@pytest.mark.parametrize("path", ["/v1/units", "/graphql?query={__typename}"])
async def test_a_key_that_cannot_be_looked_up_in_time_is_503(
    world: World, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    hang = Hang()
    async with run_gateway(world.settings()) as gateway:
        gateway.authenticate = dataclasses.replace(gateway.authenticate, timeout_seconds=0.05)
        monkeypatch.setattr(ApiKeyCache, "get_valid_key", hang.list_page)
        async with open_client(gateway, world.keys.full) as client:
            response = await client.get(path)
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert not hang.goes_on


async def test_graphql_answers_503_at_the_deadline(
    impatient: httpx.AsyncClient, hang: Hang
) -> None:
    response = await impatient.post("/graphql", json={"query": "{ units { data { id } } }"})
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    body = response.json()
    assert [error["extensions"]["code"] for error in body["errors"]] == ["DEADLINE_EXCEEDED"]
    assert "data" not in body
    assert not hang.goes_on


def wait_forever(svg: bytes, *, force: bool, max_places: int) -> None:
    """Hang without using CPU time."""
    signal.pause()


async def test_a_drawing_that_waits_for_too_long_is_503_and_not_its_fault(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parsing.svg.unit_map.parse_unit_map", wait_forever)
    monkeypatch.setattr(process_pool, "WALL_SECONDS_PER_CPU_SECOND", 0.05)
    extensions: list[float] = []

    @contextmanager
    def extend(seconds: float) -> Iterator[None]:
        extensions.append(seconds)
        with extend_read(seconds):
            yield

    monkeypatch.setattr(maps, "extend_read", extend)
    async with (
        run_gateway(world.settings()) as gateway,
        open_client(gateway, world.keys.full) as client,
    ):
        xml = {"Content-Type": "application/vnd.map+xml"}
        rest = await client.post("/v1/maps/parse", content="<svg/>", headers=xml)
        query = {"query": '{ parsedUnitMap(svg: "<svg/>") { map } }'}
        graphql = await client.post("/graphql", json=query)
    for response in (rest, graphql):
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    message = "The service is busy; try again later"
    assert read_message(rest) == message
    [error] = graphql.json()["errors"]
    assert (error["message"], error["extensions"]["code"]) == (message, "QUEUE_FULL")
    # The deadline comes after the end of all that the pool does, waiting included.
    assert extensions == [process_pool.max_seconds(MAX_PARSE_CPU_SECONDS)] * 2


async def test_an_import_and_the_processing_of_a_map_have_no_deadline(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    remaining: list[float | None] = []

    async def refuse(*_: Any, **__: Any) -> Any:
        remaining.append(driver.remaining_seconds())
        raise RefusedDocumentError("no")

    monkeypatch.setattr(stale_networks, "import_catalog", refuse)
    monkeypatch.setattr(imports, "process_with_other_maps", refuse)
    async with (
        run_gateway(world.settings()) as gateway,
        open_client(gateway, world.keys.full) as client,
    ):
        for field in (
            'importCatalog(input: { bundle: "{}" }) { notes }',
            'processMap(input: { id: "m" }) { report }',
        ):
            await client.post("/graphql", json={"query": f"mutation {{ {field} }}"})
    assert remaining == [None, None]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_read_ends_when_its_client_leaves(
    world: World, hang: Hang, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "WATCH_AFTER_SECONDS", 0.0)
    body = b'{"query": "{ units { data { id } } }"}' if method == "POST" else b""
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body}]
    sent: list[Any] = []

    async def receive() -> Any:
        if messages:
            return messages.pop()
        await hang.begun.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    async with run_gateway(world.settings()) as gateway:
        path = "/graphql" if method == "POST" else "/v1/units"
        headers = [(b"api-key", world.keys.full.encode()), (b"content-type", b"application/json")]
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": headers,
            "scheme": "https",
            "state": {},
        }
        await gateway.build_app()(scope, receive, send)
    assert not hang.goes_on
    assert sent == []
