"""Evaluate media queries as a screen with a light colour scheme (Media Queries 4)."""

import re
from typing import Final

MAX_MEDIA_CHARS: Final = 1_000
"""Of a list of media queries; a longer one matches nothing."""
QUERY: Final = re.compile(r"(?:(only|not)\s+)?([a-z-]+)?((?:\s*(?:\band\b)?\s*\([^()]*\))*)")
FEATURE: Final = re.compile(r"\(\s*([^()]*?)\s*\)")
SHOWN_TYPES: Final = frozenset({None, "all", "screen"})
HELD_FEATURES: Final = frozenset({"prefers-color-scheme:light", "color", "scripting:none"})


def media_matches(text: str) -> bool:
    """Return whether a list of media queries matches; an empty one does.

    Features of the screen, such as its width, are not known and match nothing.

    >>> media_matches("print"), media_matches("print, screen")
    (False, True)
    """
    text = " ".join(text.lower().split())
    if len(text) > MAX_MEDIA_CHARS:
        return False
    return not text or any(_query_matches(query.strip()) for query in text.split(","))


def _query_matches(query: str) -> bool:
    match = QUERY.fullmatch(query)
    if match is None:
        return False
    modifier, kind, features = match.groups()
    is_met = kind in SHOWN_TYPES and all(
        re.sub(r"\s", "", feature) in HELD_FEATURES for feature in FEATURE.findall(features)
    )
    return is_met != (modifier == "not")
