"""The GraphQL types of what only operators read: API keys and the audit log."""

import inspect

import strawberry
from strawberry.scalars import JSON

from resolvers.administration import api_keys, audit
from resolvers.administration.enums import (
    AuditAction,
    AuditActorType,
    AuditInterface,
    AuditOperation,
    Permission,
)
from resolvers.request.times import DateTime
from schema.fields import output_type, resolver_field
from schema.types import Node


@strawberry.type(description="What is known of a key; never the key itself.")
class ApiKey(Node):
    id: strawberry.ID
    name: str
    permissions = resolver_field(api_keys.list_permissions, list[Permission], nullable=False)
    asset_ids: list[strawberry.ID] | None = strawberry.field(
        description="The assets that the key sees; null means all of them."
    )
    created_at: DateTime
    expires_at: DateTime | None
    revoked_at: DateTime | None
    last_used_at: DateTime | None
    replaced_by_id: strawberry.ID | None = strawberry.field(
        description="The key that has replaced it by `rotateApiKey`."
    )


@strawberry.type(description=inspect.getdoc(audit.Actor))
class AuditActor(output_type(audit.Actor)):  # type: ignore[misc]
    type = resolver_field(audit.find_actor_type, AuditActorType | None)


@strawberry.type(description=inspect.getdoc(audit.AuditChange))
class AuditChange(
    output_type(audit.AuditChange, before=JSON | None, after=JSON | None)  # type: ignore[misc]
):
    operation = resolver_field(audit.find_operation, AuditOperation | None)


@strawberry.type(description=inspect.getdoc(audit.AuditRecord))
class AuditRecord(
    output_type(audit.AuditRecord, actor=AuditActor, changes=list[AuditChange])  # type: ignore[misc]
):
    action = resolver_field(audit.find_action, AuditAction | None)
    interface = resolver_field(audit.find_interface, AuditInterface | None)
