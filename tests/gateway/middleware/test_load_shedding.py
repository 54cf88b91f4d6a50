"""Requests beyond what a process can work on are answered 503 at once."""

import asyncio
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.middleware.cors import CorsMiddleware
from gateway.middleware.load_shedding import LoadSheddingMiddleware
from gateway.server.admission import Admission
from rest.request_body import receive_body
from tests.gateway.server.served_application import on_server_loop

SCOPE = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
CHUNKED = (b"transfer-encoding", b"chunked")


def shed_load(app: ASGIApp, max_in_flight: int, max_per_key: int = 100) -> LoadSheddingMiddleware:
    return LoadSheddingMiddleware(app, Admission(max_in_flight, max_per_key))


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
    middleware = shed_load(BlockingApp(), 0)
    cors = CorsMiddleware(middleware, ["https://a.example"])
    page, program = Client(), Client()
    for _ in range(3):
        await page.start(cors, headers=[(b"origin", b"https://a.example")])
    assert [dict(start["headers"])[b"vary"] for start in page.sent[::2]] == [b"Origin"] * 3
    await program.start(middleware)
    assert dict(program.sent[0]["headers"]).keys() == {
        b"content-type", b"content-length", b"retry-after",
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
    await asyncio.wait([asking])
    assert asking.cancelled()
    assert (middleware.admission.in_flight, middleware.admission.arriving_bytes) == (0, 0)


@on_server_loop
async def test_a_request_that_fails_makes_room_too() -> None:
    app = BlockingApp()
    middleware = shed_load(app, 1)
    asking = await Client().start(middleware, path="/fault")
    app.release.set()
    with pytest.raises(ValueError):
        await asking
    assert middleware.admission.in_flight == 0
