"""Requests beyond what a process can work on are answered 503 at once."""

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from gateway.middleware.load_shedding import LoadSheddingMiddleware
from rest.request_body import receive_body


async def receive() -> Message:
    return {"type": "http.request"}


class Door:
    """An application that holds its requests until the event is set."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.inside += 1
        await self.open.wait()
        if scope["path"] == "/fault":
            raise ValueError
        await send({"type": "http.response.start", "status": 200, "headers": []})


async def enter(admission: LoadSheddingMiddleware, path: str = "/") -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await admission({"type": "http", "path": path}, receive, send)
    return sent


async def fill(
    admission: LoadSheddingMiddleware, count: int, path: str = "/"
) -> list[asyncio.Task[list[Message]]]:
    tasks = [asyncio.create_task(enter(admission, path)) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


def test_a_request_beyond_the_bound_is_shed_before_the_application() -> None:
    async def scene() -> None:
        door = Door()
        admission = LoadSheddingMiddleware(door, max_in_flight=2)
        waiting = await fill(admission, 2)
        start, body = await enter(admission)
        assert start["status"] == 503
        assert dict(start["headers"])[b"retry-after"] == b"1"
        assert body["body"] == b'{"message":"Service unavailable"}'
        assert door.inside == 2
        door.open.set()
        assert [sent[0]["status"] for sent in await asyncio.gather(*waiting)] == [200, 200]
        assert (await enter(admission))[0]["status"] == 200

    asyncio.run(scene())


def test_health_is_answered_at_any_load() -> None:
    async def scene() -> None:
        door = Door()
        admission = LoadSheddingMiddleware(door, max_in_flight=1)
        waiting = await fill(admission, 1) + await fill(admission, 3, "/health/live")
        assert door.inside == 4
        door.open.set()
        await asyncio.gather(*waiting)

    asyncio.run(scene())


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

    def ask(self, admission: LoadSheddingMiddleware) -> asyncio.Task[None]:
        scope = {"type": "http", "path": "/"}
        return asyncio.create_task(admission(scope, self.pieces.get, self.send))


async def settled() -> None:
    """Lets every task run until it waits for something."""
    for _ in range(10):
        await asyncio.sleep(0)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await receive_body(receive, 1_000_000)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def test_clients_that_do_not_read_hold_no_slot() -> None:
    async def scene() -> None:
        admission = LoadSheddingMiddleware(echo, max_in_flight=2)
        clients = [Client() for _ in range(5)]
        tasks = [client.ask(admission) for client in clients]
        for client in clients:
            client.write(b"", more_body=False)
        await settled()
        assert admission.in_flight == 0
        assert [message["type"] for message in await enter(admission)] == [
            "http.response.start", "http.response.body",
        ]  # fmt: skip
        for client in clients:
            client.reads.set()
        await asyncio.gather(*tasks)
        assert all(client.sent[0]["status"] == 200 for client in clients)
        assert admission.in_flight == 0

    asyncio.run(scene())


def test_bodies_that_arrive_slowly_hold_no_slot() -> None:
    async def scene() -> None:
        admission = LoadSheddingMiddleware(echo, max_in_flight=2)
        clients = [Client() for _ in range(5)]
        tasks = list[asyncio.Task[None]]()
        for client in clients:
            client.reads.set()
            tasks.append(client.ask(admission))
            client.write(b"dr", more_body=True)
            await settled()
        assert (await enter(admission))[0]["status"] == 200
        for client in clients:
            client.write(b"op", more_body=False)
        await asyncio.gather(*tasks)
        assert [client.sent[1]["body"] for client in clients] == [b"drop"] * 5
        assert (admission.in_flight, admission.arriving_bytes) == (0, 0)

    asyncio.run(scene())


def test_a_request_is_shed_when_its_body_arrives_and_there_is_enough_to_do() -> None:
    async def scene() -> None:
        door = Door()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await receive_body(receive, 1_000)
            await door(scope, receive, send)

        admission = LoadSheddingMiddleware(app, max_in_flight=1)
        client = Client()
        client.reads.set()
        asking = client.ask(admission)
        await settled()
        (working,) = await fill(admission, 1)
        client.write(b"x", more_body=False)
        await asking
        assert client.sent[0]["status"] == 503
        assert (door.inside, admission.in_flight) == (1, 1)
        door.open.set()
        assert (await working)[0]["status"] == 200

    asyncio.run(scene())


def test_bodies_that_arrive_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.middleware.load_shedding.MAX_ARRIVING_BYTES", 10)

    async def scene() -> None:
        admission = LoadSheddingMiddleware(echo, max_in_flight=5)
        first, second = Client(), Client()
        tasks = [client.ask(admission) for client in (first, second)]
        for client in (first, second):
            client.reads.set()
            client.write(b"sixsix", more_body=True)
            await settled()
        assert second.sent[0]["status"] == 503
        assert admission.arriving_bytes == 6
        first.write(b"", more_body=False)
        await asyncio.gather(*tasks)
        assert first.sent[0]["status"] == 200
        assert (admission.in_flight, admission.arriving_bytes) == (0, 0)

    asyncio.run(scene())


def test_listening_for_a_disconnect_takes_no_slot_while_the_response_is_read() -> None:
    async def listening(scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.ensure_future(receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await leaving
        await send({"type": "http.response.body", "body": b""})

    async def scene() -> None:
        admission = LoadSheddingMiddleware(listening, max_in_flight=1)
        client = Client()
        asking = client.ask(admission)
        client.write(b"", more_body=False)
        await settled()
        assert admission.in_flight == 0
        client.reads.set()
        await asking
        assert admission.in_flight == 0

    asyncio.run(scene())


@pytest.mark.parametrize("waits", ["for the body", "for the reader"])
def test_a_request_that_is_cancelled_while_it_waits_gives_back_nothing_twice(waits: str) -> None:
    async def scene() -> None:
        admission = LoadSheddingMiddleware(echo, max_in_flight=3)
        client = Client()
        asking = client.ask(admission)
        client.write(b"x", more_body=waits == "for the body")
        await settled()
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()
        assert (admission.in_flight, admission.arriving_bytes) == (0, 0)

    asyncio.run(scene())


@pytest.mark.parametrize("how", ["fault", "cancel"])
def test_a_request_that_fails_makes_room_too(how: str) -> None:
    async def scene() -> None:
        door = Door()
        admission = LoadSheddingMiddleware(door, max_in_flight=1)
        (waiting,) = await fill(admission, 1, "/fault")
        if how == "cancel":
            waiting.cancel()
        else:
            door.open.set()
        await asyncio.wait([waiting])
        assert waiting.cancelled() or isinstance(waiting.exception(), ValueError)
        assert admission.in_flight == 0

    asyncio.run(scene())


def test_a_bound_of_zero_is_none() -> None:
    async def scene() -> None:
        door = Door()
        waiting = await fill(LoadSheddingMiddleware(door, max_in_flight=0), 50)
        assert door.inside == 50
        door.open.set()
        await asyncio.gather(*waiting)

    asyncio.run(scene())
