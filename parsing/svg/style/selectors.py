"""Parse the selectors of style rules.

Supported are type, class, id and universal selectors, `:root`, their compounds, and the descendant
and child combinators.
"""

import re
from typing import Final, NamedTuple

from parsing.errors import DocumentRejectedError

MAX_COMPOUNDS: Final = 32
COMPOUND_PATTERN: Final = re.compile(
    r"(\*|[a-zA-Z][\w-]*)?((?:[.#]-?[\w\u0080-\U0010ffff][\w\u0080-\U0010ffff-]*|:root\b)*)"
)
CLASS_OR_ID: Final = re.compile(r"([.#:])([^.#:]+)")
ROOT_CLASS: Final = "\0root"
"""Stands for `:root`, and counts as a class; no document can contain it."""
COMBINATOR: Final = re.compile(r"\s*(>)\s*|\s+")


class SelectedElement(NamedTuple):
    """An element as selectors see it."""

    tag: str
    id: str | None
    classes: frozenset[str]


class CompoundSelector(NamedTuple):
    """A selector such as `rect.wall#w1`; `is_child` if a `>` stands before it."""

    tag: str | None
    id: str | None
    classes: frozenset[str]
    is_child: bool

    @property
    def index_key(self) -> str:
        """A part that every matching element has: `#id`, `.class`, the tag, or `*`."""
        if self.id:
            return f"#{self.id}"
        return f".{min(self.classes)}" if self.classes else self.tag or "*"

    def matches(self, element: SelectedElement) -> bool:
        """Return whether the compound matches the element, regardless of its ancestors."""
        return (
            (self.tag is None or self.tag == element.tag)
            and (self.id is None or self.id == element.id)
            and self.classes <= element.classes
        )


Selector = tuple[CompoundSelector, ...]
"""Compounds from left to right."""


def parse_selector(text: str) -> Selector | None:
    """Return the compounds of a selector, or None if it is not supported.

    Raises `DocumentRejectedError` if there are too many.
    """
    compounds: list[CompoundSelector] = []
    text, position, is_child = text.strip(), 0, False
    while match := COMPOUND_PATTERN.match(text, position):
        if match.end() == position:
            return None
        if len(compounds) == MAX_COMPOUNDS:
            raise DocumentRejectedError(
                f'the selector "{text[:40]}…" has more than {MAX_COMPOUNDS} parts'
            )
        compounds.append(_parse_compound(match[1], match[2], is_child))
        if match.end() == len(text):
            return tuple(compounds)
        combinator = COMBINATOR.match(text, match.end())
        if combinator is None:
            return None
        position, is_child = combinator.end(), combinator[1] is not None
    return None


def split_selectors(text: str) -> list[str]:
    """Split a list of selectors at its commas, but for those in parentheses.

    >>> split_selectors("a, g:not(.b, rect)")
    ['a', ' g:not(.b, rect)']
    """
    if "(" not in text:
        return text.split(",")
    selectors: list[list[str]] = []
    depth = 0
    for part in text.split(","):
        if depth <= 0:
            selectors.append([])
            depth = 0
        selectors[-1].append(part)
        depth += part.count("(") - part.count(")")
    return [",".join(parts) for parts in selectors]


def _parse_compound(tag: str | None, names: str, is_child: bool) -> CompoundSelector:
    parts = CLASS_OR_ID.findall(names)
    ids = [name for kind, name in parts if kind == "#"]
    classes = frozenset(ROOT_CLASS if kind == ":" else name for kind, name in parts if kind != "#")
    return CompoundSelector(
        None if tag == "*" else tag, ids[-1] if ids else None, classes, is_child
    )


def specificity(selector: Selector) -> tuple[int, int, int]:
    """Return the counts of ids, classes and types (Selectors 3, section 9)."""
    return (
        sum(part.id is not None for part in selector),
        sum(len(part.classes) for part in selector),
        sum(part.tag is not None for part in selector),
    )
