"""Resolvers that create, change, rotate, list and revoke API keys, for operators."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, NamedTuple

import msgspec
import strawberry
from strawberry.utils.str_converters import to_camel_case

from resolvers.administration.audit import Permission
from resolvers.request.caller import ADMIN_PERMISSION, Caller
from resolvers.request.context import Info
from resolvers.request.errors import MAX_QUOTED_CHARACTERS, InvalidInputError, NotFoundError
from resolvers.request.inputs import (
    ID,
    MAX_ID_CHARACTERS,
    Each,
    InputViolation,
    Items,
    JointRule,
    PageArguments,
    Range,
    Syntax,
    argument,
    joint_rules,
)
from resolvers.request.kinds import find_word
from resolvers.request.listing import paged
from resolvers.request.times import DateTime, parse_time
from storage.administration import api_keys
from storage.administration.api_keys import ApiKey
from storage.records.kinds import current_second
from storage.records.paging import Page

DEFAULT_OVERLAP_SECONDS = 24 * 3600
MAX_ASSETS = 10_000
"""Assets of a key that is limited to some."""
MAX_ORIGINS = 100
"""Origins of a key that is bound to some."""

LIMITED_ADMINISTRATOR = f"must not have {ADMIN_PERMISSION} unless allAssets is true"


class CreatedApiKey(NamedTuple):
    """A newly created API key."""

    api_key: Annotated[ApiKey, "What is known of the key."]
    key: Annotated[str, "The text of the key. It is shown this once and never stored."]


class RotatedApiKey(NamedTuple):
    """The key that replaces a rotated one."""

    api_key: Annotated[ApiKey, "What is known of the new key."]
    key: Annotated[str, "The text of the new key. It is shown this once and never stored."]
    replaced: Annotated[ApiKey, "The key that was rotated, with its new end."]


class ChangedApiKey(NamedTuple):
    """An API key after a change."""

    api_key: Annotated[ApiKey, "The key as it is now."]


class ExcludeEachOther(JointRule):
    """Joint rule: of some arguments, at most one is given. False and empty lists count as none."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def check(self, values: Mapping[str, Any]) -> InputViolation | None:
        """Return the error, or None."""
        given = [to_camel_case(name) for name in self._names if values.get(name)]
        if len(given) > 1:
            return InputViolation(given[1], f"must not be given together with {given[0]}")
        return None


class AdministratorsSeeAllAssets(JointRule):
    """Joint rule of a new key: no administrator is limited to some assets."""

    def check(self, values: Mapping[str, Any]) -> InputViolation | None:
        """Return the error, or None."""
        if ADMIN_PERMISSION in (values.get("permissions") or []) and not values.get("all_assets"):
            return InputViolation("permissions", LIMITED_ADMINISTRATOR)
        return None


def list_permissions(parent: strawberry.Parent[ApiKey]) -> list[Permission]:
    """List what the key permits in addition to reading."""
    found = [find_word(Permission, word) for word in parent.permissions]
    return [permission for permission in found if permission is not None]


def _list_words(permissions: Sequence[Permission]) -> list[str]:
    return sorted({permission.value for permission in permissions})


def _parse_expiry(text: str) -> datetime:
    time = parse_time(text)
    if time <= datetime.now(UTC):
        raise ValueError(f"must be in the future, not {text!r}")
    return time


def _check_origin(text: str) -> None:
    """Raise ValueError unless a text is an origin in the form that browsers send (RFC 6454, 6.2).

    >>> _check_origin("https://Shop.example:443/maps")
    Traceback (most recent call last):
    ValueError: must be an origin such as 'https://shop.example', not 'https://Shop.example:443/maps'
    """
    if text == "*":
        raise ValueError("must be one origin, not '*': a key without origins is for all pages")
    try:
        expected = api_keys.normalize_origin(text[:MAX_ID_CHARACTERS])
    except ValueError:
        expected = "https://www.example.com"
    if text == expected:
        return
    shown = text[:MAX_QUOTED_CHARACTERS]
    raise ValueError(f"must be an origin such as {expected!r}, not {shown!r}")


_ORIGIN_RULES = (Items(0, MAX_ORIGINS, "origins"), Each(Syntax(_check_origin)))


def _check_grant(
    caller: Caller, permissions: list[str], expires_at: datetime | None, verb: str = "creates"
) -> None:
    """Raise InvalidInputError if a key would be permitted more, or for longer, than the caller.

    Its assets need no check: the caller is an administrator and sees all.
    """
    if missing := [name for name in permissions if name not in caller.permissions]:
        raise InvalidInputError(
            permissions=f"must be permissions of the key that {verb} this one, which lacks "
            + " and ".join(missing)
        )
    end = caller.key_expires_at
    if end is not None and (expires_at is None or expires_at > end):
        raise InvalidInputError(
            expires=f"must be at or before {end.isoformat()}, when the key that {verb} this one"
            " expires"
        )


@joint_rules(ExcludeEachOther("asset_ids", "all_assets"), AdministratorsSeeAllAssets())
async def create_api_key(
    info: Info,
    name: Annotated[str, argument("Shown in lists of keys.", ID)],
    permissions: Annotated[
        list[Permission] | None,
        argument("What the key permits in addition to reading; `service_admin` needs `allAssets`."),
    ] = None,
    asset_ids: Annotated[
        list[strawberry.ID] | None, argument("Ids of the assets that the key sees.", Each(ID))
    ] = None,
    all_assets: Annotated[
        bool, argument("Whether the key sees all assets; not together with `assetIds`.")
    ] = False,
    expires: Annotated[
        DateTime | None,
        argument(
            "When the key stops working, in ISO 8601; in UTC if it has no offset. In the"
            " future. Null: never.",
            Syntax(_parse_expiry),
        ),
    ] = None,
    origins: Annotated[
        list[str] | None,
        argument(
            "Origins of the web pages that may use the key, such as `https://www.example.com`;"
            " without any, all pages may. Only browsers say what page a request is from.",
            *_ORIGIN_RULES,
        ),
    ] = None,
) -> CreatedApiKey:
    """Create an API key, with permissions and an expiry within those of the key that creates it.

    The response is the only place that ever shows the key's text.
    """
    granted = _list_words(permissions or [])
    expires_at = None if expires is None else _parse_expiry(expires)
    _check_grant(info.context.caller, granted, expires_at)
    record, key = await api_keys.create_api_key(
        info.context.bypass_caches().database,
        name=name,
        permissions=granted,
        asset_ids=None if all_assets else [*(asset_ids or [])],
        origins=[*dict.fromkeys(origins or [])],
        expires_at=expires_at,
        origin=info.context.origin,
    )
    return CreatedApiKey(record, key)


@joint_rules(
    ExcludeEachOther("asset_ids", "all_assets", "add_asset_ids"),
    ExcludeEachOther("asset_ids", "all_assets", "remove_asset_ids"),
    ExcludeEachOther("expires", "never_expires"),
)
async def update_api_key(
    info: Info,
    id: Annotated[strawberry.ID, argument("Id of the key.", ID)],
    name: Annotated[str | None, argument("Its new name.", ID)] = None,
    permissions: Annotated[
        list[Permission] | None, argument("All that it permits from now on.")
    ] = None,
    asset_ids: Annotated[
        list[strawberry.ID] | None,
        argument("Ids of all assets that it sees from now on.", Each(ID)),
    ] = None,
    add_asset_ids: Annotated[
        list[strawberry.ID] | None, argument("Ids of assets that it sees in addition.", Each(ID))
    ] = None,
    remove_asset_ids: Annotated[
        list[strawberry.ID] | None, argument("Ids of assets that it no longer sees.", Each(ID))
    ] = None,
    all_assets: Annotated[bool, argument("Whether it sees all assets from now on.")] = False,
    expires: Annotated[
        DateTime | None,
        argument(
            "When it stops working, in ISO 8601; in UTC if it has no offset. In the future.",
            Syntax(_parse_expiry),
        ),
    ] = None,
    never_expires: Annotated[bool, argument("Whether it never expires from now on.")] = False,
    origins: Annotated[
        list[str] | None,
        argument(
            "Origins of the web pages that may use it from now on; empty: all pages may.",
            *_ORIGIN_RULES,
        ),
    ] = None,
) -> ChangedApiKey:
    """Change an API key; every gateway applies the change within a second.

    What is not given stays, and a revoked key cannot be changed. A change that extends the key must
    leave it within the permissions and expiry of the key that changes it.
    """

    def change(before: ApiKey) -> ApiKey:
        _check_not_revoked(before)
        changes: dict[str, Any] = {} if name is None else {"name": name}
        if permissions is not None:
            changes["permissions"] = _list_words(permissions)
        if expires is not None or never_expires:
            changes["expires_at"] = None if expires is None else _parse_expiry(expires)
        if all_assets or asset_ids is not None:
            changes["asset_ids"] = None if all_assets else [*dict.fromkeys(asset_ids or [])]
        elif add_asset_ids or remove_asset_ids:
            changes["asset_ids"] = _edit_assets(before, add_asset_ids or [], remove_asset_ids or [])
        if origins is not None:
            changes["origins"] = [*dict.fromkeys(origins)]
        after = msgspec.structs.replace(before, **changes)
        if ADMIN_PERMISSION in after.permissions and after.asset_ids is not None:
            raise InvalidInputError(permissions=LIMITED_ADMINISTRATOR)
        if _is_extended(before, after):
            _check_grant(info.context.caller, after.permissions, after.expires_at, "changes")
        return after

    database = info.context.bypass_caches().database
    record = await api_keys.update_api_key(database, id, change, info.context.origin)
    if record is None:
        raise _unknown_key_error(id)
    return ChangedApiKey(await _with_last_use(info, record))


async def rotate_api_key(
    info: Info,
    id: Annotated[strawberry.ID, argument("Id of the key.", ID)],
    overlap_seconds: Annotated[
        int,
        argument(
            "How long the key goes on working, unless it expires before; 0 ends it at once.",
            Range(0, api_keys.MAX_OVERLAP_DAYS * 24 * 3600),
        ),
    ] = DEFAULT_OVERLAP_SECONDS,
    expires: Annotated[
        DateTime | None,
        argument(
            "When the new key stops working, in ISO 8601, in the future. By default it lasts as"
            " long as the other was to last when it was created.",
            Syntax(_parse_expiry),
        ),
    ] = None,
) -> RotatedApiKey:
    """Replace an API key by a new one with the same name, permissions, assets and origins.

    They must be within those of the key that rotates it, and so must the expiry. A key that is
    revoked or has been rotated before cannot be rotated. The response is the only place that ever
    shows the new key's text.
    """

    def choose_expiry(old: ApiKey) -> datetime | None:
        _check_not_revoked(old)
        if old.replaced_by_id is not None:
            raise InvalidInputError(
                id=f"must be a key that has not been rotated; {old.replaced_by_id!r} has replaced"
                " it, so rotate that one"
            )
        if ADMIN_PERMISSION in old.permissions and old.asset_ids is not None:
            raise InvalidInputError(permissions=LIMITED_ADMINISTRATOR)
        end = _renew_expiry(old) if expires is None else _parse_expiry(expires)
        _check_grant(info.context.caller, old.permissions, end, "rotates")
        return end

    rotated = await api_keys.rotate_api_key(
        info.context.bypass_caches().database,
        id,
        timedelta(seconds=overlap_seconds),
        choose_expiry,
        info.context.origin,
    )
    if rotated is None:
        raise _unknown_key_error(id)
    return RotatedApiKey(rotated.record, rotated.key, await _with_last_use(info, rotated.replaced))


async def _with_last_use(info: Info, record: ApiKey) -> ApiKey:
    last_use = await api_keys.find_last_use(info.context.bypass_caches().database, record.id)
    return msgspec.structs.replace(record, last_used_at=last_use)


def _renew_expiry(old: ApiKey) -> datetime | None:
    """Return when a new key expires that lasts as long as an old one was to last."""
    if old.expires_at is None:
        return None
    try:
        return current_second() + (old.expires_at - old.created_at)
    except OverflowError:  # after the year 9999
        return old.expires_at


def _check_not_revoked(record: ApiKey) -> None:
    if record.revoked_at is not None:
        raise InvalidInputError(
            id=f"must be a key that is not revoked; {record.id!r} was revoked at"
            f" {record.revoked_at.isoformat(timespec='seconds')}, so create another"
        )


def _edit_assets(record: ApiKey, added: Sequence[str], removed: Sequence[str]) -> list[str]:
    """Return the assets of a key after a change. Raises InvalidInputError."""
    if record.asset_ids is None:
        argument_name = "addAssetIds" if added else "removeAssetIds"
        raise InvalidInputError(
            **{argument_name: "must not be given, as the key sees all assets; give assetIds"}
        )
    gone = {*removed}
    if unknown := sorted(gone - {*record.asset_ids}):
        raise InvalidInputError(removeAssetIds=f"must be assets of the key, not {unknown[0]!r}")
    left = [asset for asset in record.asset_ids if asset not in gone]
    assets = [*dict.fromkeys([*left, *added])]
    if len(assets) > MAX_ASSETS:
        raise InvalidInputError(
            addAssetIds=f"must leave the key at most {MAX_ASSETS} assets, not {len(assets)}"
        )
    return assets


def _is_extended(before: ApiKey, after: ApiKey) -> bool:
    """Return whether a change gives a key a permission, an asset, an origin or time."""
    return (
        not {*after.permissions} <= {*before.permissions}
        or not after.has_origins_within(before)
        or not after.scope.is_within(before.scope)
        or (
            before.expires_at is not None
            and (after.expires_at is None or after.expires_at > before.expires_at)
        )
    )


def _unknown_key_error(key_id: str) -> NotFoundError:
    return NotFoundError(f"There is no key with the id {key_id!r}")


async def revoke_api_key(
    info: Info, id: Annotated[strawberry.ID, argument("Id of the key.", ID)]
) -> ChangedApiKey:
    """Revoke an API key; every gateway rejects it within a second."""
    database = info.context.bypass_caches().database
    record = await api_keys.revoke_api_key(database, id, info.context.origin)
    if record is None:
        raise _unknown_key_error(id)
    return ChangedApiKey(await _with_last_use(info, record))


@paged
async def list_api_keys(
    info: Info,
    pages: PageArguments,
) -> Page[ApiKey]:
    """List all API keys, revoked ones included; never their text."""
    list_id = "api_keys"
    request = pages.parse_for_list(list_id)
    records = sorted(
        await api_keys.list_api_keys(info.context.bypass_caches().database),
        key=lambda key: key.id,
    )
    return request.cut_page(records, lambda key: key.id).of_list(list_id, len(records))
