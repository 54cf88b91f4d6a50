"""Find the patterns that are pictures: Figma exports an image as a shape painted with a pattern."""

import re
from typing import Final

PATTERN_ID: Final = re.compile(rb"<pattern\b[^<>]*?\sid=\"([^\"<>]*)\"")
IMAGE_ID: Final = re.compile(rb"<image\b[^<>]*?\sid=\"([^\"<>]*)\"")
REFERENCE: Final = re.compile(rb"href=\"#([^\"<>]*)\"")


def find_picture_patterns(text: bytes) -> frozenset[str]:
    """Return the ids of the patterns that have an image in them, or use one.

    >>> svg = b'<pattern id="p"><use href="#i"/></pattern><image id="i"/>'
    >>> find_picture_patterns(svg)
    frozenset({'p'})
    """
    if b"<image" not in text:
        return frozenset()
    images = {*IMAGE_ID.findall(text)}
    patterns = set()
    for before in text.split(b"</pattern>")[:-1]:
        pattern = before[max(before.rfind(b"<pattern"), 0) :]
        name = PATTERN_ID.match(pattern)
        has_image = b"<image" in pattern or not images.isdisjoint(REFERENCE.findall(pattern))
        if name and has_image:
            patterns.add(name[1].decode())
    return frozenset(patterns)
