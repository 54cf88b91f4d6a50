"""Request bodies: their media types, what they may hold, how they become variables."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import orjson
from msgspec import Struct
from starlette.requests import Request

from rest.errors import HttpError, Rename, from_graphql_error, invalid_input_error
from rest.openapi.examples import RESOURCE_EXAMPLES, SVG_EXAMPLE
from rest.parameters import ID_SCHEMA
from rest.request_body import BodyTooLargeError, receive_body
from schema.arguments import check_assignments, check_distance_request
from schema.execution import RequestError

T = TypeVar("T")

_FIELD_ERROR = re.compile(
    r"Object (?:(?P<is_missing>missing required)|contains unknown) field `(?P<name>.*)`", re.DOTALL
)
_TYPE_ERROR = re.compile(r"Expected `(?P<wanted>.+)`, got `(?P<given>.+)`")
_JSON_TYPES = {
    "array": "an array",
    "bool": "true or false",
    "float": "a number",
    "int": "a number",
    "null": "null",
    "object": "an object",
    "str": "a string",
}

MAX_ASSIGNMENTS = 10_000
MATRIX_ARGUMENTS = frozenset({"sources", "targets", "costing", "costingOptions", "distanceMethod"})


@dataclass(frozen=True, slots=True)
class RequestBody:
    """What an endpoint takes; `read` raises HttpError 400 or 422 with what would be right."""

    media_type: str
    schema: Mapping[str, Any]
    """A JSON schema; with a `title` it becomes a component under that name."""
    example: Any
    max_bytes: int
    parse: Callable[[bytes], dict[str, Any]]
    description: str = ""
    rename: Rename = str
    """From an argument, or a part of one, to where the body has it."""


async def read_request_body(request: Request, media_type: str, max_bytes: int) -> bytes:
    """A request's body. Raises HttpError 413 and 415, and ClientGone."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != media_type:
        raise HttpError(415, f"Content-Type must be {media_type}", "UNSUPPORTED_MEDIA_TYPE")
    length = request.headers.get("content-length")
    try:
        return await receive_body(request.receive, max_bytes, length.encode() if length else None)
    except BodyTooLargeError as error:
        raise HttpError(413, str(error), "BODY_TOO_LARGE") from error


class AssignmentItem(Struct):
    """One assignment as the specification has it; members that it does not know are ignored."""

    group_id: str
    attribute_id: str
    asset_id: str
    unit_id: str


class AssignmentsBody(Struct):
    """The body of E21 and E22."""

    data: list[AssignmentItem]


class WaypointItem(Struct):
    """A waypoint as the specification has it, or with `floorId`, as one of its guides does."""

    id: str | None = None
    name: str | None = None
    x: float | None = None
    y: float | None = None
    floor_id: str | None = None
    floorId: str | None = None

    def to_variable(self) -> dict[str, Any]:
        """What GraphQL calls it."""
        floor = self.floorId if self.floor_id is None else self.floor_id
        return {"id": self.id, "name": self.name, "x": self.x, "y": self.y, "floorId": floor}


class PedestrianItem(Struct, forbid_unknown_fields=True):
    """How people on foot travel; options that are not known are refused, not ignored."""

    mode: str | None = None


class CostingOptionsItem(Struct, forbid_unknown_fields=True):
    """Options by costing."""

    pedestrian: PedestrianItem | None = None


class DistanceRequest(Struct, forbid_unknown_fields=True):
    """What E18 is asked; waypoints may have more members, as locations have."""

    sources: list[WaypointItem]
    targets: list[WaypointItem]
    costing: str | None = None
    costing_options: CostingOptionsItem | None = None
    distance_method: str | None = None


class DistanceRequestBody(Struct):
    """The body of E18."""

    data: DistanceRequest


def parse_json(text: bytes, name: str = "body", *, is_input: bool = False) -> Any:
    """The value of a JSON text. Raises HttpError 400 with line and column.

    In an endpoint's input a number that is too large is well-formed, and as wrong as any other.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if is_input and "infinity" in error.msg:
            raise invalid_input_error(
                {name: [f"has a number that is too large in line {error.lineno}"]}
            ) from error
        raise HttpError(
            400,
            f"The {name} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            "BAD_REQUEST",
        ) from error


def to_struct(value: Any, model: type[T]) -> T:
    """A JSON value in the shape of a model. Raises HttpError 422 that names the place."""
    try:
        return msgspec.convert(value, model)
    except msgspec.ValidationError as error:
        complaint, _, place = str(error).partition(" - at ")
        raise invalid_input_error(
            _translate_msgspec_error(complaint, place.strip("`").lstrip("$."))
        ) from error


def _translate_msgspec_error(message: str, path: str) -> dict[str, list[str]]:
    """What msgspec says of a value at `place`, under the member's name and in JSON's words."""
    if member := _FIELD_ERROR.fullmatch(message):
        name = f"{path}.{member['name']}" if path else member["name"]
        return {name: ["must be given" if member["is_missing"] else "is not known here"]}
    if types := _TYPE_ERROR.fullmatch(message):
        wanted = " or ".join(_JSON_TYPES[name] for name in types["wanted"].split(" | "))
        return {path or "body": [f"must be {wanted}, not {_JSON_TYPES[types['given']]}"]}
    return {path or "body": [f"is not as it should be: {message}"]}


def _parse_assignments(body: bytes) -> dict[str, Any]:
    items = to_struct(parse_json(body), AssignmentsBody).data
    try:
        check_assignments(len(items))
    except RequestError as error:
        raise from_graphql_error(error) from error
    return {
        "data": [
            {
                "groupId": item.group_id,
                "attributeId": item.attribute_id,
                "assetId": item.asset_id,
                "unitId": item.unit_id,
            }
            for item in items
        ]
    }


def _parse_distance_request(body: bytes) -> dict[str, Any]:
    asked = to_struct(parse_json(body, is_input=True), DistanceRequestBody).data
    variables: dict[str, Any] = {
        "sources": [waypoint.to_variable() for waypoint in asked.sources],
        "targets": [waypoint.to_variable() for waypoint in asked.targets],
    }
    if asked.costing is not None:
        variables["costing"] = asked.costing
    if asked.costing_options is not None:
        variables["costingOptions"] = msgspec.to_builtins(asked.costing_options)
    if asked.distance_method is not None:
        variables["distanceMethod"] = asked.distance_method
    try:
        check_distance_request(variables)
    except RequestError as error:
        raise from_graphql_error(error, _to_body_path) from error
    return variables


def _to_body_path(argument: str) -> str:
    """`data.costing_options.pedestrian.mode` for `costingOptions.pedestrian.mode`."""
    name = argument.partition(".")[0].partition("[")[0]
    if name not in MATRIX_ARGUMENTS:
        return argument
    return "data." + re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", argument)


_ASSIGNMENT_EXAMPLE = RESOURCE_EXAMPLES["Assignment"]

ASSIGNMENTS_BODY = RequestBody(
    "application/json",
    {
        "title": "Assignments",
        "type": "object",
        "required": ["data"],
        "properties": {
            "data": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_ASSIGNMENTS,
                "items": {
                    "type": "object",
                    "required": list(_ASSIGNMENT_EXAMPLE),
                    "properties": dict.fromkeys(_ASSIGNMENT_EXAMPLE, ID_SCHEMA),
                },
            }
        },
    },
    {"data": [_ASSIGNMENT_EXAMPLE]},
    max_bytes=8_000_000,
    parse=_parse_assignments,
)

UNIT_MAP_BODY = RequestBody(
    "application/vnd.map+xml",
    {"type": "string", "contentMediaType": "image/svg+xml"},
    SVG_EXAMPLE,
    max_bytes=20 << 20,
    parse=lambda body: {"svg": body},
    description="The SVG data of a unit map, up to 20 MB.",
)


def _enum_schema(default: str, *others: str) -> dict[str, Any]:
    return {"type": ["string", "null"], "enum": [default, *others, None], "default": default}


_NUMBER_SCHEMA = {"type": ["number", "null"], "minimum": -1e9, "maximum": 1e9}
_WAYPOINT_SCHEMA = {
    "type": "object",
    "description": "The id of a location, or x, y and floor_id; coordinates win over the id.",
    "anyOf": [{"required": ["id"]}, {"required": ["x", "y", "floor_id"]}],
    "properties": {
        "id": {**ID_SCHEMA, "type": ["string", "null"]},
        "name": {"type": ["string", "null"], "maxLength": 2048},
        "x": _NUMBER_SCHEMA,
        "y": _NUMBER_SCHEMA,
        "floor_id": {**ID_SCHEMA, "type": ["string", "null"]},
    },
    "dependentRequired": {"x": ["y"], "y": ["x"]},
}
_WAYPOINTS_SCHEMA = {"type": "array", "minItems": 1, "maxItems": 50, "items": _WAYPOINT_SCHEMA}

DISTANCES_BODY = RequestBody(
    "application/json",
    {
        "title": "DistanceRequest",
        "type": "object",
        "required": ["data"],
        "properties": {
            "data": {
                "type": "object",
                "required": ["sources", "targets"],
                "additionalProperties": False,
                "properties": {
                    "sources": _WAYPOINTS_SCHEMA,
                    "targets": _WAYPOINTS_SCHEMA,
                    "costing": _enum_schema("pedestrian"),
                    "costing_options": {
                        "type": ["object", "null"],
                        "additionalProperties": False,
                        "properties": {
                            "pedestrian": {
                                "type": ["object", "null"],
                                "additionalProperties": False,
                                "properties": {"mode": _enum_schema("foot", "wheelchair")},
                            }
                        },
                    },
                    "distance_method": _enum_schema("default", "pathfinding", "euclidean"),
                },
            }
        },
    },
    {
        "data": {
            "sources": [{"id": RESOURCE_EXAMPLES["Location"]["id"]}],
            "targets": [{"x": 437.5, "y": 350.0, "floor_id": "alder-court-floor-1"}],
            "costing_options": {"pedestrian": {"mode": "wheelchair"}},
        }
    },
    max_bytes=1_000_000,
    parse=_parse_distance_request,
    rename=_to_body_path,
    description="At most 50 pairs: sources times targets.",
)
