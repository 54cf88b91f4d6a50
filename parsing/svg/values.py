"""Compute values of CSS: custom properties, keywords of all properties, and errors."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from parsing.errors import DocumentRejectedError
from parsing.svg.colors import is_unknown_paint, parse_color
from parsing.svg.names import INHERITED_PROPERTIES
from parsing.svg.transforms import CSS_TRANSFORMS, is_css_transform, to_css_transform

# Compute values: custom properties, and the keywords that all properties have. CSS Custom
# Properties 1, and CSS Cascade 4, section 7.3.

MAX_VALUE_CHARS: Final = 10_000
"""Length of a value after substitution; longer ones are invalid, as in browsers."""
MAX_SUBSTITUTED_CHARS: Final = 20_000_000
"""A whole document may have so many, against `var()` that double from one to the next."""
MAX_NESTED_VARIABLES: Final = 32
VARIABLE_START: Final = re.compile(r"\bvar\(\s*(--[^\s,()]+)\s*([,)])", re.IGNORECASE)
PARENTHESIS: Final = re.compile(r"[()]")
WIDE_KEYWORDS: Final = frozenset({"inherit", "initial", "unset", "revert", "revert-layer"})
INITIAL_VALUES: Final = {
    "fill": "black",
    "fill-opacity": "1",
    "fill-rule": "nonzero",
    "stroke": "none",
    "stroke-dasharray": "none",
    "stroke-dashoffset": "0",
    "stroke-linecap": "butt",
    "stroke-linejoin": "miter",
    "stroke-miterlimit": "4",
    "stroke-opacity": "1",
    "stroke-width": "1",
    "color": "black",
    "visibility": "visible",
    "font-size": "16px",
    "paint-order": "normal",
}
"""All inherited properties are here. Others are left out instead, which is the same."""


class VariableResolver:
    """Substitutes custom properties in values, within a limit for the whole document."""

    def __init__(self) -> None:
        self._substituted_chars = 0

    def inherit(self, own: Mapping[str, str], inherited: Mapping[str, str]) -> Mapping[str, str]:
        """Return the custom properties inside an element that sets `own`."""
        declared = {**inherited, **own}
        variables = dict(inherited)
        for name, value in own.items():
            if value in WIDE_KEYWORDS:
                resolved = inherited.get(name) if value != "initial" else None
            else:
                resolved = self.substitute(value, declared, frozenset({name}))
            if resolved is None:
                variables.pop(name, None)
            else:
                variables[name] = resolved
        return variables

    def substitute(
        self,
        value: str,
        variables: Mapping[str, str],
        open_names: frozenset[str] = frozenset(),
        depth: int = 0,
    ) -> str | None:
        """Return a value with what its `var()` stand for, or None if that is invalid.

        Raises `DocumentRejectedError` if all values of the document become too much.

        >>> VariableResolver().substitute("var(--wall, red)", {"--wall": "#333"})
        '#333'
        """
        parts: list[str] = []
        position = chars = 0
        while match := VARIABLE_START.search(value, position):
            end = match.end() if match[2] == ")" else _find_closing(value, match.end())
            fallback = value[match.end() : end - 1].strip() if match[2] == "," else None
            replaced = self._look_up(match[1], fallback, variables, open_names, depth + 1)
            if replaced is None:
                return None
            parts += [value[position : match.start()], replaced]
            chars += len(replaced)
            if chars > MAX_VALUE_CHARS:
                return None
            position = end
        parts.append(value[position:])
        return "".join(parts).strip()

    def _look_up(
        self,
        name: str,
        fallback: str | None,
        variables: Mapping[str, str],
        open_names: frozenset[str],
        depth: int,
    ) -> str | None:
        value = None if name in open_names else variables.get(name)
        if value is not None:
            value = self._substitute_nested(value, variables, open_names | {name}, depth)
        if value is None and fallback is not None and name not in open_names:
            value = self._substitute_nested(fallback, variables, open_names, depth)
        return value

    def _substitute_nested(
        self, value: str, variables: Mapping[str, str], open_names: frozenset[str], depth: int
    ) -> str | None:
        self._substituted_chars += 1 + len(value)
        if self._substituted_chars > MAX_SUBSTITUTED_CHARS:
            raise DocumentRejectedError(
                f"var() stands for more than {MAX_SUBSTITUTED_CHARS:,} characters in all; "
                "use fewer custom properties"
            )
        if "(" not in value:
            return value
        if depth > MAX_NESTED_VARIABLES:
            return None
        return self.substitute(value, variables, open_names, depth)


def _find_closing(text: str, start: int) -> int:
    """Return the position after the parenthesis that closes the one before `start`."""
    depth = 1
    for match in PARENTHESIS.finditer(text, start):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return len(text) + 1  # CSS closes what is open at the end


def has_variable(text: str) -> bool:
    """Return whether a value has a `var()`; an overlong one is not read."""
    return "(" in text and len(text) < MAX_VALUE_CHARS and "var(" in text.lower()


def has_wide_keyword(values: Mapping[str, str]) -> bool:
    """Return whether a value is a keyword that all properties have."""
    return any(len(value) <= 12 and value.lower() in WIDE_KEYWORDS for value in values.values())


def resolve_wide_keywords(values: Mapping[str, str], parent: Mapping[str, str]) -> dict[str, str]:
    """Replace `inherit`, `initial`, `unset` and `revert`.

    An inherited property is left out where it takes the value around it. `parent` has what the
    parent element itself sets of the other properties, which only `inherit` asks for.
    """
    resolved = {}
    for name, value in values.items():
        keyword = value.lower() if len(value) <= 12 else ""
        if keyword not in WIDE_KEYWORDS:
            resolved[name] = value
        elif name in INHERITED_PROPERTIES:
            if keyword == "initial":
                resolved[name] = INITIAL_VALUES[name]
        elif keyword == "inherit" and name in parent:
            resolved[name] = parent[name]
    return resolved


# Tell the colours and transforms that are in error: a style sheet does not set them. CSS Syntax 3,
# section 2.2: so the value below them in the cascade shows. Others in error have no effect.

MAX_CHECKED_CHARS: Final = 1_000
"""Longer values count as valid."""
NOT_COMPUTED: Final = re.compile(
    r"\b(?:var|env|attr|calc|min|max|clamp|round|mod|rem|sin|cos|tan|hypot|sqrt|pow|abs|sign)\("
)
"""Functions with a result that is not known here; browsers may know it."""
PLAIN_COLOR: Final = re.compile(r"(?:rgb|hsl)a?\((?!\s*from\b)[^()]*\)")


def _is_paint(value: str) -> bool:
    is_plain = PLAIN_COLOR.fullmatch(value) is not None
    return parse_color(value) is not None if is_plain else not is_unknown_paint(value)


def _is_color(value: str) -> bool:
    is_paint_only = value == "none" or value.startswith(("url(", "context-"))
    return not is_paint_only and _is_paint(value)


def _make_transform_check(name: str) -> Callable[[str], bool]:
    return lambda value: is_css_transform(to_css_transform(name, value))


CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    **{name: _make_transform_check(name) for name in CSS_TRANSFORMS},
    **dict.fromkeys(("fill", "stroke"), _is_paint),
    **dict.fromkeys(("color", "stop-color"), _is_color),
}


@lru_cache(maxsize=10_000)  # most drawings have few distinct declarations
def is_valid(name: str, value: str) -> bool:
    """Return whether a style sheet can give a property this value.

    What is not computed here, such as `calc()`, counts as valid.

    >>> is_valid("fill", "#12"), is_valid("rotate", "30"), is_valid("opacity", "50%")
    (False, False, True)
    """
    check = CHECKS.get(name)
    if check is None or len(value) > MAX_CHECKED_CHARS:
        return True
    value = value.lower()
    if value in WIDE_KEYWORDS or ("(" in value and NOT_COMPUTED.search(value)):
        return True
    return check(value)
