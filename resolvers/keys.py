"""Making and ending API keys."""

from datetime import UTC, datetime
from typing import Annotated, NamedTuple

import strawberry

from resolvers.request.arguments import parse_page_request, validate_id
from resolvers.request.caller import PERMISSIONS
from resolvers.request.context import Info
from resolvers.request.errors import InvalidInputError, NotFoundError
from storage import keys
from storage.keys import ApiKey
from storage.records.paging import Page


class CreatedApiKey(NamedTuple):
    """A key that was just made."""

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
    """Makes a key; its text is in the answer and nowhere else."""
    if all_assets and asset_ids:
        raise InvalidInputError(allAssets="must not be given beside assetIds")
    record, key = await keys.create_api_key(
        info.context.untracked_store.database,
        name=validate_id("name", name),
        permissions=_validate_permissions(permissions or []),
        asset_ids=None if all_assets else [validate_id("assetIds", id) for id in asset_ids or []],
        expires_at=None if expires is None else _parse_expiry(expires),
    )
    return CreatedApiKey(record.id, key)


async def revoke_api_key(info: Info, id: strawberry.ID) -> str:
    """Ends a key, on every gateway within a second."""
    if not await keys.revoke_api_key(info.context.untracked_store.database, validate_id("id", id)):
        raise NotFoundError(f"There is no key with the id {id!r}")
    return id


async def list_api_keys(
    info: Info, page: int | None = 1, per_page: int | None = 100, after: str | None = None
) -> Page[ApiKey]:
    """All keys, ended ones included; never their text."""
    slice = parse_page_request(page, per_page, after)
    known = sorted(
        await keys.list_api_keys(info.context.untracked_store.database), key=lambda key: key.id
    )
    following = [key for key in known if slice.after_key is None or key.id > slice.after_key]
    found = following[slice.skip : slice.skip + slice.limit]
    return Page(slice.build_paging(found, lambda key: key.id), found[: slice.per_page])


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
        # A date, or a time without offset, is meant in UTC.
        time = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            expires=f"must be an ISO 8601 time such as {example}, not {text[:50]!r}"
        ) from error
    if time <= datetime.now(UTC):
        raise InvalidInputError(expires=f"must be in the future, not {text!r}")
    return time
