"""Values before and after a change as texts, shortened to where they differ."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

MAX_VALUE_CHARACTERS = 80
"""Of the JSON of a value in a plan."""
SAME_CHARACTERS = 30
"""Shown before the first difference of values that are cut."""
_MORE = "\N{HORIZONTAL ELLIPSIS}"
_UNITS = ((1_000_000, "MB"), (1_000, "kB"))


def to_json(value: Any) -> str:
    """Return a value as JSON."""
    return msgspec.json.encode(value).decode()


def show_change(before: Any, after: Any) -> tuple[str, str]:
    """Return two values as JSON. Of long ones, only what differs, with an ellipsis for the rest.

    >>> days = [{"key": f"day-{number}"} for number in range(20)]
    >>> show_change(days, [*days, {"key": "holidays"}])
    ('[…]', '[…,{"key":"holidays"}]')
    >>> show_change("x" * 300 + ": open", "x" * 300 + ": closed")
    ('…xxxxxxxxxxxxxxxxxxxxxxxxxxxx: open"', '…xxxxxxxxxxxxxxxxxxxxxxxxxxxx: closed"')
    """
    texts = to_json(before), to_json(after)
    if _are_long(texts) and isinstance(before, list) and isinstance(after, list):
        texts = _leave_out_common(before, after) or texts
    return _cut(texts) if _are_long(texts) else texts


def describe_size(size: int) -> str:
    """Return a number of bytes in a unit that people read.

    >>> describe_size(12_345), describe_size(900)
    ('12.3 kB', '900 bytes')
    """
    for factor, unit in _UNITS:
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def _are_long(texts: Iterable[str]) -> bool:
    return any(len(text) > MAX_VALUE_CHARACTERS for text in texts)


def _leave_out_common(before: list[Any], after: list[Any]) -> tuple[str, str] | None:
    """Return two lists without the items of both; None if only their order differs."""
    old, new = Counter(map(to_json, before)), Counter(map(to_json, after))
    if old == new:
        return None
    has_common = old & new
    first, second = (
        f"[{','.join([*([_MORE] if has_common else []), *items.elements()])}]"
        for items in (old - new, new - old)
    )
    return first, second


def _cut(texts: tuple[str, str]) -> tuple[str, str]:
    differing = (place for place, (old, new) in enumerate(zip(*texts, strict=False)) if old != new)
    start = max(0, next(differing, min(map(len, texts))) - SAME_CHARACTERS)
    first, second = (_cut_one(text, start) for text in texts)
    return first, second


def _cut_one(text: str, start: int) -> str:
    shown = _MORE + text[start:] if start else text
    if len(shown) <= MAX_VALUE_CHARACTERS:
        return shown
    return shown[: MAX_VALUE_CHARACTERS - len(_MORE)] + _MORE
