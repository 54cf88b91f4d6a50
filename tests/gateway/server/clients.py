"""Clients that send one request after the other, and count what goes wrong."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException

import orjson

from tests.waiting import TIMEOUT_SECONDS

PAUSE_SECONDS = 0.03


@dataclass
class Load:
    """What the clients have seen so far."""

    answers: int = 0
    failures: list[str] = field(default_factory=list)
    pids: Counter[int] = field(default_factory=Counter)
    """Complete answers by the process that gave them."""


@contextmanager
def clients(port: int, *, keeping: int = 4, fresh: int = 2) -> Iterator[Load]:
    """Clients in threads of their own.

    They keep their connections until a response says that it closes; `fresh` ones open a connection
    for each request.
    """
    load, lock, stopped = Load(), threading.Lock(), threading.Event()

    def run(*, keeps_alive: bool) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        while not stopped.wait(PAUSE_SECONDS):
            try:
                connection.request("GET", "/pid")
                response = connection.getresponse()
                body = response.read()
            except (OSError, HTTPException) as error:
                connection.close()
                load.failures.append(repr(error))
                continue
            if response.status != 200:
                load.failures.append(body.decode())
                continue
            with lock:
                load.answers += 1
                load.pids[orjson.loads(body)["pid"]] += 1
            if not keeps_alive:
                connection.close()
        connection.close()

    threads = [
        threading.Thread(target=run, kwargs={"keeps_alive": number < keeping})
        for number in range(keeping + fresh)
    ]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
