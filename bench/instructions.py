"""Count the Python instructions of a request: `python -m bench.instructions --workload unit`.

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
from types import FrameType
from typing import Any, NamedTuple
from urllib.parse import unquote

import click
import uvloop
from rich.console import Console

from bench.data.directory import Directory, load_directory
from bench.data.requests import UNIQUE_TOKEN, LoadRequest
from bench.data.workloads import WORKLOADS, Workload
from bench.load.servers import CHECKOUT, FLAGS
from bench.load.start_time import scratch_directory
from bench.peers.peer import BASE_URL
from bench.report import pages
from bench.report.tables import ReportTable, format_figure
from gateway.app import Gateway
from gateway.settings import Settings
from storage.embedded import embedded_mongo

WARM_UP_REQUESTS, COUNTED_REQUESTS = 5, 10
CACHE_MB = 64
NAMES = [workload.name for workload in WORKLOADS if not workload.is_conditional]


class Function(NamedTuple):
    """A function."""

    name: str
    file: str
    line: int


class InstructionCount(NamedTuple):
    """The instructions of some requests, by function."""

    requests: int
    by_function: Counter[Function]

    @property
    def each(self) -> float:
        """Instructions of one request."""
        return self.by_function.total() / self.requests


@contextmanager
def count_instructions(by_function: Counter[Function]) -> Iterator[None]:
    """Count the instructions of this thread."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            code = frame.f_code
            by_function[Function(code.co_name, code.co_filename, code.co_firstlineno)] += 1
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


async def count_requests(
    application: Application, requests: Sequence[LoadRequest]
) -> InstructionCount:
    """Count the instructions of requests, sent one after another."""
    for number in range(WARM_UP_REQUESTS):
        await application.send(requests[number % len(requests)])
    by_function = Counter[Function]()
    with count_instructions(by_function):
        for number in range(COUNTED_REQUESTS):
            await application.send(requests[number % len(requests)])
    return InstructionCount(COUNTED_REQUESTS, by_function)


async def count_workloads(
    directory: Directory, workloads: Sequence[Workload], *, cache: bool
) -> list[InstructionCount]:
    """Count the instructions of workloads, with a gateway in this process."""
    settings = Settings(
        mongo_url=directory.mongo_url,
        database=directory.database,
        cache_mb=CACHE_MB if cache else 0,
        base_url=BASE_URL,
    )
    gateway = Gateway(settings)
    async with gateway.lifespan(None):  # type: ignore[arg-type]
        application = Application(gateway, directory.key)
        await gateway.warm_up()
        counts = []
        for workload in workloads:
            for registration in workload.registrations:
                await application.send(registration)
            counts.append(await count_requests(application, workload.requests(directory)))
        return counts


def build_table(
    workloads: Sequence[Workload], counts: Sequence[InstructionCount], rows: int
) -> ReportTable:
    """Return the counts, each with those of the functions that have most."""
    lines: list[tuple[str, ...]] = []
    for workload, counted in zip(workloads, counts, strict=True):
        lines.append((workload.title, format_figure(counted.each)))
        for function, instructions in counted.by_function.most_common(rows):
            path = Path(function.file)
            file = path.relative_to(CHECKOUT) if path.is_relative_to(CHECKOUT) else path.name
            each = format_figure(instructions / counted.requests)
            lines.append((f"… {function.name} {file}:{function.line}", each))
    return ReportTable("Python instructions of a request", ("workload", "each"), lines)


@click.command()
@click.option("--workload", "names", type=click.Choice(NAMES), multiple=True, help="Default: all.")
@click.option("--cache/--no-cache", default=False, show_default=True)
@click.option("--units", type=click.IntRange(1_000), default=20_000, show_default=True)
@click.option("--rows", type=click.IntRange(0), default=0, help="Functions of each workload.")
@click.option("--write-docs", is_flag=True, help="Write the table into docs/performance.md.")
def main(names: tuple[str, ...], cache: bool, units: int, rows: int, write_docs: bool) -> None:
    """Count the Python instructions of a workload's requests."""
    workloads = [each for each in WORKLOADS if each.name in (names or NAMES)]
    with scratch_directory() as scratch, embedded_mongo.run_embedded_mongo(scratch / "data") as url:
        directory = load_directory(url, "floorgate", units, scratch)
        counts = uvloop.run(count_workloads(directory, workloads, cache=cache))
    table = build_table(workloads, counts, rows)
    Console(width=None if sys.stdout.isatty() else 140).print(table.to_rich_table())
    if write_docs:
        pages.rewrite_section(pages.PERFORMANCE_PAGE, "instructions", table.to_markdown())


if __name__ == "__main__":
    main()
