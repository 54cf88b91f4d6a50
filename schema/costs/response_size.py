"""Estimate the size of a result before it is written as JSON."""

from typing import Any

SAMPLE_SIZE = 16
"""Items of a list that are looked at after its first; a quarter as many in lists inside it, and so
on."""
PUNCTUATION_BYTES = 4
"""Quotes, colon and comma of one member of an object."""
SCALAR_BYTES = 6
"""Typical length of a number, a boolean or null, with its comma."""
SCALAR_TYPES = frozenset({int, float, bool, type(None)})


def estimate_bytes(data: Any, sample_size: int = SAMPLE_SIZE) -> int:
    """Estimate the bytes of JSON data from samples of its lists; drawings count as nothing.

    It takes much less time and memory than writing a large result to measure it.

    >>> data = {"units": [{"id": "unit-1", "name": "12"}] * 10_000}
    >>> import orjson
    >>> estimate_bytes(data) / len(orjson.dumps(data))
    1.0...
    """
    if isinstance(data, str):
        return len(data) + 3
    if isinstance(data, dict):
        size = 2 + sum(map(len, data)) + PUNCTUATION_BYTES * len(data)
        for value in data.values():
            kind = type(value)
            if kind is str:
                size += len(value) + 3
            elif kind in SCALAR_TYPES:  # without a call
                size += SCALAR_BYTES
            else:
                size += estimate_bytes(value, sample_size)
        return size
    if isinstance(data, list):
        if not data:
            return 2
        inner = max(1, sample_size // 4)
        size = estimate_bytes(data[0], inner)  # for itself: it is often unlike the others
        others = len(data) - 1
        if sample := data[1 :: max(1, -(-others // sample_size))]:
            size += sum(estimate_bytes(item, inner) for item in sample) * others // len(sample)
        return 2 + size
    return SCALAR_BYTES
