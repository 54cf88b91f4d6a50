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
from schema.fields import resolved
from schema.lazy import LazyAsset, LazyBackground, LazyLocation, LazyUnit
from schema.level_tags import LevelTag
from schema.paging import Page
from schema.permissions import CALCULATES_DISTANCES, PARSES_MAPS, READS_LOCATIONS
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
    url = resolved(resolvers.unit_maps.url, str | None)
    feet_per_unit: float | None = strawberry.field(
        description="How many feet one unit of the map's coordinates is; null when unknown."
    )
    created_at: Timestamp
    updated_at: Timestamp
    asset = resolved(resolvers.assets.of, LazyAsset | None)
    background = resolved(resolvers.backgrounds.one_of_map, LazyBackground | None)
    chosen_background = resolved(resolvers.backgrounds.chosen, LazyBackground | None)
    backgrounds = resolved(resolvers.backgrounds.of_map, Page[LazyBackground])
    level_tags = resolved(resolvers.level_tags.of_map, Page[LevelTag])
    units = resolved(resolvers.units.of_map, Page[LazyUnit])
    unit = resolved(resolvers.units.one_of_map, LazyUnit | None)
    parsed = resolved(resolvers.unit_maps.parsed, ParsedMap | None)
    locations = resolved(resolvers.locations.of_map, Page[LazyLocation], READS_LOCATIONS)
    distance_matrix = resolved(resolvers.distances.matrix, DistanceMatrix, CALCULATES_DISTANCES)
    route = resolved(resolvers.routes.route, Route | None, CALCULATES_DISTANCES)
    nearest = resolved(resolvers.routes.nearest, list[NearLocation], CALCULATES_DISTANCES)


@strawberry.type
class MapQueries:
    maps = resolved(resolvers.maps.every, Page[Map])
    map = resolved(resolvers.maps.by_id, Map | None)
    parsed_unit_map = resolved(resolvers.unit_maps.parse, ParsedMap, PARSES_MAPS)
