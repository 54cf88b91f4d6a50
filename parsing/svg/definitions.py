"""Collect what later elements refer back to: style rules and the targets of `use` elements."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from parsing.errors import DocumentRejectedError
from parsing.limits import DocumentLimits
from parsing.svg.names import SVG_NAMESPACE, USE_TAGS, referenced_id
from parsing.xml.decoding import XmlDocument
from parsing.xml.tokens import ParserTarget, Token, feed_document

# Few plans need these passes. Entities cannot hold markup, so a search of the raw bytes is exact.
HAS_STYLE_OR_USE: Final = re.compile(rb"<(?:[^\s<>/!?]+:)?(?:style|use)[\s/>]")
STYLE_TAGS: Final = frozenset({"style", f"{SVG_NAMESPACE}style"})


class Definitions(NamedTuple):
    """Style rules as text, and the recorded tags of elements that `use` elements refer to."""

    style_sheet: str = ""
    tokens: Sequence[Token] = ()
    spans: Mapping[str, tuple[int, int]] = {}

    def instance_tokens(self, name: str) -> Sequence[Token]:
        """Return the tags of the element with this id and its own; empty for an unknown id."""
        first, end = self.spans.get(name, (0, 0))
        return self.tokens[first:end]


def read_definitions(document: XmlDocument, limits: DocumentLimits) -> Definitions:
    """Collect definitions in one pass for rules and references and one for their targets."""
    if HAS_STYLE_OR_USE.search(document.text) is None:
        return Definitions()
    scanner = DefinitionScanner(limits)
    feed_document(document, scanner)
    styles = "\n".join(scanner.styles)
    if not scanner.references:
        return Definitions(styles)
    recorder = ElementRecorder(limits, scanner.references)
    feed_document(document, recorder)
    return Definitions(styles, recorder.tokens, recorder.spans)


class DefinitionScanner(ParserTarget):
    """Collects the text of `style` elements and the ids that `use` elements refer to."""

    def __init__(self, limits: DocumentLimits) -> None:
        super().__init__(limits)
        self.references: set[str] = set()
        self.styles: list[str] = []
        self._is_style = False

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in USE_TAGS:
            self.references.add(referenced_id(attributes))
        self._is_style = tag in STYLE_TAGS and attributes.get("type", "text/css") in (
            "",
            "text/css",
        )

    def data(self, text: str) -> None:
        if self._is_style:
            self.styles.append(text)

    def leave(self) -> None:
        self._is_style = False


class ElementRecorder(ParserTarget):
    """Records the tags of the elements with the requested ids."""

    def __init__(self, limits: DocumentLimits, recorded_ids: set[str]) -> None:
        super().__init__(limits)
        self._recorded_ids = recorded_ids
        self.tokens: list[Token] = []
        self._recorded_elements = 0
        self._open: list[tuple[str, int, int]] = []  # id, first token, depth
        self.spans: dict[str, tuple[int, int]] = {}

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        name = attributes.get("id")
        if name in self._recorded_ids and name is not None and name not in self.spans:
            # Reserve the id at once: of equal ids the first counts, even for one inside it.
            self.spans[name] = (0, 0)
            self._open.append((name, len(self.tokens), self.depth))
        if self._open:
            self._recorded_elements += 1
            if self._recorded_elements > self.limits.definitions:
                raise DocumentRejectedError(
                    f"use refers to more than {self.limits.definitions:,} elements"
                )
            self.tokens.append((tag, attributes))

    def leave(self) -> None:
        if self._open:
            self.tokens.append(None)
            if self._open[-1][2] == self.depth:
                name, first, _ = self._open.pop()
                self.spans[name] = (first, len(self.tokens))
