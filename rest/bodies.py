"""Request bodies: their media types, what they may hold, how they become variables."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import orjson
from msgspec import Struct
from starlette.requests import Request

from rest.errors import HttpError, Rename, invalid, of_graphql
from rest.examples import RESOURCES, SVG
from rest.parameters import ID
from rest.reading import BodyTooLarge, read_body
from schema.arguments import check_assignments, check_matrix
from schema.execution import RequestError

T = TypeVar("T")

_MEMBER = re.compile(
    r"Object (?:(?P<is_missing>missing required)|contains unknown) field `(?P<name>.*)`", re.DOTALL
)
_TYPES = re.compile(r"Expected `(?P<wanted>.+)`, got `(?P<given>.+)`")
_JSON_TYPES = {
    "array": "an array",
    "bool": "true or false",
    "float": "a number",
    "int": "a number",
    "null": "null",
    "object": "an object",
    "str": "a string",
}

MOST_ASSIGNMENTS = 10_000
MATRIX_ARGUMENTS = frozenset({"sources", "targets", "costing", "costingOptions", "distanceMethod"})


@dataclass(frozen=True, slots=True)
class Body:
    """What an endpoint takes; `read` raises HttpError 400 or 422 with what would be right."""

    media_type: str
    schema: Mapping[str, Any]
    """A JSON schema; with a `title` it becomes a component under that name."""
    example: Any
    limit_bytes: int
    read: Callable[[bytes], dict[str, Any]]
    description: str = ""
    rename: Rename = str
    """From an argument, or a part of one, to where the body has it."""


async def read(request: Request, media_type: str, limit_bytes: int) -> bytes:
    """A request's body. Raises HttpError 413 and 415, and ClientGone."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != media_type:
        raise HttpError(415, f"Content-Type must be {media_type}", "UNSUPPORTED_MEDIA_TYPE")
    length = request.headers.get("content-length")
    try:
        return await read_body(request.receive, limit_bytes, length.encode() if length else None)
    except BodyTooLarge as error:
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

    def variable(self) -> dict[str, Any]:
        """What GraphQL calls it."""
        floor = self.floorId if self.floor_id is None else self.floor_id
        return {"id": self.id, "name": self.name, "x": self.x, "y": self.y, "floorId": floor}


class PedestrianItem(Struct, forbid_unknown_fields=True):
    """How people on foot travel; options that are not known are refused, not ignored."""

    mode: str | None = None


class CostingOptionsItem(Struct, forbid_unknown_fields=True):
    """Options by costing."""

    pedestrian: PedestrianItem | None = None


class MatrixItem(Struct, forbid_unknown_fields=True):
    """What E18 is asked; waypoints may have more members, as locations have."""

    sources: list[WaypointItem]
    targets: list[WaypointItem]
    costing: str | None = None
    costing_options: CostingOptionsItem | None = None
    distance_method: str | None = None


class MatrixBody(Struct):
    """The body of E18."""

    data: MatrixItem


def parse_json(text: bytes, name: str = "body", *, is_input: bool = False) -> Any:
    """The value of a JSON text. Raises HttpError 400 with line and column.

    In an endpoint's input a number that is too large is well-formed, and as wrong as any other.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if is_input and "infinity" in error.msg:
            raise invalid(
                {name: [f"has a number that is too large in line {error.lineno}"]}
            ) from error
        raise HttpError(
            400,
            f"The {name} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            "BAD_REQUEST",
        ) from error


def convert(value: Any, model: type[T]) -> T:
    """A JSON value in the shape of a model. Raises HttpError 422 that names the place."""
    try:
        return msgspec.convert(value, model)
    except msgspec.ValidationError as error:
        complaint, _, place = str(error).partition(" - at ")
        raise invalid(_in_json_terms(complaint, place.strip("`").lstrip("$."))) from error


def _in_json_terms(complaint: str, place: str) -> dict[str, list[str]]:
    """What msgspec says of a value at `place`, under the member's name and in JSON's words."""
    if member := _MEMBER.fullmatch(complaint):
        name = f"{place}.{member['name']}" if place else member["name"]
        return {name: ["must be given" if member["is_missing"] else "is not known here"]}
    if types := _TYPES.fullmatch(complaint):
        wanted = " or ".join(_JSON_TYPES[name] for name in types["wanted"].split(" | "))
        return {place or "body": [f"must be {wanted}, not {_JSON_TYPES[types['given']]}"]}
    return {place or "body": [f"is not as it should be: {complaint}"]}


def _read_assignments(body: bytes) -> dict[str, Any]:
    items = convert(parse_json(body), AssignmentsBody).data
    try:
        check_assignments(len(items))
    except RequestError as error:
        raise of_graphql(error) from error
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


def _read_matrix(body: bytes) -> dict[str, Any]:
    asked = convert(parse_json(body, is_input=True), MatrixBody).data
    variables: dict[str, Any] = {
        "sources": [waypoint.variable() for waypoint in asked.sources],
        "targets": [waypoint.variable() for waypoint in asked.targets],
    }
    if asked.costing is not None:
        variables["costing"] = asked.costing
    if asked.costing_options is not None:
        variables["costingOptions"] = msgspec.to_builtins(asked.costing_options)
    if asked.distance_method is not None:
        variables["distanceMethod"] = asked.distance_method
    try:
        check_matrix(variables)
    except RequestError as error:
        raise of_graphql(error, _in_data) from error
    return variables


def _in_data(argument: str) -> str:
    """`data.costing_options.pedestrian.mode` for `costingOptions.pedestrian.mode`."""
    name = argument.partition(".")[0].partition("[")[0]
    if name not in MATRIX_ARGUMENTS:
        return argument
    return "data." + re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", argument)


_ASSIGNMENT = RESOURCES["Assignment"]

ASSIGNMENTS = Body(
    "application/json",
    {
        "title": "Assignments",
        "type": "object",
        "required": ["data"],
        "properties": {
            "data": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_ASSIGNMENTS,
                "items": {
                    "type": "object",
                    "required": list(_ASSIGNMENT),
                    "properties": dict.fromkeys(_ASSIGNMENT, ID),
                },
            }
        },
    },
    {"data": [_ASSIGNMENT]},
    limit_bytes=8_000_000,
    read=_read_assignments,
)

UNIT_MAP = Body(
    "application/vnd.map+xml",
    {"type": "string", "contentMediaType": "image/svg+xml"},
    SVG,
    limit_bytes=20 << 20,
    read=lambda body: {"svg": body},
    description="The SVG data of a unit map, up to 20 MB.",
)


def _choice(default: str, *others: str) -> dict[str, Any]:
    return {"type": ["string", "null"], "enum": [default, *others, None], "default": default}


_NUMBER = {"type": ["number", "null"], "minimum": -1e9, "maximum": 1e9}
_WAYPOINT = {
    "type": "object",
    "description": "The id of a location, or x, y and floor_id; coordinates win over the id.",
    "anyOf": [{"required": ["id"]}, {"required": ["x", "y", "floor_id"]}],
    "properties": {
        "id": {**ID, "type": ["string", "null"]},
        "name": {"type": ["string", "null"], "maxLength": 2048},
        "x": _NUMBER,
        "y": _NUMBER,
        "floor_id": {**ID, "type": ["string", "null"]},
    },
    "dependentRequired": {"x": ["y"], "y": ["x"]},
}
_WAYPOINTS = {"type": "array", "minItems": 1, "maxItems": 50, "items": _WAYPOINT}

DISTANCES = Body(
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
                    "sources": _WAYPOINTS,
                    "targets": _WAYPOINTS,
                    "costing": _choice("pedestrian"),
                    "costing_options": {
                        "type": ["object", "null"],
                        "additionalProperties": False,
                        "properties": {
                            "pedestrian": {
                                "type": ["object", "null"],
                                "additionalProperties": False,
                                "properties": {"mode": _choice("foot", "wheelchair")},
                            }
                        },
                    },
                    "distance_method": _choice("default", "pathfinding", "euclidean"),
                },
            }
        },
    },
    {
        "data": {
            "sources": [{"id": RESOURCES["Location"]["id"]}],
            "targets": [{"x": 437.5, "y": 350.0, "floor_id": "alder-court-floor-1"}],
            "costing_options": {"pedestrian": {"mode": "wheelchair"}},
        }
    },
    limit_bytes=1_000_000,
    read=_read_matrix,
    rename=_in_data,
    description="At most 50 pairs: sources times targets.",
)
