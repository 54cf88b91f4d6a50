"""Parse and format the `data-tags` attribute: `key=value` pairs joined by `;`.

A backslash before a semicolon makes it a part of the value.
"""

import re
from collections.abc import Mapping
from typing import Final

from parsing.errors import InvalidMarkupError
from parsing.limits import check_text_length
from parsing.svg.geometry.lengths import WHITESPACE

UNESCAPED_SEMICOLON: Final = re.compile(r"(?<!\\);")


def parse_tags(text: str) -> dict[str, str]:
    """Parse the text of an attribute. Raises `InvalidMarkupError`.

    >>> parse_tags("building=1; floor=2")
    {'building': '1', 'floor': '2'}
    """
    tags: dict[str, str] = {}
    for part in UNESCAPED_SEMICOLON.split(check_text_length(text, "data-tags")):
        pair = part.strip(WHITESPACE).replace("\\;", ";")
        if not pair:
            continue
        key, equals, value = pair.partition("=")
        key = key.rstrip(WHITESPACE)
        if not equals or not key:
            raise InvalidMarkupError(
                f"data-tags has {pair!r}; expected key=value pairs joined by ;"
            )
        if key in tags:
            raise InvalidMarkupError(f"data-tags gives {key!r} twice")
        tags[key] = value.lstrip(WHITESPACE)
    return tags


def format_tags(tags: Mapping[str, str]) -> str:
    """Format tags so that `parse_tags` returns the same tags."""
    pairs = (f"{key}={value}".replace(";", "\\;") for key, value in tags.items())
    # A backslash before the separator would escape it.
    return ";".join(f"{pair} " if pair.endswith("\\") else pair for pair in pairs)
