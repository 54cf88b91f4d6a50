"""Resolvers that create, list and revoke API keys, for operators."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

import strawberry

from resolvers.request.arguments import (
    DEFAULT_PER_PAGE,
    AfterCursor,
    PageNumber,
    PageSize,
    parse_page_request,
)
from resolvers.request.caller import ADMIN_PERMISSION, PERMISSIONS, Caller
from resolvers.request.context import Info
from resolvers.request.errors import InvalidInputError, NotFoundError
from resolvers.request.input_rules import (
    ID,
    Each,
    InputViolation,
    JsonSchema,
    OneOf,
    Syntax,
    argument,
    joint_rules,
)
from resolvers.request.times import parse_time
from storage.administration import api_keys
from storage.administration.api_keys import ApiKey
from storage.records.paging import Page


class CreatedApiKey(NamedTuple):
    """A newly created API key."""

    id: str
    key: Annotated[str, "The key. It is shown this once and never stored."]


class SomeOrAllAssets:
    """Joint rule of a new key: it has ids of assets or sees all, not both."""

    def check(self, values: Mapping[str, Any]) -> InputViolation | None:
        """Return the error, or None."""
        if values.get("all_assets") and values.get("asset_ids"):
            return InputViolation("allAssets", "must not be given together with assetIds")
        return None

    def json_schema(self) -> JsonSchema:
        """Return nothing: REST does not create keys."""
        return {}


class AdministratorsSeeAllAssets:
    """Joint rule of a new key: no administrator is limited to some assets."""

    def check(self, values: Mapping[str, Any]) -> InputViolation | None:
        """Return the error, or None."""
        if ADMIN_PERMISSION in (values.get("permissions") or []) and not values.get("all_assets"):
            return InputViolation(
                "permissions", f"must not have {ADMIN_PERMISSION} unless allAssets is true"
            )
        return None

    def json_schema(self) -> JsonSchema:
        """Return nothing: REST does not create keys."""
        return {}


def _parse_expiry(text: str) -> datetime:
    time = parse_time(text)
    if time <= datetime.now(UTC):
        raise ValueError(f"must be in the future, not {text!r}")
    return time


def _check_grant(caller: Caller, permissions: list[str], expires_at: datetime | None) -> None:
    """Raise InvalidInputError if a new key would be permitted more, or for longer, than the caller.

    Its assets need no check: the caller is an administrator and sees all.
    """
    if missing := [name for name in permissions if name not in caller.permissions]:
        raise InvalidInputError(
            permissions="must be permissions of the key that creates this one, which lacks "
            + " and ".join(missing)
        )
    end = caller.key_expires_at
    if end is not None and (expires_at is None or expires_at > end):
        raise InvalidInputError(
            expires=f"must be at or before {end.isoformat()}, when the key that creates this one"
            " expires"
        )


@joint_rules(SomeOrAllAssets(), AdministratorsSeeAllAssets())
async def create_api_key(
    info: Info,
    name: Annotated[str, argument("Shown in lists of keys.", ID)],
    permissions: Annotated[
        list[str] | None,
        argument(
            "What the key permits in addition to reading; `service.admin` needs `allAssets`.",
            Each(OneOf(*PERMISSIONS)),
        ),
    ] = None,
    asset_ids: Annotated[
        list[strawberry.ID] | None, argument("Ids of the assets that the key sees.", Each(ID))
    ] = None,
    all_assets: Annotated[
        bool, argument("Whether the key sees all assets; not together with `assetIds`.")
    ] = False,
    expires: Annotated[
        str | None,
        argument(
            "When the key stops working, in ISO 8601; in UTC if it has no offset. Null: never.",
            Syntax(_parse_expiry),
        ),
    ] = None,
) -> CreatedApiKey:
    """Create an API key, with permissions and an expiry within those of the key that creates it.

    The response is the only place that ever shows the key's text.
    """
    granted = sorted(set(permissions or []))
    expires_at = None if expires is None else _parse_expiry(expires)
    _check_grant(info.context.caller, granted, expires_at)
    record, key = await api_keys.create_api_key(
        info.context.bypass_caches().database,
        name=name,
        permissions=granted,
        asset_ids=None if all_assets else [*(asset_ids or [])],
        expires_at=expires_at,
        origin=info.context.origin,
    )
    return CreatedApiKey(record.id, key)


async def revoke_api_key(
    info: Info, id: Annotated[strawberry.ID, argument("Id of the key.", ID)]
) -> str:
    """Revoke an API key; every gateway rejects it within a second."""
    database = info.context.bypass_caches().database
    if not await api_keys.revoke_api_key(database, id, info.context.origin):
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
        await api_keys.list_api_keys(info.context.bypass_caches().database),
        key=lambda key: key.id,
    )
    rest = [key for key in records if request.after_key is None or key.id > request.after_key]
    on_page = rest[request.skip : request.skip + request.limit]
    return Page(request.build_paging(on_page, lambda key: key.id), on_page[: request.per_page])
