"""The `data-tags` attribute: `key=value` pairs joined by `;`, where `\\;` is a semicolon."""

import re
from collections.abc import Mapping
from typing import Final

from parsing.errors import InvalidMarkup
from parsing.lengths import SPACE
from parsing.limits import bounded

SEPARATOR: Final = re.compile(r"(?<!\\);")


def parse_tags(text: str) -> dict[str, str]:
    """`building=1;floor=2` -> `{"building": "1", "floor": "2"}`; raises `InvalidMarkup`."""
    tags: dict[str, str] = {}
    for part in SEPARATOR.split(bounded(text, "data-tags")):
        pair = part.strip(SPACE).replace("\\;", ";")
        if not pair:
            continue
        key, equals, value = pair.partition("=")
        key = key.rstrip(SPACE)
        if not equals or not key:
            raise InvalidMarkup(f"data-tags has {pair!r}; expected key=value pairs joined by ;")
        if key in tags:
            raise InvalidMarkup(f"data-tags gives {key!r} twice")
        tags[key] = value.lstrip(SPACE)
    return tags


def format_tags(tags: Mapping[str, str]) -> str:
    """The text that `parse_tags` reads as these tags."""
    pairs = (f"{key}={value}".replace(";", "\\;") for key, value in tags.items())
    # A backslash before the separator would escape it.
    return ";".join(f"{pair} " if pair.endswith("\\") else pair for pair in pairs)
