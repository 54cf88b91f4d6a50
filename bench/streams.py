"""`python -m bench.streams URL KEY`: the memory of a gateway's worker for each idle stream.

Start a gateway beside it (`floorgate serve --demo --behind-proxy --rate-limit 0
--max-connections-per-address 0`). The streams are opened, and the memory of the worker is read
before and after. `bench.load.machine` reads it from /proc, so the gateway runs on this machine.
"""

import asyncio
import ssl
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import TypeAlias
from urllib.parse import urlsplit

import click
import orjson
from websockets.asyncio.client import ClientConnection, connect

from bench.load import machine

SUBSCRIPTION = "subscription { changes { cursor } }"
MAX_OPENING = 50
"""Streams that are opened at a time."""
SETTLE_SECONDS = 2.0
PROTOCOL = "graphql-transport-ws"
HEADERS = {
    "X-Forwarded-Proto": "https",
    "Experimental-Flags": "changes, unit-attributes-resource",
}
Receive: TypeAlias = Callable[[], Awaitable[bytes]]
"""Returns the next message or event of a stream."""


class StreamError(Exception):
    """The gateway did not open a stream."""


async def open_websocket(stack: AsyncExitStack, url: str, key: str, query: str) -> Receive:
    """Open a WebSocket with one subscription."""
    address = f"{url.replace('http', 'ws', 1)}/graphql"
    secure = _any_certificate() if url.startswith("https") else None
    socket: ClientConnection = await stack.enter_async_context(
        connect(
            address,
            subprotocols=[PROTOCOL],  # type: ignore[list-item]
            compression=None,
            additional_headers=HEADERS,
            ssl=secure,
        )
    )
    await socket.send(_dump({"type": "connection_init", "payload": {"apiKey": key}}))
    if b"connection_ack" not in (answer := await socket.recv(decode=False)):
        raise StreamError(answer.decode())
    await socket.send(_dump({"id": "1", "type": "subscribe", "payload": {"query": query}}))
    await socket.send(_dump({"type": "ping"}))
    if b"pong" not in (answer := await socket.recv(decode=False)):
        raise StreamError(answer.decode())

    async def receive() -> bytes:
        return await socket.recv(decode=False)

    return receive


async def open_event_stream(stack: AsyncExitStack, url: str, key: str, query: str) -> Receive:
    """Open a stream of server-sent events."""
    parts = urlsplit(url)
    secure = _any_certificate() if parts.scheme == "https" else None
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=secure)
    stack.callback(writer.close)
    body = _dump({"query": query})
    headers = HEADERS | {
        "Host": parts.netloc,
        "API-Key": key,
        "Accept": "text/event-stream",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
    }
    head = "\r\n".join(f"{name}: {value}" for name, value in headers.items())
    writer.write(f"POST /graphql HTTP/1.1\r\n{head}\r\n\r\n{body}".encode())
    answer = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in answer.partition(b"\r\n")[0]:
        raise StreamError(answer.decode())
    await reader.readuntil(b":\n\n")
    return partial(reader.readuntil, b"\n\n")


Open: TypeAlias = Callable[[AsyncExitStack, str, str, str], Awaitable[Receive]]
OPENERS: dict[str, Open] = {"websocket": open_websocket, "sse": open_event_stream}


async def measure(url: str, key: str, query: str, count: int, pid: int) -> dict[str, float]:
    """Return the kilobytes by which the worker grows with each stream, by transport.

    All streams stay open until the end: the memory of those that are closed would be used again.
    """
    grown = {}
    turns = asyncio.Semaphore(MAX_OPENING)
    async with AsyncExitStack() as stack:
        for transport, open_stream in OPENERS.items():

            async def open_one(open_stream: Open = open_stream) -> None:
                async with turns:
                    await open_stream(stack, url, key, query)

            await open_one()  # the first one loads what all of them share
            await asyncio.sleep(SETTLE_SECONDS)
            before = machine.memory_mb(pid)["rss"]
            await asyncio.gather(*(open_one() for _ in range(count)))
            await asyncio.sleep(SETTLE_SECONDS)
            grown[transport] = (machine.memory_mb(pid)["rss"] - before) * 1000 / count
    return grown


def _dump(message: object) -> str:
    return orjson.dumps(message).decode()


def _any_certificate() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@click.command()
@click.argument("url")
@click.argument("key")
@click.option("--pid", type=int, required=True, help="The worker of the gateway.")
@click.option("--streams", type=int, default=1000, show_default=True)
@click.option("--query", default=SUBSCRIPTION, show_default=True)
def main(url: str, key: str, pid: int, streams: int, query: str) -> None:
    """Print how much memory each idle stream takes, by transport."""
    try:
        grown = asyncio.run(measure(url, key, query, streams, pid))
    except StreamError as error:
        click.echo(f"A stream was not opened: {error}", err=True)
        sys.exit(1)
    for transport, kilobytes in grown.items():
        click.echo(f"{transport}: {kilobytes:.1f} KB for each of {streams} streams")


if __name__ == "__main__":
    main()
