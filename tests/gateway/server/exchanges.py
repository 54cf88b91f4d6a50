"""Exchange bytes with an application on a connection that has short limits."""

import asyncio
from dataclasses import replace
from typing import Any

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.server.config import ConnectionLimits
from rest.request_body import receive_body
from tests.gateway.server.served_application import listen, run

SHORT = ConnectionLimits(
    header_seconds=0.2,
    grace_seconds=0.1,
    body_idle_seconds=0.2,
    body_seconds=0.6,
    keep_alive_seconds=1,
    linger_seconds=0.1,
)
STEADY = replace(
    SHORT,
    header_seconds=600,
    grace_seconds=600,
    body_idle_seconds=600,
    body_seconds=600,
    keep_alive_seconds=600,
)
"""Cuts nothing off, however busy this machine is."""


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the address and the body."""
    body = scope["raw_path"] + b" " + await receive_body(receive, 1_000_000)
    length = str(len(body)).encode()
    headers = [(b"content-length", length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def reject(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers without a look at the body."""
    headers = [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body"})


def exchange(
    raw: bytes,
    app: ASGIApp = echo,
    limits: ConnectionLimits = STEADY,
    *more: bytes,
    source: str = "127.0.0.1",
    **options: Any,
) -> bytes:
    """All that the server sends until it closes; `more` is sent piece by piece, with pauses."""
    received = b""

    async def scenario() -> None:
        nonlocal received
        async with listen(app, limits, **options) as connect:
            reader, writer = await connect(source)
            writer.write(raw)
            reading = asyncio.create_task(reader.read())
            for piece in more:
                await asyncio.wait([reading], timeout=0.05)
                if not reading.done():
                    writer.write(piece)
            received = await reading
            writer.close()

    run(scenario())
    return received


def message(received: bytes) -> str:
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head
    assert b"x-request-id: " in head
    assert b"connection: close" in head
    text: str = orjson.loads(body)["message"]
    return text
