"""Write long responses as JSON, in parts: orjson holds the interpreter until it is done."""

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from schema.execution import pause_if_due
from schema.query_size import estimate_bytes

BYTES_IN_PART = 1_000_000
"""Estimated bytes that are written before a look at the clock: they take up to 4 ms."""


async def write_json(value: Any, check_size: Callable[[int], None] | None = None) -> bytes:
    """Return a value as JSON, and let other requests run in between.

    `check_size` receives the bytes written so far, from time to time, and may raise.

    >>> import asyncio
    >>> asyncio.run(write_json({"data": ["a", {}], "paging": None}))
    b'{"data":["a",{}],"paging":null}'
    """
    pieces: list[bytes] = []
    size = 0
    for piece in _iter_pieces(value):
        pieces.append(piece)
        size += len(piece)
        if check_size is not None:
            check_size(size)
        await pause_if_due()
    return b"".join(pieces)


def _iter_pieces(value: Any) -> Iterator[bytes]:
    size = estimate_bytes(value)
    if size <= BYTES_IN_PART or not value or not isinstance(value, (list, dict)):
        yield orjson.dumps(value)
    elif isinstance(value, dict):
        separator = b"{"
        for name, member in value.items():
            yield separator + orjson.dumps(name) + b":"
            yield from _iter_pieces(member)
            separator = b","
        yield b"}"
    else:
        separator = b"["
        count = max(1, len(value) * BYTES_IN_PART // size)
        for start in range(0, len(value), count):
            yield separator
            if count > 1:
                yield orjson.dumps(value[start : start + count])[1:-1]
            else:
                yield from _iter_pieces(value[start])
            separator = b","
        yield b"]"
