"""Resolvers of drawings: parsing the SVG of a unit map, and the parsed drawing of a map."""

from collections.abc import Sequence
from typing import Annotated, NewType
from urllib.parse import quote

import strawberry

from parsing.errors import DocumentRejectedError, ParsingError
from parsing.svg.unit_map import ParsedUnitMap
from parsing.svg.unit_map import parse_unit_map as parse_svg
from resolvers.request import process_pool
from resolvers.request.batching import batch_resolver
from resolvers.request.context import Info
from resolvers.request.errors import MalformedDocumentError, RefusedDocumentError
from resolvers.request.input_rules import argument
from storage.maps import Map

SvgDocument = NewType("SvgDocument", bytes)

PARSE_TIMEOUT_SECONDS = 20.0
PARSED_PATH = "/v1/maps/{}/parsed"


async def parse_unit_map(
    info: Info, svg: Annotated[SvgDocument, argument("The SVG data of a unit map.")]
) -> bytes:
    """Parse the SVG of a unit map to the form that viewers draw from."""
    return (await parse_drawing(svg)).json


async def parse_drawing(svg: bytes) -> ParsedUnitMap:
    """Parse a drawing in another process.

    Raises MalformedDocumentError and RefusedDocumentError.
    """
    try:
        return await process_pool.run_in_process_pool(parse_svg, PARSE_TIMEOUT_SECONDS, svg)
    except DocumentRejectedError as error:
        raise RefusedDocumentError(str(error)) from error
    except ParsingError as error:
        raise MalformedDocumentError(str(error), line=error.line, column=error.column) from error
    except TimeoutError as error:
        raise RefusedDocumentError(
            f"the drawing takes over {PARSE_TIMEOUT_SECONDS:.0f} seconds to parse; simplify it"
        ) from error


@batch_resolver
async def load_parsed_drawing_of_map(parents: Sequence[Map], info: Info) -> list[bytes | None]:
    """Get the parsed drawing of a map, if it has one; the map's `url` points to it."""
    map_ids = [parent.id if parent.source else None for parent in parents]
    return await info.context.load_drawings(map_ids)


def get_url_of_map(parent: strawberry.Parent[Map], info: Info) -> str | None:
    """Get the URL of the map file: of its parsed drawing, if it has one."""
    if parent.source is None:
        return parent.url
    return info.context.base_url + PARSED_PATH.format(quote(parent.id, safe=""))
