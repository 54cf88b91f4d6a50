"""What a client knows of a request that went wrong: that it was not sent, or nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from storage.embedded.replica_set import HOST
from tests.faults.http_client import HttpConnection, NoResponseError, NotSentError

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def answering(*answers: bytes) -> AsyncIterator[HttpConnection]:
    """Connect to a server that answers so, one answer for each request, and then closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, HOST, 0) as server:
        connection = HttpConnection(server.sockets[0].getsockname()[1], "key")
        yield connection
        connection.close()


async def test_responses_are_read_from_one_connection() -> None:
    plain = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nRetry-After: 1\r\n\r\n{}"
    chunked = b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n1\r\n]\r\n0\r\n\r\n"
    empty = b"HTTP/1.1 204 No Content\r\n\r\n"
    async with answering(plain, chunked, empty) as connection:
        responses = [await connection.request("GET", "/") for _ in range(3)]
    assert [each.status for each in responses] == [200, 503, 204]
    assert [each.content for each in responses] == [b"{}", b"[1]", b""]
    assert responses[0].headers["retry-after"] == "1"
    assert responses[1].json() == [1]


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"]
)
async def test_a_response_that_is_cut_off_says_nothing(answer: bytes) -> None:
    async with answering(answer) as connection:
        with pytest.raises(NoResponseError):
            await connection.request("GET", "/")


async def test_without_a_connection_nothing_was_sent() -> None:
    async with answering() as connection:
        pass
    with pytest.raises(NotSentError):
        await connection.request("GET", "/")
