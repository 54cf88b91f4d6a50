"""The resolver of the audit log, for operators."""

from functools import partial
from typing import Annotated

import strawberry

from resolvers.request import caller
from resolvers.request.caller import ADMIN_PERMISSION
from resolvers.request.context import Info
from resolvers.request.errors import PermissionRequiredError
from resolvers.request.inputs import ID, IS_TIME, MAX_INT32, PageArguments, Range, argument
from resolvers.request.kinds import DescribedEnum, find_word, graphql_enum
from resolvers.request.listing import paged
from resolvers.request.times import DateTime, parse_time
from storage.administration.audit import (
    LATEST_FIRST,
    MAX_SHOWN_CHANGES,
    MAX_SHOWN_IDS,
    Actor,
    AuditChange,
    AuditFilter,
    AuditRecord,
    list_audit_records,
)
from storage.records.paging import Page


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
    READ_ENDPOINTS = caller.READ_ENDPOINTS_PERMISSION, "Read how saved endpoints are defined."
    WRITE_ENDPOINTS = (
        caller.WRITE_ENDPOINTS_PERMISSION,
        "Save operations as endpoints of REST, and remove them.",
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
    ENDPOINTS_REMOVED = "endpoints.removed", "Saved endpoints were removed."
    ENDPOINTS_SAVED = "endpoints.saved", "Operations were saved as endpoints."
    KEY_CREATED = "key.created", "A key was created."
    KEY_DELETED = "key.deleted", "A key was deleted."
    KEY_REVOKED = "key.revoked", "A key was revoked."
    KEY_ROTATED = "key.rotated", "A key was replaced by a new one."
    KEY_UPDATED = "key.updated", "The name, permissions, assets or expiry of a key were changed."
    MAP_CLOSED = "map.closed", "What is closed on a map was set."
    MAP_PROCESSED = "map.processed", "A map was processed for pathfinding."
    MAP_WITHDRAWN = "map.withdrawn", "The network of a map was withdrawn."
    RECORDS_REMOVED = "records.removed", "Records were removed."
    TRACES_ERASED = "traces.erased", "What was left of an asset or a key was erased."


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


__all__ = ["Actor", "AuditChange", "AuditRecord", "list_audit_log"]

MAX_AUDIT_PER_PAGE = 100
_MAXIMUM = f"More than {MAX_AUDIT_PER_PAGE} is served as {MAX_AUDIT_PER_PAGE}."


@partial(
    paged,
    per_page=Annotated[
        int | None, argument(f"How many records a page holds. {_MAXIMUM}", Range(1, MAX_INT32))
    ],
    first=Annotated[
        int | None,
        argument(
            f"How many records to return, in place of `page` and `perPage`. {_MAXIMUM}",
            Range(1, MAX_INT32),
        ),
    ],
)
async def list_audit_log(
    info: Info,
    pages: PageArguments,
    since: Annotated[
        DateTime | None, argument("Only records from this time on, in ISO 8601.", IS_TIME)
    ] = None,
    until: Annotated[
        DateTime | None, argument("Only records from before this time.", IS_TIME)
    ] = None,
    actor: Annotated[
        strawberry.ID | None, argument("Only what this key has changed, or this operator.", ID)
    ] = None,
    action: Annotated[AuditAction | None, argument("Only this action.")] = None,
    target: Annotated[
        strawberry.ID | None,
        argument(
            "Only changes of the record with this id, such as a key, a map or a unit, or the import"
            " with this `importId`.",
            ID,
        ),
    ] = None,
) -> Page[AuditRecord]:
    caller = info.context.caller
    if caller.scope.asset_ids is not None:
        raise PermissionRequiredError(ADMIN_PERMISSION, " for all assets")
    list_id = ("audit_log", pages.filters)
    pages = pages._replace(order=LATEST_FIRST, max_per_page=MAX_AUDIT_PER_PAGE)
    page_request = pages.parse_for_list(list_id)
    audit_filter = AuditFilter(
        since=None if since is None else parse_time(since),
        until=None if until is None else parse_time(until),
        actor=actor,
        action=action and action.value,
        target=target,
    )
    database = info.context.bypass_caches().database
    records = await list_audit_records(database, audit_filter, page_request, list_id)
    info.context.budget.count_read(len(records.data))
    return records


list_audit_log.__doc__ = f"""List who changed what, when and from where, the latest first.

The key must see all assets. A record has its first {MAX_SHOWN_CHANGES} changes and
{MAX_SHOWN_IDS} assets, and a change its first {MAX_SHOWN_IDS} ids; with `target`, a change of
the record with this id has only its id. `floorgate audit --json` has all of them.
"""


def find_action(parent: strawberry.Parent[AuditRecord]) -> AuditAction | None:
    """Find what was done; null if only another version knows it, like the words beside it."""
    return find_word(AuditAction, parent.action)


def find_interface(parent: strawberry.Parent[AuditRecord]) -> AuditInterface | None:
    """Find how the change was asked for."""
    return find_word(AuditInterface, parent.interface)


def find_actor_type(parent: strawberry.Parent[Actor]) -> AuditActorType | None:
    """Find whether a client or an operator acted."""
    return find_word(AuditActorType, parent.type)


def find_operation(parent: strawberry.Parent[AuditChange]) -> AuditOperation | None:
    """Find what happened to the records."""
    return find_word(AuditOperation, parent.operation)
