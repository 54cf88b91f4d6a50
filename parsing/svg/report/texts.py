"""Tell text that is lost from elements without any text, which programs leave behind."""

import re
from collections.abc import Sequence
from typing import Final

from parsing.xml.decoding import XmlDocument
from parsing.xml.tokens import iter_tag_offsets

NAME: Final = r"(?:[\w.-]{1,40}:)?"
BLANK_TEXT: Final = re.compile(  # possessive, so that it takes linear time
    rf"<{NAME}text(?:\s[^<>]*)?(?:/>|>(?:\s|</?{NAME}tspan(?:\s[^<>]*+)?+>)*+</{NAME}text\s*>)".encode()
)


def find_blank_texts(document: XmlDocument, ordinals: Sequence[int]) -> frozenset[int]:
    """Return which of these start tags, by their ascending numbers, are of text with nothing in it.

    >>> document = XmlDocument(b"<svg><text>1</text><text> </text></svg>", False)
    >>> find_blank_texts(document, [2, 3])
    frozenset({3})
    """
    if not BLANK_TEXT.search(document.text):
        return frozenset()
    offsets = iter_tag_offsets(document, ordinals)
    return frozenset(
        ordinal
        for ordinal, offset in zip(ordinals, offsets, strict=True)
        if BLANK_TEXT.match(document.text, offset)
    )
