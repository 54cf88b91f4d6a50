"""Compute values: custom properties, and the keywords that all properties have.

CSS Custom Properties 1, and CSS Cascade 4, section 7.3.
"""

import re
from collections.abc import Mapping
from typing import Final

from parsing.errors import DocumentRejectedError
from parsing.svg.names import INHERITED_PROPERTIES

MAX_VALUE_CHARS: Final = 10_000
"""Length of a value after substitution; longer ones are invalid, as in browsers."""
MAX_SUBSTITUTED_CHARS: Final = 20_000_000
"""Of a whole document."""
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
    "font": "medium serif",
    "font-size": "medium",
    "line-height": "normal",
    "paint-order": "normal",
}
"""Of all inherited properties. Others are left out, which is the same."""


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
