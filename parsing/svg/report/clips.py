"""Find the clip paths that cut nothing off, such as those that Figma puts around each frame."""

import re
from html import unescape
from typing import Final

from parsing.svg.geometry.lengths import parse_length

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
