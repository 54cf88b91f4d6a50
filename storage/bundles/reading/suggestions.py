"""Names and ids that may have been meant by one that does not exist."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

MAX_COMPARED_CHARACTERS = 100
"""Comparing takes quadratic time in the length."""


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that resembles the given one most, or None.

    >>> suggest("flor", ["id", "asset_id", "floor_id", "name"])
    'floor_id'
    >>> suggest("Name", ["id", "name"])
    'name'
    """
    if len(name) > MAX_COMPARED_CHARACTERS:
        return None
    return _suggest(name, tuple(known))


@lru_cache(maxsize=1024)
def _suggest(name: str, known: tuple[str, ...]) -> str | None:
    by_folded = {_fold(each): each for each in known}
    close = get_close_matches(_fold(name), by_folded, n=1)
    return by_folded[close[0]] if close else None


def _fold(name: str) -> str:
    """Return a name without what people write differently: `floorId` and `floor_id` are one."""
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")
