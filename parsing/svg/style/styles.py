"""Parse the part of CSS that drawings style their shapes with.

At-rules other than `@media`, and rules with a selector that `parsing.svg.style.selectors` does not
read (attributes, most pseudo-classes, siblings), are skipped, as CSS requires for unknown syntax.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from parsing.svg.geometry.lengths import Viewport
from parsing.svg.names import STYLE_PROPERTIES
from parsing.svg.style.media import evaluate_media
from parsing.svg.style.validity import is_valid
from parsing.svg.style.values import WIDE_KEYWORDS, has_variable
from parsing.svg.viewports import DEFAULT_SIZE

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
            if name not in STYLE_PROPERTIES and name != "all":
                continue
        if not value:
            continue
        plain = IMPORTANT_SUFFIX.sub("", value) if "!" in value else value
        if not is_valid(name, plain):
            continue
        target = declarations.normal if plain is value else declarations.important
        if name == "all":
            target.update(dict.fromkeys(sorted(STYLE_PROPERTIES), plain))
        else:
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
    sheet: str,
    report_unread: Callable[[str], None] = lambda _: None,
    viewport: Viewport = DEFAULT_SIZE,
) -> Iterator[tuple[str, str]]:
    """Iterate over selectors and body of each style rule, also in `@media` that matches.

    Other at-rules are skipped with their blocks, and reported unless it is known that they do not
    match.
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
        matches = evaluate_media(selectors[media.end() :], viewport) if media else None
        if matches:
            position, depth = brace + 1, depth + 1
            continue
        position = _block_end(sheet, brace + 1)
        if not selectors.startswith("@"):
            yield selectors, sheet[brace + 1 : position - 1]
        elif matches is None:
            report_unread(selectors)


def _block_end(sheet: str, start: int) -> int:
    depth = 1
    for brace in BRACES.finditer(sheet, start):
        depth += {"{": 1, "}": -1}.get(brace[1] or "", 0)
        if depth == 0:
            return brace.end()
    return len(sheet) + 1  # CSS closes open blocks at the end of the sheet
