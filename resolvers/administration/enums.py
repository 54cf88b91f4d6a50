"""The enums of keys and of the audit log in the schema."""

from resolvers.request import caller
from resolvers.request.kinds import DescribedEnum, graphql_enum


@graphql_enum
class Permission(DescribedEnum):
    """What an API key may do in addition to reading assets, floors, units and maps. Elsewhere, a
    permission has dots and hyphens, as in `service.asset-references.read`.
    """

    # In the order of `PERMISSIONS`.
    READ_ASSET_REFERENCES = (
        caller.READ_ASSET_REFERENCES_PERMISSION,
        "Read ids of assets in third-party systems.",
    )
    READ_UNIT_REFERENCES = (
        caller.READ_UNIT_REFERENCES_PERMISSION,
        "Read ids of units in third-party systems.",
    )
    PARSE_UNIT_MAPS = caller.PARSE_UNIT_MAPS_PERMISSION, "Parse the drawings of maps."
    CALCULATE_DISTANCES = (
        caller.CALCULATE_DISTANCES_PERMISSION,
        "Distances, routes, what is nearest, within reach and closed.",
    )
    READ_UNIT_ATTRIBUTES = caller.READ_UNIT_ATTRIBUTES_PERMISSION, "Read the attributes of units."
    WRITE_UNIT_ATTRIBUTES = (
        caller.WRITE_UNIT_ATTRIBUTES_PERMISSION,
        "Assign attributes to units, and take them away.",
    )
    EXPLAIN_REQUESTS = (
        caller.EXPLAIN_PERMISSION,
        "See how the service carries out the key's own requests.",
    )
    ADMIN = (
        caller.ADMIN_PERMISSION,
        "Administer keys, imports, maps and the audit log; only of a key for all assets.",
    )


@graphql_enum
class AuditAction(DescribedEnum):
    """What was done. In logs and at the command line it has a dot, as in `key.created`."""

    ATTRIBUTES_ASSIGNED = "attributes.assigned", "Attributes were assigned to units."
    ATTRIBUTES_UNASSIGNED = "attributes.unassigned", "Attributes were taken from units."
    CATALOG_IMPORTED = "catalog.imported", "Bundles were imported."
    CATALOG_RESTORED = "catalog.restored", "A backup was restored."
    DOCUMENTS_REGISTERED = "documents.registered", "Trusted documents were registered."
    DOCUMENTS_REMOVED = "documents.removed", "Trusted documents were removed."
    KEY_CREATED = "key.created", "A key was created."
    KEY_DELETED = "key.deleted", "A key was deleted."
    KEY_REVOKED = "key.revoked", "A key was revoked."
    KEY_ROTATED = "key.rotated", "A key was replaced by a new one."
    KEY_UPDATED = "key.updated", "The name, permissions, assets or expiry of a key were changed."
    MAP_CLOSED = "map.closed", "What is closed on a map was set."
    MAP_PROCESSED = "map.processed", "A map was processed for pathfinding."
    MAP_WITHDRAWN = "map.withdrawn", "The network of a map was withdrawn."
    RECORDS_REMOVED = "records.removed", "Records were removed."


@graphql_enum
class AuditInterface(DescribedEnum):
    """How a change was asked for."""

    REST = "rest", "At `/v1`."
    GRAPHQL = "graphql", "At `/graphql`."
    CLI = "cli", "At the command line."


@graphql_enum
class AuditActorType(DescribedEnum):
    """Who acted."""

    KEY = "key", "A client with an API key."
    OPERATOR = "operator", "Somebody at the command line."


@graphql_enum
class AuditOperation(DescribedEnum):
    """What happened to records."""

    INSERTED = "inserted", "They are new."
    UPDATED = "updated", "They have changed."
    REMOVED = "removed", "They are gone."
