"""Unit maps with their backgrounds and level tags."""

import strawberry

import resolvers.assets
import resolvers.backgrounds
import resolvers.distances
import resolvers.level_tags
import resolvers.locations
import resolvers.maps
import resolvers.routes
import resolvers.unit_maps
import resolvers.units
from schema.distances import DistanceMatrix
from schema.fields import resolver_field
from schema.lazy import LazyAsset, LazyBackground, LazyLocation, LazyUnit
from schema.level_tags import LevelTag
from schema.paging import Page
from schema.permissions import CAN_CALCULATE_DISTANCES, CAN_PARSE_MAPS, CAN_READ_LOCATIONS
from schema.routes import NearLocation, Route
from schema.scalars import ParsedMap, Timestamp


@strawberry.type(description="An interactive floor plan.")
class Map:
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
    geojson_url: str | None = strawberry.field(description="Address of a GeoJSON file for the map.")
    url = resolver_field(resolvers.unit_maps.url_of_map, str | None)
    feet_per_unit: float | None = strawberry.field(
        description="How many feet one unit of the map's coordinates is; null when unknown."
    )
    created_at: Timestamp
    updated_at: Timestamp
    asset = resolver_field(resolvers.assets.asset_of, LazyAsset | None)
    background = resolver_field(resolvers.backgrounds.get_background_of_map, LazyBackground | None)
    chosen_background = resolver_field(
        resolvers.backgrounds.chosen_background_of_map, LazyBackground | None
    )
    backgrounds = resolver_field(
        resolvers.backgrounds.list_backgrounds_of_map, Page[LazyBackground]
    )
    level_tags = resolver_field(resolvers.level_tags.list_level_tags_of_map, Page[LevelTag])
    units = resolver_field(resolvers.units.list_units_on_map, Page[LazyUnit])
    unit = resolver_field(resolvers.units.get_unit_on_map, LazyUnit | None)
    parsed = resolver_field(resolvers.unit_maps.parsed_drawing_of_map, ParsedMap | None)
    locations = resolver_field(
        resolvers.locations.list_locations_on_map, Page[LazyLocation], CAN_READ_LOCATIONS
    )
    distance_matrix = resolver_field(
        resolvers.distances.get_distance_matrix, DistanceMatrix, CAN_CALCULATE_DISTANCES
    )
    route = resolver_field(resolvers.routes.find_route, Route | None, CAN_CALCULATE_DISTANCES)
    nearest = resolver_field(
        resolvers.routes.find_nearest_locations, list[NearLocation], CAN_CALCULATE_DISTANCES
    )


@strawberry.type
class MapQueries:
    maps = resolver_field(resolvers.maps.list_maps, Page[Map])
    map = resolver_field(resolvers.maps.get_map, Map | None)
    parsed_unit_map = resolver_field(resolvers.unit_maps.parse_unit_map, ParsedMap, CAN_PARSE_MAPS)
