"""A small HTTP/1.1 client that knows what it has sent, and can leave at any moment.

Others retry, pool and time out by rules of their own; here one call is one request.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

import orjson

from storage.embedded.replica_set import HOST

TIMEOUT_SECONDS = 60.0
_HEADERS = (
    "Host: floorgate.test\r\nX-Forwarded-Proto: https\r\nContent-Type: application/json\r\n"
    "Experimental-Flags: unit-attributes-resource\r\n"
)


class NotSentError(Exception):
    """The request was not sent: there was no connection."""


class NoResponseError(Exception):
    """The request may have arrived, but there was no complete response."""


@dataclass(frozen=True, slots=True)
class Response:
    """What came back."""

    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        """Return the parsed body."""
        return orjson.loads(self.content)

    @property
    def code(self) -> str:
        """Return the code of the first error, of REST or of GraphQL."""
        body = self.json()
        error = body["errors"][0]["extensions"] if "errors" in body else body
        return str(error["code"])


class HttpConnection:
    """A keep-alive connection to a gateway, made anew after an error."""

    def __init__(self, port: int, key: str) -> None:
        self.key = key
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(
        self, method: str, path: str, body: bytes = b"", headers: str = ""
    ) -> Response:
        """Send a request and wait for its response. Raises NotSentError, NoResponseError."""
        reader, writer = await self._connect()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                writer.write(self._build(method, path, body, headers))
                await writer.drain()
                response = await _read_response(reader)
        except (OSError, EOFError, TimeoutError) as error:
            self.close()
            raise NoResponseError(type(error).__name__) from error
        if response.headers.get("connection") == "close":
            self.close()
        return response

    async def send_and_leave(
        self, method: str, path: str, body: bytes, headers: str, seconds: float
    ) -> None:
        """Send a request, and close the connection that much later without reading."""
        _, writer = await self._connect()
        writer.write(self._build(method, path, body, headers))
        await asyncio.sleep(seconds)
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].transport.abort()
        self._streams = None

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is not None and self._streams[0].at_eof():
            self.close()
        if self._streams is None:
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    self._streams = await asyncio.open_connection(HOST, self._port)
            except (OSError, TimeoutError) as error:
                raise NotSentError(type(error).__name__) from error
        return self._streams

    def _build(self, method: str, path: str, body: bytes, headers: str) -> bytes:
        start = f"{method} {path} HTTP/1.1\r\nAPI-Key: {self.key}\r\n{_HEADERS}{headers}"
        return f"{start}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _read_response(reader: asyncio.StreamReader) -> Response:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status_line, *lines = head.strip().split("\r\n")
    status = int(status_line.split()[1])
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    if headers.get("transfer-encoding") == "chunked":
        return Response(status, headers, await _read_chunks(reader))
    length = 0 if status == 204 else int(headers["content-length"])
    return Response(status, headers, await reader.readexactly(length))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readexactly(2)
    return b"".join(chunks)
