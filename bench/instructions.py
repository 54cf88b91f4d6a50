"""Count the Python instructions of a request: `python -m bench instructions --workload unit`.

How long an instruction takes depends on the machine and its load; how many there are hardly does,
so that the effect of a change shows on a busy machine. Left out are the server's protocol, what
libraries do in C, such as decoding BSON and writing JSON, and other threads.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias
from urllib.parse import unquote

import uvloop

from bench.comparison import find_workloads
from bench.data.directory import Directory
from bench.data.workloads import UNIQUE_TOKEN, LoadRequest, Workload
from bench.harness import Row, Run, experiment
from bench.load.servers import CHECKOUT, FLAGS
from bench.peers.peer import BASE_URL
from gateway.app import Gateway
from gateway.settings import Settings

WARM_UP_REQUESTS, COUNTED_REQUESTS = 5, 10
CACHE_MB = 64


Counts: TypeAlias = Counter[CodeType]
"""Instructions by function."""


@contextmanager
def count_instructions(by_function: Counts) -> Iterator[None]:
    """Count the instructions of this thread."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            by_function[frame.f_code] += 1
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


class Application:
    """The application of a gateway, without its server."""

    def __init__(self, gateway: Gateway, key: str) -> None:
        self._app = gateway.build_app()
        self._numbers = count(1)
        host = BASE_URL.partition("://")[2]
        self._headers = [
            (b"host", host.encode()),
            (b"api-key", key.encode()),
            (b"experimental-flags", FLAGS.encode()),
            (b"accept-encoding", b"identity"),
        ]

    async def send(self, request: LoadRequest) -> None:
        """Send a request. Raises RuntimeError unless it succeeds."""
        number = f"{next(self._numbers):0{len(UNIQUE_TOKEN)}}"
        path, _, query = request.path.replace(UNIQUE_TOKEN, number).partition("?")
        body = request.body.replace(UNIQUE_TOKEN.encode(), number.encode())
        own = request.headers.items()
        headers = [(name.lower().encode(), value.encode()) for name, value in own]
        if body:
            headers.append((b"content-length", str(len(body)).encode()))
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": request.method,
            "scheme": "https",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [*self._headers, *headers],
            "client": ("127.0.0.1", 1),
            "state": {},
        }
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            message = next(messages, None)
            return message or await asyncio.Event().wait()  # the client stays

        statuses = []

        async def respond(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        await self._app(scope, receive, respond)
        if statuses != [200]:
            raise RuntimeError(f"{request.method} {request.path}: {statuses}")


async def count_requests(application: Application, requests: Sequence[LoadRequest]) -> Counts:
    """Count the instructions of `COUNTED_REQUESTS`, sent one after another."""
    for number in range(WARM_UP_REQUESTS):
        await application.send(requests[number % len(requests)])
    by_function = Counts()
    with count_instructions(by_function):
        for number in range(COUNTED_REQUESTS):
            await application.send(requests[number % len(requests)])
    return by_function


async def count_workloads(
    directory: Directory, workloads: Sequence[Workload], *, cache: bool
) -> list[Counts]:
    """Count the instructions of workloads, with a gateway in this process."""
    settings = Settings(
        mongo_url=directory.mongo_url,
        database=directory.database,
        cache_mb=CACHE_MB if cache else 0,
        base_url=BASE_URL,
    )
    gateway = Gateway(settings)
    async with gateway.run():
        application = Application(gateway, directory.key)
        await gateway.warm_up()
        counts = []
        for workload in workloads:
            for registration in workload.registrations:
                await application.send(registration)
            counts.append(await count_requests(application, workload.requests(directory)))
        return counts


@experiment("Python instructions of a request")
def instructions(
    run: Run,
    units: int = 20_000,
    workload: tuple[str, ...] = (),
    cache: bool = False,
    rows: int = 0,
) -> Iterator[Row]:
    """Count the Python instructions of requests, and of the functions that have most (--rows)."""
    workloads = [each for each in find_workloads(workload) if not each.is_conditional]
    directory = run.load_directory(units)
    counts = uvloop.run(count_workloads(directory, workloads, cache=cache))
    for each, counted in zip(workloads, counts, strict=True):
        yield {"workload": each.title, "each": counted.total() / COUNTED_REQUESTS}
        for code, number in counted.most_common(rows):
            path = Path(code.co_filename)
            file = path.relative_to(CHECKOUT) if path.is_relative_to(CHECKOUT) else path.name
            title = f"… {code.co_name} {file}:{code.co_firstlineno}"
            yield {"workload": title, "each": number / COUNTED_REQUESTS}
