"""The schema: its queries and mutations, and the graphql-core schema built of them."""

from typing import Any

import strawberry
from graphql import GraphQLInterfaceType, GraphQLObjectType, GraphQLSchema
from strawberry.schema.config import StrawberryConfig

import resolvers.administration.api_keys
import resolvers.administration.audit
import resolvers.administration.imports
import resolvers.assets
import resolvers.attributes
import resolvers.backgrounds
import resolvers.changes
import resolvers.closures
import resolvers.floors
import resolvers.locations
import resolvers.maps
import resolvers.nodes
import resolvers.processed_maps
import resolvers.references
import resolvers.unit_maps
import resolvers.units
from resolvers.nodes import type_name_of
from schema.definitions import (
    CAN_CLOSE,
    CAN_FOLLOW_CHANGES,
    CAN_PARSE_MAPS,
    CAN_READ_ASSET_REFERENCES,
    CAN_READ_ATTRIBUTES,
    CAN_READ_LOCATIONS,
    CAN_READ_UNIT_REFERENCES,
    CAN_WRITE_ATTRIBUTES,
    IS_ADMIN,
    PROCESS_COST,
    guard_fields,
)
from schema.descriptions import complete_descriptions, complete_directives
from schema.endpoints import DIRECTIVES
from schema.errors import explain_enums
from schema.fields import mutation_field, output_type, resolver_field
from schema.types import (
    SCALAR_DEFINITIONS,
    ApiKey,
    Asset,
    AssetReference,
    AssignUnitAttributesPayload,
    AttributeGroup,
    AuditRecord,
    Background,
    Change,
    ChangeBatch,
    CreateApiKeyPayload,
    Floor,
    ImportCatalogPayload,
    Location,
    Map,
    Node,
    Page,
    ParsedMap,
    ProcessMapPayload,
    Removal,
    RemoveRecordsPayload,
    RevokeApiKeyPayload,
    RotateApiKeyPayload,
    SetClosuresPayload,
    UnassignUnitAttributesPayload,
    Unit,
    UnitReference,
    UpdateApiKeyPayload,
)


def resolve_types_by_record(schema: GraphQLSchema) -> None:
    """Let the interfaces of a schema tell the types of objects by their records.

    Resolvers return records, which are no instances of strawberry's types, as it expects of an
    object where an interface is.
    """
    for type in schema.type_map.values():
        if isinstance(type, GraphQLInterfaceType):
            type.resolve_type = _resolve_type
        elif isinstance(type, GraphQLObjectType):
            type.is_type_of = None


def _resolve_type(record: Any, *_: Any) -> str:
    return type_name_of(record)


@strawberry.type(description="The directory as the API key sees it.")
class Query:
    node = resolver_field(resolvers.nodes.get_node, Node | None)
    nodes = resolver_field(resolvers.nodes.get_nodes, list[Node | None], nullable=False)
    assets = resolver_field(resolvers.assets.list_assets, Page[Asset])
    asset = resolver_field(resolvers.assets.get_asset, Asset | None)
    floor = resolver_field(resolvers.floors.get_floor, Floor | None)
    units = resolver_field(resolvers.units.list_units, Page[Unit])
    unit = resolver_field(resolvers.units.get_unit, Unit | None)
    maps = resolver_field(resolvers.maps.list_maps, Page[Map])
    map = resolver_field(resolvers.maps.get_map, Map | None)
    background = resolver_field(resolvers.backgrounds.get_background, Background | None)
    location = resolver_field(resolvers.locations.get_location, Location | None, CAN_READ_LOCATIONS)
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
    removals = resolver_field(resolvers.changes.list_removals, Page[Removal])
    changes = resolver_field(resolvers.changes.list_changes, ChangeBatch | None, CAN_FOLLOW_CHANGES)
    api_keys = resolver_field(
        resolvers.administration.api_keys.list_api_keys, Page[ApiKey], IS_ADMIN
    )
    audit_log = resolver_field(
        resolvers.administration.audit.list_audit_log, Page[AuditRecord], IS_ADMIN
    )


@strawberry.type(description="Operations that change the directory.")
class Mutation:
    assign_unit_attributes = mutation_field(
        "AssignUnitAttributes",
        resolvers.attributes.assign_attributes,
        AssignUnitAttributesPayload,
        CAN_WRITE_ATTRIBUTES,
    )
    unassign_unit_attributes = mutation_field(
        "UnassignUnitAttributes",
        resolvers.attributes.unassign_attributes,
        UnassignUnitAttributesPayload,
        CAN_WRITE_ATTRIBUTES,
    )
    import_catalog = mutation_field(
        "ImportCatalog",
        resolvers.administration.imports.import_catalog_text,
        ImportCatalogPayload,
        IS_ADMIN,
        cost=PROCESS_COST,
    )
    remove_records = mutation_field(
        "RemoveRecords",
        resolvers.administration.imports.remove_records,
        RemoveRecordsPayload,
        IS_ADMIN,
        cost=PROCESS_COST,
    )
    create_api_key = mutation_field(
        "CreateApiKey",
        resolvers.administration.api_keys.create_api_key,
        CreateApiKeyPayload,
        IS_ADMIN,
    )
    update_api_key = mutation_field(
        "UpdateApiKey",
        resolvers.administration.api_keys.update_api_key,
        UpdateApiKeyPayload,
        IS_ADMIN,
    )
    rotate_api_key = mutation_field(
        "RotateApiKey",
        resolvers.administration.api_keys.rotate_api_key,
        RotateApiKeyPayload,
        IS_ADMIN,
    )
    revoke_api_key = mutation_field(
        "RevokeApiKey",
        resolvers.administration.api_keys.revoke_api_key,
        RevokeApiKeyPayload,
        IS_ADMIN,
    )
    process_map = mutation_field(
        "ProcessMap",
        resolvers.processed_maps.process_map,
        ProcessMapPayload,
        IS_ADMIN,
        cost=PROCESS_COST,
    )
    set_closures = mutation_field(
        "SetClosures", resolvers.closures.set_closures, SetClosuresPayload, CAN_CLOSE
    )


@strawberry.type(description="What the directory tells of as it happens.")
class Subscription:
    changes = resolver_field(resolvers.changes.follow_changes, Change, CAN_FOLLOW_CHANGES)


STRAWBERRY_SCHEMA = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    directives=DIRECTIVES,
    config=StrawberryConfig(scalar_map=SCALAR_DEFINITIONS),
)
GRAPHQL_SCHEMA: GraphQLSchema = STRAWBERRY_SCHEMA._schema
"""The graphql-core schema inside, on which `schema.execution` runs operations."""
GRAPHQL_SCHEMA.description = (
    "Assets, floors, units and maps that the API key sees, and routes and distances on the maps. "
    "What needs an experimental flag or a permission says so."
)
guard_fields(GRAPHQL_SCHEMA)
explain_enums(GRAPHQL_SCHEMA)
complete_descriptions(GRAPHQL_SCHEMA)
complete_directives(GRAPHQL_SCHEMA)
resolve_types_by_record(GRAPHQL_SCHEMA)


def build_sdl() -> str:
    """Return the schema in GraphQL's schema definition language."""
    return STRAWBERRY_SCHEMA.as_str() + "\n"
