"""Names and ids that may have been meant by one that does not exist."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TypeAlias

MAX_COMPARED_CHARACTERS = 100
"""Comparing takes quadratic time in the length."""
MAX_SUGGESTIONS = 1000
"""Of one run: a file may have a million names, all of them wrong."""

Suggest: TypeAlias = Callable[[str, Iterable[str]], str | None]


def suggest(name: str, known: Iterable[str], min_ratio: float = 0.6) -> str | None:
    """Return the known name that resembles the given one most, or None.

    `min_ratio` is that of difflib, from 0 to 1.

    >>> suggest("flor", ["id", "asset_id", "floor_id", "name"])
    'floor_id'
    >>> suggest("Name", ["id", "name"])
    'name'
    """
    if len(name) > MAX_COMPARED_CHARACTERS:
        return None
    by_folded = {_fold(each): each for each in known}
    close = get_close_matches(_fold(name), by_folded, n=1, cutoff=min_ratio)
    return by_folded[close[0]] if close else None


class Suggestions:
    """Suggestions of one run. A mistake that is repeated is looked up once.

    >>> suggestions = Suggestions()
    >>> suggestions.find("nmae", ["id", "name"])
    'name'
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, ...], str | None] = {}

    def find(self, name: str, known: Iterable[str]) -> str | None:
        """Return what `suggest` returns, or None after too many different names."""
        question = (name, *known)
        if question not in self._found and len(self._found) < MAX_SUGGESTIONS:
            self._found[question] = suggest(name, known)
        return self._found.get(question)


def _fold(name: str) -> str:
    """Return a name without what people write differently: `floorId` and `floor_id` are one."""
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")
