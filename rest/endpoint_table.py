"""Every `/v1` endpoint, one row each: read by the router, the handler and the OpenAPI description.

A row names the GraphQL operation that does the work and the part of its result that is the
response. Path parameters are variables of the operation; its other variables are the members of
the body if there is one, else query parameters. Flags and permissions stand on the fields that the
operation selects.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final, Literal

from rest import graphql_documents as documents
from rest.bodies import ASSIGNMENTS_BODY, CLOSURES_BODY, DISTANCES_BODY, UNIT_MAP_BODY, RequestBody
from rest.deprecation import Deprecation
from rest.envelopes import (
    DataList,
    DataResource,
    Envelope,
    GeoJsonResource,
    LinkPagedList,
    MapParse,
    MatrixData,
    NoContent,
    NullableData,
    PagedList,
    ParsedMapResource,
    PictureResource,
    SingleResource,
    UnpagedList,
)

Method = Literal["GET", "POST", "PUT"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint; `spec_id` is the specification's, or an X for an extension.

    >>> from rest.graphql_documents import GET_UNIT
    >>> row = "E7", "GET", "/v1/units/{unit}", "Units", "Get", GET_UNIT, SingleResource("unit")
    >>> Endpoint(*row).path_parameters
    ['unit']
    """

    spec_id: str
    method: Method
    path: str
    tag: str
    summary: str
    document: str
    envelope: Envelope
    body: RequestBody | None = None
    changes: str = ""
    """The `spec_id` of what it changes: `If-Match` and `If-None-Match` compare with its ETag."""
    deprecation: Deprecation | None = None

    @property
    def path_parameters(self) -> list[str]:
        """The names of the path's parameters."""
        return re.findall(r"{(.*?)}", self.path)


def _endpoints(
    method: Method,
    spec_id: str,
    paths: str | tuple[str, ...],
    tag: str,
    summary: str,
    document: str,
    envelope: Envelope,
    body: RequestBody | None = None,
    changes: str = "",
    deprecation: Deprecation | None = None,
) -> Iterator[Endpoint]:
    """Make an endpoint of each path; the operations of further paths get their own names."""
    first, *others = (paths,) if isinstance(paths, str) else paths
    shared = envelope, body, changes, deprecation
    yield Endpoint(spec_id, method, first, tag, summary, document, *shared)
    for path in others:
        noun = path.split("/")[2].removesuffix("s").capitalize()
        # Operation ids come from these names and must be unique (OpenAPI 3.1, 4.8.10).
        renamed = re.sub(r"\A(query [A-Z][a-z]+)", rf"\1{noun}", document)
        as_at = f"{summary}, as at {'/'.join(first.split('/')[:3])}"
        yield Endpoint(spec_id, method, path, tag, as_at, renamed, *shared)


_get = partial(_endpoints, "GET")
_post = partial(_endpoints, "POST")
_put = partial(_endpoints, "PUT")

# fmt: off
_MATRIX_PATHS = ("/v1/unitmaps/{unitMapId}/distance-matrix", "/v1/maps/{map}/distance-matrix")
_LOCATION_PATHS = ("/v1/unitmaps/{unitMapId}/locations", "/v1/maps/{map}/locations")
_ASSIGNMENTS_PATH = "/v1/units/attribute-groups/{group-id}/assignments"

ENDPOINTS: Final[tuple[Endpoint, ...]] = tuple(chain(
    _get("E1", "/v1/assets", "Assets", "List assets",
         documents.LIST_ASSETS, PagedList("assets")),
    _get("E2", "/v1/assets/{asset}", "Assets", "Get an asset",
         documents.GET_ASSET, SingleResource("asset")),
    _get("E3", "/v1/assets/{asset}/floors", "Floors", "List the floors of an asset",
         documents.LIST_FLOORS, PagedList("asset", "floors")),
    _get("E4", "/v1/assets/{asset}/floors/{floor}", "Floors", "Get a floor",
         documents.GET_FLOOR, SingleResource("asset", "floor")),
    _get("E5", "/v1/assets/references", "References", "List asset references",
         documents.LIST_ASSET_REFERENCES, PagedList("assetReferences")),
    _get("E6", "/v1/units", "Units", "List units",
         documents.LIST_UNITS, PagedList("units")),
    _get("E7", "/v1/units/{unit}", "Units", "Get a unit",
         documents.GET_UNIT, SingleResource("unit")),
    _get("E8", "/v1/units/references", "References", "List unit references",
         documents.LIST_UNIT_REFERENCES, PagedList("unitReferences")),
    _get("E9", "/v1/maps", "Maps", "List unit maps",
         documents.LIST_MAPS, PagedList("maps")),
    _post("E10", "/v1/maps/parse", "Maps", "Parse the SVG of a unit map",
          documents.PARSE_MAP, MapParse("parsedUnitMap", "map"), UNIT_MAP_BODY),
    _get("E11", "/v1/maps/{map}", "Maps", "Get a unit map",
         documents.GET_MAP, SingleResource("map")),
    _get("X1", "/v1/maps/{map}/parsed", "Maps", "Get a unit map as a viewer draws it",
         documents.GET_PARSED_MAP, ParsedMapResource("map", "parsed")),
    _get("X9", "/v1/maps/{map}/geojson", "Maps", "Get a unit map as GeoJSON",
         documents.GET_GEOJSON, GeoJsonResource("map", "geojson")),
    _get("X10", "/v1/maps/{map}/picture", "Maps", "Get a picture of a level of a unit map",
         documents.GET_PICTURE, PictureResource("map", "picture")),
    _get("E12", "/v1/maps/{map}/backgrounds", "Maps", "List the backgrounds of a unit map",
         documents.LIST_BACKGROUNDS, PagedList("map", "backgrounds")),
    _get("E13", "/v1/maps/{map}/backgrounds/{background}", "Maps", "Get a background",
         documents.GET_BACKGROUND, SingleResource("map", "background")),
    _get("E14", "/v1/maps/{map}/levels/tags", "Maps", "List the level tags of a unit map",
         documents.LIST_LEVEL_TAGS, UnpagedList("map", "levelTags")),
    _get("E15", "/v1/maps/{map}/units", "Maps", "List the units on a unit map",
         documents.LIST_MAP_UNITS, PagedList("map", "units")),
    _get("E16", "/v1/maps/{map}/units/{unit}", "Maps", "Get a unit on a unit map",
         documents.GET_MAP_UNIT, SingleResource("map", "unit")),
    _get("E17", _LOCATION_PATHS, "Locations", "List the locations on a unit map",
         documents.LIST_LOCATIONS, LinkPagedList("map", "locations")),
    _post("E18", _MATRIX_PATHS, "Distances", "Calculate distances between waypoints",
          documents.CALCULATE_DISTANCES, MatrixData("map", "distanceMatrix"), DISTANCES_BODY),
    _get("X2", "/v1/maps/{map}/route", "Distances", "Find the fastest route between two waypoints",
         documents.FIND_ROUTE, NullableData("map", "route")),
    _get("X3", "/v1/maps/{map}/nearest", "Distances", "Find the nearest locations by walking time",
         documents.FIND_NEAREST, DataList("map", "nearest")),
    _get("X4", "/v1/maps/{map}/reachable", "Distances", "Find what is within some minutes",
         documents.FIND_REACHABLE, DataResource("map", "reachable")),
    _get("X5", "/v1/maps/{map}/closures", "Distances", "Get what is closed on a unit map",
         documents.GET_CLOSURES, DataResource("map", "closures")),
    _put("X6", "/v1/maps/{map}/closures", "Distances", "Replace what is closed on a unit map",
         documents.SET_CLOSURES, DataResource("setClosures", "closures"), CLOSURES_BODY,
         changes="X5"),
    _get("X7", "/v1/maps/{map}/closable", "Distances", "List what can be closed on a unit map",
         documents.LIST_CLOSABLE, PagedList("map", "closable")),
    _get("E19", "/v1/units/attribute-groups", "Unit attributes", "List attribute groups",
         documents.LIST_ATTRIBUTE_GROUPS, UnpagedList("attributeGroups")),
    _get("E20", _ASSIGNMENTS_PATH, "Unit attributes", "List the assignments of a group",
         documents.LIST_ASSIGNMENTS, PagedList("attributeGroup", "assignments")),
    _put("E21", _ASSIGNMENTS_PATH, "Unit attributes", "Assign attributes to units",
         documents.ASSIGN_ATTRIBUTES, DataList("assignUnitAttributes", "assignments"),
         ASSIGNMENTS_BODY, changes="E20"),
    _post("E22", f"{_ASSIGNMENTS_PATH}/remove", "Unit attributes", "Unassign attributes from units",
          documents.UNASSIGN_ATTRIBUTES, NoContent("unassignUnitAttributes"), ASSIGNMENTS_BODY,
          changes="E20"),
    _get("X8", "/v1/changes", "Changes", "List what has changed",
         documents.LIST_CHANGES, SingleResource("changes")),
))
# fmt: on
