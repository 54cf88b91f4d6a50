"""Requests beyond what a process can work on are answered 503 at once."""

import asyncio

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.middleware.cors import CorsMiddleware
from gateway.middleware.load_shedding import LoadSheddingMiddleware, ReleaseMiddleware
from gateway.server.admission import SCOPE_ADMISSION, Admission, Permit
from rest.request_body import receive_body
from tests.gateway.server.served_application import on_server_loop

CHUNKED = (b"transfer-encoding", b"chunked")
SCOPE = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
POST = {**SCOPE, "method": "POST", "headers": [CHUNKED]}


def shed_load(app: ASGIApp, max_in_flight: int) -> LoadSheddingMiddleware:
    return LoadSheddingMiddleware(app, Admission(max_in_flight, max_in_flight))


async def receive() -> Message:
    return {"type": "http.request"}


class BlockingApp:
    """An application that holds its requests until the event is set."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.started = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.started += 1
        await self.release.wait()
        if scope["path"] == "/fault":
            raise ValueError
        await send({"type": "http.response.start", "status": 200, "headers": []})


async def send_request(middleware: LoadSheddingMiddleware, path: str = "/") -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await middleware({**SCOPE, "path": path}, receive, send)
    return sent


async def start_requests(
    middleware: LoadSheddingMiddleware, count: int, path: str = "/"
) -> list[asyncio.Task[list[Message]]]:
    tasks = [asyncio.create_task(send_request(middleware, path)) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


@on_server_loop
async def test_a_request_over_the_maximum_is_shed_before_the_application() -> None:
    app = BlockingApp()
    middleware = shed_load(app, 2)
    waiting = await start_requests(middleware, 2)
    start, body = await send_request(middleware)
    assert start["status"] == 503
    assert dict(start["headers"])[b"retry-after"] == b"1"
    assert body["body"].startswith(b'{"message":"Service unavailable",')
    assert app.started == 2
    app.release.set()
    assert [sent[0]["status"] for sent in await asyncio.gather(*waiting)] == [200, 200]
    assert (await send_request(middleware))[0]["status"] == 200


@on_server_loop
async def test_a_rejection_tells_nobody_the_origin_of_another() -> None:
    middleware = shed_load(BlockingApp(), 0)
    cors = CorsMiddleware(middleware, ["https://a.example"])
    client = Client()
    client.reads.set()
    for _ in range(3):
        scope = {**SCOPE, "headers": [(b"origin", b"https://a.example")]}
        await cors(scope, receive, client.send)
    assert [dict(start["headers"])[b"vary"] for start in client.sent[::2]] == [b"Origin"] * 3
    start, _ = await send_request(middleware)
    assert dict(start["headers"]).keys() == {
        b"content-type", b"content-length", b"retry-after",
    }  # fmt: skip


@on_server_loop
async def test_health_is_answered_at_any_load() -> None:
    app = BlockingApp()
    middleware = shed_load(app, 1)
    waiting = await start_requests(middleware, 1) + await start_requests(
        middleware, 3, "/health/live"
    )
    assert app.started == 4
    app.release.set()
    await asyncio.gather(*waiting)


class Client:
    """A client that sends its body and reads its response step by step."""

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[Message] = asyncio.Queue()
        self.reads = asyncio.Event()
        self.sent: list[Message] = []

    async def send(self, message: Message) -> None:
        await self.reads.wait()
        self.sent.append(message)

    def write(self, body: bytes, *, more_body: bool) -> None:
        self.pieces.put_nowait({"type": "http.request", "body": body, "more_body": more_body})

    def start_request(self, middleware: LoadSheddingMiddleware) -> asyncio.Task[None]:
        return asyncio.create_task(middleware({**POST}, self.pieces.get, self.send))


async def let_tasks_run() -> None:
    """Lets every task run until it waits for something."""
    for _ in range(10):
        await asyncio.sleep(0)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await receive_body(receive, 1_000_000)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


@on_server_loop
async def test_clients_that_do_not_read_hold_no_slot() -> None:
    middleware = shed_load(echo, 2)
    clients = [Client() for _ in range(5)]
    tasks = [client.start_request(middleware) for client in clients]
    for client in clients:
        client.write(b"", more_body=False)
    await let_tasks_run()
    assert middleware.admission.in_flight == 0
    assert [message["type"] for message in await send_request(middleware)] == [
        "http.response.start", "http.response.body",
    ]  # fmt: skip
    for client in clients:
        client.reads.set()
    await asyncio.gather(*tasks)
    assert all(client.sent[0]["status"] == 200 for client in clients)
    assert middleware.admission.in_flight == 0


@on_server_loop
async def test_bodies_that_arrive_slowly_hold_no_slot() -> None:
    middleware = shed_load(echo, 2)
    clients = [Client() for _ in range(5)]
    tasks = list[asyncio.Task[None]]()
    for client in clients:
        client.reads.set()
        tasks.append(client.start_request(middleware))
        client.write(b"dr", more_body=True)
        await let_tasks_run()
    assert (await send_request(middleware))[0]["status"] == 200
    for client in clients:
        client.write(b"op", more_body=False)
    await asyncio.gather(*tasks)
    assert [client.sent[1]["body"] for client in clients] == [b"drop"] * 5
    assert (middleware.admission.in_flight, middleware.admission.arriving_bytes) == (0, 0)


@on_server_loop
async def test_a_request_is_shed_when_its_body_arrives_and_there_is_enough_to_do() -> None:
    blocking = BlockingApp()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive_body(receive, 1_000)
        await blocking(scope, receive, send)

    middleware = shed_load(app, 1)
    client = Client()
    client.reads.set()
    asking = client.start_request(middleware)
    await let_tasks_run()
    (working,) = await start_requests(middleware, 1)
    client.write(b"x", more_body=False)
    await asking
    assert client.sent[0]["status"] == 503
    assert (blocking.started, middleware.admission.in_flight) == (1, 1)
    blocking.release.set()
    assert (await working)[0]["status"] == 200


@on_server_loop
async def test_bodies_that_arrive_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.server.admission.MAX_ARRIVING_BYTES", 16)

    middleware = shed_load(echo, 5)
    clients, tasks = [Client() for _ in range(3)], list[asyncio.Task[None]]()
    for client, key in zip(clients, (b"one", b"two", b"three"), strict=True):
        scope = {**POST, "headers": [CHUNKED, (b"api-key", key)]}
        tasks.append(asyncio.create_task(middleware(scope, client.pieces.get, client.send)))
        client.reads.set()
        client.write(b"sixsix", more_body=True)
        await let_tasks_run()
    assert clients[2].sent[0]["status"] == 503
    assert middleware.admission.arriving_bytes == 12
    for client in clients[:2]:
        client.write(b"", more_body=False)
    await asyncio.gather(*tasks)
    assert [client.sent[0]["status"] for client in clients] == [200, 200, 503]
    assert (middleware.admission.in_flight, middleware.admission.arriving_bytes) == (0, 0)


@on_server_loop
async def test_one_key_has_only_half_of_the_bytes_that_arrive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gateway.server.admission.MAX_ARRIVING_BYTES", 20)

    middleware = shed_load(echo, 5)
    asked = []
    for key in (b"one", b"one", b"other"):
        client = Client()
        client.reads.set()
        scope = {**POST, "headers": [CHUNKED, (b"api-key", key)]}
        sending = middleware(scope, client.pieces.get, client.send)
        asked.append((client, asyncio.create_task(sending)))
        client.write(b"sixsix", more_body=True)
        await let_tasks_run()
    assert [client.sent[0]["status"] for client, _ in asked if client.sent] == [503]
    for client, task in asked:
        client.write(b"", more_body=False)
        await task
    assert [client.sent[0]["status"] for client, _ in asked] == [200, 503, 200]
    assert not middleware.admission.arriving_by


@pytest.mark.parametrize("header", [(b"content-length", b"9"), CHUNKED])
@on_server_loop
async def test_a_body_that_is_announced_for_a_get_and_never_sent_frees_no_slot(
    header: tuple[bytes, bytes],
) -> None:
    """The application listens for a disconnect while it works."""

    blocking = BlockingApp()

    async def watching(scope: Scope, receive: Receive, send: Send) -> None:
        listening = asyncio.ensure_future(receive())
        await blocking(scope, receive, send)
        listening.cancel()

    middleware = shed_load(watching, 1)
    client = Client()
    client.reads.set()
    scope = {**SCOPE, "headers": [header]}
    asking = asyncio.create_task(middleware(scope, client.pieces.get, client.send))
    await let_tasks_run()
    assert (blocking.started, middleware.admission.in_flight) == (1, 1)
    blocking.release.set()
    await asking


@on_server_loop
async def test_a_permit_of_the_protocol_is_released_by_whoever_answers() -> None:
    async def preflight(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})

    admission = Admission(1, 1)
    for _ in range(3):
        decision = admission.admit(SCOPE)
        assert isinstance(decision, Permit)
        client = Client()
        client.reads.set()
        scope = {**SCOPE, SCOPE_ADMISSION: decision}
        await ReleaseMiddleware(preflight)(scope, receive, client.send)
        assert admission.in_flight == 0


@on_server_loop
async def test_listening_for_a_disconnect_takes_no_slot_while_the_response_is_read() -> None:
    async def listening(scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.ensure_future(receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await leaving
        await send({"type": "http.response.body", "body": b""})

    middleware = shed_load(listening, 1)
    client = Client()
    asking = client.start_request(middleware)
    client.write(b"", more_body=False)
    await let_tasks_run()
    assert middleware.admission.in_flight == 0
    client.reads.set()
    await asking
    assert middleware.admission.in_flight == 0


@on_server_loop
async def test_a_request_without_a_body_keeps_its_slot_while_it_watches_for_a_disconnect() -> None:
    blocking = BlockingApp()

    async def watching(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await blocking(scope, receive, send)

    middleware = shed_load(watching, 1)
    (working,) = await start_requests(middleware, 1)
    await let_tasks_run()
    assert (blocking.started, middleware.admission.in_flight) == (1, 1)
    assert (await send_request(middleware))[0]["status"] == 503
    blocking.release.set()
    assert (await working)[0]["status"] == 200


@pytest.mark.parametrize("waits", ["for the body", "for the reader"])
@on_server_loop
async def test_a_cancelled_request_releases_its_slot_once(waits: str) -> None:
    middleware = shed_load(echo, 3)
    client = Client()
    asking = client.start_request(middleware)
    client.write(b"x", more_body=waits == "for the body")
    await let_tasks_run()
    asking.cancel()
    await asyncio.wait([asking])
    assert asking.cancelled()
    assert (middleware.admission.in_flight, middleware.admission.arriving_bytes) == (0, 0)


@pytest.mark.parametrize("how", ["fault", "cancel"])
@on_server_loop
async def test_a_request_that_fails_makes_room_too(how: str) -> None:
    app = BlockingApp()
    middleware = shed_load(app, 1)
    (waiting,) = await start_requests(middleware, 1, "/fault")
    if how == "cancel":
        waiting.cancel()
    else:
        app.release.set()
    await asyncio.wait([waiting])
    assert waiting.cancelled() or isinstance(waiting.exception(), ValueError)
    assert middleware.admission.in_flight == 0


@on_server_loop
async def test_a_key_that_is_busy_when_a_body_arrives_is_told_so() -> None:
    blocking = BlockingApp()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive_body(receive, 1_000)
        await blocking(scope, receive, send)

    middleware = LoadSheddingMiddleware(app, Admission(10, 1))
    scope = {**POST, "headers": [CHUNKED, (b"api-key", b"one")]}
    clients = [Client() for _ in range(2)]
    tasks = list[asyncio.Task[None]]()
    for client in clients:
        client.reads.set()
        sending = middleware({**scope}, client.pieces.get, client.send)
        tasks.append(asyncio.create_task(sending))
        await let_tasks_run()
    for client in clients:
        client.write(b"x", more_body=False)
        await let_tasks_run()
    assert clients[1].sent[0]["status"] == 429
    blocking.release.set()
    await asyncio.gather(*tasks)
    assert clients[0].sent[0]["status"] == 200
    assert middleware.admission.in_flight == 0
