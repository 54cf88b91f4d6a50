"""Read a drawing in order: decode it, find its definitions, walk it, and collect its warnings."""

from functools import partial

from parsing.errors import ParsingError
from parsing.limits import DEFAULT_LIMITS, DocumentLimits
from parsing.svg.definitions import read_definitions
from parsing.svg.elements import DrawingHandler
from parsing.svg.identities import ILLUSTRATOR_MARKER
from parsing.svg.naming.names_as_markup import NameReader
from parsing.svg.outcome import ParseWarning
from parsing.svg.report.drawing_report import DrawingReport
from parsing.svg.report.element_finder import find_elements
from parsing.svg.walk import DrawingWalker
from parsing.xml.decoding import decode_document
from parsing.xml.tokens import feed_document


def walk_drawing(
    svg: bytes,
    handler: DrawingHandler,
    limits: DocumentLimits = DEFAULT_LIMITS,
    report: DrawingReport | None = None,
) -> list[ParseWarning]:
    """Call `handler` with a drawing's canvas size, groups, shapes and georeferences.

    Skips what the unit-map format does not have: text, images, definitions, foreign namespaces.
    Returns warnings of what is lost and what may be a mistake; `report` collects them, and then
    they have their positions on the map. Memory does not grow with the drawing, except for ids.
    Raises `ParsingError`, always with a position.
    """
    try:
        own_report = DrawingReport() if report is None else report
        document = decode_document(svg, limits)
        definitions = read_definitions(document, limits)
        names = NameReader(document.text, ILLUSTRATOR_MARKER.search(document.text) is not None)
        own_report.begin(document.text, definitions)
        walker = DrawingWalker(handler, document.text, definitions, names, own_report, limits)
        feed_document(document, walker)
        if report is None:
            return own_report.finish(document)
        find = partial(find_elements, document, definitions, limits, report.drawn.level_ordinals)
        return report.finish(document, find)
    except ParsingError as error:
        if error.line:
            raise
        raise error.with_position((1, 1)) from error
