"""The enums of keys and of the audit log in the schema."""

from enum import StrEnum

from resolvers.request import caller
from resolvers.request.kinds import graphql_enum


class Permission(StrEnum):
    """What a key may do in addition to reading, in the order of `PERMISSIONS`."""

    READ_ASSET_REFERENCES = caller.READ_ASSET_REFERENCES_PERMISSION
    READ_UNIT_REFERENCES = caller.READ_UNIT_REFERENCES_PERMISSION
    PARSE_UNIT_MAPS = caller.PARSE_UNIT_MAPS_PERMISSION
    CALCULATE_DISTANCES = caller.CALCULATE_DISTANCES_PERMISSION
    READ_UNIT_ATTRIBUTES = caller.READ_UNIT_ATTRIBUTES_PERMISSION
    WRITE_UNIT_ATTRIBUTES = caller.WRITE_UNIT_ATTRIBUTES_PERMISSION
    EXPLAIN_REQUESTS = caller.EXPLAIN_PERMISSION
    ADMIN = caller.ADMIN_PERMISSION


graphql_enum(
    Permission,
    "What an API key may do in addition to reading assets, floors, units and maps. "
    "Elsewhere, a permission has dots and hyphens, as in `service.asset-references.read`.",
    service_asset_references_read="Read ids of assets in third-party systems.",
    service_unit_references_read="Read ids of units in third-party systems.",
    service_unit_maps_parse="Parse the drawings of maps.",
    service_distances_calculate="Distances, routes, what is nearest, within reach and closed.",
    service_unit_attributes_read="Read the attributes of units.",
    service_unit_attributes_write="Assign attributes to units, and take them away.",
    service_requests_explain="See how the service carries out the key's own requests.",
    service_admin="Administer keys, imports, maps and the audit log; only of a key for all assets.",
)


class AuditAction(StrEnum):
    """What the audit log records."""

    ATTRIBUTES_ASSIGNED = "attributes.assigned"
    ATTRIBUTES_UNASSIGNED = "attributes.unassigned"
    CATALOG_IMPORTED = "catalog.imported"
    CATALOG_RESTORED = "catalog.restored"
    DOCUMENTS_REGISTERED = "documents.registered"
    DOCUMENTS_REMOVED = "documents.removed"
    KEY_CREATED = "key.created"
    KEY_DELETED = "key.deleted"
    KEY_REVOKED = "key.revoked"
    KEY_ROTATED = "key.rotated"
    KEY_UPDATED = "key.updated"
    MAP_CLOSED = "map.closed"
    MAP_PROCESSED = "map.processed"
    MAP_WITHDRAWN = "map.withdrawn"
    RECORDS_REMOVED = "records.removed"


graphql_enum(
    AuditAction,
    "What was done. In logs and at the command line it has a dot, as in `key.created`.",
    attributes_assigned="Attributes were assigned to units.",
    attributes_unassigned="Attributes were taken from units.",
    catalog_imported="Bundles were imported.",
    catalog_restored="A backup was restored.",
    documents_registered="Trusted documents were registered.",
    documents_removed="Trusted documents were removed.",
    key_created="A key was created.",
    key_deleted="A key was deleted.",
    key_revoked="A key was revoked.",
    key_rotated="A key was replaced by a new one.",
    key_updated="The name, permissions, assets or expiry of a key were changed.",
    map_closed="What is closed on a map was set.",
    map_processed="A map was processed for pathfinding.",
    map_withdrawn="The network of a map was withdrawn.",
    records_removed="Records were removed.",
)


class AuditInterface(StrEnum):
    """How the audited change was asked for."""

    REST = "rest"
    GRAPHQL = "graphql"
    CLI = "cli"


graphql_enum(
    AuditInterface,
    "How a change was asked for.",
    rest="At `/v1`.",
    graphql="At `/graphql`.",
    cli="At the command line.",
)


class AuditActorType(StrEnum):
    """Who makes audited changes."""

    KEY = "key"
    OPERATOR = "operator"


graphql_enum(
    AuditActorType,
    "Who acted.",
    key="A client with an API key.",
    operator="Somebody at the command line.",
)


class AuditOperation(StrEnum):
    """What happened to the records of an audited change."""

    INSERTED = "inserted"
    UPDATED = "updated"
    REMOVED = "removed"


graphql_enum(
    AuditOperation,
    "What happened to records.",
    inserted="They are new.",
    updated="They have changed.",
    removed="They are gone.",
)
