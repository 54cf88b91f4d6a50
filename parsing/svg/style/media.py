"""Evaluate media queries as a screen with a light colour scheme (Media Queries 4).

The screen is as large as the drawing. A query that asks for what a drawing does not know has no
answer, which is None: neither it nor its opposite matches.
"""

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from parsing.svg.geometry.lengths import NUMBER_PATTERN, Viewport, parse_length
from parsing.svg.style.fonts import FontSizes

MAX_MEDIA_CHARS: Final = 1_000
"""Of a list of media queries; a longer one matches nothing."""
MAX_VALUE_CHARS: Final = 50
MAX_NESTED_CONDITIONS: Final = 8
QUERY: Final = re.compile(r"(?:(only|not) )?([a-z-]+)(?: and\b(.+))?")
PARENTHESES: Final = re.compile(r"\(([^()]*)\)")
FEATURE: Final = re.compile(r"(?:([^<>=:]+)([<>]=?|=))?([a-z-]+)(?:([<>]=?|=|:)([^<>=:]+))?")
RATIO: Final = re.compile(rf"({NUMBER_PATTERN})(?:/({NUMBER_PATTERN}))?")
SHOWN_TYPES: Final = frozenset({"all", "screen"})
KNOWN_FEATURES: Final[Mapping[str, bool]] = {
    "color": True,
    "monochrome": False,
    "orientation": True,
    "prefers-color-scheme": True,
    "prefers-color-scheme:light": True,
    "prefers-color-scheme:dark": False,
    "scripting": False,
    "scripting:none": True,
}
SAME_FEATURES: Final[Mapping[str, str]] = {
    "orientation:portrait": "max-aspect-ratio:1",
    "orientation:landscape": "aspect-ratio>1",
}
COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
PREFIXES: Final = {"min-": ">=", "max-": "<="}
LETTER_BY_ANSWER: Final = {True: " T ", False: " F ", None: " U "}
ANSWER_BY_LETTER: Final = {"T": True, "F": False, "U": None}


def evaluate_media(text: str, viewport: Viewport) -> bool | None:
    """Return whether a list of media queries matches; an empty one does.

    >>> small = Viewport(100, 50)
    >>> evaluate_media("print, (width < 200px)", small), evaluate_media("(hover)", small)
    (True, None)
    """
    text = " ".join(text.lower().split())
    if len(text) > MAX_MEDIA_CHARS:
        return None
    return not text or _any(_evaluate_query(query, viewport) for query in text.split(","))


def _evaluate_query(query: str, viewport: Viewport) -> bool | None:
    for _ in range(MAX_NESTED_CONDITIONS):
        query = PARENTHESES.sub(
            lambda match: LETTER_BY_ANSWER[_evaluate_parentheses(match[1], viewport)], query
        )
    query = " ".join(query.split())
    match = QUERY.fullmatch(query)
    if match is None:
        return _combine(query)
    modifier, kind, condition = match.groups()
    is_met: bool | None = kind in SHOWN_TYPES
    if is_met and condition:
        is_met = None if "or" in condition.split() else _combine(condition)
    return _negate(is_met) if modifier == "not" else is_met


def _evaluate_parentheses(text: str, viewport: Viewport) -> bool | None:
    """Evaluate a feature, or a condition of which the parentheses are evaluated."""
    if not ANSWER_BY_LETTER.keys().isdisjoint(text.split()):
        return _combine(text)
    feature = text.replace(" ", "")
    if feature in KNOWN_FEATURES:
        return KNOWN_FEATURES[feature]
    match = FEATURE.fullmatch(SAME_FEATURES.get(feature, feature))
    if match is None:
        return None
    before, mirrored, name, comparison, after = match.groups()
    if mirrored and comparison and not mirrored[0] == comparison[0] != "=":
        return None
    if comparison == ":":
        comparison = PREFIXES.get(name[:4], "=")
        name = name[4:] if name[:4] in PREFIXES else name
    bounds = [(MIRRORED[mirrored], before)] if mirrored else []
    bounds += [(comparison, after)] if comparison else []
    return _compare(name, bounds, viewport)


def _compare(name: str, bounds: Iterable[tuple[str, str]], viewport: Viewport) -> bool | None:
    """Return whether a size of the screen is within bounds."""
    width, height = viewport
    size = {"width": width, "height": height, "aspect-ratio": width / height}.get(name)
    parse = _parse_ratio if name == "aspect-ratio" else _parse_absolute
    limits = [(comparison, parse(text, viewport)) for comparison, text in bounds]
    if size is None or any(limit is None for _, limit in limits):
        return None
    return all(COMPARISONS[comparison](size, limit or 0.0) for comparison, limit in limits)


def _parse_absolute(text: str, viewport: Viewport) -> float | None:
    """Parse a length that is no percentage, and has a unit if it is not 0."""
    if len(text) > MAX_VALUE_CHARS or text.endswith("%"):
        return None
    length = parse_length(text, 0, FontSizes(viewport=viewport).px_per_unit)
    return None if length and not text[-1].isalpha() else length


def _parse_ratio(text: str, _: Viewport) -> float | None:
    match = RATIO.fullmatch(text) if len(text) <= MAX_VALUE_CHARS else None
    if match is None:
        return None
    divisor = float(match[2] or 1)
    return float(match[1]) / divisor if divisor else math.inf


def _combine(condition: str) -> bool | None:
    """Return what answers joined by `not`, `and` or `or` make; a mixture has no answer."""
    words = condition.split()
    if words[:1] == ["not"]:
        return _negate(ANSWER_BY_LETTER.get(words[1])) if len(words) == 2 else None
    answers = [ANSWER_BY_LETTER.get(word) for word in words[::2]]
    joints = set(words[1::2])
    if len(words) % 2 == 0 or len(joints) > 1:
        return None
    if joints <= {"and"}:
        return _negate(_any(map(_negate, answers)))
    return _any(answers) if joints == {"or"} else None


def _any(answers: Iterable[bool | None]) -> bool | None:
    found = set(answers)
    return True if True in found else None if None in found else False


def _negate(answer: bool | None) -> bool | None:
    return None if answer is None else not answer
