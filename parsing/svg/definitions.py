"""Collect what elements refer to: style rules, gradients, patterns, and the targets of `use`."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from parsing.errors import DocumentRejectedError
from parsing.limits import DocumentLimits, check_text_length
from parsing.svg.names import (
    CONDITION_ATTRIBUTES,
    PAINT_SERVER_TAGS,
    STOP_TAGS,
    SVG_NAMESPACE,
    USE_TAGS,
    referenced_id,
)
from parsing.svg.style_sheets import evaluate_media
from parsing.xml_documents import ParserTarget, Token, XmlDocument, feed_document

# Evaluate conditional processing as an English viewer without extensions (SVG 2, section 5.9).


def choose_switch_child(switch_choice: list[bool], attributes: dict[str, str]) -> bool:
    """Return whether to draw this child of a `switch`: only the first that meets its conditions.

    `switch_choice` is empty until a child has been chosen; the choice is added to it.
    """
    if switch_choice or not conditions_hold(attributes):
        return False
    switch_choice.append(True)
    return True


def conditions_hold(attributes: Mapping[str, str]) -> bool:
    """Return whether the conditional processing attributes of an element hold."""
    if CONDITION_ATTRIBUTES.isdisjoint(attributes):
        return True
    languages = attributes.get("systemLanguage")
    return not attributes.get("requiredExtensions") and (
        languages is None
        or any(
            part.strip().lower().partition("-")[0] == "en"
            for part in check_text_length(languages, "systemLanguage").split(",")
        )
    )


# Few plans need these passes. Entities cannot hold markup, so a search of the raw bytes finds all;
# it may find more, in comments or of other namespaces.
DEFINITION: Final = re.compile(
    rb"<(?:[^\s<>/!?]+:)?(?:style|use|linearGradient|radialGradient|pattern)[\s/>]"
)
STYLE_TAGS: Final = frozenset({"style", f"{SVG_NAMESPACE}style"})
DEFINITION_TAGS: Final = STYLE_TAGS.union(USE_TAGS, PAINT_SERVER_TAGS)


class PaintServer(NamedTuple):
    """A gradient with the attributes of its stops, or a pattern."""

    kind: str
    attributes: Mapping[str, str]
    stops: list[Mapping[str, str]]


class Definitions(NamedTuple):
    """Style rules as text, gradients and patterns by id, and the recorded tags of elements.

    Recorded are patterns and the elements that `use` elements refer to. `unread_media` are the
    media queries of style sheets that have no answer.
    """

    style_sheet: str = ""
    tokens: Sequence[Token] = ()
    spans: Mapping[str, tuple[int, int]] = {}
    paint_servers: Mapping[str, PaintServer] = {}
    unread_media: Sequence[str] = ()

    def instance_tokens(self, name: str) -> Sequence[Token]:
        """Return the tags of the element with this id and its own; empty for an unknown id."""
        first, end = self.spans.get(name, (0, 0))
        return self.tokens[first:end]


def read_definitions(document: XmlDocument, limits: DocumentLimits) -> Definitions:
    """Collect definitions in one pass for rules and references and one for their targets."""
    count = sum(1 for _ in DEFINITION.finditer(document.text))
    if not count:
        return Definitions()
    scanner = DefinitionScanner(limits, count)
    feed_document(document, scanner)
    styles = "".join(scanner.styles)
    definitions = Definitions(styles, (), {}, scanner.paint_servers, scanner.unread_media)
    if not scanner.references:
        return definitions
    recorder = ElementRecorder(limits, scanner.references)
    feed_document(document, recorder)
    return definitions._replace(tokens=recorder.tokens, spans=recorder.spans)


class DefinitionScanner(ParserTarget):
    """Collects the text of `style` elements, gradients, and the ids to record.

    It is done behind the last of `count` elements of these kinds.
    """

    def __init__(self, limits: DocumentLimits, count: int) -> None:
        super().__init__(limits)
        self._left = count
        self._open_depth = 0  # of the outermost open one of these elements
        self.references: set[str] = set()
        self.styles: list[str] = []
        self.unread_media: list[str] = []
        self.paint_servers: dict[str, PaintServer] = {}
        self._is_style = False
        self._stops: list[Mapping[str, str]] = []  # of the last gradient

    @property
    def is_done(self) -> bool:
        return not (self._left or self._open_depth)

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in DEFINITION_TAGS:
            self._left -= 1
            self._open_depth = self._open_depth or self.depth
        if tag in USE_TAGS:
            self.references.add(referenced_id(attributes))
        elif kind := PAINT_SERVER_TAGS.get(tag):
            self._add_paint_server(kind, attributes)
        elif tag in STOP_TAGS:
            self._stops.append(attributes)
        self._is_style = False
        if tag in STYLE_TAGS and attributes.get("type", "text/css") in ("", "text/css"):
            media = attributes.get("media", "")
            matches = evaluate_media(media)
            self._is_style = bool(matches)
            if matches is None:
                self.unread_media.append(media)
            elif matches and self.styles:
                self.styles.append("\n")

    def _add_paint_server(self, kind: str, attributes: dict[str, str]) -> None:
        self._stops = []
        name = attributes.get("id", "")
        self.paint_servers.setdefault(name, PaintServer(kind, attributes, self._stops))
        if kind == "pattern":
            self.references.add(name)

    def data(self, text: str) -> None:
        if self._is_style:
            self.styles.append(text)

    def leave(self) -> None:
        self._is_style = False
        if self.depth == self._open_depth:
            self._open_depth = 0


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
                    f"use and patterns refer to more than {self.limits.definitions:,} elements"
                )
            self.tokens.append((tag, attributes))

    def leave(self) -> None:
        if self._open:
            self.tokens.append(None)
            if self._open[-1][2] == self.depth:
                name, first, _ = self._open.pop()
                self.spans[name] = (first, len(self.tokens))
