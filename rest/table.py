"""Every `/v1` endpoint: one row each, read by the router, the handler and the OpenAPI description.

A row names the GraphQL operation that does the work, which inputs become its variables (path
parameters by their own names), and which part of its result is the response. What an endpoint
demands (flag, permission) stands on the fields that its operation selects.
"""

from dataclasses import dataclass
from typing import Literal

from rest import operations
from rest.bodies import ASSIGNMENTS, DISTANCES, UNIT_MAP, Body
from rest.parameters import (
    ASSET,
    FROM,
    LIMIT,
    LOCATION_TAGS,
    MAP_TAGS,
    MODE,
    REFERENCE_KEY,
    SLICE,
    TO,
    Parameter,
)
from rest.shapes import Echo, Enclosed, Listed, Matrix, Nothing, One, Paged, Shape, Unenveloped

Method = Literal["GET", "POST", "PUT"]


@dataclass(frozen=True, slots=True)
class Row:
    """One endpoint; `number` is the specification's, or an X where it has none."""

    number: str
    method: Method
    path: str
    document: str
    shape: Shape
    tag: str
    summary: str
    query: tuple[Parameter, ...] = ()
    body: Body | None = None
    status: int = 200
    """Of success; 204 has no content."""
    media_type: str = "application/json"
    """Of the response."""
    description: str = ""
    """Markdown, where the description of the GraphQL field does not say enough."""


ROWS = (
    Row(
        "E1",
        "GET",
        "/v1/assets",
        operations.LIST_ASSETS,
        Paged(("assets",)),
        "Assets",
        "List assets",
        SLICE,
    ),
    Row(
        "E2",
        "GET",
        "/v1/assets/{asset}",
        operations.GET_ASSET,
        One(("asset",)),
        "Assets",
        "Get an asset",
    ),
    Row(
        "E3",
        "GET",
        "/v1/assets/{asset}/floors",
        operations.LIST_FLOORS,
        Paged(("asset", "floors")),
        "Floors",
        "List the floors of an asset",
        SLICE,
    ),
    Row(
        "E4",
        "GET",
        "/v1/assets/{asset}/floors/{floor}",
        operations.GET_FLOOR,
        One(("asset", "floor")),
        "Floors",
        "Get a floor",
    ),
    Row(
        "E5",
        "GET",
        "/v1/assets/references",
        operations.LIST_ASSET_REFERENCES,
        Paged(("assetReferences",)),
        "References",
        "List asset references",
        (*SLICE, ASSET, REFERENCE_KEY),
    ),
    Row(
        "E6",
        "GET",
        "/v1/units",
        operations.LIST_UNITS,
        Paged(("units",)),
        "Units",
        "List units",
        SLICE,
    ),
    Row(
        "E7",
        "GET",
        "/v1/units/{unit}",
        operations.GET_UNIT,
        One(("unit",)),
        "Units",
        "Get a unit",
    ),
    Row(
        "E8",
        "GET",
        "/v1/units/references",
        operations.LIST_UNIT_REFERENCES,
        Paged(("unitReferences",)),
        "References",
        "List unit references",
        (*SLICE, ASSET, REFERENCE_KEY),
    ),
    Row(
        "E9",
        "GET",
        "/v1/maps",
        operations.LIST_MAPS,
        Paged(("maps",)),
        "Maps",
        "List unit maps",
        (*SLICE, MAP_TAGS, ASSET),
    ),
    Row(
        "E10",
        "POST",
        "/v1/maps/parse",
        operations.PARSE_MAP,
        One(("parsedUnitMap",)),
        "Maps",
        "Parse the SVG of a unit map",
        body=UNIT_MAP,
        media_type="application/vnd.map+json",
    ),
    Row(
        "E11",
        "GET",
        "/v1/maps/{map}",
        operations.GET_MAP,
        One(("map",)),
        "Maps",
        "Get a unit map",
    ),
    Row(
        "X1",
        "GET",
        "/v1/maps/{map}/parsed",
        operations.GET_PARSED_MAP,
        One(("map", "parsed")),
        "Maps",
        "Get a unit map as a viewer draws it",
        media_type="application/vnd.map+json",
        description="The parsed drawing of a map: where the map's `url` leads.",
    ),
    Row(
        "E12",
        "GET",
        "/v1/maps/{map}/backgrounds",
        operations.LIST_BACKGROUNDS,
        Paged(("map", "backgrounds")),
        "Maps",
        "List the backgrounds of a unit map",
        SLICE,
    ),
    Row(
        "E13",
        "GET",
        "/v1/maps/{map}/backgrounds/{background}",
        operations.GET_BACKGROUND,
        One(("map", "background")),
        "Maps",
        "Get a background",
    ),
    Row(
        "E14",
        "GET",
        "/v1/maps/{map}/levels/tags",
        operations.LIST_LEVEL_TAGS,
        Listed(("map", "levelTags")),
        "Maps",
        "List the level tags of a unit map",
    ),
    Row(
        "E15",
        "GET",
        "/v1/maps/{map}/units",
        operations.LIST_MAP_UNITS,
        Paged(("map", "units")),
        "Maps",
        "List the units on a unit map",
        SLICE,
    ),
    Row(
        "E16",
        "GET",
        "/v1/maps/{map}/units/{unit}",
        operations.GET_MAP_UNIT,
        One(("map", "unit")),
        "Maps",
        "Get a unit on a unit map",
    ),
    Row(
        "E17",
        "GET",
        "/v1/unitmaps/{unitMapId}/locations",
        operations.LIST_LOCATIONS,
        Unenveloped(("map", "locations")),
        "Locations",
        "List the locations on a unit map",
        (*SLICE, LOCATION_TAGS),
    ),
    Row(
        "E17",
        "GET",
        "/v1/maps/{map}/locations",
        operations.LIST_LOCATIONS.replace("ListLocations", "ListMapLocations"),
        Unenveloped(("map", "locations")),
        "Locations",
        "List the locations on a unit map, as at /v1/unitmaps",
        (*SLICE, LOCATION_TAGS),
    ),
    Row(
        "E18",
        "POST",
        "/v1/unitmaps/{unitMapId}/distance-matrix",
        operations.CALCULATE_DISTANCES,
        Matrix(("map", "distanceMatrix")),
        "Distances",
        "Calculate distances between waypoints",
        body=DISTANCES,
    ),
    Row(
        "E18",
        "POST",
        "/v1/maps/{map}/distance-matrix",
        operations.CALCULATE_DISTANCES.replace("CalculateDistances", "CalculateMapDistances"),
        Matrix(("map", "distanceMatrix")),
        "Distances",
        "Calculate distances between waypoints, as at /v1/unitmaps",
        body=DISTANCES,
    ),
    Row(
        "X2",
        "GET",
        "/v1/maps/{map}/route",
        operations.FIND_ROUTE,
        Enclosed(("map", "route")),
        "Distances",
        "Find the fastest way between two waypoints",
        (FROM, TO, MODE),
        description="`data` is null where no path leads.",
    ),
    Row(
        "X3",
        "GET",
        "/v1/maps/{map}/nearest",
        operations.FIND_NEAREST,
        Echo(("map", "nearest")),
        "Distances",
        "Find the nearest locations by walking time",
        (FROM, LOCATION_TAGS, LIMIT, MODE),
    ),
    Row(
        "E19",
        "GET",
        "/v1/units/attribute-groups",
        operations.LIST_ATTRIBUTE_GROUPS,
        Listed(("attributeGroups",)),
        "Unit attributes",
        "List attribute groups",
    ),
    Row(
        "E20",
        "GET",
        "/v1/units/attribute-groups/{group-id}/assignments",
        operations.LIST_ASSIGNMENTS,
        Paged(("attributeGroup", "assignments")),
        "Unit attributes",
        "List the assignments of a group",
        (*SLICE, ASSET),
    ),
    Row(
        "E21",
        "PUT",
        "/v1/units/attribute-groups/{group-id}/assignments",
        operations.ASSIGN,
        Echo(("assignUnitAttributes",)),
        "Unit attributes",
        "Assign attributes to units",
        body=ASSIGNMENTS,
    ),
    Row(
        "E22",
        "POST",
        "/v1/units/attribute-groups/{group-id}/assignments/remove",
        operations.UNASSIGN,
        Nothing(("unassignUnitAttributes",)),
        "Unit attributes",
        "Unassign attributes from units",
        body=ASSIGNMENTS,
        status=204,
    ),
)
