"""The schema: its queries and mutations, and the graphql-core schema built of them."""

from typing import Any

import strawberry
from graphql import GraphQLInterfaceType, GraphQLObjectType, GraphQLSchema
from strawberry.schema.config import StrawberryConfig

import resolvers.administration.api_keys
import resolvers.administration.audit
import resolvers.administration.endpoints
import resolvers.administration.imports
import resolvers.attributes
import resolvers.changes
import resolvers.closures
import resolvers.directory
import resolvers.locations
import resolvers.maps
import resolvers.nodes
from resolvers import administration
from resolvers.nodes import type_name_of
from resolvers.request import caller
from schema import types
from schema.definitions import guard_fields
from schema.descriptions import complete_descriptions, complete_directives
from schema.endpoint_directives import DIRECTIVES
from schema.errors import explain_enums
from schema.fields import mutation_field, output_type, resolver_field


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
    node = resolver_field(resolvers.nodes.get_node, types.Node | None)
    nodes = resolver_field(resolvers.nodes.get_nodes, list[types.Node | None], nullable=False)
    assets = resolver_field(resolvers.directory.list_assets, types.Page[types.Asset])
    asset = resolver_field(resolvers.directory.get_asset, types.Asset | None)
    floor = resolver_field(resolvers.directory.get_floor, types.Floor | None)
    units = resolver_field(resolvers.directory.list_units, types.Page[types.Unit])
    unit = resolver_field(resolvers.directory.get_unit, types.Unit | None)
    maps = resolver_field(resolvers.maps.list_maps, types.Page[types.Map])
    map = resolver_field(resolvers.maps.get_map, types.Map | None)
    background = resolver_field(resolvers.maps.get_background, types.Background | None)
    location = resolver_field(
        resolvers.locations.get_location, types.Location | None, caller.READ_LOCATIONS
    )
    parsed_unit_map = resolver_field(
        resolvers.maps.parse_unit_map,
        output_type(resolvers.maps.UnitMapParse, map=types.ParsedMap),
        caller.PARSE_MAPS,
        cost=types.PROCESS_COST,
    )
    asset_references = resolver_field(
        resolvers.directory.list_asset_references,
        types.Page[types.AssetReference],
        caller.READ_ASSET_REFERENCES,
    )
    unit_references = resolver_field(
        resolvers.directory.list_unit_references,
        types.Page[types.UnitReference],
        caller.READ_UNIT_REFERENCES,
    )
    attribute_groups = resolver_field(
        resolvers.attributes.list_attribute_groups,
        types.Page[types.AttributeGroup],
        caller.READ_ATTRIBUTES,
    )
    attribute_group = resolver_field(
        resolvers.attributes.get_attribute_group,
        types.AttributeGroup | None,
        caller.READ_ATTRIBUTES,
    )
    removals = resolver_field(resolvers.changes.list_removals, types.Page[types.Removal])
    changes = resolver_field(
        resolvers.changes.list_changes, types.ChangeBatch | None, caller.FOLLOW_CHANGES
    )
    api_keys = resolver_field(
        administration.api_keys.list_api_keys, types.Page[types.ApiKey], caller.ADMINISTER
    )
    endpoints = resolver_field(
        administration.endpoints.list_saved_endpoints,
        types.Page[types.Endpoint],
        caller.READ_ENDPOINTS,
    )
    audit_log = resolver_field(
        administration.audit.list_audit_log, types.Page[types.AuditRecord], caller.ADMINISTER
    )


@strawberry.type(description="Operations that change the directory.")
class Mutation:
    assign_unit_attributes = mutation_field(
        resolvers.attributes.assign_attributes,
        types.AssignUnitAttributesPayload,
        caller.WRITE_ATTRIBUTES,
    )
    unassign_unit_attributes = mutation_field(
        resolvers.attributes.unassign_attributes,
        types.UnassignUnitAttributesPayload,
        caller.WRITE_ATTRIBUTES,
    )
    import_catalog = mutation_field(
        administration.imports.import_catalog_text,
        types.ImportCatalogPayload,
        caller.ADMINISTER,
        cost=types.PROCESS_COST,
    )
    remove_records = mutation_field(
        administration.imports.remove_records,
        types.RemoveRecordsPayload,
        caller.ADMINISTER,
        cost=types.PROCESS_COST,
    )
    create_api_key = mutation_field(
        administration.api_keys.create_api_key, types.CreateApiKeyPayload, caller.ADMINISTER
    )
    update_api_key = mutation_field(
        administration.api_keys.update_api_key, types.UpdateApiKeyPayload, caller.ADMINISTER
    )
    rotate_api_key = mutation_field(
        administration.api_keys.rotate_api_key, types.RotateApiKeyPayload, caller.ADMINISTER
    )
    revoke_api_key = mutation_field(
        administration.api_keys.revoke_api_key, types.RevokeApiKeyPayload, caller.ADMINISTER
    )
    process_map = mutation_field(
        administration.imports.process_map,
        types.ProcessMapPayload,
        caller.ADMINISTER,
        cost=types.PROCESS_COST,
    )
    save_endpoints = resolver_field(
        administration.endpoints.save_endpoints,
        types.SaveEndpointsPayload | None,
        caller.WRITE_ENDPOINTS,
        cost=types.PROCESS_COST,
    )
    remove_endpoints = resolver_field(
        administration.endpoints.remove_endpoints,
        types.RemoveEndpointsPayload | None,
        caller.WRITE_ENDPOINTS,
        cost=types.PROCESS_COST,
    )
    set_closures = mutation_field(
        resolvers.closures.set_closures, types.SetClosuresPayload, caller.CLOSE
    )


@strawberry.type(description="What the directory tells of as it happens.")
class Subscription:
    changes = resolver_field(resolvers.changes.follow_changes, types.Change, caller.FOLLOW_CHANGES)


STRAWBERRY_SCHEMA = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    directives=DIRECTIVES,
    config=StrawberryConfig(scalar_map=types.SCALAR_DEFINITIONS),
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
