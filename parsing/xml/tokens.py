"""Drives the XML parser through a document, in bounded memory: no tree is ever built."""

import re
from typing import Any, Final

from lxml import etree

from parsing.errors import DocumentRejectedError, ParsingError
from parsing.limits import DocumentLimits
from parsing.xml.decoding import XmlDocument, line_and_column, to_parsing_error

# A start tag: `{namespace}name`, attributes in document order. None: an end tag.
StartTag = tuple[str, dict[str, str]]
Token = StartTag | None

CHUNK_BYTES: Final = 64 * 1024
MARKUP_PATTERN: Final = re.compile(
    rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>"
    rb"|<!DOCTYPE(?:\"[^\"]*\"|'[^']*'|\[(?:<!--.*?-->|\"[^\"]*\"|'[^']*'|[^\]])*\]|[^\[>])*>"
    rb"|(<)[^/!?]",
    re.DOTALL,
)


class ParserTarget:
    """Counts the elements that the XML parser reports, and stops it at a limit."""

    def __init__(self, limits: DocumentLimits) -> None:
        self.limits = limits
        self.elements = 0
        self.depth = 0
        self._max_elements = limits.elements
        self._max_depth = limits.nesting

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        self.depth += 1
        if self.depth > self._max_depth:
            raise DocumentRejectedError(f"elements nest deeper than {self._max_depth}")
        if self.elements > self._max_elements:
            raise DocumentRejectedError(
                f"the document has more than {self._max_elements:,} elements"
            )
        # lxml hands out something else than a dictionary where there is nothing.
        self.enter(tag, attributes or {})

    def end(self, tag: str) -> None:
        self.leave()
        self.depth -= 1

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        """A start tag; `depth` counts its element."""
        raise NotImplementedError

    def leave(self) -> None:
        """An end tag; `depth` still counts its element."""
        raise NotImplementedError

    def close(self) -> None:
        """The end of the document: nothing was built, so nothing is handed out."""


def feed_document(document: XmlDocument, target: ParserTarget) -> None:
    """Drive a target through a document; errors carry the place of the tag they arose at."""
    settings: dict[str, Any] = {
        "encoding": "utf-8",
        # Without entities nothing can be amplified, so values may be as long as the document.
        "huge_tree": not document.has_entities,
        "resolve_entities": "internal",
        "load_dtd": False,
        "no_network": True,
    }
    text, parser = document.text, etree.XMLParser(target=target, **settings)  # type: ignore[arg-type]
    try:
        for start in range(0, len(text), CHUNK_BYTES):
            parser.feed(text[start : start + CHUNK_BYTES])
        parser.close()
    except etree.XMLSyntaxError as error:
        raise to_parsing_error(error) from error
    except ParsingError as error:
        raise error.with_position(locate_start_tag(document, target.elements)) from error


def locate_start_tag(document: XmlDocument, ordinal: int) -> tuple[int, int]:
    """Line and column of a document's n-th start tag, counted from 1."""
    seen = 0
    for markup in MARKUP_PATTERN.finditer(document.text):
        seen += markup[1] is not None
        if seen >= ordinal:
            return line_and_column(document.text, markup.start())
    return 1, 1
