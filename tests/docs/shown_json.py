"""Compare JSON as a page shows it with JSON as it was sent.

A page may leave out what is not the point: `…` stands for any further elements of an array, for
further members of an object, and within a string for any characters. What differs with each run,
such as times and cursors, is compared by its form.
"""

import json
import math
import re
from typing import Any, Final

ELLIPSIS: Final = "…"
WIDTH: Final = 100
MAX_FILLED_ELEMENTS: Final = 3
_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\]…]')
_VOLATILE: Final = {
    "<time>": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
    "<date>": r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT",
    "<request>": r"\b[0-9a-f]{32}\b",
    "after=<cursor>": r"\bafter=[\w%.~-]+",
    "<tag>": r'"[\w-]{16,}"',
    "<key>": r"\bfgk_(\w+|…)",
    "<key id>": r"\bkey_[0-9a-f]+",
}
_CURSORS: Final = frozenset({"cursor", "startCursor", "endCursor"})


def read(text: str) -> Any:
    """Parse JSON in which `…` may stand for what is left out."""
    enclosing: list[str] = []

    def replace(found: re.Match[str]) -> str:
        token = found[0]
        if token in "{[":
            enclosing.append(token)
        elif token in "}]":
            enclosing.pop()
        elif token == ELLIPSIS:
            return '"…": "…"' if enclosing and enclosing[-1] == "{" else '"…"'
        return token

    return json.loads(_TOKEN.sub(replace, text))


def is_same(shown: Any, sent: Any, member: str = "") -> bool:
    """Whether the response that was sent is the one that is shown."""
    if isinstance(shown, dict) and isinstance(sent, dict):
        names = shown.keys() - {ELLIPSIS}
        complete = ELLIPSIS in shown or sent.keys() == names
        return complete and all(
            name in sent and is_same(shown[name], sent[name], name) for name in names
        )
    if isinstance(shown, list) and isinstance(sent, list):
        return _is_same_list(shown, sent)
    if isinstance(shown, str) and isinstance(sent, str):
        return member in _CURSORS or is_same_text(shown, sent)
    if isinstance(shown, float) and isinstance(sent, float):
        return math.isclose(shown, sent, rel_tol=1e-3)
    return type(shown) is type(sent) and bool(shown == sent)


def _is_same_list(shown: list[Any], sent: list[Any]) -> bool:
    if ELLIPSIS not in shown:
        return len(shown) == len(sent) and all(map(is_same, shown, sent))
    before = shown[: shown.index(ELLIPSIS)]
    after = shown[len(before) + 1 :]
    return (
        len(before) + len(after) < len(sent)
        and all(map(is_same, before, sent))
        and all(map(is_same, after, sent[len(sent) - len(after) :]))
    )


def is_same_text(shown: str, sent: str) -> bool:
    """Whether a text is as shown, but for times, cursors, ids, and what `…` leaves out."""
    for name, pattern in _VOLATILE.items():
        shown, sent = re.sub(pattern, name, shown), re.sub(pattern, name, sent)
    parts = map(re.escape, shown.split(ELLIPSIS))
    return re.fullmatch(".*".join(parts), sent, re.S) is not None


def update(shown: Any, sent: Any, member: str = "") -> Any:
    """Return what was sent, with what was left out of what is shown left out again."""
    if isinstance(shown, dict) and isinstance(sent, dict):
        left_out = {ELLIPSIS: ELLIPSIS} if shown.pop(ELLIPSIS, None) else {}
        kept = {name: sent[name] for name in (shown if left_out else sent) if name in sent}
        return {
            name: update(shown[name], value, name) if name in shown else value
            for name, value in kept.items()
        } | left_out
    if isinstance(shown, list) and isinstance(sent, list):
        count = shown.index(ELLIPSIS) if ELLIPSIS in shown else len(sent)
        kept_elements = [
            update(shown[number], each) if number < min(count, len(shown)) else each
            for number, each in enumerate(sent[:count])
        ]
        return kept_elements + [ELLIPSIS] * (count < len(sent))
    return shown if is_same(shown, sent, member) else sent


def abbreviate(sent: Any) -> Any:
    """Return what was sent with long arrays of objects cut short, as a first version to show."""
    if isinstance(sent, dict):
        return {name: abbreviate(value) for name, value in sent.items()}
    if isinstance(sent, list):
        is_long = len(sent) > MAX_FILLED_ELEMENTS and isinstance(sent[0], dict | list)
        shortened = [abbreviate(each) for each in (sent[:2] if is_long else sent)]
        return shortened + [ELLIPSIS] * is_long
    return sent


def write(value: Any, margin: int = 0, prefix: int = 0, width: int = WIDTH) -> str:
    """Format JSON for a page: what fits on a line, after a margin and a prefix, is on one."""
    line = _write_line(value)
    if len(line) + margin + prefix <= width or not isinstance(value, dict | list) or not value:
        return line
    indent = margin + 2
    if isinstance(value, dict):
        parts = [
            ELLIPSIS
            if name == ELLIPSIS
            else f"{json.dumps(name)}: {write(each, indent, len(name) + 5, width)}"
            for name, each in value.items()
        ]
    else:
        parts = [write(each, indent, 1, width) for each in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    inner = (",\n" + " " * indent).join(parts)
    return f"{opening}\n{' ' * indent}{inner}\n{' ' * margin}{closing}"


def _write_line(value: Any) -> str:
    if value == ELLIPSIS:
        return ELLIPSIS
    if isinstance(value, dict):
        members = (
            ELLIPSIS if name == ELLIPSIS else f"{json.dumps(name)}: {_write_line(each)}"
            for name, each in value.items()
        )
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_write_line, value))}]"
    return json.dumps(value, ensure_ascii=False)
