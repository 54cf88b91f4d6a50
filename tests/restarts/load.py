"""Requests at a constant rate, whatever becomes of those before, and what they were answered."""

import asyncio
import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import orjson

from tests.faults.catalog import ASSET, ATTRIBUTES, ONE, SINGLE_UNITS
from tests.faults.http_client import HttpConnection, NoResponseError, NotSentError

_GROUP_PATH = f"/v1/units/attribute-groups/{ONE}/assignments"
FRESH_EVERY, WRITE_EVERY = 4, 10
"""One request of so many is on a connection of its own, or a write."""


@dataclass
class Answers:
    """What clients have been answered so far."""

    count: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """By status, or what happened instead."""
    longest: float = 0.0
    """In seconds, from when the request was due."""


class ConstantLoad:
    """Sends a request whenever one is due, on a connection that is free or a new one."""

    def __init__(self, port: int, key: str, rate: float) -> None:
        self.answers = Answers()
        self._port, self._key, self._rate = port, key, rate
        self._free: list[HttpConnection] = []
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Send until stopped, and wait for all answers."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as requests:
            for number in itertools.count():
                due = began + number / self._rate
                await asyncio.sleep(due - time.monotonic())
                if self._stopped.is_set():
                    break
                requests.create_task(self._request(number, due))
        for connection in self._free:
            connection.close()

    def stop(self) -> None:
        """Send no more."""
        self._stopped.set()

    async def _request(self, number: int, due: float) -> None:
        is_fresh = number % FRESH_EVERY == 0
        connection = (
            self._free.pop()
            if self._free and not is_fresh
            else HttpConnection(self._port, self._key)
        )
        result = await self._send(connection, number)
        self.answers.count += 1
        if result not in ("200", "204"):
            self.answers.failures[result] += 1
        self.answers.longest = max(self.answers.longest, time.monotonic() - due)
        if is_fresh:
            connection.close()
        else:
            self._free.append(connection)

    async def _send(self, connection: HttpConnection, number: int) -> str:
        try:
            if number % WRITE_EVERY:
                path = f"{_GROUP_PATH}?asset={ASSET}&per-page={1 + number % 50}"
                response = await connection.request("GET", path)
            else:
                attribute = ATTRIBUTES[number // WRITE_EVERY % len(ATTRIBUTES)]
                unit = {"asset_id": ASSET, "unit_id": SINGLE_UNITS[0]}
                data = [{"group_id": ONE, "attribute_id": attribute, **unit}]
                response = await connection.request(
                    "PUT", _GROUP_PATH, orjson.dumps({"data": data})
                )
        except NotSentError as error:
            return f"refused: {error}"
        except NoResponseError as error:
            return f"no response: {error}"
        return str(response.status)


@contextmanager
def constant_load(port: int, key: str, rate: float) -> Iterator[Answers]:
    """Send requests in a thread of their own; the answers are complete after the block."""
    loop = asyncio.new_event_loop()
    load = ConstantLoad(port, key, rate)
    thread = threading.Thread(target=loop.run_until_complete, args=(load.run(),), daemon=True)
    thread.start()
    try:
        yield load.answers
    finally:
        loop.call_soon_threadsafe(load.stop)
        thread.join()
        loop.close()
