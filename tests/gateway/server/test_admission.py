"""A worker has slots for so many requests, for so many of one key, and apart for those without."""

import asyncio
import functools
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.cors import CorsPolicy
from gateway.middleware import RequestMiddleware
from gateway.server import admission as admission_module
from gateway.server.admission import (
    BYTES_PER_UNIT,
    MAX_KEYLESS_IN_FLIGHT,
    MAX_REJECTIONS_PER_SECOND,
    OVERLOADED,
    PIECE_UNITS,
    RESERVED_UNITS,
    UNITS_PER_TURN,
    Admission,
    Decision,
    InputTurns,
    Permit,
    Rejection,
    ScheduledInput,
    Standing,
)
from rest.bodies import receive_body
from tests.gateway.server.served_application import on_server_loop, wait_until
from tests.gateway.small_app import admitting


def scope(key: str = "", path: str = "/v1/units", query: bytes = b"") -> Scope:
    headers = [(b"api-key", key.encode())] if key else []
    return {"type": "http", "path": path, "query_string": query, "headers": headers}


def admit_all(admission: Admission, scopes: list[Scope]) -> list[Decision]:
    return [admission.admit(each) for each in scopes]


def statuses(decisions: list[Decision]) -> list[int]:
    """The status of each rejection, 200 for each permit."""
    return [each.error.status if isinstance(each, Rejection) else 200 for each in decisions]


def test_one_key_cannot_take_all_slots() -> None:
    admission = Admission(4, 2)
    assert statuses(admit_all(admission, [scope("a")] * 3)) == [200, 200, 429]
    assert statuses(admit_all(admission, [scope("b")] * 2 + [scope("c")])) == [200, 200, 503]


def test_a_rejection_of_a_busy_key_says_how_many_requests_it_may_have() -> None:
    admission = Admission(4, 1)
    _, rejection = admit_all(admission, [scope("a")] * 2)
    assert isinstance(rejection, Rejection)
    assert rejection.error.headers["Retry-After"] == "1"
    assert "at most 1 requests may be in progress" in rejection.error.message


def test_a_released_slot_is_free_for_any_key() -> None:
    admission = Admission(1, 1)
    permit = admission.admit(scope("a"))
    assert isinstance(permit, Permit)
    permit.release()
    permit.release()
    assert admission.in_flight == 0
    assert statuses(admit_all(admission, [scope("b"), scope("a")])) == [200, 503]


@pytest.mark.parametrize(
    "other",
    [
        scope(" a "),
        scope(query=b"api-key=a"),
        scope(query=b"page=1&api%2Dkey=%61"),
        scope(query=b"api-key=+a+"),
    ],
)
def test_a_key_is_the_same_however_it_is_sent(other: Scope) -> None:
    assert statuses(admit_all(Admission(4, 1), [scope("a"), other])) == [200, 429]


def test_invented_keys_count_as_one_and_leave_room_for_real_ones() -> None:
    admission = Admission(6, 2, is_known_key=lambda key: key.text == "real")
    invented = [scope("x"), scope("y"), scope("z"), scope()]
    assert statuses(admit_all(admission, invented)) == [200, 200, 503, 503]
    assert statuses(admit_all(admission, [scope("real")] * 3)) == [200, 200, 429]


def test_routes_without_keys_have_slots_of_their_own() -> None:
    admission = Admission(2, 2)
    paths = [
        "/v1",
        "/v1/openapi.json",
        "/v1/openapi.yaml",
        "/v1/openapi",
        "/v1/bundle.schema.json",
        "/pages/chunk.js",
        "/clients/floorgate-map.js",
    ]
    keyless = [scope(path=path) for path in paths * MAX_KEYLESS_IN_FLIGHT]
    decisions = admit_all(admission, keyless)
    assert statuses(decisions).count(200) == MAX_KEYLESS_IN_FLIGHT
    assert decisions[-1] == OVERLOADED
    assert statuses(admit_all(admission, [scope("a")] * 3)) == [200, 200, 503]
    for permit in decisions:
        if isinstance(permit, Permit):
            permit.release()
    assert statuses(admit_all(admission, keyless[:1])) == [200]


def test_health_needs_no_slot() -> None:
    admission = Admission(1, 1)
    admit_all(admission, [scope("a")])
    probes = [scope(path="/health/live"), scope(path="/health/ready")]
    assert admit_all(admission, probes) == [None, None]


def test_nothing_is_kept_of_a_key_without_requests() -> None:
    admission = Admission(10, 10)
    for number in range(100):
        permit = admission.admit(scope(f"key {number}"))
        assert isinstance(permit, Permit)
        permit.release()
    rejected = Admission(10, 1)
    permits = admit_all(rejected, [scope("a")] * 5)
    assert isinstance(permits[0], Permit)
    permits[0].release()
    assert (len(admission.keyed.taken_by), len(rejected.keyed.taken_by)) == (0, 0)


@on_server_loop
async def test_rejections_without_a_line_of_their_own_are_counted_in_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gateway.server.admission.QUIET_SECONDS", 0.0)
    caplog.set_level(logging.WARNING, "floorgate.admission")

    admission = Admission(1, 1)
    for rejection in [OVERLOADED] * 1000 + [admission.key_is_busy]:
        admission.count_rejection(rejection, "192.0.2.1")
    await wait_until(lambda: not admission._log._unlogged)
    logged: list[Any] = [getattr(record, "fields", None) for record in caplog.records]
    busy = {"limit": "requests_in_flight", "errors": ["QUEUE_FULL"]}
    key_is_busy = {"limit": "requests_per_key", "errors": ["TOO_MANY_IN_PROGRESS"]}
    counts = [(busy, 1), (key_is_busy, 1), (busy, 999)]
    assert logged == [{**fields, "count": count, "client": "192.0.2.1"} for fields, count in counts]


@on_server_loop
async def test_a_line_names_the_key_that_is_rejected_or_has_most_slots(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "floorgate.admission")
    admission = Admission(5, 3, find_key_id={"a": "key_a", "b": "key_b"}.get)
    for decision in admit_all(admission, [scope(key) for key in "baaaabc"]):
        if isinstance(decision, Rejection):
            admission.count_rejection(decision, "192.0.2.1")
    logged: list[Any] = [getattr(record, "fields", None) for record in caplog.records]
    assert [(line["limit"], line["key_id"]) for line in logged] == [
        ("requests_per_key", "key_a"),
        ("requests_in_flight", "key_a"),  # c is rejected, and a is why
    ]


def test_reading_is_delayed_only_after_more_rejections_than_the_maximum() -> None:
    admission, now = Admission(), 100.0
    burst = round(admission_module.REJECTION_BURST_SECONDS * MAX_REJECTIONS_PER_SECOND)
    assert [admission.delay_after(now) for _ in range(burst)] == [pytest.approx(0.0)] * burst
    delays = [admission.delay_after(now) for _ in range(10_000)]
    assert delays == sorted(delays)
    assert delays[0] == pytest.approx(1 / MAX_REJECTIONS_PER_SECOND)
    assert delays[-1] == admission_module.MAX_DELAY_SECONDS
    assert admission.delay_after(now + 60) == 0.0


def test_a_rejection_may_count_like_several() -> None:
    costly, cheap = Admission(), Admission()
    delays = [costly.delay_after(100.0, 4) for _ in range(50)]
    assert delays == pytest.approx([cheap.delay_after(100.0) for _ in range(200)][3::4])


@on_server_loop
async def test_requests_without_a_key_delay_no_others() -> None:
    admission, started = Admission(), list[str]()
    for name in "xyz":
        admission.start(functools.partial(started.append, name), Standing.NEW)
    admission.start(functools.partial(started.append, "good"))
    await asyncio.sleep(0)
    assert started == ["x", "good", "y"]


@on_server_loop
async def test_one_request_starts_in_each_turn_of_the_event_loop() -> None:
    admission, started = Admission(), list[str]()
    for name in "abc":
        admission.start(functools.partial(started.append, name))
    for expected in ("a", "ab", "abc", "abc"):
        assert "".join(started) == expected
        await asyncio.sleep(0)
    admission.start(functools.partial(started.append, "d"))  # nothing waits: it starts at once
    assert started[-1] == "d"


# Requests beyond what a process can work on are answered 503 at once.


SCOPE = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
CHUNKED = (b"transfer-encoding", b"chunked")


class Shedding:
    """The middleware of an application behind an admission."""

    def __init__(self, app: ASGIApp, admission: Admission, cors: CorsPolicy | None = None) -> None:
        self.admission = admission
        self._app = admitting(RequestMiddleware(app, cors=cors), admission)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def shed_load(app: ASGIApp, max_in_flight: int, max_per_key: int = 100) -> Shedding:
    return Shedding(app, Admission(max_in_flight, max_per_key))


class Client:
    """A client that sends its body, and reads its response once it `reads`."""

    def __init__(self, *, reads: bool = True) -> None:
        self.pieces: asyncio.Queue[Message] = asyncio.Queue()
        self.reads = asyncio.Event()
        if reads:
            self.reads.set()
        self.sent: list[Message] = []

    @property
    def status(self) -> int | None:
        """Return the status of the response, once it is there."""
        return self.sent[0]["status"] if self.sent else None

    async def send(self, message: Message) -> None:
        await self.reads.wait()
        self.sent.append(message)

    def write(self, body: bytes, *, more_body: bool = False) -> None:
        self.pieces.put_nowait({"type": "http.request", "body": body, "more_body": more_body})

    async def start(self, app: ASGIApp, **scope: Any) -> asyncio.Task[None]:
        """Begin a request, and let it run until it waits."""
        task = asyncio.ensure_future(app({**SCOPE, **scope}, self.pieces.get, self.send))
        await let_tasks_run()
        return task

    async def post(self, app: ASGIApp, key: bytes = b"") -> asyncio.Task[None]:
        """Begin a request that will have a body."""
        return await self.start(app, method="POST", headers=[CHUNKED, (b"api-key", key)])


async def let_tasks_run() -> None:
    """Lets every task run until it waits for something."""
    for _ in range(10):
        await asyncio.sleep(0)


class BlockingApp:
    """An application that holds its requests, once their body is there, until the event is set."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.started = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await receive_body(receive, 1_000)
        self.started += 1
        await self.release.wait()
        if scope["path"] == "/fault":
            raise ValueError
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await receive_body(receive, 1_000_000)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


@on_server_loop
async def test_a_request_over_the_maximum_is_shed_before_the_application() -> None:
    app = BlockingApp()
    middleware = shed_load(app, 2)
    clients = [Client() for _ in range(4)]
    tasks = [await client.start(middleware) for client in clients[:3]]
    start, body = clients[2].sent
    assert start["status"] == 503
    assert dict(start["headers"])[b"retry-after"] == b"1"
    assert body["body"].startswith(b'{"message":"Service unavailable",')
    assert app.started == 2
    app.release.set()
    await asyncio.gather(*tasks)
    await clients[3].start(middleware)
    assert [client.status for client in clients] == [200, 200, 503, 200]


@on_server_loop
async def test_a_rejection_tells_nobody_the_origin_of_another() -> None:
    allowed = b"https://a.example"
    middleware = Shedding(BlockingApp(), Admission(0), CorsPolicy([allowed.decode()]))
    page, program = Client(), Client()
    for _ in range(3):
        await page.start(middleware, headers=[(b"origin", allowed)])
    names = b"access-control-allow-origin"
    assert [dict(start["headers"])[names] for start in page.sent[::2]] == [allowed] * 3
    await program.start(shed_load(BlockingApp(), 0))
    assert dict(program.sent[0]["headers"]).keys() == {
        b"content-type", b"content-length", b"retry-after", b"x-request-id",
    }  # fmt: skip


# What holds no slot


@on_server_loop
async def test_clients_that_do_not_read_hold_no_slot() -> None:
    middleware = shed_load(echo, 2)
    clients = [Client(reads=False) for _ in range(5)]
    for client in clients:
        client.write(b"")
    tasks = [await client.post(middleware) for client in clients]
    assert middleware.admission.in_flight == 0
    for client in clients:
        client.reads.set()
    await asyncio.gather(*tasks)
    assert [client.status for client in clients] == [200] * 5
    assert middleware.admission.in_flight == 0


@on_server_loop
async def test_bodies_that_arrive_slowly_hold_no_slot() -> None:
    middleware = shed_load(echo, 2)
    clients = [Client() for _ in range(5)]
    tasks = [await client.post(middleware) for client in clients]
    for piece, more_body in ((b"dr", True), (b"op", False)):
        for client in clients:
            client.write(piece, more_body=more_body)
        await let_tasks_run()
    await asyncio.gather(*tasks)
    assert [client.sent[1]["body"] for client in clients] == [b"drop"] * 5
    assert (middleware.admission.in_flight, middleware.admission.arriving_bytes) == (0, 0)


@on_server_loop
async def test_listening_for_a_disconnect_takes_no_slot_while_the_response_is_read() -> None:
    async def listening(scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.ensure_future(receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "more_body": True})
        await leaving

    middleware = shed_load(listening, 1)
    client = Client(reads=False)
    client.write(b"")
    asking = await client.post(middleware)
    assert middleware.admission.in_flight == 0
    client.reads.set()
    await asking
    assert middleware.admission.in_flight == 0


# What keeps its slot


@pytest.mark.parametrize("headers", [[], [(b"content-length", b"9")], [CHUNKED]])
@on_server_loop
async def test_a_get_keeps_its_slot_while_it_watches_for_a_disconnect(
    headers: list[tuple[bytes, bytes]],
) -> None:
    """Also if it announces a body, which it never sends."""
    blocking = BlockingApp()

    async def watching(scope: Scope, receive: Receive, send: Send) -> None:
        listening = asyncio.ensure_future(receive())
        await blocking(scope, receive, send)
        listening.cancel()

    middleware = shed_load(watching, 1)
    client, other = Client(), Client()
    asking = await client.start(middleware, headers=headers)
    assert (blocking.started, middleware.admission.in_flight) == (1, 1)
    await other.start(middleware)
    assert other.status == 503
    blocking.release.set()
    await asking
    assert client.status == 200


@pytest.mark.parametrize(("max_in_flight", "max_per_key", "status"), [(1, 9, 503), (9, 1, 429)])
@on_server_loop
async def test_a_request_is_shed_when_its_body_arrives_and_there_is_enough_to_do(
    max_in_flight: int, max_per_key: int, status: int
) -> None:
    blocking = BlockingApp()
    middleware = shed_load(blocking, max_in_flight, max_per_key)
    clients = [Client() for _ in range(2)]
    tasks = [await client.post(middleware, b"one") for client in clients]
    for client in clients:
        client.write(b"x")
        await let_tasks_run()
    assert clients[1].status == status
    assert (blocking.started, middleware.admission.in_flight) == (1, 1)
    blocking.release.set()
    await asyncio.gather(*tasks)
    assert clients[0].status == 200
    assert middleware.admission.in_flight == 0


@pytest.mark.parametrize(
    ("max_bytes", "keys", "statuses"),
    [
        (18, (b"one", b"two", b"three"), [200, 200, 200]),
        (17, (b"one", b"two", b"three"), [200, 200, 503]),  # all together have a limit
        (24, (b"one", b"one", b"two"), [200, 200, 200]),
        (23, (b"one", b"one", b"two"), [200, 503, 200]),  # one key may have half of it
    ],
)
@on_server_loop
async def test_bodies_that_arrive_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
    max_bytes: int,
    keys: tuple[bytes, ...],
    statuses: list[int],
) -> None:
    monkeypatch.setattr("gateway.server.admission.MAX_ARRIVING_BYTES", max_bytes)
    middleware = shed_load(echo, 5)
    clients = [Client() for _ in keys]
    tasks = list[asyncio.Task[None]]()
    for client, key in zip(clients, keys, strict=True):
        client.write(b"sixsix", more_body=True)
        tasks.append(await client.post(middleware, key))
    assert middleware.admission.arriving_bytes == 6 * statuses.count(200)
    for client in clients:
        client.write(b"")
    await asyncio.gather(*tasks)
    assert [client.status for client in clients] == statuses
    assert (middleware.admission.in_flight, middleware.admission.arriving_bytes) == (0, 0)
    assert not middleware.admission.arriving_by


# What gives its slot back


@pytest.mark.parametrize("waits", ["for the body", "for the reader"])
@on_server_loop
async def test_a_cancelled_request_releases_its_slot_once(waits: str) -> None:
    middleware = shed_load(echo, 3)
    client = Client(reads=False)
    client.write(b"x", more_body=waits == "for the body")
    asking = await client.post(middleware)
    asking.cancel()
    client.reads.set()
    await asking
    assert client.status == (503 if waits == "for the body" else None)
    assert (middleware.admission.in_flight, middleware.admission.arriving_bytes) == (0, 0)


@on_server_loop
async def test_a_request_that_fails_makes_room_too() -> None:
    app = BlockingApp()
    middleware = shed_load(app, 1)
    client = Client()
    asking = await client.start(middleware, path="/fault")
    app.release.set()
    await asking
    assert (client.status, middleware.admission.in_flight) == (500, 0)


# Input is parsed in turns: what others send delays a client by one turn of the event loop.


REQUEST = b"GET / HTTP/1.1\r\n\r\n"
PIECE_BYTES = 4 * len(REQUEST)


class Client_input_turns(ScheduledInput):
    """A connection that notes in `parsed` what is parsed of its input."""

    max_piece_bytes = PIECE_BYTES

    def __init__(self, turns: InputTurns, parsed: list[tuple[str, bytes]], name: str) -> None:
        super().__init__()
        self.connection = SimpleNamespace(table=SimpleNamespace(turns=turns), standing=Standing.NEW)
        self.transport: Any = SimpleNamespace(is_closing=self._is_closing)
        self.name = name
        self.is_closing, self.is_busy, self.is_paused = False, False, False
        self._parsed = parsed

    def _is_closing(self) -> bool:
        return self.is_closing

    def parse(self, piece: bytes) -> None:
        self._parsed.append((self.name, piece))

    def _may_parse(self) -> bool:
        return not self.is_busy

    def _pause_input(self) -> None:
        self.is_paused = True

    def _resume_input(self) -> None:
        self.is_paused = False


class Worker:
    """The clients of one event loop, and what is parsed of their input, in that order."""

    def __init__(self) -> None:
        self.turns = InputTurns()
        self.parsed: list[tuple[str, bytes]] = []

    def connect(self, name: str, standing: Standing = Standing.NEW) -> Client_input_turns:
        client = Client_input_turns(self.turns, self.parsed, name)
        client.connection.standing = standing
        return client

    async def take_turn(self) -> list[str]:
        """The clients whose input is parsed in the next turn."""
        count = len(self.parsed)
        await asyncio.sleep(0)
        return [name for name, _ in self.parsed[count:]]


@on_server_loop
async def test_a_short_request_is_parsed_as_soon_as_it_arrives() -> None:
    worker = Worker()
    client = worker.connect("a")
    client.data_received(REQUEST)
    client.data_received(b"x" * PIECE_BYTES)
    assert worker.parsed == [("a", REQUEST), ("a", b"x" * PIECE_BYTES)]
    assert worker.turns.left == UNITS_PER_TURN - 2 * PIECE_UNITS


@on_server_loop
async def test_once_the_budget_is_spent_requests_wait_for_the_next_turn() -> None:
    worker = Worker()
    client = worker.connect("a")
    worker.turns.spend(UNITS_PER_TURN)
    client.data_received(REQUEST)
    client.data_received(REQUEST)
    assert worker.parsed == []
    assert await worker.take_turn() == ["a", "a"]
    assert worker.turns.left == UNITS_PER_TURN - 2 * PIECE_UNITS


@on_server_loop
async def test_a_piece_completes_one_request_at_most_and_has_a_maximum() -> None:
    worker = Worker()
    client = worker.connect("a")
    body = b"x" * (PIECE_BYTES + 1)
    client.data_received(2 * REQUEST + REQUEST[:-1])
    assert await worker.take_turn() == ["a", "a"]
    client.data_received(body)
    assert [client.is_paused] == [True]  # until that is parsed
    await worker.take_turn()
    assert [client.is_paused] == [False]
    assert [piece for _, piece in worker.parsed] == [
        REQUEST, REQUEST + REQUEST[:-1], body[:-1], b"x",
    ]  # fmt: skip


@on_server_loop
async def test_large_pieces_take_more_of_the_budget() -> None:
    worker = Worker()
    client = worker.connect("a")
    client.max_piece_bytes = 10 * BYTES_PER_UNIT
    worker.turns.spend(UNITS_PER_TURN)
    client.data_received(bytes(10 * BYTES_PER_UNIT))
    await worker.take_turn()
    assert worker.turns.left == UNITS_PER_TURN - PIECE_UNITS - 10


@on_server_loop
async def test_of_many_clients_none_delays_one_with_a_key() -> None:
    """Clients without a key leave it most of each turn, and do not wait for it either."""
    worker = Worker()
    for number in range(1000):
        standing = Standing.NEW if number % 2 else Standing.REJECTED
        worker.connect(standing.name, standing).data_received(2 * REQUEST)
    first = await worker.take_turn()
    room = UNITS_PER_TURN - RESERVED_UNITS
    assert len(first) == room // PIECE_UNITS + 1  # one of the rejected, however many are new
    assert first.count("REJECTED") == 1
    good = worker.connect("good", Standing.ACCEPTED)
    for _ in range(3):
        good.data_received(2 * REQUEST)
        turn = await worker.take_turn()
        assert turn[:2] == ["good", "good"]
        assert "NEW" in turn
        assert "REJECTED" in turn


@on_server_loop
async def test_one_client_takes_no_more_than_a_turn_at_a_time() -> None:
    worker = Worker()
    worker.connect("a", Standing.ACCEPTED).data_received(1000 * REQUEST)
    turn = await worker.take_turn()
    assert len(turn) == UNITS_PER_TURN // PIECE_UNITS


@pytest.mark.parametrize("state", ["is_busy", "is_closing"])
@on_server_loop
async def test_nothing_is_parsed_while_a_request_is_answered_or_once_it_closes(state: str) -> None:
    worker = Worker()
    client = worker.connect("a")
    client.data_received(2 * REQUEST)
    setattr(client, state, True)
    assert await worker.take_turn() == []
    client.data_received(REQUEST)
    assert await worker.take_turn() == []
    client.is_busy = False
    client.parse_later()
    expected = ["a"] * 3 if state == "is_busy" else []
    assert await worker.take_turn() == expected
