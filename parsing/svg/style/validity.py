"""Tell the values of CSS properties that are in error: a style sheet does not set them.

CSS Syntax 3, section 2.2: so the value below them in the cascade shows.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from parsing.svg.paint.colors import is_unknown_paint, parse_color
from parsing.svg.style.fonts import SHORTHAND, SIZE_BY_KEYWORD, FontSizes
from parsing.svg.style.origins import CSS_TRANSFORMS, to_css_transform
from parsing.svg.style.transforms import is_css_transform
from parsing.svg.style.values import WIDE_KEYWORDS

MAX_CHECKED_CHARS: Final = 1_000
"""Longer values, such as long lists of dashes, count as valid."""
NOT_COMPUTED: Final = re.compile(
    r"\b(?:var|env|attr|calc|min|max|clamp|round|mod|rem|sin|cos|tan|hypot|sqrt|pow|abs|sign)\("
)
"""Functions with a result that is not known here; browsers may know it."""
NUMBER: Final = r"[+-]?(?>[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:e[+-]?[0-9]+)?"
UNITS: Final = "|".join(sorted(filter(None, FontSizes().px_per_unit), key=len, reverse=True))
LENGTH: Final = rf"(?>{NUMBER})(?:%|{UNITS})?"
SIZE: Final = rf"(?!-){LENGTH}"
WITH_UNIT: Final = rf"(?:[+-]?0|(?>{NUMBER})(?:%|{UNITS}))"
HORIZONTAL: Final = rf"(?:left|right|center|{WITH_UNIT})"
VERTICAL: Final = rf"(?:top|bottom|center|{WITH_UNIT})"
OPACITY: Final = rf"{NUMBER}%?"
BOX_SIZE: Final = rf"auto|{SIZE}|(?:min|max|fit)-content|stretch"
PLAIN_COLOR: Final = re.compile(r"(?:rgb|hsl|hwb)a?\((?!\s*from\b)[^()]*\)")
PATTERNS: Final = {
    **dict.fromkeys(("opacity", "fill-opacity", "stroke-opacity", "stop-opacity"), OPACITY),
    **dict.fromkeys(("x", "y", "cx", "cy", "stroke-dashoffset"), LENGTH),
    **dict.fromkeys(("r", "stroke-width"), SIZE),
    **dict.fromkeys(("rx", "ry"), f"auto|{SIZE}"),
    **dict.fromkeys(("width", "height"), BOX_SIZE),
    "stroke-miterlimit": rf"(?!-){NUMBER}",
    "stroke-dasharray": rf"none|{SIZE}(?:(?:\s*,\s*|\s+){SIZE})*+",
    "fill-rule": "nonzero|evenodd",
    "stroke-linecap": "butt|round|square",
    "stroke-linejoin": "miter|round|bevel",
    "visibility": "visible|hidden|collapse",
    "overflow": r"(?:(?:visible|hidden|scroll|auto|clip|overlay)(?:\s+|\Z)){1,2}",
    "display": r"(?:(?:-webkit-)?(?:none|contents|block|inline|run-in|flow|flow-root|list-item|flex"
    r"|box|grid|ruby|math|(?:inline|ruby|table)-[a-z-]+|table)(?:\s+|\Z)){1,3}",
    "transform-box": "(?:content|border|fill|stroke|view)-box",
    "transform-origin": rf"{HORIZONTAL}|{VERTICAL}|(?:{HORIZONTAL}\s+{VERTICAL}"
    rf"|(?:top|bottom|center)\s+(?:left|right|center))(?:\s+{WITH_UNIT}(?<!%))?",
    "paint-order": r"normal|(?:(?:fill|stroke|markers)(?:\s+|\Z)){1,3}",
    "font-size": rf"{SIZE}|{'|'.join(SIZE_BY_KEYWORD)}|larger|smaller|math",
    "font": rf".*{SHORTHAND.pattern}.*|caption|icon|menu|message-box|small-caption|status-bar",
    "line-height": f"normal|{SIZE}",
    "all": "(?!)",  # only the keywords that all properties have
    "d": r"none|path\(\s*(?:\"[^\"]*\"|'[^']*')\s*\)",
}


def _is_paint(value: str) -> bool:
    is_plain = PLAIN_COLOR.fullmatch(value) is not None
    return parse_color(value) is not None if is_plain else not is_unknown_paint(value)


def _is_color(value: str) -> bool:
    is_paint_only = value == "none" or value.startswith(("url(", "context-"))
    return not is_paint_only and _is_paint(value)


def _match_all(pattern: str) -> Callable[[str], bool]:
    regex = re.compile(pattern, re.DOTALL)
    return lambda value: regex.fullmatch(value) is not None


def _make_transform_check(name: str) -> Callable[[str], bool]:
    return lambda value: is_css_transform(to_css_transform(name, value))


CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    **{name: _match_all(pattern) for name, pattern in PATTERNS.items()},
    **{name: _make_transform_check(name) for name in CSS_TRANSFORMS},
    **dict.fromkeys(("fill", "stroke"), _is_paint),
    **dict.fromkeys(("color", "stop-color"), _is_color),
}


@lru_cache(maxsize=10_000)  # most drawings have few distinct declarations
def is_valid(name: str, value: str) -> bool:
    """Return whether a style sheet can give a property this value.

    What is not computed here, such as `calc()`, counts as valid.

    >>> is_valid("fill", "#12"), is_valid("stroke-width", "-1"), is_valid("opacity", "50%")
    (False, False, True)
    """
    check = CHECKS.get(name)
    if check is None or len(value) > MAX_CHECKED_CHARS:
        return True
    value = value.lower()
    if value in WIDE_KEYWORDS or ("(" in value and NOT_COMPUTED.search(value)):
        return True
    return check(value)
