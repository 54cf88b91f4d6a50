"""Query parameters: their names on the wire, their variables, how they are read and described."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from rest.errors import invalid
from schema.arguments import (
    check_asset,
    check_cursor,
    check_limit,
    check_mode,
    check_terms,
    check_waypoint,
)
from schema.execution import RequestError

INT32_MAX = 2**31 - 1
MOST_PARAMETERS = 100
MOST_DIGITS = 100


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter; `read` raises ValueError with what would be right."""

    name: str
    variable: str
    description: str
    schema: Mapping[str, Any]
    read: Callable[[str], Any] = str
    is_filter: bool = True
    """Filters are repeated in the addresses of other pages as they were given."""
    example: Any = None
    is_required: bool = False


def _read_int32(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"must be a whole number, not {text[:50]!r}")
    if len(digits) > MOST_DIGITS or not 1 <= int(text) <= INT32_MAX:
        raise ValueError(f"must be from 1 to {INT32_MAX}, not {text[:50]}")
    return int(text)


def _checked(check: Callable[[str], None]) -> Callable[[str], str]:
    """Reads text that the field would take: checked here, since input comes before existence."""

    def read(text: str) -> str:
        _complain(check, text)
        return text

    return read


def _complain(check: Callable[..., None], *values: Any) -> None:
    try:
        check(*values)
    except RequestError as error:
        ((complaint, *_), *_) = error.extensions["fields"].values()
        raise ValueError(complaint) from error


_INT32 = {"type": "integer", "format": "int32", "minimum": 1, "maximum": INT32_MAX}
ID = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[^\x00]+$"}

PAGE = Parameter(
    "page",
    "page",
    "The page to return, from 1.",
    {**_INT32, "default": 1},
    _read_int32,
    is_filter=False,
    example=1,
)
PER_PAGE = Parameter(
    "per-page",
    "perPage",
    "How many resources a page holds. More than 10000 is served as 10000.",
    {**_INT32, "default": 100},
    _read_int32,
    is_filter=False,
    example=20,
)
AFTER = Parameter(
    "after",
    "after",
    "Opaque. `next_url` carries it, so that following it costs the same on every page.",
    {"type": "string", "maxLength": 4096},
    _checked(check_cursor),
    is_filter=False,
)
SLICE = (PAGE, PER_PAGE, AFTER)

ASSET = Parameter(
    "asset",
    "asset",
    "Only what belongs to the asset with this id.",
    ID,
    _checked(check_asset),
    example="alder-court",
)
_TAG = r"[^,\x00]*[^,\s\x1c-\x1f\x85\x00][^,\x00]*"
MAP_TAGS = Parameter(
    "tags",
    "tags",
    "Tags separated by commas; a map is listed when it carries every one.",
    {"type": "string", "maxLength": 255, "pattern": f"^{_TAG}(,{_TAG})*$"},
    example="ils,mls",
)

REFERENCE_KEY = Parameter(
    "key",
    "key",
    "Only references to the third-party system that this key names.",
    {"type": "string", "minLength": 2, "maxLength": 255, "pattern": "^[a-z][a-z0-9-]{1,254}$"},
    example="rentwell",
)
_ESCAPED = r"\\[,=\-\\]"
_FIRST = rf"([^,=\\\x00-]|{_ESCAPED})"
_CHARACTER = rf"([^,=\\\x00]|{_ESCAPED})"
_TERM = f"-?{_FIRST}{_CHARACTER}*(=={_CHARACTER}+)?"
LOCATION_TAGS = Parameter(
    "tags",
    "tags",
    "Terms separated by commas, all of which must hold: `key` (has a tag with this key), `-key` "
    "(has none), `key==value`, `-key==value`. Keys and values match exactly, but for case; "
    "`\\,` `\\=` `\\-` `\\\\` stand for the characters themselves.",
    {"type": "string", "maxLength": 2048, "pattern": f"^{_TERM}(,{_TERM}){{0,49}}$"},
    _checked(check_terms),
    example="svc:amenity==yes,-amenity",
)

_NUMBER = r"(-?[0-9]{1,12}(?:\.[0-9]{1,12})?)"
_PLACE = re.compile(f"{_NUMBER},{_NUMBER},(.+)\\Z", re.S)


def _read_waypoint(text: str) -> dict[str, Any]:
    variable: dict[str, Any] = {"id": text}
    if place := _PLACE.match(text):
        variable = {"x": float(place[1]), "y": float(place[2]), "floorId": place[3]}
    _complain(check_waypoint, "waypoint", variable)
    return variable


def _read_limit(text: str) -> int:
    number = _read_int32(text)
    _complain(check_limit, number)
    return number


def _waypoint(name: str, description: str) -> Parameter:
    return Parameter(
        name,
        name,
        f"{description}: the id of a location, or `x,y,floor_id`.",
        {"type": "string", "minLength": 1, "maxLength": 512, "pattern": r"^[^\x00]+$"},
        _read_waypoint,
        example="l4xusy2pgwt",
        is_required=True,
    )


FROM = _waypoint("from", "Where to start")
TO = _waypoint("to", "Where to go")
MODE = Parameter(
    "mode",
    "mode",
    "How to travel.",
    {"type": "string", "enum": ["foot", "wheelchair"], "default": "foot"},
    _checked(check_mode),
    example="wheelchair",
)
LIMIT = Parameter(
    "limit",
    "limit",
    "How many locations to name.",
    {"type": "integer", "format": "int32", "minimum": 1, "maximum": 100, "default": 10},
    _read_limit,
    example=3,
)

PATH_VARIABLES = {"unitMapId": "map", "group-id": "group"}
"""Path parameters whose variables have other names."""


def split(query_string: bytes) -> list[tuple[str, str]]:
    """The names and values of a query string, decoded. Raises HttpError."""
    try:
        return parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_PARAMETERS,
        )
    except UnicodeError as error:
        raise invalid({"query": ["must be percent-encoded UTF-8"]}) from error
    except ValueError as error:
        raise invalid({"query": [f"must have at most {MOST_PARAMETERS} parameters"]}) from error


def read(
    parameters: Iterable[Parameter], given: list[tuple[str, str]]
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The variables that a query gives, and its filters as given. Raises HttpError.

    Unknown parameters are ignored; a known one given twice is refused.
    """
    variables: dict[str, Any] = {}
    filters: list[tuple[str, str]] = []
    complaints: dict[str, list[str]] = {}
    for parameter in parameters:
        values = [value for name, value in given if name == parameter.name]
        if len(values) > 1:
            complaints[parameter.name] = [f"must be given once, not {len(values)} times"]
        elif values:
            try:
                variables[parameter.variable] = parameter.read(values[0])
            except ValueError as error:
                complaints[parameter.name] = [str(error)]
            if parameter.is_filter:
                filters.append((parameter.name, values[0]))
        elif parameter.is_required:
            complaints[parameter.name] = ["must be given"]
    if complaints:
        raise invalid(complaints)
    return variables, filters
