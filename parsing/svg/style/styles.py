"""Parse the part of CSS that drawings style their shapes with.

Supported are type, class, id and universal selectors, their compounds and groups, the descendant
and child combinators, and `!important`. At-rules and rules with any other selector (attributes,
pseudo-classes, siblings) are skipped, as CSS requires for unknown syntax.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from parsing.limits import check_text_length
from parsing.svg.names import STYLE_PROPERTIES
from parsing.svg.style.transforms import css_transform_to_attribute

COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
QUOTED_PATTERN: Final = r"\"[^\"]*\"|'[^']*'"
# Atomic groups keep the time linear for unbalanced quotes and parentheses.
DECLARATION_SEGMENT: Final = re.compile(
    rf"(?>{QUOTED_PATTERN}|\((?>{QUOTED_PATTERN}|[^()\"']+)*\)|[^;\"'(]+|[\"'(])+"
)
NEEDS_TOKENIZING: Final = re.compile(r"[\"'(]|/\*")
IMPORTANT_SUFFIX: Final = re.compile(r"\s*!\s*important\Z", re.IGNORECASE)
BRACES: Final = re.compile(rf"{QUOTED_PATTERN}|([{{}}])")
COMPOUND_PATTERN: Final = re.compile(
    r"(\*|[a-zA-Z][\w-]*)?((?:[.#]-?[\w\u0080-\U0010ffff][\w\u0080-\U0010ffff-]*)*)"
)
CLASS_OR_ID: Final = re.compile(r"([.#])([^.#]+)")
COMBINATOR: Final = re.compile(r"\s*(>)\s*|\s+")


class Declarations(NamedTuple):
    """Values by property, without and with `!important`."""

    normal: dict[str, str]
    important: dict[str, str]


class StyledElement(NamedTuple):
    """An element as selectors see it, with its parent."""

    tag: str
    id: str | None
    classes: frozenset[str]
    parent: "StyledElement | None"


class CompoundSelector(NamedTuple):
    """A selector such as `rect.wall#w1`; `is_child` if a `>` stands before it."""

    tag: str | None
    id: str | None
    classes: frozenset[str]
    is_child: bool

    def matches(self, element: StyledElement) -> bool:
        """Return whether the compound matches the element, regardless of its ancestors."""
        return (
            (self.tag is None or self.tag == element.tag)
            and (self.id is None or self.id == element.id)
            and self.classes <= element.classes
        )


class StyleRule(NamedTuple):
    """One selector with its declarations, sortable by precedence."""

    specificity: tuple[int, int, int]
    order: int
    selector: tuple[CompoundSelector, ...]  # from right to left
    declarations: Declarations


def parse_declarations(text: str) -> Declarations:
    """Parse the value of a `style` attribute or the body of a rule.

    >>> parse_declarations("fill: red; stroke: blue !important").important
    {'stroke': 'blue'}
    """
    check_text_length(text, "a style", 100_000)
    declarations = Declarations({}, {})
    for segment in (
        DECLARATION_SEGMENT.findall(COMMENT.sub("", text))
        if NEEDS_TOKENIZING.search(text)
        else text.split(";")
    ):
        name, _, value = segment.partition(":")
        name, value = name.strip().lower(), value.strip()
        if name not in STYLE_PROPERTIES or not value:
            continue
        plain = IMPORTANT_SUFFIX.sub("", value) if "!" in value else value
        target = declarations.normal if plain is value else declarations.important
        target[name] = css_transform_to_attribute(plain) if name == "transform" else plain
    return declarations


def merge_declarations(declared: Iterable[Declarations]) -> Declarations:
    """Merge declarations, the later ones over the earlier ones."""
    merged = Declarations({}, {})
    for normal, important in declared:
        merged.normal.update(normal)
        merged.important.update(important)
    return merged


def parse_rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Iterate over selectors and body of each style rule; skip at-rules with their blocks."""
    sheet = COMMENT.sub(" ", sheet)
    position = 0
    while (brace := sheet.find("{", position)) >= 0:
        selectors = sheet[position:brace].rpartition(";")[2].strip()
        position = _block_end(sheet, brace + 1)
        if not selectors.startswith("@"):
            yield selectors, sheet[brace + 1 : position - 1]


def _block_end(sheet: str, start: int) -> int:
    depth = 1
    for brace in BRACES.finditer(sheet, start):
        depth += {"{": 1, "}": -1}.get(brace[1] or "", 0)
        if depth == 0:
            return brace.end()
    return len(sheet) + 1  # CSS closes open blocks at the end of the sheet


def parse_selector(text: str) -> tuple[CompoundSelector, ...] | None:
    """Return the compounds of a selector from right to left, or None if it is not supported."""
    compounds: list[CompoundSelector] = []
    text, position, is_child = text.strip(), 0, False
    while match := COMPOUND_PATTERN.match(text, position):
        if match.end() == position:
            return None
        compounds.append(_parse_compound(match[1], match[2], is_child))
        if match.end() == len(text):
            return tuple(reversed(compounds))
        combinator = COMBINATOR.match(text, match.end())
        if combinator is None:
            return None
        position, is_child = combinator.end(), combinator[1] is not None
    return None


def _parse_compound(tag: str | None, names: str, is_child: bool) -> CompoundSelector:
    parts = CLASS_OR_ID.findall(names)
    ids = [name for kind, name in parts if kind == "#"]
    classes = frozenset(name for kind, name in parts if kind == ".")
    return CompoundSelector(
        None if tag == "*" else tag, ids[-1] if ids else None, classes, is_child
    )


def specificity(selector: tuple[CompoundSelector, ...]) -> tuple[int, int, int]:
    """Return the counts of ids, classes and types (Selectors 3, section 9)."""
    return (
        sum(part.id is not None for part in selector),
        sum(len(part.classes) for part in selector),
        sum(part.tag is not None for part in selector),
    )
