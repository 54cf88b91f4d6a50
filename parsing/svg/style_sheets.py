"""Parse style sheets: media queries, declarations, rules, selectors, and nested rules."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from parsing.errors import DocumentRejectedError
from parsing.svg.names import STYLE_PROPERTIES
from parsing.svg.values import WIDE_KEYWORDS, has_variable, is_valid

# Evaluate media queries as a screen with a light colour scheme (Media Queries 4). A query that asks
# for more, such as a size, has no answer, which is None: neither it nor its opposite matches.

MAX_MEDIA_CHARS: Final = 1_000
"""A longer list of media queries has no answer."""
QUERY: Final = re.compile(r"(?:(only|not) )?([a-z-]+)(?: and\b(.+))?")
SHOWN_TYPES: Final = frozenset({"all", "screen"})
SCHEMES: Final = {"(prefers-color-scheme:light)": True, "(prefers-color-scheme:dark)": False}


def evaluate_media(text: str) -> bool | None:
    """Return whether a list of media queries matches; an empty one does.

    >>> evaluate_media("print, screen"), evaluate_media("not all"), evaluate_media("(hover)")
    (True, False, None)
    """
    text = " ".join(text.lower().split())
    if len(text) > MAX_MEDIA_CHARS:
        return None
    answers = set(map(_evaluate_query, text.split(",")))
    return not text or True in answers or (None if None in answers else False)


def _evaluate_query(query: str) -> bool | None:
    match = QUERY.fullmatch(query.strip())
    modifier, kind, condition = match.groups() if match else (None, "all", query)
    is_met: bool | None = kind in SHOWN_TYPES
    if is_met and condition:
        is_met = SCHEMES.get(condition.replace(" ", ""))
    return not is_met if modifier == "not" and is_met is not None else is_met


# Parse the part of CSS that drawings style their shapes with. At-rules other than `@media`, and
# rules with a selector that `parse_selector` does not read (attributes, most
# pseudo-classes, siblings), are skipped, as CSS requires for unknown syntax.

COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
QUOTED_PATTERN: Final = r"\"[^\"]*\"|'[^']*'"
# Atomic groups keep the time linear for unbalanced quotes and parentheses.
DECLARATION_SEGMENT: Final = re.compile(
    rf"(?>{QUOTED_PATTERN}|\((?>{QUOTED_PATTERN}|[^()\"']+)*\)|[^;\"'(]+|[\"'(])+"
)
NEEDS_TOKENIZING: Final = re.compile(r"[\"'(]|/\*")
IMPORTANT_SUFFIX: Final = re.compile(r"\s*!\s*important\Z", re.IGNORECASE)
PATH_FUNCTION: Final = re.compile(rf"path\(\s*({QUOTED_PATTERN})\s*\)", re.IGNORECASE)
MEDIA_RULE: Final = re.compile(r"@media\b", re.IGNORECASE)
MAX_STYLE_CHARS: Final = 100_000
"""Declarations that would take a style over this are skipped, such as images in `background`."""
MAX_NESTED_MEDIA: Final = 32
BRACES: Final = re.compile(rf"{QUOTED_PATTERN}|([{{}}])")


class Declarations(NamedTuple):
    """Values by property, without and with `!important`."""

    normal: dict[str, str]
    important: dict[str, str]


NO_DECLARATIONS: Final = Declarations({}, {})


def parse_declarations(text: str) -> Declarations:
    """Parse the value of a `style` attribute or the body of a rule; drop what is in error.

    >>> parse_declarations("fill: red; stroke: blue !important").important
    {'stroke': 'blue'}
    """
    declarations = Declarations({}, {})
    for segment in _split_declarations(text):
        name, _, value = segment.partition(":")
        name, value = name.strip(), value.strip()
        if not name.startswith("--"):
            name = name.lower()
            if name not in STYLE_PROPERTIES:
                continue
        if not value:
            continue
        plain = IMPORTANT_SUFFIX.sub("", value) if "!" in value else value
        if not is_valid(name, plain):
            continue
        target = declarations.normal if plain is value else declarations.important
        target[name] = path_to_attribute(plain) if name == "d" else plain
    return declarations


def squeeze_blanks(text: str) -> str:
    """Return a style of too many characters with single blanks, as the others do not count."""
    return text if len(text) <= MAX_STYLE_CHARS else " ".join(text.split())


def _split_declarations(text: str) -> list[str]:
    text = squeeze_blanks(text)
    if NEEDS_TOKENIZING.search(text):
        segments = DECLARATION_SEGMENT.findall(COMMENT.sub("", text))
    else:
        segments = text.split(";")
    if len(text) <= MAX_STYLE_CHARS:
        return segments
    kept, length = [], 0
    for segment in segments:
        if length + len(segment) < MAX_STYLE_CHARS:
            length += len(segment) + 1
            kept.append(segment)
    return kept


def path_to_attribute(text: str) -> str:
    """Convert the CSS function `path()` to path data; other values draw nothing.

    >>> path_to_attribute("path('M0 0h9')")
    'M0 0h9'
    """
    match = PATH_FUNCTION.fullmatch(text)
    if match:
        return match[1][1:-1]
    return text if text.lower() in WIDE_KEYWORDS or has_variable(text) else ""


def merge_declarations(declared: Iterable[Declarations]) -> Declarations:
    """Merge declarations, the later ones over the earlier ones."""
    merged = Declarations({}, {})
    for normal, important in declared:
        merged.normal.update(normal)
        merged.important.update(important)
    return merged


def parse_rules(
    sheet: str, report_unread: Callable[[str], None] = lambda _: None
) -> Iterator[tuple[str, str]]:
    """Iterate over selectors and body of each style rule, also in `@media` that matches.

    Other at-rules are skipped with their blocks, and reported unless it is known that they do not
    match. So is what a rule has from its first nested rule on (CSS Nesting 1).
    """
    sheet = COMMENT.sub(" ", sheet)
    position = depth = 0
    while (brace := sheet.find("{", position)) >= 0:
        prelude = sheet[position:brace]
        while depth and "}" in prelude:
            prelude = prelude.partition("}")[2]
            depth -= 1
        selectors = prelude.rpartition(";")[2].strip()
        media = MEDIA_RULE.match(selectors) if depth < MAX_NESTED_MEDIA else None
        matches = evaluate_media(selectors[media.end() :]) if media else None
        if matches:
            position, depth = brace + 1, depth + 1
            continue
        position = _block_end(sheet, brace + 1)
        if not selectors.startswith("@"):
            declarations, nested, _ = sheet[brace + 1 : position - 1].partition("{")
            if nested:
                declarations, _, prelude = declarations.rpartition(";")
                report_unread(prelude.strip())
            yield selectors, declarations
        elif matches is None:
            report_unread(selectors)


def _block_end(sheet: str, start: int) -> int:
    depth = 1
    for brace in BRACES.finditer(sheet, start):
        depth += {"{": 1, "}": -1}.get(brace[1] or "", 0)
        if depth == 0:
            return brace.end()
    return len(sheet) + 1  # CSS closes open blocks at the end of the sheet


# Parse the selectors of style rules. Supported are type, class, id and universal selectors,
# `:root`, their compounds, and the descendant and child combinators.

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
        """Return what every matching element has: `#id`, `.class`, the tag, or `*`."""
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
