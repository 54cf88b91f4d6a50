"""The part of CSS that drawings style their shapes with.

Read are type, class, id and universal selectors, their compounds, groups of them, the
descendant and child combinators, and `!important`. At-rules, and rules with any other selector
(attributes, pseudo-classes, siblings), are skipped, as CSS does with what it does not know.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from parsing.limits import bounded
from parsing.names import PROPERTIES
from parsing.transforms import attribute_transform

COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
QUOTED: Final = r"\"[^\"]*\"|'[^']*'"
SEGMENT: Final = re.compile(rf"(?>{QUOTED}|\((?>{QUOTED}|[^()\"']+)*\)|[^;\"'(]+|[\"'(])+")
SPECIAL: Final = re.compile(r"[\"'(]|/\*")
IMPORTANT: Final = re.compile(r"\s*!\s*important\Z", re.IGNORECASE)
BRACES: Final = re.compile(rf"{QUOTED}|([{{}}])")
COMPOUND: Final = re.compile(
    r"(\*|[a-zA-Z][\w-]*)?((?:[.#]-?[\w\u0080-\U0010ffff][\w\u0080-\U0010ffff-]*)*)"
)
NAME: Final = re.compile(r"([.#])([^.#]+)")
COMBINATOR: Final = re.compile(r"\s*(>)\s*|\s+")


class Declarations(NamedTuple):
    """Property -> value, without and with `!important`."""

    normal: dict[str, str]
    important: dict[str, str]


class Element(NamedTuple):
    """What selectors see of an element, and the element around it."""

    tag: str
    id: str | None
    classes: frozenset[str]
    parent: "Element | None"


class Compound(NamedTuple):
    """`rect.wall#w1`; `child` when what stands before it must be its parent itself."""

    tag: str | None
    id: str | None
    classes: frozenset[str]
    child: bool

    def matches(self, element: Element) -> bool:
        """Whether this stands for the element, whatever is around it."""
        return (
            (self.tag is None or self.tag == element.tag)
            and (self.id is None or self.id == element.id)
            and self.classes <= element.classes
        )


class Rule(NamedTuple):
    """One selector with its declarations, sortable by precedence."""

    specificity: tuple[int, int, int]
    order: int
    selector: tuple[Compound, ...]  # from right to left
    declarations: Declarations


def parse_declarations(text: str) -> Declarations:
    """The value of a `style` attribute, or what stands between a rule's braces."""
    bounded(text, "a style", 100_000)
    declarations = Declarations({}, {})
    for segment in (
        SEGMENT.findall(COMMENT.sub("", text)) if SPECIAL.search(text) else text.split(";")
    ):
        name, _, value = segment.partition(":")
        name, value = name.strip().lower(), value.strip()
        if name not in PROPERTIES or not value:
            continue
        plain = IMPORTANT.sub("", value) if "!" in value else value
        half = declarations.normal if plain is value else declarations.important
        half[name] = attribute_transform(plain) if name == "transform" else plain
    return declarations


def merge(declared: Iterable[Declarations]) -> Declarations:
    """Later declarations over earlier ones."""
    merged = Declarations({}, {})
    for normal, important in declared:
        merged.normal.update(normal)
        merged.important.update(important)
    return merged


def parse_rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Selectors and body of each plain rule; at-rules and their blocks are stepped over."""
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
    return len(sheet) + 1  # the end of the sheet closes it


def parse_selector(text: str) -> tuple[Compound, ...] | None:
    """Compounds from right to left, None for a selector that is not read."""
    compounds: list[Compound] = []
    text, position, child = text.strip(), 0, False
    while match := COMPOUND.match(text, position):
        if match.end() == position:
            return None
        compounds.append(_compound(match[1], match[2], child))
        if match.end() == len(text):
            return tuple(reversed(compounds))
        combinator = COMBINATOR.match(text, match.end())
        if combinator is None:
            return None
        position, child = combinator.end(), combinator[1] is not None
    return None


def _compound(tag: str | None, names: str, child: bool) -> Compound:
    found = NAME.findall(names)
    ids = [name for kind, name in found if kind == "#"]
    classes = frozenset(name for kind, name in found if kind == ".")
    return Compound(None if tag == "*" else tag, ids[-1] if ids else None, classes, child)


def specificity(selector: tuple[Compound, ...]) -> tuple[int, int, int]:
    """Selectors 3, section 9."""
    return (
        sum(part.id is not None for part in selector),
        sum(len(part.classes) for part in selector),
        sum(part.tag is not None for part in selector),
    )
