"""Every `/v1` endpoint: one row each, read by the router, the handler and the OpenAPI description.

A row names the GraphQL operation that does the work, which inputs become its variables (path
parameters by their own names), and which part of its result is the response. What an endpoint
demands (flag, permission) stands on the fields that its operation selects.
"""

from dataclasses import dataclass
from typing import Literal

from rest import operations
from rest.bodies import ASSIGNMENTS_BODY, DISTANCES_BODY, UNIT_MAP_BODY, RequestBody
from rest.envelopes import (
    DataList,
    DistanceMatrixData,
    Envelope,
    LinkPagedList,
    NoContent,
    NullableData,
    PagedList,
    SingleResource,
    UnpagedList,
)
from rest.parameters import (
    ASSET_ID,
    FROM,
    LIMIT,
    LOCATION_TAGS,
    MAP_TAGS,
    MODE,
    PAGE_PARAMETERS,
    REFERENCE_KEY,
    TO,
    QueryParameter,
)

Method = Literal["GET", "POST", "PUT"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint; `number` is the specification's, or an X where it has none."""

    number: str
    method: Method
    path: str
    document: str
    envelope: Envelope
    tag: str
    summary: str
    query_parameters: tuple[QueryParameter, ...] = ()
    body: RequestBody | None = None
    success_status: int = 200
    """Of success; 204 has no content."""
    media_type: str = "application/json"
    """Of the response."""
    description: str = ""
    """Markdown, where the description of the GraphQL field does not say enough."""


ENDPOINTS = (
    Endpoint(
        "E1",
        "GET",
        "/v1/assets",
        operations.LIST_ASSETS,
        PagedList(("assets",)),
        "Assets",
        "List assets",
        PAGE_PARAMETERS,
    ),
    Endpoint(
        "E2",
        "GET",
        "/v1/assets/{asset}",
        operations.GET_ASSET,
        SingleResource(("asset",)),
        "Assets",
        "Get an asset",
    ),
    Endpoint(
        "E3",
        "GET",
        "/v1/assets/{asset}/floors",
        operations.LIST_FLOORS,
        PagedList(("asset", "floors")),
        "Floors",
        "List the floors of an asset",
        PAGE_PARAMETERS,
    ),
    Endpoint(
        "E4",
        "GET",
        "/v1/assets/{asset}/floors/{floor}",
        operations.GET_FLOOR,
        SingleResource(("asset", "floor")),
        "Floors",
        "Get a floor",
    ),
    Endpoint(
        "E5",
        "GET",
        "/v1/assets/references",
        operations.LIST_ASSET_REFERENCES,
        PagedList(("assetReferences",)),
        "References",
        "List asset references",
        (*PAGE_PARAMETERS, ASSET_ID, REFERENCE_KEY),
    ),
    Endpoint(
        "E6",
        "GET",
        "/v1/units",
        operations.LIST_UNITS,
        PagedList(("units",)),
        "Units",
        "List units",
        PAGE_PARAMETERS,
    ),
    Endpoint(
        "E7",
        "GET",
        "/v1/units/{unit}",
        operations.GET_UNIT,
        SingleResource(("unit",)),
        "Units",
        "Get a unit",
    ),
    Endpoint(
        "E8",
        "GET",
        "/v1/units/references",
        operations.LIST_UNIT_REFERENCES,
        PagedList(("unitReferences",)),
        "References",
        "List unit references",
        (*PAGE_PARAMETERS, ASSET_ID, REFERENCE_KEY),
    ),
    Endpoint(
        "E9",
        "GET",
        "/v1/maps",
        operations.LIST_MAPS,
        PagedList(("maps",)),
        "Maps",
        "List unit maps",
        (*PAGE_PARAMETERS, MAP_TAGS, ASSET_ID),
    ),
    Endpoint(
        "E10",
        "POST",
        "/v1/maps/parse",
        operations.PARSE_MAP,
        SingleResource(("parsedUnitMap",)),
        "Maps",
        "Parse the SVG of a unit map",
        body=UNIT_MAP_BODY,
        media_type="application/vnd.map+json",
    ),
    Endpoint(
        "E11",
        "GET",
        "/v1/maps/{map}",
        operations.GET_MAP,
        SingleResource(("map",)),
        "Maps",
        "Get a unit map",
    ),
    Endpoint(
        "X1",
        "GET",
        "/v1/maps/{map}/parsed",
        operations.GET_PARSED_MAP,
        SingleResource(("map", "parsed")),
        "Maps",
        "Get a unit map as a viewer draws it",
        media_type="application/vnd.map+json",
        description="The parsed drawing of a map: where the map's `url` leads.",
    ),
    Endpoint(
        "E12",
        "GET",
        "/v1/maps/{map}/backgrounds",
        operations.LIST_BACKGROUNDS,
        PagedList(("map", "backgrounds")),
        "Maps",
        "List the backgrounds of a unit map",
        PAGE_PARAMETERS,
    ),
    Endpoint(
        "E13",
        "GET",
        "/v1/maps/{map}/backgrounds/{background}",
        operations.GET_BACKGROUND,
        SingleResource(("map", "background")),
        "Maps",
        "Get a background",
    ),
    Endpoint(
        "E14",
        "GET",
        "/v1/maps/{map}/levels/tags",
        operations.LIST_LEVEL_TAGS,
        UnpagedList(("map", "levelTags")),
        "Maps",
        "List the level tags of a unit map",
    ),
    Endpoint(
        "E15",
        "GET",
        "/v1/maps/{map}/units",
        operations.LIST_MAP_UNITS,
        PagedList(("map", "units")),
        "Maps",
        "List the units on a unit map",
        PAGE_PARAMETERS,
    ),
    Endpoint(
        "E16",
        "GET",
        "/v1/maps/{map}/units/{unit}",
        operations.GET_MAP_UNIT,
        SingleResource(("map", "unit")),
        "Maps",
        "Get a unit on a unit map",
    ),
    Endpoint(
        "E17",
        "GET",
        "/v1/unitmaps/{unitMapId}/locations",
        operations.LIST_LOCATIONS,
        LinkPagedList(("map", "locations")),
        "Locations",
        "List the locations on a unit map",
        (*PAGE_PARAMETERS, LOCATION_TAGS),
    ),
    Endpoint(
        "E17",
        "GET",
        "/v1/maps/{map}/locations",
        operations.LIST_LOCATIONS.replace("ListLocations", "ListMapLocations"),
        LinkPagedList(("map", "locations")),
        "Locations",
        "List the locations on a unit map, as at /v1/unitmaps",
        (*PAGE_PARAMETERS, LOCATION_TAGS),
    ),
    Endpoint(
        "E18",
        "POST",
        "/v1/unitmaps/{unitMapId}/distance-matrix",
        operations.CALCULATE_DISTANCES,
        DistanceMatrixData(("map", "distanceMatrix")),
        "Distances",
        "Calculate distances between waypoints",
        body=DISTANCES_BODY,
    ),
    Endpoint(
        "E18",
        "POST",
        "/v1/maps/{map}/distance-matrix",
        operations.CALCULATE_DISTANCES.replace("CalculateDistances", "CalculateMapDistances"),
        DistanceMatrixData(("map", "distanceMatrix")),
        "Distances",
        "Calculate distances between waypoints, as at /v1/unitmaps",
        body=DISTANCES_BODY,
    ),
    Endpoint(
        "X2",
        "GET",
        "/v1/maps/{map}/route",
        operations.FIND_ROUTE,
        NullableData(("map", "route")),
        "Distances",
        "Find the fastest way between two waypoints",
        (FROM, TO, MODE),
        description="`data` is null where no path leads.",
    ),
    Endpoint(
        "X3",
        "GET",
        "/v1/maps/{map}/nearest",
        operations.FIND_NEAREST,
        DataList(("map", "nearest")),
        "Distances",
        "Find the nearest locations by walking time",
        (FROM, LOCATION_TAGS, LIMIT, MODE),
    ),
    Endpoint(
        "E19",
        "GET",
        "/v1/units/attribute-groups",
        operations.LIST_ATTRIBUTE_GROUPS,
        UnpagedList(("attributeGroups",)),
        "Unit attributes",
        "List attribute groups",
    ),
    Endpoint(
        "E20",
        "GET",
        "/v1/units/attribute-groups/{group-id}/assignments",
        operations.LIST_ASSIGNMENTS,
        PagedList(("attributeGroup", "assignments")),
        "Unit attributes",
        "List the assignments of a group",
        (*PAGE_PARAMETERS, ASSET_ID),
    ),
    Endpoint(
        "E21",
        "PUT",
        "/v1/units/attribute-groups/{group-id}/assignments",
        operations.ASSIGN_ATTRIBUTES,
        DataList(("assignUnitAttributes",)),
        "Unit attributes",
        "Assign attributes to units",
        body=ASSIGNMENTS_BODY,
    ),
    Endpoint(
        "E22",
        "POST",
        "/v1/units/attribute-groups/{group-id}/assignments/remove",
        operations.UNASSIGN_ATTRIBUTES,
        NoContent(("unassignUnitAttributes",)),
        "Unit attributes",
        "Unassign attributes from units",
        body=ASSIGNMENTS_BODY,
        success_status=204,
    ),
)
