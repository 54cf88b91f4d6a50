"""Stream a document through the XML parser in bounded memory, without building a tree."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from lxml import etree

from parsing.drawing import NoteCollector
from parsing.errors import DocumentRejectedError, ParsingError
from parsing.limits import DocumentLimits
from parsing.xml.decoding import XmlDocument, line_and_column, to_parsing_error

# A start tag is (`{namespace}name`, attributes in document order), an end tag is None.
StartTag = tuple[str, dict[str, str]]
Token = StartTag | None

CHUNK_BYTES: Final = 64 * 1024
# It begins with a literal, which Python's `re` looks for much faster than for alternatives.
MARKUP_PATTERN: Final = re.compile(
    rb"<(?:!--.*?-->|!\[CDATA\[.*?\]\]>|\?.*?\?>"
    rb"|!DOCTYPE(?:\"[^\"]*\"|'[^']*'|\[(?:<!--.*?-->|\"[^\"]*\"|'[^']*'|[^\]])*\]|[^\[>])*>"
    rb"|([^/!?]))",
    re.DOTALL,
)


class ParserTarget:
    """A target of the XML parser that counts elements and stops at a limit."""

    def __init__(self, limits: DocumentLimits) -> None:
        self.limits = limits
        self.elements = 0
        self.depth = 0
        self._max_elements = limits.elements
        self._max_depth = limits.nesting

    @property
    def is_done(self) -> bool:
        """Whether the rest of the document does not matter."""
        return False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        self.depth += 1
        if self.depth > self._max_depth:
            raise DocumentRejectedError(f"elements nest deeper than {self._max_depth}")
        if self.elements > self._max_elements:
            raise DocumentRejectedError(
                f"the document has more than {self._max_elements:,} elements"
            )
        # lxml passes an immutable proxy, not a dictionary, for no attributes.
        self.enter(tag, attributes or {})

    def end(self, tag: str) -> None:
        self.leave()
        self.depth -= 1

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle a start tag; `depth` counts its element."""
        raise NotImplementedError

    def leave(self) -> None:
        """Handle an end tag; `depth` still counts its element."""
        raise NotImplementedError

    def close(self) -> None:
        """Return nothing at the end of the document, since nothing was built."""


def feed_document(document: XmlDocument, target: ParserTarget) -> None:
    """Parse a document into `target`, until that is done.

    Errors carry the position of the tag that caused them.
    """
    settings: dict[str, Any] = {
        "encoding": "utf-8",
        # Only entities can amplify text; without them long values are safe.
        "huge_tree": not document.has_entities,
        "resolve_entities": "internal",
        "load_dtd": False,
        "no_network": True,
    }
    text, parser = document.text, etree.XMLParser(target=target, **settings)  # type: ignore[arg-type]
    try:
        for start in range(0, len(text), CHUNK_BYTES):
            parser.feed(text[start : start + CHUNK_BYTES])
            if target.is_done:
                return
        parser.close()
    except etree.XMLSyntaxError as error:
        raise to_parsing_error(error) from error
    except ParsingError as error:
        raise error.with_position(locate_start_tag(document, target.elements)) from error


def locate_start_tag(document: XmlDocument, ordinal: int) -> tuple[int, int]:
    """Return line and column of a document's n-th start tag, counted from 1."""
    offset = next(iter_tag_offsets(document, (ordinal,)), 0)
    return line_and_column(document.text, offset)


def number_faults(
    collector: NoteCollector, document: XmlDocument, ordinals: Mapping[int, int]
) -> None:
    """Set the lines of faults, from the ascending numbers of their start tags by fault."""
    lines = number_lines(document, ordinals.values())
    for index, line in zip(ordinals, lines, strict=True):
        collector.faults[index] = collector.faults[index]._replace(line=line)


def number_lines(document: XmlDocument, ordinals: Iterable[int]) -> Iterator[int]:
    """Iterate over the lines of start tags, whose ordinals ascend, in one pass."""
    return (line for line, _ in locate_start_tags(document, ordinals))


def locate_start_tags(document: XmlDocument, ordinals: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Iterate over line and column of start tags, whose ordinals ascend, in one pass."""
    line, column, counted = 1, 1, 0
    for offset in iter_tag_offsets(document, ordinals):
        between = document.text[counted:offset]
        if b"\n" in between:
            line, column = line + between.count(b"\n"), 1
            between = between[between.rindex(b"\n") + 1 :]
        column += len(between.decode("utf-8", "replace"))
        counted = offset
        yield line, column


def iter_tag_offsets(document: XmlDocument, ordinals: Iterable[int]) -> Iterator[int]:
    """Iterate over the offsets of start tags, given by ascending ordinals, in one pass."""
    offsets = (match.start() for match in MARKUP_PATTERN.finditer(document.text) if match[1])
    count, offset = 0, 0
    for ordinal in ordinals:
        if ordinal > count:
            offset = next(islice(offsets, ordinal - count - 1, None), offset)
            count = ordinal
        yield offset
