"""Find the clip paths that cut nothing off, such as those that Figma puts around each frame."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from html import unescape
from typing import Final, NamedTuple

from parsing.svg.cascade import is_calculated
from parsing.svg.lengths import parse_length
from parsing.svg.names import EFFECT_PROPERTIES
from parsing.svg.style_sheets import (
    MAX_MEDIA_CHARS,
    MAX_STYLE_CHARS,
    parse_declarations,
    squeeze_blanks,
)
from parsing.svg.warnings import quote

ATTRIBUTES: Final = r"((?:\s+[\w:-]+\s*=\s*(?:\"[^\"<]{0,200}\"|'[^'<]{0,200}')){0,20})"
RECT_CLIP: Final = re.compile(
    rf"<clipPath{ATTRIBUTES}\s*>\s*<rect{ATTRIBUTES}\s*(?:/>|>\s*</rect>)\s*</clipPath>".encode()
)
ATTRIBUTE: Final = re.compile(r"([\w:-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
HARMLESS_ATTRIBUTES: Final = frozenset({"x", "y", "width", "height", "fill", "id"})


def find_canvas_clips(text: bytes, canvas: tuple[float, float]) -> frozenset[str]:
    """Return the ids of the clip paths that are a rectangle of the whole canvas.

    >>> svg = b'<clipPath id="clip0"><rect width="40" height="20" fill="white"/></clipPath>'
    >>> find_canvas_clips(svg, (40, 20))
    frozenset({'clip0'})
    """
    return frozenset(
        _read(clip[1]).get("id", "")
        for clip in RECT_CLIP.finditer(text)
        if _covers(_read(clip[2]), canvas)
    )


def _read(attributes: bytes) -> dict[str, str]:
    return {
        name: unescape(quoted or single)
        for name, quoted, single in ATTRIBUTE.findall(attributes.decode("utf-8", "replace"))
    }


def _covers(rect: dict[str, str], canvas: tuple[float, float]) -> bool:
    if not rect.keys() <= HARMLESS_ATTRIBUTES:
        return False
    for start, side, size in (("x", "width", canvas[0]), ("y", "height", canvas[1])):
        begin = parse_length(rect.get(start, "0")[:100], size)
        length = parse_length(rect.get(side, "0")[:100], size)
        if begin is None or length is None or begin > 0 or begin + length < size:
            return False
    return True


# Find what style says that a parsed map cannot have: clips, filters, rules that are not read.

CAUSES: Final = {"clip-path": "clip", "mix-blend-mode": "style"}
CAUSE_BY_PROPERTY: Final = {
    name: CAUSES.get(name, name.partition("-")[0]) for name in sorted(EFFECT_PROPERTIES)
}
EFFECT_ATTRIBUTES: Final = frozenset({*CAUSE_BY_PROPERTY, "style"})
REPORTED_ATTRIBUTES: Final = frozenset({"clip-path", "filter", "mask", "data-type"})
"""A shape that has one of these is looked at in a drawing without `url()`, too."""
NO_EFFECTS: Final = frozenset({"none", "normal", "inherit", "initial", "unset", "revert", "auto"})
IMPORT: Final = re.compile(r"@import\s[^;{}]{0,200}")
STYLE_INSTRUCTION: Final = re.compile(rb"<\?xml-stylesheet\s([^<>?]{0,200})")
# At-rules without an effect on shapes as they are drawn at first.
OTHER_RULES: Final = re.compile(
    r"@(?:font-|(?:-\w+-)?keyframes|charset|namespace|page|property|counter-style|viewport)",
    re.IGNORECASE,
)
# Conditions that a map, which is seen on a screen and by many, does not meet.
UNMET_MEDIA: Final = re.compile(
    r"@media\s[^(]*(?:\(\s*(?:prefers-|forced-colors|inverted-colors|scripting|color|monochrome)"
    r"[^()]*\)[^(]*)*\Z",
    re.IGNORECASE,
)
# States that a drawing does not begin in, and elements that are no shapes.
OTHER_SELECTORS: Final = re.compile(
    r":(?:hover|focus|active|visited|target|link|any-link|checked|disabled|:|before|after)"
    r"|(?:^|[\s>+~])(?:text|tspan|textPath|image|html|body|p|div|span|input)\b[^\s>+~]*\Z"
)


URLS: Final = (b"url(", b"URL(")


class Effect(NamedTuple):
    """An effect that is not applied: its cause of a warning, property and value."""

    cause: str
    property: str
    value: str


def has_effects(style: str) -> bool:
    """Return whether a `style` attribute may have effects; this is cheap."""
    return "(" in style or "mix-blend" in style or len(style) > MAX_STYLE_CHARS


def find_reference(value: str) -> str | None:
    """Return the id in `url()` of a value, or None if it has none.

    >>> find_reference("URL('#g') red"), find_reference("red")
    ('g', None)
    """
    _, url, rest = value.replace("URL(", "url(").partition("url(")
    return rest.partition(")")[0].strip("'\" #") if url else None


def find_effects(attributes: Mapping[str, str], ruled: Mapping[str, str]) -> Iterator[Effect]:
    """Iterate over the effects that an element asks for; `ruled` are values of rules for it.

    >>> list(find_effects({"mask": "url(#m)", "style": "filter:blur(2px)"}, {"mask": "none"}))
    [Effect(cause='filter', property='filter', value='blur(2px)')]
    """
    values = {name: attributes[name] for name in CAUSE_BY_PROPERTY if name in attributes}
    values.update(ruled)
    if style := attributes.get("style"):
        if has_effects(style) or values:
            values |= _read_style(style)
        if len(squeeze_blanks(style)) > MAX_STYLE_CHARS:
            read = f"{len(style):,} characters, of which {MAX_STYLE_CHARS:,} are read"
            yield Effect("style", "style", read)
    yield from filter(None, (_to_effect(name, value) for name, value in values.items()))


def find_unread_sheets(text: bytes, sheet: str) -> Iterator[str]:
    """Iterate over the references to other style sheets, but for those of fonts."""
    for instruction in STYLE_INSTRUCTION.findall(text[:10_000]):
        yield f"<?xml-stylesheet {quote(instruction.decode('utf-8', 'replace'))}?>"
    for found in IMPORT.findall(sheet) if "@import" in sheet else ():
        if "font" not in found:
            yield quote(found)


def changes_shapes(prelude: str) -> bool:
    """Return whether a rule that is not read might change how shapes look.

    >>> changes_shapes("@supports (fill: red)"), changes_shapes("@font-face")
    (True, False)
    """
    if prelude.startswith("@"):
        prelude = " ".join(prelude.split())
        is_unmet = len(prelude) <= MAX_MEDIA_CHARS and UNMET_MEDIA.match(prelude)
        return not (OTHER_RULES.match(prelude) or is_unmet)
    return OTHER_SELECTORS.search(prelude[:1_000]) is None


@lru_cache(maxsize=1_000)
def _read_style(style: str) -> dict[str, str]:
    normal, important = parse_declarations(style)
    return normal | important


def _to_effect(name: str, value: str) -> Effect | None:
    cause = CAUSE_BY_PROPERTY.get(name)
    if cause is None:
        return Effect("style", name, value) if is_calculated(value) else None
    value = value.strip()
    is_marker = cause == "marker"
    has_effect = find_reference(value) is not None if is_marker else value.lower() not in NO_EFFECTS
    return Effect(cause, name, value) if has_effect else None
