"""Query parameters: their names on the wire, their variables, how they are read and described."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from rest.errors import invalid_input_error
from schema.arguments import (
    check_asset,
    check_cursor,
    check_location_tags,
    check_mode,
    check_nearest_limit,
    check_waypoint,
)
from schema.execution import RequestError

MAX_INT32 = 2**31 - 1
MAX_PARAMETERS = 100
MAX_DIGITS = 100


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A query parameter; `read` raises ValueError with what would be right."""

    name: str
    variable: str
    description: str
    schema: Mapping[str, Any]
    parse: Callable[[str], Any] = str
    is_filter: bool = True
    """Filters are repeated in the addresses of other pages as they were given."""
    example: Any = None
    is_required: bool = False


def _parse_int32(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"must be a whole number, not {text[:50]!r}")
    if len(digits) > MAX_DIGITS or not 1 <= int(text) <= MAX_INT32:
        raise ValueError(f"must be from 1 to {MAX_INT32}, not {text[:50]}")
    return int(text)


def _build_text_parser(check: Callable[[str], None]) -> Callable[[str], str]:
    """Reads text that the field would take: checked here, since input comes before existence."""

    def read(text: str) -> str:
        _validate(check, text)
        return text

    return read


def _validate(check: Callable[..., None], *values: Any) -> None:
    try:
        check(*values)
    except RequestError as error:
        ((complaint, *_), *_) = error.extensions["fields"].values()
        raise ValueError(complaint) from error


_INT32_SCHEMA = {"type": "integer", "format": "int32", "minimum": 1, "maximum": MAX_INT32}
ID_SCHEMA = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[^\x00]+$"}

PAGE = QueryParameter(
    "page",
    "page",
    "The page to return, from 1.",
    {**_INT32_SCHEMA, "default": 1},
    _parse_int32,
    is_filter=False,
    example=1,
)
PER_PAGE = QueryParameter(
    "per-page",
    "perPage",
    "How many resources a page holds. More than 10000 is served as 10000.",
    {**_INT32_SCHEMA, "default": 100},
    _parse_int32,
    is_filter=False,
    example=20,
)
AFTER = QueryParameter(
    "after",
    "after",
    "Opaque. `next_url` carries it, so that following it costs the same on every page.",
    {"type": "string", "maxLength": 4096},
    _build_text_parser(check_cursor),
    is_filter=False,
)
PAGE_PARAMETERS = (PAGE, PER_PAGE, AFTER)

ASSET_ID = QueryParameter(
    "asset",
    "asset",
    "Only what belongs to the asset with this id.",
    ID_SCHEMA,
    _build_text_parser(check_asset),
    example="alder-court",
)
_TAG = r"[^,\x00]*[^,\s\x1c-\x1f\x85\x00][^,\x00]*"
MAP_TAGS = QueryParameter(
    "tags",
    "tags",
    "Tags separated by commas; a map is listed when it carries every one.",
    {"type": "string", "maxLength": 255, "pattern": f"^{_TAG}(,{_TAG})*$"},
    example="ils,mls",
)

REFERENCE_KEY = QueryParameter(
    "key",
    "key",
    "Only references to the third-party system that this key names.",
    {"type": "string", "minLength": 2, "maxLength": 255, "pattern": "^[a-z][a-z0-9-]{1,254}$"},
    example="rentwell",
)
_ESCAPED = r"\\[,=\-\\]"
_FIRST_CHARACTER = rf"([^,=\\\x00-]|{_ESCAPED})"
_CHARACTER = rf"([^,=\\\x00]|{_ESCAPED})"
_TERM = f"-?{_FIRST_CHARACTER}{_CHARACTER}*(=={_CHARACTER}+)?"
LOCATION_TAGS = QueryParameter(
    "tags",
    "tags",
    "Terms separated by commas, all of which must hold: `key` (has a tag with this key), `-key` "
    "(has none), `key==value`, `-key==value`. Keys and values match exactly, but for case; "
    "`\\,` `\\=` `\\-` `\\\\` stand for the characters themselves.",
    {"type": "string", "maxLength": 2048, "pattern": f"^{_TERM}(,{_TERM}){{0,49}}$"},
    _build_text_parser(check_location_tags),
    example="svc:amenity==yes,-amenity",
)

_NUMBER = r"(-?[0-9]{1,12}(?:\.[0-9]{1,12})?)"
_POSITION = re.compile(f"{_NUMBER},{_NUMBER},(.+)\\Z", re.S)


def _parse_waypoint(text: str) -> dict[str, Any]:
    variable: dict[str, Any] = {"id": text}
    if place := _POSITION.match(text):
        variable = {"x": float(place[1]), "y": float(place[2]), "floorId": place[3]}
    _validate(check_waypoint, "waypoint", variable)
    return variable


def _parse_limit(text: str) -> int:
    number = _parse_int32(text)
    _validate(check_nearest_limit, number)
    return number


def _waypoint_parameter(name: str, description: str) -> QueryParameter:
    return QueryParameter(
        name,
        name,
        f"{description}: the id of a location, or `x,y,floor_id`.",
        {"type": "string", "minLength": 1, "maxLength": 512, "pattern": r"^[^\x00]+$"},
        _parse_waypoint,
        example="l4xusy2pgwt",
        is_required=True,
    )


FROM = _waypoint_parameter("from", "Where to start")
TO = _waypoint_parameter("to", "Where to go")
MODE = QueryParameter(
    "mode",
    "mode",
    "How to travel.",
    {"type": "string", "enum": ["foot", "wheelchair"], "default": "foot"},
    _build_text_parser(check_mode),
    example="wheelchair",
)
LIMIT = QueryParameter(
    "limit",
    "limit",
    "How many locations to name.",
    {"type": "integer", "format": "int32", "minimum": 1, "maximum": 100, "default": 10},
    _parse_limit,
    example=3,
)

VARIABLE_BY_PATH_PARAMETER = {"unitMapId": "map", "group-id": "group"}
"""Path parameters whose variables have other names."""


def split_query_string(query_string: bytes) -> list[tuple[str, str]]:
    """The names and values of a query string, decoded. Raises HttpError."""
    try:
        return parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_PARAMETERS,
        )
    except UnicodeError as error:
        raise invalid_input_error({"query": ["must be percent-encoded UTF-8"]}) from error
    except ValueError as error:
        raise invalid_input_error(
            {"query": [f"must have at most {MAX_PARAMETERS} parameters"]}
        ) from error


def parse_query(
    parameters: Iterable[QueryParameter], pairs: list[tuple[str, str]]
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The variables that a query gives, and its filters as given. Raises HttpError.

    Unknown parameters are ignored; a known one given twice is refused.
    """
    variables: dict[str, Any] = {}
    filters: list[tuple[str, str]] = []
    complaints: dict[str, list[str]] = {}
    for parameter in parameters:
        values = [value for name, value in pairs if name == parameter.name]
        if len(values) > 1:
            complaints[parameter.name] = [f"must be given once, not {len(values)} times"]
        elif values:
            try:
                variables[parameter.variable] = parameter.parse(values[0])
            except ValueError as error:
                complaints[parameter.name] = [str(error)]
            if parameter.is_filter:
                filters.append((parameter.name, values[0]))
        elif parameter.is_required:
            complaints[parameter.name] = ["must be given"]
    if complaints:
        raise invalid_input_error(complaints)
    return variables, filters
