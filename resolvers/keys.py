"""Resolvers that create, list and revoke API keys, for operators."""

from datetime import UTC, datetime
from typing import Annotated, NamedTuple

import strawberry

from resolvers.request.arguments import (
    DEFAULT_PER_PAGE,
    AfterCursor,
    PageNumber,
    PageSize,
    parse_page_request,
    validate_id,
)
from resolvers.request.caller import PERMISSIONS
from resolvers.request.context import Info
from resolvers.request.errors import InvalidInputError, NotFoundError
from storage import keys
from storage.keys import ApiKey
from storage.records.paging import Page


class CreatedApiKey(NamedTuple):
    """A newly created API key."""

    id: str
    key: Annotated[str, "The key. It is shown this once and never stored."]


async def create_api_key(
    info: Info,
    name: str,
    permissions: list[str] | None = None,
    asset_ids: list[strawberry.ID] | None = None,
    all_assets: bool = False,
    expires: str | None = None,
) -> CreatedApiKey:
    """Create an API key. The response is the only place that ever shows its text."""
    if all_assets and asset_ids:
        raise InvalidInputError(allAssets="must not be given beside assetIds")
    record, key = await keys.create_api_key(
        info.context.bypass_read_log().database,
        name=validate_id("name", name),
        permissions=_validate_permissions(permissions or []),
        asset_ids=None if all_assets else [validate_id("assetIds", id) for id in asset_ids or []],
        expires_at=None if expires is None else _parse_expiry(expires),
    )
    return CreatedApiKey(record.id, key)


async def revoke_api_key(info: Info, id: strawberry.ID) -> str:
    """Revoke an API key; every gateway rejects it within a second."""
    if not await keys.revoke_api_key(
        info.context.bypass_read_log().database, validate_id("id", id)
    ):
        raise NotFoundError(f"There is no key with the id {id!r}")
    return id


async def list_api_keys(
    info: Info,
    page: PageNumber = 1,
    per_page: PageSize = DEFAULT_PER_PAGE,
    after: AfterCursor = None,
) -> Page[ApiKey]:
    """List all API keys, revoked ones included; never their text."""
    request = parse_page_request(page, per_page, after)
    records = sorted(
        await keys.list_api_keys(info.context.bypass_read_log().database), key=lambda key: key.id
    )
    rest = [key for key in records if request.after_key is None or key.id > request.after_key]
    on_page = rest[request.skip : request.skip + request.limit]
    return Page(request.build_paging(on_page, lambda key: key.id), on_page[: request.per_page])


def _validate_permissions(permissions: list[str]) -> list[str]:
    for permission in permissions:
        if permission not in PERMISSIONS:
            raise InvalidInputError(
                permissions=f"must be among {', '.join(PERMISSIONS)}, not {permission!r}"
            )
    return sorted(set(permissions))


def _parse_expiry(text: str) -> datetime:
    example = "2027-01-31T12:00:00+00:00"
    try:
        time = datetime.fromisoformat(text)
        # Without an offset, the time is in UTC.
        time = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            expires=f"must be an ISO 8601 time such as {example}, not {text[:50]!r}"
        ) from error
    if time <= datetime.now(UTC):
        raise InvalidInputError(expires=f"must be in the future, not {text!r}")
    return time
