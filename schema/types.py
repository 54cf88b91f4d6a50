"""The GraphQL types of the directory's records.

They are in one module because they refer to one another: a unit has a floor, a floor has units.
Quoted names are resolved in this module's namespace once the schema is built.
"""

import inspect

import strawberry
from strawberry.scalars import JSON

import resolvers.assets
import resolvers.attributes
import resolvers.backgrounds
import resolvers.changes
import resolvers.closures
import resolvers.distances
import resolvers.drawings.fields
import resolvers.drawings.geojson
import resolvers.drawings.pictures
import resolvers.floors
import resolvers.level_tags
import resolvers.locations
import resolvers.maps
import resolvers.nearest
import resolvers.nodes
import resolvers.reachable
import resolvers.references
import resolvers.removals
import resolvers.routes
import resolvers.steps
import resolvers.unit_maps
import resolvers.units
from resolvers.changes import ChangeOperation
from resolvers.distances import TravelMode
from resolvers.drawings.fields import ShapePart, ShapeType
from resolvers.request.kinds import RecordKind
from resolvers.request.times import DateTime
from schema.definitions import (
    AREAS_COST,
    DRAWING_COST,
    GEOJSON_COST,
    LOAD_COST,
    MATRIX_COST,
    NEAREST_COST,
    NEAREST_FROM_SOURCES_COST,
    PICTURE_COST,
    REPORT_COST,
    ROUTE_COST,
    SHAPE_COST,
    STEPS_COST,
)
from schema.fields import output_type, resolver_field
from schema.paging import Page
from schema.permissions import (
    CAN_CALCULATE_DISTANCES,
    CAN_READ_ASSET_REFERENCES,
    CAN_READ_ATTRIBUTES,
    CAN_READ_LOCATIONS,
    CAN_READ_UNIT_REFERENCES,
)
from schema.scalars import GeoJson, ParsedMap


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
    floors = resolver_field(resolvers.floors.list_floors_of_asset, Page["Floor"])
    floor = resolver_field(resolvers.floors.get_floor_of_asset, "Floor | None")
    units = resolver_field(resolvers.units.list_units_of_asset, Page["Unit"])
    maps = resolver_field(resolvers.maps.list_maps_of_asset, Page["Map"])
    references = resolver_field(
        resolvers.references.list_references_of_asset,
        Page["AssetReference"],
        CAN_READ_ASSET_REFERENCES,
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
    asset = resolver_field(resolvers.assets.load_asset, Asset | None)
    units = resolver_field(resolvers.units.list_units_of_floor, Page["Unit"])


@strawberry.type(description="An apartment, a shop, an office.")
class Unit(Node):
    id: strawberry.ID
    asset_id: strawberry.ID
    floor_id: strawberry.ID
    name: str
    created_at: DateTime
    updated_at: DateTime
    asset = resolver_field(resolvers.assets.load_asset, Asset | None)
    floor = resolver_field(resolvers.floors.load_floor_of_unit, Floor | None)
    maps = resolver_field(resolvers.maps.list_maps_of_unit, Page["Map"])
    references = resolver_field(
        resolvers.references.list_references_of_unit,
        Page["UnitReference"],
        CAN_READ_UNIT_REFERENCES,
    )
    attributes = resolver_field(
        resolvers.attributes.list_assignments_of_unit, Page["Assignment"], CAN_READ_ATTRIBUTES
    )
    location = resolver_field(
        resolvers.locations.load_location_of_unit, "Location | None", CAN_READ_LOCATIONS
    )
    shape = resolver_field(
        resolvers.drawings.fields.load_shape_of_unit, "Shape | None", cost=SHAPE_COST
    )
    nearest = resolver_field(
        resolvers.nearest.find_nearest_to_unit,
        "list[NearLocation] | None",
        CAN_CALCULATE_DISTANCES,
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
    asset = resolver_field(resolvers.assets.load_asset, Asset | None)
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


@strawberry.type(description=inspect.getdoc(resolvers.nearest.NearestFromSource))
class NearestFromSource:
    waypoint_id: strawberry.ID | None = strawberry.field(
        description="The `id` or `unitId` in the request's waypoint."
    )
    name: str | None
    index: int = strawberry.field(description="Position in the request's list, from 0.")
    locations = resolver_field(resolvers.nearest.load_locations_near_source, "list[NearLocation]")


RouteLeg = output_type(resolvers.routes.RouteLeg)
RouteStep = output_type(resolvers.steps.RouteStep)


@strawberry.type(description="The fastest route between two waypoints.")
class Route:
    mode: TravelMode
    feet: float
    seconds: float
    legs: list[RouteLeg]  # type: ignore[valid-type]
    steps = resolver_field(resolvers.steps.list_steps_of_route, "list[RouteStep]", cost=STEPS_COST)


NearUnit = output_type(resolvers.reachable.NearUnit, unit=Unit)
ReachableArea = output_type(resolvers.reachable.ReachableArea)


@strawberry.type(description="What is within some minutes of a waypoint.")
class Reachable:
    mode: TravelMode
    minutes: float
    locations = resolver_field(
        resolvers.reachable.list_reachable_locations, "list[NearLocation]", cost=NEAREST_COST
    )
    units = resolver_field(
        resolvers.reachable.list_reachable_units, "list[NearUnit]", cost=NEAREST_COST
    )
    areas = resolver_field(
        resolvers.reachable.list_reachable_areas,
        "list[ReachableArea]",
        cost=AREAS_COST,
    )


ShapeBox = output_type(resolvers.drawings.fields.ShapeBox)
Shape = output_type(
    resolvers.drawings.fields.Shape, part=ShapePart, type=ShapeType | None, box=ShapeBox | None
)
DrawingLevel = output_type(resolvers.drawings.fields.DrawingLevel)


@strawberry.type(description="The drawing of a map, in the map's own coordinates.")
class Drawing:
    width: int
    height: int
    levels: list[DrawingLevel]  # type: ignore[valid-type]
    shapes = resolver_field(
        resolvers.drawings.fields.list_shapes_of_drawing,
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
    geojson_url = resolver_field(resolvers.unit_maps.load_geojson_url_of_map, str | None)
    url = resolver_field(resolvers.unit_maps.load_url_of_map, str | None)
    feet_per_unit: float | None = strawberry.field(
        description="How many feet one unit of the map's coordinates is; null when unknown."
    )
    created_at: DateTime
    updated_at: DateTime
    asset = resolver_field(resolvers.assets.load_asset, Asset | None)
    background = resolver_field(resolvers.backgrounds.get_background_of_map, Background | None)
    chosen_background = resolver_field(
        resolvers.backgrounds.load_chosen_background_of_map, Background | None
    )
    backgrounds = resolver_field(resolvers.backgrounds.list_backgrounds_of_map, Page[Background])
    level_tags = resolver_field(resolvers.level_tags.list_level_tags_of_map, Page[LevelTag])
    units = resolver_field(resolvers.units.list_units_on_map, Page[Unit])
    unit = resolver_field(resolvers.units.get_unit_on_map, Unit | None)
    routing = resolver_field(
        resolvers.maps.load_routing_of_map, output_type(resolvers.maps.RoutingState, "MapRouting")
    )
    routing_report = resolver_field(
        resolvers.maps.load_routing_report_of_map, JSON | None, cost=REPORT_COST
    )
    parsed = resolver_field(resolvers.unit_maps.load_parsed_drawing_of_map, ParsedMap | None)
    drawing = resolver_field(
        resolvers.drawings.fields.load_drawing_of_map, Drawing | None, cost=DRAWING_COST
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
        resolvers.locations.list_locations_on_map, Page[Location], CAN_READ_LOCATIONS
    )
    distance_matrix = resolver_field(
        resolvers.distances.get_distance_matrix,
        output_type(resolvers.distances.DistanceMatrix),
        CAN_CALCULATE_DISTANCES,
        cost=MATRIX_COST,
    )
    route = resolver_field(
        resolvers.routes.find_route,
        Route | None,
        CAN_CALCULATE_DISTANCES,
        cost=ROUTE_COST,
    )
    nearest = resolver_field(
        resolvers.routes.find_nearest_locations,
        "list[NearLocation]",
        CAN_CALCULATE_DISTANCES,
        cost=NEAREST_COST,
    )
    nearest_from_sources = resolver_field(
        resolvers.nearest.find_nearest_from_sources,
        list[NearestFromSource],
        CAN_CALCULATE_DISTANCES,
        cost=NEAREST_FROM_SOURCES_COST,
    )
    reachable = resolver_field(
        resolvers.reachable.find_reachable, Reachable, CAN_CALCULATE_DISTANCES, cost=LOAD_COST
    )
    closures = resolver_field(
        resolvers.closures.load_closures_of_map, Closures, CAN_CALCULATE_DISTANCES
    )
    closable = resolver_field(
        resolvers.closures.list_closable_on_map,
        Page[Closable],  # type: ignore[valid-type]
        CAN_CALCULATE_DISTANCES,
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
    asset = resolver_field(resolvers.assets.load_asset, Asset | None)


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
    asset = resolver_field(resolvers.assets.load_asset, Asset | None)
    unit = resolver_field(resolvers.units.load_unit, Unit | None)


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
    asset = resolver_field(resolvers.assets.load_asset, Asset | None)
    unit = resolver_field(resolvers.units.load_unit, Unit | None)


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
        resolvers.changes.load_changed_location, Location | None, CAN_READ_LOCATIONS
    )


ChangeBatch = output_type(resolvers.changes.ChangeBatch, data=list[Change])


@strawberry.type(description=inspect.getdoc(resolvers.removals.Removal))
class Removal(output_type(resolvers.removals.Removal)):  # type: ignore[misc]
    record_node_id = resolver_field(resolvers.changes.get_record_node_id, strawberry.ID | None)
