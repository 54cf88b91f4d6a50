"""Parse style sheets: media queries, declarations, rules, selectors, and nested rules."""

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from parsing.errors import DocumentRejectedError
from parsing.svg.lengths import NUMBER_PATTERN, FontSizes, Viewport, parse_length
from parsing.svg.names import STYLE_PROPERTIES
from parsing.svg.values import WIDE_KEYWORDS, has_variable, is_valid
from parsing.svg.viewports import DEFAULT_SIZE

# Evaluate media queries as a screen with a light colour scheme (Media Queries 4). The screen is as
# large as the drawing. A query that asks for what a drawing does not know has no answer, which is
# None: neither it nor its opposite matches.

MAX_MEDIA_CHARS: Final = 1_000
"""A longer list of media queries has no answer."""
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


# Take rules out of the rules that they are nested in (CSS Nesting 1).

MAX_NESTED_RULES: Final = 8
MAX_JOINED_CHARS: Final = 1_000
"""A nested rule is skipped if its selectors, joined with those around it, are longer."""
JOINED_TO_NAME: Final = re.compile(r"[\w-]&|&[\w-]")
SKIPPED: Final = ""
"""Stands for the selectors of a rule that does not count, and of those in it."""


def flatten_rule(
    selectors: str, body: str, viewport: Viewport, report_unread: Callable[[str], None]
) -> Iterator[tuple[str, str]]:
    """Iterate over selectors and declarations of a rule and of those inside it, in their order.

    >>> list(flatten_rule("g, a", "fill:red; &.on {fill:lime}", Viewport(9, 9), print))
    [('g, a', 'fill:red'), ('g.on,a.on', 'fill:lime')]
    """
    if "{" not in body:
        yield selectors, body
        return
    stack = [selectors]
    position = 0
    for brace in BRACES.finditer(body):
        if brace[1] is None:
            continue  # it is in quotes
        text, position = body[position : brace.start()], brace.end()
        declarations, _, prelude = text.rpartition(";") if brace[1] == "{" else (text, "", "")
        # An empty rule counts too, so that the number of rules limits the work.
        if stack[-1] and (brace[1] == "}" or declarations.strip()):
            yield stack[-1], declarations
        if brace[1] == "{":
            inner = _enter(stack[-1], prelude.strip(), viewport)
            if inner is None or (inner and len(stack) > MAX_NESTED_RULES):
                report_unread(prelude.strip())
                inner = SKIPPED
            stack.append(inner)
        elif len(stack) > 1:
            stack.pop()
    if stack[-1] and body[position:].strip():
        yield stack[-1], body[position:]


def _enter(outer: str, prelude: str, viewport: Viewport) -> str | None:
    """Return the selectors inside a nested rule, or None if it is not read."""
    if not outer:
        return SKIPPED
    if media := MEDIA_RULE.match(prelude):
        matches = evaluate_media(prelude[media.end() :], viewport)
        return outer if matches else SKIPPED if matches is False else None
    return None if prelude.startswith("@") or not prelude else _join(outer, prelude)


def _join(outer: str, inner: str) -> str | None:
    """Return the selectors of a rule in another, or None if they are not read."""
    outers, inners = split_selectors(outer), split_selectors(inner)
    chars = len(inner) * len(outers) + len(outer) * (len(inners) + inner.count("&"))
    if chars > MAX_JOINED_CHARS or JOINED_TO_NAME.search(inner):
        return None
    return ",".join(
        each.replace("&", one.strip()) if "&" in each else f"{one} {each}"
        for one in outers
        for each in inners
    )
