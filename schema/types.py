"""The GraphQL types.

They are in one module because they refer to one another: a unit has a floor, a floor has units.
Quoted names are resolved in this module's namespace once the schema is built.
"""

import inspect
import re
from datetime import date, datetime
from typing import Any, Generic, NewType, TypeVar

import orjson
import strawberry
from strawberry.scalars import JSON
from strawberry.types.scalar import ScalarDefinition

import resolvers.attributes
import resolvers.changes
import resolvers.closures
import resolvers.directory
import resolvers.distances
import resolvers.drawings.geojson
import resolvers.drawings.pictures
import resolvers.drawings.shapes
import resolvers.locations
import resolvers.maps
import resolvers.nodes
import resolvers.routes
from resolvers.administration import api_keys, audit, endpoints, imports
from resolvers.attributes import MAX_ASSIGNMENTS
from resolvers.changes import ChangeOperation
from resolvers.distances import TravelMode
from resolvers.drawings.shapes import ShapePart, ShapeType
from resolvers.maps import SvgDocument
from resolvers.request import caller
from resolvers.request.inputs import DEFAULT_PER_PAGE as DEFAULT_PER_PAGE
from resolvers.request.inputs import MAX_INT32, Items, Range, ruled_field
from resolvers.request.inputs import MAX_PER_PAGE as MAX_PER_PAGE
from resolvers.request.inputs import MAX_TOTAL_COUNT as MAX_TOTAL_COUNT
from resolvers.request.kinds import RecordKind
from resolvers.request.listing import count_total
from resolvers.request.times import DateTime
from schema.endpoint_directives import HttpMethod
from schema.fields import output_type, resolver_field

# What fields cost, in records; a record takes some 5 microseconds of CPU time. The worst case of
# each was measured: a matrix of 50 positions takes up to 20 ms, the search for the nearest of
# thousands of locations 9 ms, a route 4 ms, the areas within reach on six floors 100 ms.
AREAS_COST = 20_000
MATRIX_COST = 5_000
NEAREST_COST = 2_000
NEAREST_FROM_SOURCES_COST = 5_000  # up to 20 sources take up to 2.7 times as long as one
ROUTE_COST = 1_000
DRAWING_COST = 500  # it is read once, and then cached for a while
SHAPE_COST = 10
LOAD_COST = 1_000  # the network of a map is loaded, as it is or without what is avoided
REPORT_COST = 100  # it may be a megabyte long
STEPS_COST = 2_000
LINES_COST = 1_000
GEOJSON_COST = 10_000  # all levels of a map are drawn in another process, once for a drawing
PICTURE_COST = 5_000  # a level is drawn in another process, perhaps with a route
PROCESS_COST = 10_000  # the work takes seconds, in another process or in MongoDB
COUNT_COST = 100  # counting a list of up to 100,000 records takes MongoDB up to 50 ms

ParsedMap = NewType("ParsedMap", bytes)
GeoJson = NewType("GeoJson", bytes)

_DECLARED_ENCODING = re.compile(r"""\A(\ufeff?<\?xml[^>]*?)\s+encoding=("[^"]*"|'[^']*')""")


def _parse_svg_document(value: Any) -> bytes:
    """Return the bytes of an SVG document.

    REST passes bytes as they were sent. GraphQL passes text, which was decoded already, so the
    encoding that its XML declaration names is removed, and UTF-8 is used.

    >>> _parse_svg_document('<?xml version="1.0" encoding="latin-1"?><svg/>')
    b'<?xml version="1.0"?><svg/>'
    """
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise ValueError("must be the text of an SVG document")
    return _DECLARED_ENCODING.sub(r"\1", value).encode()


def _serialize_time(value: Any) -> str:
    """Return a time as text; that of records is text already."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _parse_time_text(value: Any) -> str:
    """Return the text of a time, which the rules of its argument check and resolvers parse."""
    if not isinstance(value, str):
        raise ValueError("must be the text of a time in ISO 8601")
    return value


def _parse_day(value: Any) -> date:
    """Return a day.

    >>> _parse_day("2027-01-31")
    datetime.date(2027, 1, 31)
    """
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise ValueError("must be a day in ISO 8601, such as 2027-01-31") from error


SCALAR_DEFINITIONS: dict[Any, ScalarDefinition] = {
    DateTime: strawberry.scalar(
        name="DateTime",
        description="A time in ISO 8601, such as `2026-01-31T12:00:00+00:00`. Results have an "
        "offset; an argument without one is in UTC, and one without a time is its first moment.",
        specified_by_url="https://datatracker.ietf.org/doc/html/rfc3339",
        serialize=_serialize_time,
        parse_value=_parse_time_text,
    ),
    date: strawberry.scalar(
        name="Date",
        description="A day in ISO 8601, such as `2027-01-31`, from midnight (UTC).",
        serialize=date.isoformat,
        parse_value=_parse_day,
    ),
    resolvers.routes.Position: strawberry.scalar(
        name="Position",
        description="A position on a map: a list of x and y, in the map's own coordinates.",
        serialize=list,
        parse_value=list,
    ),
    SvgDocument: strawberry.scalar(
        name="SvgDocument",
        description="The text of a unit map in SVG.",
        serialize=str,
        parse_value=_parse_svg_document,
    ),
    ParsedMap: strawberry.scalar(
        name="ParsedMap",
        description="A parsed unit map: an object with version, type, width, height and elements.",
        # It is JSON already and is copied into the response as it is.
        serialize=orjson.Fragment,
        parse_value=str,
    ),
    GeoJson: strawberry.scalar(
        name="GeoJson",
        description="A GeoJSON FeatureCollection: an object with type and features.",
        specified_by_url="https://datatracker.ietf.org/doc/html/rfc7946",
        serialize=orjson.Fragment,
        parse_value=str,
    ),
}


T = TypeVar("T")


@strawberry.type(description="Which page of a list this is.")
class Paging:
    per_page: int = ruled_field(
        f"The page size used; at most {MAX_PER_PAGE}.", Range(1, MAX_PER_PAGE)
    )
    current_page: int = ruled_field(
        "The page's number, from 1. After a cursor, one more than that of the page with the "
        "cursor.",
        Range(1, MAX_INT32),
    )
    has_next: bool = strawberry.field(description="Whether another page follows.")
    next: str | None = strawberry.field(
        description="Cursor of the next page: pass it as `after`, which is enough. Then deep pages "
        "are as fast as the first. Null on the last page."
    )


@strawberry.type(description="Which page of a list this is, as Relay pages.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether another page follows.")
    has_previous_page: bool = strawberry.field(
        description="Whether there is a page before: not so for the first page only."
    )
    start_cursor: str | None = strawberry.field(
        description="Cursor of the first record; null on an empty page."
    )
    end_cursor: str | None = strawberry.field(
        description="Cursor of the last record: pass it as `after` for the next page. Null on an "
        "empty page."
    )


@strawberry.type(description="A record of a page, and its cursor.")
class Edge(Generic[T]):
    cursor: str = strawberry.field(description="Pass it as `after` to continue after this record.")
    node: T | None = strawberry.field(
        description="The record; null, with an error, only if it is damaged."
    )


@strawberry.type(
    description="One page of a list: `data` and `paging`, and the same as `edges` and `pageInfo`, "
    "as Relay has it."
)
class Page(Generic[T]):
    paging: Paging = strawberry.field(description="Which page this is.")
    data: list[T] = strawberry.field(description="The records of this page.")
    edges: list[Edge[T]] = strawberry.field(
        description="The records of this page, each with a cursor."
    )
    page_info: PageInfo = strawberry.field(description="Which page this is, as Relay pages.")
    total_count = resolver_field(count_total, int | None, cost=COUNT_COST)


@strawberry.interface(description="A record that `node` finds by its `nodeId`.")
class Node:
    node_id = resolver_field(resolvers.nodes.get_node_id, strawberry.ID, nullable=False)


@strawberry.type(description="A property.")
class Asset(Node):
    id: strawberry.ID
    market: str
    name: str
    created_at: DateTime
    updated_at: DateTime
    floors = resolver_field(resolvers.directory.list_floors_of_asset, Page["Floor"])
    floor = resolver_field(resolvers.directory.get_floor_of_asset, "Floor | None")
    units = resolver_field(resolvers.directory.list_units_of_asset, Page["Unit"])
    maps = resolver_field(resolvers.maps.list_maps_of_asset, Page["Map"])
    references = resolver_field(
        resolvers.directory.list_references_of_asset,
        Page["AssetReference"],
        caller.READ_ASSET_REFERENCES,
    )


@strawberry.type(description="A storey of an asset.")
class Floor(Node):
    id: strawberry.ID
    asset_id: strawberry.ID
    name: str
    label: str
    short_label: str
    sort: int
    created_at: DateTime
    updated_at: DateTime
    asset = resolver_field(resolvers.directory.load_asset, Asset | None)
    units = resolver_field(resolvers.directory.list_units_of_floor, Page["Unit"])


@strawberry.type(description="An apartment, a shop, an office.")
class Unit(Node):
    id: strawberry.ID
    asset_id: strawberry.ID
    floor_id: strawberry.ID
    name: str
    created_at: DateTime
    updated_at: DateTime
    asset = resolver_field(resolvers.directory.load_asset, Asset | None)
    floor = resolver_field(resolvers.directory.load_floor_of_unit, Floor | None)
    maps = resolver_field(resolvers.maps.list_maps_of_unit, Page["Map"])
    references = resolver_field(
        resolvers.directory.list_references_of_unit,
        Page["UnitReference"],
        caller.READ_UNIT_REFERENCES,
    )
    attributes = resolver_field(
        resolvers.attributes.list_assignments_of_unit, Page["Assignment"], caller.READ_ATTRIBUTES
    )
    location = resolver_field(
        resolvers.locations.load_location_of_unit, "Location | None", caller.READ_LOCATIONS
    )
    shape = resolver_field(
        resolvers.drawings.shapes.load_shape_of_unit, "Shape | None", cost=SHAPE_COST
    )
    nearest = resolver_field(
        resolvers.routes.find_nearest_to_unit,
        "list[NearLocation] | None",
        caller.CALCULATE_DISTANCES,
        cost=NEAREST_COST,
    )


@strawberry.type(description="A picture that can be shown beneath a unit map.")
class Background(Node):
    id: strawberry.ID
    unit_map_id: strawberry.ID
    name: str
    created_at: DateTime
    updated_at: DateTime
    map = resolver_field(resolvers.maps.load_map_of_background, "Map | None")


@strawberry.type(description="One value of a level tag.")
class LevelTagValue:
    name: str
    value: strawberry.ID = strawberry.field(description="An id, such as that of a floor.")
    created_at: DateTime
    updated_at: DateTime


@strawberry.type(description="A tag key that distinguishes the levels of a map, with its values.")
class LevelTag(Node):
    id = resolver_field(resolvers.nodes.get_entity_id, strawberry.ID, nullable=False)
    name: str
    key: str
    created_at: DateTime
    updated_at: DateTime
    values: list[LevelTagValue]


@strawberry.type(description="A floor that a location is on.")
class LocationFloor:
    id: strawberry.ID = strawberry.field(name="floorId", description="The floor's id.")
    floor = resolver_field(resolvers.locations.load_floor_of_location, Floor | None)


@strawberry.type(description="A key and a value that describe a location.")
class LocationTag:
    key: str
    value: str
    created_at: DateTime
    updated_at: DateTime


@strawberry.type(description="A point of interest on a map.")
class Location(Node):
    id: strawberry.ID
    asset_id: strawberry.ID
    unit_map_id: strawberry.ID
    name: str
    x: float = strawberry.field(description="In the map's own coordinates.")
    y: float = strawberry.field(description="In the map's own coordinates.")
    floors: list[LocationFloor]
    tags: list[LocationTag]
    created_at: DateTime
    updated_at: DateTime
    tag = resolver_field(resolvers.locations.get_tag_of_location, str | None)
    asset = resolver_field(resolvers.directory.load_asset, Asset | None)
    map = resolver_field(resolvers.locations.load_map_of_location, "Map | None")
    unit = resolver_field(resolvers.locations.load_unit_of_location, Unit | None)


Closures = output_type(
    resolvers.closures.Closures,
    connectors=list[strawberry.ID],
    doors=list[strawberry.ID],
    spaces=list[strawberry.ID],
)
Closable = output_type(resolvers.closures.Closable)
NearLocation = output_type(resolvers.routes.NearLocation, location=Location)


@strawberry.type(description=inspect.getdoc(resolvers.routes.NearestFromSource))
class NearestFromSource:
    waypoint_id: strawberry.ID | None = strawberry.field(
        description="The `id` or `unitId` in the request's waypoint."
    )
    name: str | None
    index: int = strawberry.field(description="Position in the request's list, from 0.")
    locations = resolver_field(resolvers.routes.load_locations_near_source, "list[NearLocation]")


RouteLeg = output_type(resolvers.routes.RouteLeg)
RouteStep = output_type(resolvers.routes.RouteStep)


@strawberry.type(description="The fastest route between two waypoints.")
class Route:
    mode: TravelMode
    feet: float
    seconds: float
    legs: list[RouteLeg]  # type: ignore[valid-type]
    lines = resolver_field(
        resolvers.routes.draw_route, list[list[resolvers.routes.Position]], cost=LINES_COST
    )
    steps = resolver_field(resolvers.routes.list_steps_of_route, "list[RouteStep]", cost=STEPS_COST)


NearUnit = output_type(resolvers.routes.NearUnit, unit=Unit)
ReachableArea = output_type(resolvers.routes.ReachableArea)


@strawberry.type(description="What is within some minutes of a waypoint.")
class Reachable:
    mode: TravelMode
    minutes: float
    locations = resolver_field(
        resolvers.routes.list_reachable_locations, "list[NearLocation]", cost=NEAREST_COST
    )
    units = resolver_field(
        resolvers.routes.list_reachable_units, "list[NearUnit]", cost=NEAREST_COST
    )
    areas = resolver_field(
        resolvers.routes.list_reachable_areas, "list[ReachableArea]", cost=AREAS_COST
    )


ShapeBox = output_type(resolvers.drawings.shapes.ShapeBox)
Shape = output_type(
    resolvers.drawings.shapes.Shape, part=ShapePart, type=ShapeType | None, box=ShapeBox | None
)
DrawingLevel = output_type(resolvers.drawings.shapes.DrawingLevel)


@strawberry.type(description="The drawing of a map, in the map's own coordinates.")
class Drawing:
    width: int
    height: int
    levels: list[DrawingLevel]  # type: ignore[valid-type]
    shapes = resolver_field(
        resolvers.drawings.shapes.list_shapes_of_drawing,
        Page[Shape] | None,  # type: ignore[valid-type]
    )


@strawberry.type(description="An interactive floor plan.")
class Map(Node):
    id: strawberry.ID
    asset_id: strawberry.ID
    background_id: strawberry.ID | None
    name: str
    style: str
    style_type: str
    tags: list[str] = strawberry.field(
        description="A map that has been processed for pathfinding carries `pathfinding`."
    )
    routing_tier: str
    geojson_url = resolver_field(resolvers.maps.load_geojson_url_of_map, str | None)
    url = resolver_field(resolvers.maps.load_url_of_map, str | None)
    feet_per_unit: float | None = strawberry.field(
        description="How many feet one unit of the map's coordinates is; null when unknown."
    )
    created_at: DateTime
    updated_at: DateTime
    asset = resolver_field(resolvers.directory.load_asset, Asset | None)
    background = resolver_field(resolvers.maps.get_background_of_map, Background | None)
    chosen_background = resolver_field(
        resolvers.maps.load_chosen_background_of_map, Background | None
    )
    backgrounds = resolver_field(resolvers.maps.list_backgrounds_of_map, Page[Background])
    level_tags = resolver_field(resolvers.maps.list_level_tags_of_map, Page[LevelTag])
    units = resolver_field(resolvers.directory.list_units_on_map, Page[Unit])
    unit = resolver_field(resolvers.directory.get_unit_on_map, Unit | None)
    routing = resolver_field(
        resolvers.maps.load_routing_of_map, output_type(resolvers.maps.RoutingState, "MapRouting")
    )
    routing_report = resolver_field(
        resolvers.maps.load_routing_report_of_map, JSON | None, cost=REPORT_COST
    )
    parsed = resolver_field(resolvers.maps.load_parsed_drawing_of_map, ParsedMap | None)
    drawing = resolver_field(
        resolvers.drawings.shapes.load_drawing_of_map, Drawing | None, cost=DRAWING_COST
    )
    geojson = resolver_field(
        resolvers.drawings.geojson.get_geojson_of_map, GeoJson | None, cost=GEOJSON_COST
    )
    picture = resolver_field(
        resolvers.drawings.pictures.get_picture_of_map,
        output_type(resolvers.drawings.pictures.Picture) | None,
        cost=PICTURE_COST,
    )
    locations = resolver_field(
        resolvers.locations.list_locations_on_map, Page[Location], caller.READ_LOCATIONS
    )
    distance_matrix = resolver_field(
        resolvers.distances.get_distance_matrix,
        output_type(resolvers.distances.DistanceMatrix),
        caller.CALCULATE_DISTANCES,
        cost=MATRIX_COST,
    )
    route = resolver_field(
        resolvers.routes.find_route, Route | None, caller.CALCULATE_DISTANCES, cost=ROUTE_COST
    )
    nearest = resolver_field(
        resolvers.routes.find_nearest_locations,
        "list[NearLocation]",
        caller.CALCULATE_DISTANCES,
        cost=NEAREST_COST,
    )
    nearest_from_sources = resolver_field(
        resolvers.routes.find_nearest_from_sources,
        list[NearestFromSource],
        caller.CALCULATE_DISTANCES,
        cost=NEAREST_FROM_SOURCES_COST,
    )
    reachable = resolver_field(
        resolvers.routes.find_reachable, Reachable, caller.CALCULATE_DISTANCES, cost=LOAD_COST
    )
    closures = resolver_field(
        resolvers.closures.load_closures_of_map, Closures, caller.CALCULATE_DISTANCES
    )
    closable = resolver_field(
        resolvers.closures.list_closable_on_map,
        Page[Closable],  # type: ignore[valid-type]
        caller.CALCULATE_DISTANCES,
        cost=LOAD_COST,
    )


@strawberry.type(description="An asset's id in a third-party system.")
class AssetReference(Node):
    id: strawberry.ID
    asset_id: strawberry.ID
    key: str = strawberry.field(description="Names the third-party system.")
    value: str = strawberry.field(description="The asset's id in that system.")
    created_at: DateTime
    updated_at: DateTime
    asset = resolver_field(resolvers.directory.load_asset, Asset | None)


@strawberry.type(description="A unit's id in a third-party system.")
class UnitReference(Node):
    id = resolver_field(resolvers.nodes.get_entity_id, strawberry.ID, nullable=False)
    group_id: strawberry.ID
    asset_id: strawberry.ID
    unit_id: strawberry.ID
    key: str = strawberry.field(description="Names the third-party system.")
    value: str = strawberry.field(
        description="The unit's id in that system; some systems join two ids by an underscore."
    )
    created_at: DateTime
    updated_at: DateTime
    asset = resolver_field(resolvers.directory.load_asset, Asset | None)
    unit = resolver_field(resolvers.directory.load_unit, Unit | None)


@strawberry.type(description="An attribute that a unit can have.")
class Attribute(Node):
    id = resolver_field(resolvers.nodes.get_entity_id, strawberry.ID, nullable=False)
    attribute_id: strawberry.ID
    attribute_name: str
    attribute_key: str


@strawberry.type(description="The assignment of an attribute to a unit.")
class Assignment(Node):
    id = resolver_field(resolvers.nodes.get_entity_id, strawberry.ID, nullable=False)
    group_id: strawberry.ID
    attribute_id: strawberry.ID
    asset_id: strawberry.ID
    unit_id: strawberry.ID
    attribute = resolver_field(resolvers.attributes.load_attribute_of_assignment, Attribute | None)
    asset = resolver_field(resolvers.directory.load_asset, Asset | None)
    unit = resolver_field(resolvers.directory.load_unit, Unit | None)


@strawberry.type(description="Attributes that belong together.")
class AttributeGroup(Node):
    id = resolver_field(resolvers.nodes.get_entity_id, strawberry.ID, nullable=False)
    group_id: strawberry.ID
    group_name: str
    one_attribute_per_unit: bool = strawberry.field(
        description="Whether a unit has at most one attribute of the group."
    )
    attributes = resolver_field(
        resolvers.attributes.list_attributes_of_group, list[Attribute], nullable=False
    )
    assignments = resolver_field(resolvers.attributes.list_assignments_of_group, Page[Assignment])


@strawberry.type(description=inspect.getdoc(resolvers.changes.Change))
class Change(
    output_type(  # type: ignore[misc]
        resolvers.changes.Change, operation=ChangeOperation, kind=RecordKind | None
    )
):
    record_node_id = resolver_field(resolvers.changes.get_record_node_id, strawberry.ID | None)
    node = resolver_field(resolvers.changes.load_changed_node, Node | None)
    asset = resolver_field(resolvers.changes.load_changed_asset, Asset | None)
    floor = resolver_field(resolvers.changes.load_changed_floor, Floor | None)
    unit = resolver_field(resolvers.changes.load_changed_unit, Unit | None)
    map = resolver_field(resolvers.changes.load_changed_map, Map | None)
    location = resolver_field(
        resolvers.changes.load_changed_location, Location | None, caller.READ_LOCATIONS
    )


ChangeBatch = output_type(resolvers.changes.ChangeBatch, data=list[Change])


@strawberry.type(description=inspect.getdoc(resolvers.changes.Removal))
class Removal(output_type(resolvers.changes.Removal)):  # type: ignore[misc]
    record_node_id = resolver_field(resolvers.changes.get_record_node_id, strawberry.ID | None)


# The GraphQL types of what only operators read: API keys and the audit log.


@strawberry.type(description="What is known of a key; never the key itself.")
class ApiKey(Node):
    id: strawberry.ID
    name: str
    permissions = resolver_field(api_keys.list_permissions, list[audit.Permission], nullable=False)
    asset_ids: list[strawberry.ID] | None = strawberry.field(
        description="The assets that the key sees; null means all of them."
    )
    origins: list[str] = strawberry.field(
        description="Origins of the web pages that may use the key; if empty, all may."
    )
    created_at: DateTime
    expires_at: DateTime | None
    revoked_at: DateTime | None
    last_used_at: DateTime | None
    replaced_by_id: strawberry.ID | None = strawberry.field(
        description="The key that has replaced it by `rotateApiKey`."
    )


@strawberry.type(description="An endpoint of REST that an operator has saved.")
class Endpoint:
    id = resolver_field(endpoints.read_id, strawberry.ID, nullable=False)
    name: str = strawberry.field(description="The name of its operation.")
    method: HttpMethod = strawberry.field(description="The method of its requests.")
    path: str = strawberry.field(description="Begins with `/v1/x/`.")
    summary = resolver_field(endpoints.read_summary, str, nullable=False)
    document = resolver_field(endpoints.read_document, str, nullable=False)
    openapi = resolver_field(endpoints.read_openapi, JSON, nullable=False)
    saved_at = resolver_field(endpoints.read_time, DateTime | None)


@strawberry.type(description=inspect.getdoc(audit.Actor))
class AuditActor(output_type(audit.Actor)):  # type: ignore[misc]
    type = resolver_field(audit.find_actor_type, audit.AuditActorType | None)


@strawberry.type(description=inspect.getdoc(audit.AuditChange))
class AuditChange(
    output_type(audit.AuditChange, before=JSON | None, after=JSON | None)  # type: ignore[misc]
):
    operation = resolver_field(audit.find_operation, audit.AuditOperation | None)


@strawberry.type(description=inspect.getdoc(audit.AuditRecord))
class AuditRecord(
    output_type(audit.AuditRecord, actor=AuditActor, changes=list[AuditChange])  # type: ignore[misc]
):
    action = resolver_field(audit.find_action, audit.AuditAction | None)
    interface = resolver_field(audit.find_interface, audit.AuditInterface | None)


# What mutations return: the records that they changed, so that a client's cache is up to date.


@strawberry.type(description="The assignments that were made, and their units.")
class AssignUnitAttributesPayload:
    assignments: list[Assignment] = ruled_field(
        "The assignments of the request, in its order.", Items(1, MAX_ASSIGNMENTS)
    )
    units = resolver_field(resolvers.attributes.load_changed_units, list[Unit] | None)


@strawberry.type(description="The assignments that were removed, and their units.")
class UnassignUnitAttributesPayload:
    assignments: list[Assignment] = strawberry.field(
        name="removedAssignments",
        description="The assignments of the request, in its order, whether the unit had the "
        "attribute or not: remove them from a cache.",
    )
    units = resolver_field(resolvers.attributes.load_changed_units, list[Unit] | None)


@strawberry.type(description="The map, and what is closed on it.")
class SetClosuresPayload:
    map = resolver_field(resolvers.maps.load_changed_map, Map | None)
    closures: Closures = strawberry.field(  # type: ignore[valid-type]
        description="What is closed from now on."
    )


@strawberry.type(description="The map, whether it is routable, and what is wrong with its plan.")
class ProcessMapPayload:
    map = resolver_field(resolvers.maps.load_changed_map, Map | None)
    is_routable: bool = strawberry.field(
        description="Whether there are routes and walking distances on the map now."
    )
    report: JSON = strawberry.field(
        description="What is reached, and what to put right in the plan: causes, remedies, places."
    )


CreateApiKeyPayload = output_type(api_keys.CreatedApiKey, "CreateApiKeyPayload", api_key=ApiKey)
RotateApiKeyPayload = output_type(
    api_keys.RotatedApiKey, "RotateApiKeyPayload", api_key=ApiKey, replaced=ApiKey
)
UpdateApiKeyPayload = output_type(api_keys.ChangedApiKey, "UpdateApiKeyPayload", api_key=ApiKey)
RevokeApiKeyPayload = output_type(api_keys.ChangedApiKey, "RevokeApiKeyPayload", api_key=ApiKey)
RecordChange = output_type(
    imports.RecordChange, kind=RecordKind, operation=imports.PlannedOperation
)
ChangePlan = output_type(imports.ChangePlan, changes=list[RecordChange])  # type: ignore[valid-type]
ImportCatalogPayload = output_type(imports.ImportResult, "ImportCatalogPayload", plan=ChangePlan)
RemoveRecordsPayload = output_type(imports.ImportResult, "RemoveRecordsPayload", plan=ChangePlan)
SaveEndpointsPayload = output_type(
    endpoints.SavedEndpoints, "SaveEndpointsPayload", endpoints=list[Endpoint]
)
RemoveEndpointsPayload = output_type(endpoints.RemovedEndpoints, "RemoveEndpointsPayload")
