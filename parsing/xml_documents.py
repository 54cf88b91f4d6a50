"""Decode XML documents, and stream them through the parser in bounded memory.

What is unsafe to hand to the parser is rejected before. Only the given bytes are ever read.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice, repeat
from typing import Any, Final, NamedTuple

from lxml import etree

from parsing.drawing import NoteCollector, ReadingFault, SourcePlace
from parsing.errors import DocumentRejectedError, NotWellFormedError, ParsingError
from parsing.limits import DocumentLimits

# Decode a document to UTF-8 and reject what is unsafe to hand to the XML parser. Encodings are
# detected as in XML 1.0, appendix F. Only the given bytes are ever read.

# UTF-32 comes first: its little-endian mark starts with that of UTF-16.
BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# `<?` in UTF-16 without a byte order mark (XML 1.0, appendix F.1).
UNMARKED_ENCODINGS: Final = ((b"<\0?\0", "utf-16-le"), (b"\0<\0?", "utf-16-be"))
# Single-byte code pages and East Asian encodings. Python's other codecs (punycode, idna, escapes)
# are no encodings of XML or take more than linear time.
SUPPORTED_ENCODINGS: Final = re.compile(
    r"utf-8|ascii|iso8859-\d+|cp125\d|cp874|koi8-[ru]|mac-roman|shift_jis|cp932|euc_jp|euc_kr"
    r"|gb2312|gbk|gb18030|big5"
)
ENCODING_DECLARATION: Final = re.compile(rb"<\?xml\s[^>]*?encoding\s*=\s*[\"']([^\"'>]*)[\"']")
PROLOG_BYTES: Final = 256 * 1024
XINCLUDE_NAMESPACE: Final = b"http://www.w3.org/2001/XInclude"
# As a namespace, or as the text of an entity, which may become one; prose may mention it.
XINCLUDE_DECLARATION: Final = re.compile(
    rb"(?:\sxmlns[^\s=<>\"']*\s*=\s*|<!ENTITY\s[^<>\"']*)[\"'](%b)" % re.escape(XINCLUDE_NAMESPACE)
)
MIN_LONG_RUN: Final = 3_000
LONG_START_TAG: Final = re.compile(rb"<[^<]{%d,}" % MIN_LONG_RUN)


class XmlDocument(NamedTuple):
    """A document in UTF-8 without byte order mark; its encoding declaration is unchanged."""

    text: bytes
    has_entities: bool


def decode_document(svg: bytes, limits: DocumentLimits) -> XmlDocument:
    """Decode a document and check it before parsing. Raises `ParsingError`."""
    if len(svg) > limits.source_bytes:
        raise DocumentRejectedError(
            f"the document has {len(svg):,} bytes; at most {limits.source_bytes:,} are read"
        )
    if svg.startswith(b"\x1f\x8b"):
        raise NotWellFormedError("the document is compressed with gzip; send it uncompressed")
    if not svg or svg.isspace():
        raise NotWellFormedError("the document is empty; expected an XML document")
    text = to_utf8(svg)
    has_doctype = b"<!DOCTYPE" in text
    document = XmlDocument(text, has_doctype and b"<!ENTITY" in text)
    if XINCLUDE_NAMESPACE in text and (declared := XINCLUDE_DECLARATION.search(text)):
        position = line_and_column(text, declared.start(1))
        raise DocumentRejectedError(
            "XInclude asks for other documents; only this one is read", *position
        )
    if has_doctype:
        _check_doctype(text)
    _check_attribute_counts(text, limits)
    return document


def line_and_column(text: bytes, offset: int) -> tuple[int, int]:
    r"""Return line and column, both from 1, of a byte offset in UTF-8 text.

    >>> line_and_column(b"<svg>\n <rect/>", 7)
    (2, 2)
    """
    line_start = text.rfind(b"\n", 0, offset) + 1
    column = len(text[line_start:offset].decode("utf-8", "replace")) + 1
    return text.count(b"\n", 0, offset) + 1, column


def to_utf8(svg: bytes) -> bytes:
    """Return a document in UTF-8 without byte order mark. Raises `NotWellFormedError`."""
    encoding, mark_bytes = _detect_encoding(svg)
    body = svg[mark_bytes:] if mark_bytes else svg
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        before = body[: error.start].decode(encoding, "replace").encode()
        line, column = line_and_column(before, len(before))
        raise NotWellFormedError(
            f"these bytes are not {encoding}: {body[error.start : error.start + 4].hex(' ')}",
            line,
            column,
        ) from error
    if encoding == "utf-8":
        return body
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        before = text[: error.start].encode()
        raise NotWellFormedError(
            "half a surrogate pair", *line_and_column(before, len(before))
        ) from error


def _detect_encoding(svg: bytes) -> tuple[str, int]:
    """Return the Python codec of a document and the length of its byte order mark."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if svg.startswith(mark):
            return encoding, len(mark)
    for start, encoding in UNMARKED_ENCODINGS:
        if svg.startswith(start):
            return encoding, 0
    declared = ENCODING_DECLARATION.match(svg, 0, 512)
    if declared is None:
        return "utf-8", 0
    return _find_codec(declared[1].decode("ascii", "replace"), declared.start(1) + 1), 0


def _find_codec(name: str, column: int) -> str:
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        codec = ""
    if codec.startswith(("utf-16", "utf-32")):
        raise NotWellFormedError(
            f"the document declares {name} but is not written in it", 1, column
        )
    if not SUPPORTED_ENCODINGS.fullmatch(codec):
        raise NotWellFormedError(f"unknown encoding {name!r}; UTF-8 is always right", 1, column)
    return codec


def _check_doctype(text: bytes) -> None:
    """Reject external DTDs and entities, and entities with markup (XML external entity attacks).

    Entities for plain text pass, such as Illustrator's for its namespaces. SVG's own DTD may be
    named, but it is not read.
    """
    start = text.index(b"<!DOCTYPE")
    docinfo = _parse_prolog_root(text).getroottree().docinfo
    position = line_and_column(text, start)
    public, address = docinfo.public_id or "", docinfo.system_url
    if address is not None and not public.startswith("-//W3C//DTD SVG"):
        raise DocumentRejectedError(
            f"the DTD {address} is outside the document; nothing else is read", *position
        )
    for entity in docinfo.internalDTD.entities() if docinfo.internalDTD is not None else ():
        if entity.system_url is not None:
            reason = f"is outside the document ({entity.system_url}); nothing else is read"
        elif "<" in (entity.content or "<"):
            reason = "stands for markup; only text is read"
        else:
            continue
        raise DocumentRejectedError(f"entity {entity.name!r} {reason}", *position)


def _parse_prolog_root(text: bytes) -> Any:
    """Return the root element after parsing no further than its start tag."""
    parser = etree.XMLPullParser(
        events=("start",), encoding="utf-8", resolve_entities=False, no_network=True
    )
    try:
        parser.feed(text[:PROLOG_BYTES])
    except etree.XMLSyntaxError as error:
        raise to_parsing_error(error) from error
    for _, root in parser.read_events():
        return root
    # libxml2 waits for the end after a lone quote in an instruction of the DOCTYPE.
    with suppress(etree.XMLSyntaxError):
        parser.close()
    for _, root in parser.read_events():
        return root
    raise DocumentRejectedError(f"no element starts in the first {PROLOG_BYTES:,} bytes")


def _check_attribute_counts(text: bytes, limits: DocumentLimits) -> None:
    """Reject an element with too many attributes before the XML parser has to hold them.

    A start tag contains no raw `<`, so only long runs without one need a closer look.
    """
    if not _has_long_run(text):
        return
    too_many_attributes = re.compile(
        rb"<[^\s<>/!?]+(?>\s+[^\s<>\"'/=]+\s*=\s*(?:\"[^\"]*\"|'[^']*')){%d}"
        % (limits.attributes + 1)
    )
    for run in LONG_START_TAG.finditer(text):
        if too_many_attributes.match(text, run.start(), run.end()):
            raise DocumentRejectedError(
                f"an element has more than {limits.attributes:,} attributes",
                *line_and_column(text, run.start()),
            )


def _has_long_run(text: bytes) -> bool:
    """Return whether there are `MIN_LONG_RUN` bytes without a `<` between them.

    Looking back from so many bytes further on takes few steps, however many `<` there are.
    """
    start = 0
    while start + MIN_LONG_RUN <= len(text):
        start = text.rfind(b"<", start, start + MIN_LONG_RUN) + 1
        if not start:
            return True
    return False


def to_parsing_error(error: etree.XMLSyntaxError) -> NotWellFormedError | DocumentRejectedError:
    """Convert an error of the XML parser."""
    line, column = error.position
    reason = (error.msg or "broken markup").removesuffix(f", line {line}, column {column}").strip()
    position = max(line, 1), max(column, 1)
    code = getattr(error, "code", None)
    if code in (etree.ErrorTypes.ERR_RESOURCE_LIMIT, etree.ErrorTypes.ERR_ENTITY_LOOP):
        return DocumentRejectedError(
            "entities expand to too much, or one value is over 10 MB", *position
        )
    return NotWellFormedError(f"not well-formed XML: {reason}", *position)


# Stream a document through the XML parser in bounded memory, without building a tree.

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
        """Return whether the rest of the document does not matter."""
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
        position = next(locate_start_tags(document, (target.elements,)))
        raise error.with_position(position) from error


class SourceLines:
    """Finds the lines of a file's faults and parts after it is read, by their start tags.

    Both are added in the order of their start tags.
    """

    def __init__(self, collector: NoteCollector, file: str) -> None:
        self.file = file
        self._collector = collector
        self._fault_ordinals: dict[int, int] = {}  # by index in the collector's list
        self._ordinals: dict[str, int] = {}
        self._names: dict[str, str] = {}

    def add_fault(self, fault: ReadingFault, ordinal: int) -> None:
        """Add a fault of the element with this start tag."""
        index = len(self._collector.faults)
        self._collector.add_fault(fault)
        if len(self._collector.faults) > index:  # it was not one too many of its cause
            self._fault_ordinals[index] = ordinal

    def add_part(self, part: str, ordinal: int, name: str = "") -> None:
        """Add what was read of the element with this start tag, by its id."""
        self._ordinals[part], self._names[part] = ordinal, name

    def number_faults(self, document: XmlDocument) -> None:
        """Set the lines of the faults."""
        positions = locate_start_tags(document, self._fault_ordinals.values())
        for index, (line, _) in zip(self._fault_ordinals, positions, strict=True):
            self._collector.faults[index] = self._collector.faults[index]._replace(line=line)

    def set_places(self, document: XmlDocument | None) -> None:
        """Tell the collector the places of the parts, without lines if there is no XML."""
        ordinals = self._ordinals.values()
        positions = locate_start_tags(document, ordinals) if document else repeat((0, 0))
        for (part, name), (line, _) in zip(self._names.items(), positions, strict=False):
            self._collector.places[part] = SourcePlace(self.file, line, name)


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
