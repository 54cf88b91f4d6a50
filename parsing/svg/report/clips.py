"""Find the clip paths that cut nothing off, such as those that Figma puts around each frame."""

import re
from typing import Final

from parsing.svg.geometry.lengths import parse_length

RECT_CLIP: Final = re.compile(
    rb"<clipPath\s+id=\"([^\"]{1,200})\"[^<>]{0,200}>\s*<rect((?:\s+[\w:-]+\s*=\s*\"[^\"<]{0,90}\")*)\s*"
    rb"(?:/>|>\s*</rect>)\s*</clipPath>"
)
ATTRIBUTE: Final = re.compile(rb"([\w:-]+)\s*=\s*\"([^\"]*)\"")
HARMLESS_ATTRIBUTES: Final = frozenset({b"x", b"y", b"width", b"height", b"fill", b"id"})


def find_canvas_clips(text: bytes, canvas: tuple[float, float]) -> frozenset[str]:
    """Return the ids of the clip paths that are a rectangle of the whole canvas.

    >>> svg = b'<clipPath id="clip0"><rect width="40" height="20" fill="white"/></clipPath>'
    >>> find_canvas_clips(svg, (40, 20))
    frozenset({'clip0'})
    """
    return frozenset(
        clip[1].decode()
        for clip in RECT_CLIP.finditer(text)
        if _covers(dict(ATTRIBUTE.findall(clip[2])), canvas)
    )


def _covers(rect: dict[bytes, bytes], canvas: tuple[float, float]) -> bool:
    if not rect.keys() <= HARMLESS_ATTRIBUTES:
        return False
    for start, side, size in ((b"x", b"width", canvas[0]), (b"y", b"height", canvas[1])):
        begin = parse_length(rect.get(start, b"0").decode(), size)
        length = parse_length(rect.get(side, b"0").decode(), size)
        if begin is None or length is None or begin > 0 or begin + length < size:
            return False
    return True
