"""The schema: its queries and mutations, and the graphql-core schema built of them."""

import strawberry
from graphql import GraphQLSchema
from strawberry.schema.config import StrawberryConfig

import resolvers.administration.api_keys
import resolvers.administration.audit
import resolvers.administration.imports
import resolvers.assets
import resolvers.attributes
import resolvers.closures
import resolvers.maps
import resolvers.processed_maps
import resolvers.references
import resolvers.unit_maps
import resolvers.units
from schema.definitions import PROCESS_COST
from schema.fields import output_type, resolver_field
from schema.paging import Page
from schema.permissions import (
    CAN_CLOSE,
    CAN_PARSE_MAPS,
    CAN_READ_ASSET_REFERENCES,
    CAN_READ_ATTRIBUTES,
    CAN_READ_UNIT_REFERENCES,
    CAN_WRITE_ATTRIBUTES,
    IS_ADMIN,
    guard_fields,
)
from schema.scalars import SCALAR_DEFINITIONS, ParsedMap
from schema.types import (
    ApiKey,
    Asset,
    AssetReference,
    Assignment,
    AttributeGroup,
    AuditRecord,
    Closures,
    Map,
    Unit,
    UnitReference,
)


@strawberry.type(description="The directory as the API key sees it.")
class Query:
    assets = resolver_field(resolvers.assets.list_assets, Page[Asset])
    asset = resolver_field(resolvers.assets.get_asset, Asset | None)
    units = resolver_field(resolvers.units.list_units, Page[Unit])
    unit = resolver_field(resolvers.units.get_unit, Unit | None)
    maps = resolver_field(resolvers.maps.list_maps, Page[Map])
    map = resolver_field(resolvers.maps.get_map, Map | None)
    parsed_unit_map = resolver_field(
        resolvers.unit_maps.parse_unit_map,
        output_type(resolvers.unit_maps.UnitMapParse, map=ParsedMap),
        CAN_PARSE_MAPS,
        cost=PROCESS_COST,
    )
    asset_references = resolver_field(
        resolvers.references.list_asset_references, Page[AssetReference], CAN_READ_ASSET_REFERENCES
    )
    unit_references = resolver_field(
        resolvers.references.list_unit_references, Page[UnitReference], CAN_READ_UNIT_REFERENCES
    )
    attribute_groups = resolver_field(
        resolvers.attributes.list_attribute_groups, Page[AttributeGroup], CAN_READ_ATTRIBUTES
    )
    attribute_group = resolver_field(
        resolvers.attributes.get_attribute_group, AttributeGroup | None, CAN_READ_ATTRIBUTES
    )
    api_keys = resolver_field(
        resolvers.administration.api_keys.list_api_keys, Page[ApiKey], IS_ADMIN
    )
    audit_log = resolver_field(
        resolvers.administration.audit.list_audit_log, Page[AuditRecord], IS_ADMIN
    )


@strawberry.type(description="Operations that change the directory.")
class Mutation:
    assign_unit_attributes = resolver_field(
        resolvers.attributes.assign_attributes, list[Assignment], CAN_WRITE_ATTRIBUTES
    )
    unassign_unit_attributes = resolver_field(
        resolvers.attributes.unassign_attributes, bool, CAN_WRITE_ATTRIBUTES
    )
    import_catalog = resolver_field(
        resolvers.administration.imports.import_catalog_text,
        output_type(resolvers.administration.imports.ImportResult, "ImportSummary"),
        IS_ADMIN,
        cost=PROCESS_COST,
    )
    create_api_key = resolver_field(
        resolvers.administration.api_keys.create_api_key,
        output_type(resolvers.administration.api_keys.CreatedApiKey),
        IS_ADMIN,
    )
    update_api_key = resolver_field(
        resolvers.administration.api_keys.update_api_key, ApiKey, IS_ADMIN
    )
    rotate_api_key = resolver_field(
        resolvers.administration.api_keys.rotate_api_key,
        output_type(resolvers.administration.api_keys.RotatedApiKey),
        IS_ADMIN,
    )
    revoke_api_key = resolver_field(
        resolvers.administration.api_keys.revoke_api_key, strawberry.ID, IS_ADMIN
    )
    process_map = resolver_field(
        resolvers.processed_maps.process_map,
        output_type(resolvers.processed_maps.ProcessedMap),
        IS_ADMIN,
        cost=PROCESS_COST,
    )
    set_closures = resolver_field(resolvers.closures.set_closures, Closures, CAN_CLOSE)


STRAWBERRY_SCHEMA = strawberry.Schema(
    query=Query, mutation=Mutation, config=StrawberryConfig(scalar_map=SCALAR_DEFINITIONS)
)
GRAPHQL_SCHEMA: GraphQLSchema = STRAWBERRY_SCHEMA._schema
"""The graphql-core schema inside, on which `schema.execution` runs operations."""
guard_fields(GRAPHQL_SCHEMA)


def build_sdl() -> str:
    """Return the schema in GraphQL's schema definition language."""
    return STRAWBERRY_SCHEMA.as_str() + "\n"
