"""Unit maps as their designers draw them: parsing, and what a map's drawing was parsed to."""

from collections.abc import Sequence
from typing import NewType
from urllib.parse import quote

import orjson
import strawberry

from parsing.errors import ParsingError, Refused
from parsing.unitmap import ParsedMap
from parsing.unitmap import parse as parse_svg
from resolvers import processes
from resolvers.batching import batched
from resolvers.context import Info
from resolvers.errors import MalformedDocument, RefusedDocument
from storage.maps import Map

SvgDocument = NewType("SvgDocument", bytes)

DEADLINE_SECONDS = 20.0
PARSED_PATH = "/v1/maps/{}/parsed"


async def parse(info: Info, svg: SvgDocument) -> orjson.Fragment:
    """What a unit map's SVG describes, in the form that viewers draw from."""
    return orjson.Fragment((await parse_drawing(svg)).json)


async def parse_drawing(svg: bytes) -> ParsedMap:
    """A drawing parsed in another process. Raises MalformedDocument, RefusedDocument."""
    try:
        return await processes.run(parse_svg, DEADLINE_SECONDS, svg)
    except Refused as error:
        raise RefusedDocument(str(error)) from error
    except ParsingError as error:
        raise MalformedDocument(str(error), line=error.line, column=error.column) from error
    except TimeoutError as error:
        raise RefusedDocument(
            f"the drawing takes over {DEADLINE_SECONDS:.0f} seconds to parse; simplify it"
        ) from error


@batched
async def parsed(parents: Sequence[Map], info: Info) -> list[orjson.Fragment | None]:
    """What the map's drawing describes; null when it has none."""
    drawn = [parent.id if parent.source else None for parent in parents]
    contents = await info.context.drawings(drawn)
    return [None if content is None else orjson.Fragment(content) for content in contents]


def url(parent: strawberry.Parent[Map], info: Info) -> str | None:
    """Address of the map file: of its parsed drawing, if it has one."""
    if parent.source is None:
        return parent.url
    return info.context.base_url + PARSED_PATH.format(quote(parent.id, safe=""))
