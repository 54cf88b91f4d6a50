"""Every `/v1` endpoint, one row each: read by the router, the handler and the OpenAPI description.

A row names the GraphQL operation that does the work and the part of its result that is the
response. Path parameters are variables of the operation; its other variables are the members of
the body if there is one, else query parameters. Flags and permissions stand on the fields that the
operation selects.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Literal

from rest import graphql_documents as documents
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

Method = Literal["GET", "POST", "PUT"]
PARSED_MAP_MEDIA_TYPE: Final = "application/vnd.map+json"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint; `number` is the specification's, or an X for an extension.

    >>> from rest.graphql_documents import GET_UNIT
    >>> row = "E7", "GET", "/v1/units/{unit}", GET_UNIT, SingleResource(("unit",)), "Units", "Get"
    >>> Endpoint(*row).path_parameters
    ['unit']
    """

    spec_id: str
    method: Method
    path: str
    document: str
    envelope: Envelope
    tag: str
    summary: str
    body: RequestBody | None = None
    success_status: int = 200
    """204 has no content."""
    media_type: str = "application/json"
    """Of the response."""
    description: str = ""
    """Markdown, in place of the description of the GraphQL field."""

    @property
    def path_parameters(self) -> list[str]:
        """The names of the path's parameters."""
        return re.findall(r"{(.*?)}", self.path)


def _endpoints(
    number: str,
    method: Method,
    paths: str | tuple[str, ...],
    document: str,
    envelope: Envelope,
    tag: str,
    summary: str,
    **options: Any,
) -> Iterator[Endpoint]:
    """Make an endpoint of each path; the operations of further paths get their own names."""
    first, *others = (paths,) if isinstance(paths, str) else paths
    yield Endpoint(number, method, first, document, envelope, tag, summary, **options)
    for path in others:
        noun = path.split("/")[2].removesuffix("s").capitalize()
        # Operation ids come from these names and must be unique (OpenAPI 3.1, 4.8.10).
        renamed = re.sub(r"\A(query [A-Z][a-z]+)", rf"\1{noun}", document)
        as_at = f"{summary}, as at {'/'.join(first.split('/')[:3])}"
        yield Endpoint(number, method, path, renamed, envelope, tag, as_at, **options)


def _get(
    number: str, paths: str | tuple[str, ...], *columns: Any, **options: Any
) -> Iterator[Endpoint]:
    return _endpoints(number, "GET", paths, *columns, **options)


def _post(
    number: str, paths: str | tuple[str, ...], *columns: Any, **options: Any
) -> Iterator[Endpoint]:
    return _endpoints(number, "POST", paths, *columns, **options)


def _put(
    number: str, paths: str | tuple[str, ...], *columns: Any, **options: Any
) -> Iterator[Endpoint]:
    return _endpoints(number, "PUT", paths, *columns, **options)


def _single(*path: str) -> Envelope:
    return SingleResource(path)


def _paged(*path: str) -> Envelope:
    return PagedList(path)


# fmt: off
_MATRIX_PATHS = ("/v1/unitmaps/{unitMapId}/distance-matrix", "/v1/maps/{map}/distance-matrix")
_LOCATION_PATHS = ("/v1/unitmaps/{unitMapId}/locations", "/v1/maps/{map}/locations")
_ASSIGNMENTS_PATH = "/v1/units/attribute-groups/{group-id}/assignments"

ENDPOINTS: Final[tuple[Endpoint, ...]] = tuple(chain(
    _get("E1", "/v1/assets", documents.LIST_ASSETS, _paged("assets"),
         "Assets", "List assets"),
    _get("E2", "/v1/assets/{asset}", documents.GET_ASSET, _single("asset"),
         "Assets", "Get an asset"),
    _get("E3", "/v1/assets/{asset}/floors", documents.LIST_FLOORS, _paged("asset", "floors"),
         "Floors", "List the floors of an asset"),
    _get("E4", "/v1/assets/{asset}/floors/{floor}", documents.GET_FLOOR, _single("asset", "floor"),
         "Floors", "Get a floor"),
    _get("E5", "/v1/assets/references", documents.LIST_ASSET_REFERENCES, _paged("assetReferences"),
         "References", "List asset references"),
    _get("E6", "/v1/units", documents.LIST_UNITS, _paged("units"),
         "Units", "List units"),
    _get("E7", "/v1/units/{unit}", documents.GET_UNIT, _single("unit"),
         "Units", "Get a unit"),
    _get("E8", "/v1/units/references", documents.LIST_UNIT_REFERENCES, _paged("unitReferences"),
         "References", "List unit references"),
    _get("E9", "/v1/maps", documents.LIST_MAPS, _paged("maps"),
         "Maps", "List unit maps"),
    _post("E10", "/v1/maps/parse", documents.PARSE_MAP, _single("parsedUnitMap"),
          "Maps", "Parse the SVG of a unit map",
          body=UNIT_MAP_BODY, media_type=PARSED_MAP_MEDIA_TYPE),
    _get("E11", "/v1/maps/{map}", documents.GET_MAP, _single("map"),
         "Maps", "Get a unit map"),
    _get("X1", "/v1/maps/{map}/parsed", documents.GET_PARSED_MAP, _single("map", "parsed"),
         "Maps", "Get a unit map as a viewer draws it", media_type=PARSED_MAP_MEDIA_TYPE,
         description="The parsed drawing of the map. The map's `url` points here."),
    _get("E12", "/v1/maps/{map}/backgrounds", documents.LIST_BACKGROUNDS,
         _paged("map", "backgrounds"), "Maps", "List the backgrounds of a unit map"),
    _get("E13", "/v1/maps/{map}/backgrounds/{background}", documents.GET_BACKGROUND,
         _single("map", "background"), "Maps", "Get a background"),
    _get("E14", "/v1/maps/{map}/levels/tags", documents.LIST_LEVEL_TAGS,
         UnpagedList(("map", "levelTags")), "Maps", "List the level tags of a unit map"),
    _get("E15", "/v1/maps/{map}/units", documents.LIST_MAP_UNITS, _paged("map", "units"),
         "Maps", "List the units on a unit map"),
    _get("E16", "/v1/maps/{map}/units/{unit}", documents.GET_MAP_UNIT, _single("map", "unit"),
         "Maps", "Get a unit on a unit map"),
    _get("E17", _LOCATION_PATHS, documents.LIST_LOCATIONS, LinkPagedList(("map", "locations")),
         "Locations", "List the locations on a unit map"),
    _post("E18", _MATRIX_PATHS, documents.CALCULATE_DISTANCES,
          DistanceMatrixData(("map", "distanceMatrix")),
          "Distances", "Calculate distances between waypoints", body=DISTANCES_BODY),
    _get("X2", "/v1/maps/{map}/route", documents.FIND_ROUTE, NullableData(("map", "route")),
         "Distances", "Find the fastest route between two waypoints",
         description="`data` is null if there is no path."),
    _get("X3", "/v1/maps/{map}/nearest", documents.FIND_NEAREST, DataList(("map", "nearest")),
         "Distances", "Find the nearest locations by walking time"),
    _get("E19", "/v1/units/attribute-groups", documents.LIST_ATTRIBUTE_GROUPS,
         UnpagedList(("attributeGroups",)), "Unit attributes", "List attribute groups"),
    _get("E20", _ASSIGNMENTS_PATH, documents.LIST_ASSIGNMENTS,
         _paged("attributeGroup", "assignments"),
         "Unit attributes", "List the assignments of a group"),
    _put("E21", _ASSIGNMENTS_PATH, documents.ASSIGN_ATTRIBUTES,
         DataList(("assignUnitAttributes",)),
         "Unit attributes", "Assign attributes to units", body=ASSIGNMENTS_BODY),
    _post("E22", f"{_ASSIGNMENTS_PATH}/remove", documents.UNASSIGN_ATTRIBUTES,
          NoContent(("unassignUnitAttributes",)),
          "Unit attributes", "Unassign attributes from units",
          body=ASSIGNMENTS_BODY, success_status=204),
))
# fmt: on
