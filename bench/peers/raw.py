"""The limit without a database: a raw ASGI application that replays recorded answers."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

from bench.data.workloads import UNIQUE, names_except
from bench.peers.peer import (
    ANSWERS_VARIABLE,
    Peer,
    RecordedAnswer,
    peer_environment,
    read_recorded_answers,
    uvicorn_command,
)

Message = dict[str, Any]
Headers = list[tuple[bytes, bytes]]


def create() -> Callable[[Any, Any, Any], Awaitable[None]]:
    """Return the application, configured from the environment."""
    ready = {
        _key(recorded): _PreparedResponse(recorded)
        for recorded in read_recorded_answers(os.environ[ANSWERS_VARIABLE])
    }

    async def answer(
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        if scope["type"] != "http":
            return
        # Bodies come only with POST, and in one message.
        body = (await receive())["body"] if scope["method"] == "POST" else b""
        response = ready[scope["raw_path"], scope["query_string"], body]
        for name, value in scope["headers"]:
            if name == b"if-none-match" and value == response.etag:
                await send(response.start_304)
                await send(NO_BODY)
                return
        await send(response.start)
        await send(response.body)

    return answer


NO_BODY: Message = {"type": "http.response.body", "body": b""}


class _PreparedResponse:
    """ASGI messages of one answer."""

    def __init__(self, answer: RecordedAnswer) -> None:
        self.etag = answer.etag.encode()
        tag = (b"etag", self.etag)
        headers = [
            (b"content-type", answer.content_type.encode()),
            (b"content-length", str(len(answer.content)).encode()),
            tag,
        ]
        self.start = _start_message(200, headers)
        self.start_304 = _start_message(304, [tag])
        self.body: Message = {"type": "http.response.body", "body": answer.content}


def _start_message(status: int, headers: Headers) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def _key(answer: RecordedAnswer) -> tuple[bytes, bytes, bytes]:
    path, _, query = answer.path.partition("?")
    return path.encode(), query.encode(), answer.body


RAW = Peer(
    "raw",
    "raw ready bytes",
    uvicorn_command("raw:create"),
    peer_environment,
    names_except(*UNIQUE),
)
