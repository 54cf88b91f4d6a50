"""Describe MongoDB's reads for explanations and the log: without long values, or without any."""

from collections.abc import Set
from datetime import date
from typing import Any

from storage.mongo.spans import Command

SHOWN_OPTIONS = frozenset({"filter", "pipeline", "sort", "skip", "limit"})
MAX_VALUES = 500
MAX_LIST = 10
MAX_MEMBERS = 50
MAX_CHARACTERS = 200
MAX_NUMBER = 2**53
MORE = "…"


def shorten(value: Any, shown: Set[str] | None = None) -> Any:
    """Return a value that JSON can have, with the beginning of what is long.

    If only some values are to be `shown`, "…" is in the place of all others, once in a list.

    >>> shorten({"_id": {"$in": ["a", "b", "c"]}}, shown={"b"})
    {'_id': {'$in': ['…', 'b']}}
    >>> shorten([*range(13)])[8:]
    [8, 9, '… 3 more']
    """
    left = MAX_VALUES

    def convert(value: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            return MORE
        if isinstance(value, dict):
            members = [*value.items()]
            first = {_cut(str(name)): convert(item) for name, item in members[:MAX_MEMBERS]}
            return first if len(members) <= MAX_MEMBERS else {**first, MORE: MORE}
        if isinstance(value, (list, tuple)):
            items = [convert(item) for item in value[:MAX_LIST]]
            if shown is not None:
                return [item for place, item in enumerate(items) if item not in items[:place]]
            more = len(value) - MAX_LIST
            return [*items, f"{MORE} {more} more"] if more > 0 else items
        is_shown = shown is None or (isinstance(value, str) and value in shown)
        return _convert_leaf(value) if is_shown else MORE

    return convert(value)


def _convert_leaf(value: Any) -> Any:
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if abs(value) < MAX_NUMBER else str(value)[:MAX_CHARACTERS]
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return _cut(value.isoformat() if isinstance(value, date) else str(value))


def _cut(text: str) -> str:
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS] + MORE
    return text.encode(errors="replace").decode()  # JSON has no lone surrogates


def describe_read(end: Command, shown: Set[str] | None) -> dict[str, Any]:
    """Return what a read asks for; of its values, only those that are to be `shown`."""
    return {
        option: shorten(value, None if option == "sort" else shown)
        for option, value in end.read.items()
        if option in SHOWN_OPTIONS
    }


def without_none(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
