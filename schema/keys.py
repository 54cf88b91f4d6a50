"""API keys, for operators."""

from datetime import datetime

import strawberry

import resolvers.keys
from schema.fields import resolver_field
from schema.paging import Page
from schema.permissions import IS_ADMIN


@strawberry.type(description="What is known of a key; never the key itself.")
class ApiKey:
    id: strawberry.ID
    name: str
    permissions: list[str]
    asset_ids: list[strawberry.ID] | None = strawberry.field(
        description="The assets that the key sees; null means all of them."
    )
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


@strawberry.type(description="A key that was just made.")
class CreatedApiKey:
    id: strawberry.ID
    key: str = strawberry.field(description="The key. It is shown this once and never stored.")


@strawberry.type
class KeyQueries:
    api_keys = resolver_field(resolvers.keys.list_api_keys, Page[ApiKey], IS_ADMIN)


@strawberry.type
class KeyMutations:
    create_api_key = resolver_field(resolvers.keys.create_api_key, CreatedApiKey, IS_ADMIN)
    revoke_api_key = resolver_field(resolvers.keys.revoke_api_key, strawberry.ID, IS_ADMIN)
