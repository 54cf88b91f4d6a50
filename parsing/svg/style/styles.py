"""Parse the part of CSS that drawings style their shapes with.

At-rules, and rules with a selector that `parsing.svg.style.selectors` does not read (attributes,
pseudo-classes, siblings), are skipped, as CSS requires for unknown syntax.
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


class Declarations(NamedTuple):
    """Values by property, without and with `!important`."""

    normal: dict[str, str]
    important: dict[str, str]


NO_DECLARATIONS: Final = Declarations({}, {})


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
