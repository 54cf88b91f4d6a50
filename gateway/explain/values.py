"""Values of an explanation as JSON: bounded, and without what a key may not know."""

from collections.abc import Set
from datetime import date
from typing import Any

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
    return _Shortener(shown).convert(value)


class _Shortener:
    def __init__(self, shown: Set[str] | None) -> None:
        self._shown = shown
        self._left = MAX_VALUES

    def convert(self, value: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            return MORE
        if isinstance(value, dict):
            members = [*value.items()]
            first = {_cut(str(name)): self.convert(item) for name, item in members[:MAX_MEMBERS]}
            return first if len(members) <= MAX_MEMBERS else {**first, MORE: MORE}
        if isinstance(value, (list, tuple)):
            return self._convert_list(value)
        is_shown = self._shown is None or (isinstance(value, str) and value in self._shown)
        return _convert_leaf(value) if is_shown else MORE

    def _convert_list(self, values: list[Any] | tuple[Any, ...]) -> list[Any]:
        first = [self.convert(item) for item in values[:MAX_LIST]]
        if self._shown is not None:
            return [item for place, item in enumerate(first) if item not in first[:place]]
        more = len(values) - MAX_LIST
        return [*first, f"{MORE} {more} more"] if more > 0 else first


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
