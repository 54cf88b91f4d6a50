"""API keys: the collection that holds their records with the digests of the keys."""

import hashlib
import re
import secrets
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import msgspec

from storage.administration import audit
from storage.mongo import driver
from storage.records.kinds import Document, Id, Text, current_second
from storage.records.visibility import AssetScope

# The format of API keys.
#
# A key is `fgk_`, 43 base62 digits of 256 random bits, and 6 of their CRC-32. The prefix lets
# secret scanners recognise a leaked key, the checksum lets a mistyped one be rejected without a
# query. An unsalted SHA-256 is enough to store 256 random bits (docs/decisions/storage/api-
# keys.md).


KEY_PREFIX = "fgk_"
BASE62_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SECRET_LENGTH = 43
CHECKSUM_LENGTH = 6
KEY_LENGTH = len(KEY_PREFIX) + SECRET_LENGTH + CHECKSUM_LENGTH

KeyDigest: TypeAlias = bytes


def generate_key() -> str:
    """Return a new random key.

    >>> is_well_formed(generate_key())
    True
    """
    secret = _base62(secrets.randbits(256), SECRET_LENGTH)
    return KEY_PREFIX + secret + _checksum(secret)


def is_well_formed(key: str) -> bool:
    """Return whether a key has the prefix, length and checksum of this format."""
    if len(key) != KEY_LENGTH or not key.startswith(KEY_PREFIX) or not key.isascii():
        return False
    secret, checksum = key[len(KEY_PREFIX) : -CHECKSUM_LENGTH], key[-CHECKSUM_LENGTH:]
    return _checksum(secret) == checksum


def hash_key(key: str) -> KeyDigest:
    """Return the digest under which a key is stored and looked up."""
    return hashlib.sha256(key.encode()).digest()


def _checksum(secret: str) -> str:
    return _base62(zlib.crc32(secret.encode()), CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(BASE62_ALPHABET[digit])
    return "".join(reversed(digits))


_HOST = r"(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])"
_ORIGIN = re.compile(f"https?://{_HOST}(?::[1-9][0-9]{{0,4}})?")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def normalize_origin(url: str) -> str:
    """Return the origin of a page as browsers send it (RFC 6454, 6.2). Raises ValueError.

    >>> normalize_origin("https://Shop.example:443/maps"), normalize_origin("http://[::1]:8080")
    ('https://shop.example', 'http://[::1]:8080')
    """
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = "" if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    origin = f"{parts.scheme}://{host}{port}"
    if not _ORIGIN.fullmatch(origin):
        raise ValueError("pages have no such origin")
    return origin


KEYS_COLLECTION = "api_keys"
USES_COLLECTION = "api_key_uses"
"""Last uses are stored apart, because writing to `api_keys` invalidates every key cache."""

MAX_OVERLAP_DAYS = 366
"""The longest that a key works after its rotation."""

_NEVER = datetime.max.replace(tzinfo=UTC)
_CHANGEABLE_FIELDS = ("name", "permissions", "asset_ids", "origins", "expires_at")


class ApiKey(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The record of an API key, without the key. `asset_ids` None means all assets."""

    id: Id
    name: Text
    permissions: list[str] = []
    asset_ids: list[Id] | None = []
    origins: list[Text] = []
    """The web pages that may use the key, as browsers name their origins; if empty, any may."""
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    replaced_by_id: Id | None = None
    """The key that this one was rotated to, unless its expiry was changed after that."""

    @cached_property
    def scope(self) -> AssetScope:
        """The assets that the key may read. Cached: cache keys share one set."""
        return AssetScope.of(self.asset_ids)

    def is_within(self, other: "ApiKey") -> bool:
        """Return whether the key can do nothing now or later that the other cannot."""
        now = datetime.now(UTC)
        if not self.is_valid(now):
            return True
        lasts_as_long = other.expires_at is None or (
            self.expires_at is not None and self.expires_at <= other.expires_at
        )
        has_assets = self.scope.is_within(other.scope)
        has_permissions = {*self.permissions} <= {*other.permissions}
        has_rights = has_assets and has_permissions and self.has_origins_within(other)
        return other.is_valid(now) and lasts_as_long and has_rights

    def has_origins_within(self, other: "ApiKey") -> bool:
        """Return whether no page may use the key that may not use the other."""
        return not other.origins or (bool(self.origins) and {*self.origins} <= {*other.origins})

    def is_valid(self, now: datetime) -> bool:
        """Return whether the key is neither revoked nor expired at this time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class KeySummary(NamedTuple):
    """What is known of all keys at one moment."""

    digests: frozenset[KeyDigest] = frozenset()
    """Those of keys that are not revoked."""
    origins: frozenset[str] = frozenset()
    """Those of the keys that are valid."""
    origins_end_at: datetime = _NEVER
    """When the first of the keys with these origins expires."""


class RotatedApiKey(NamedTuple):
    """A key that was rotated, and the one that replaces it."""

    record: ApiKey
    key: str
    """The text of the new key, which cannot be read again."""
    replaced: ApiKey


async def create_api_key(
    database: driver.Database,
    *,
    name: str,
    permissions: list[str],
    asset_ids: list[str] | None,
    origins: Sequence[str] = (),
    expires_at: datetime | None,
    origin: audit.Origin | None = None,
) -> tuple[ApiKey, str]:
    """Create a key; return its record and the key itself, which cannot be read again."""
    record = ApiKey(
        id=f"key_{secrets.token_hex(8)}",
        name=name,
        permissions=permissions,
        asset_ids=asset_ids,
        origins=[*origins],
        created_at=current_second(),
        expires_at=expires_at,
    )

    async def insert(session: driver.Session) -> tuple[str, audit.AuditEntry]:
        key, created = await _insert_key(database, record, session)
        target = audit.AuditTarget(KEYS_COLLECTION, [record.id])
        return key, audit.AuditEntry("key.created", target, [created], asset_ids or ())

    return record, await audit.run_audited(database, origin, insert)


async def update_api_key(
    database: driver.Database,
    key_id: str,
    change: Callable[[ApiKey], ApiKey],
    origin: audit.Origin | None = None,
) -> ApiKey | None:
    """Change the name, permissions, assets, origins or expiry of a key; None if there is none.

    `change` returns what the record is to be, or raises to refuse it. It is called again if the
    record has changed meanwhile.
    """

    async def update(session: driver.Session) -> tuple[ApiKey | None, audit.AuditEntry | None]:
        before = await _find_key(database, key_id, session)
        if before is None:
            return None, None
        after = change(before)
        had, has = _describe_changes(before, after), _describe_changes(after, before)
        if not has:
            return after, None
        fields = {name: getattr(after, name) for name in has}
        if "expires_at" in fields:
            fields["replaced_by_id"] = None
        await database[KEYS_COLLECTION].update_one(
            {"_id": key_id}, {"$set": fields}, session=session
        )
        updated = audit.AuditChange.of_all(KEYS_COLLECTION, "updated", [key_id], had, has)
        target = audit.AuditTarget(KEYS_COLLECTION, [key_id])
        assets = [*(before.asset_ids or ()), *(after.asset_ids or ())]
        return after, audit.AuditEntry("key.updated", target, [updated], assets)

    return await audit.run_audited(database, origin, update)


async def rotate_api_key(
    database: driver.Database,
    key_id: str,
    overlap: timedelta,
    choose_expiry: Callable[[ApiKey], datetime | None],
    origin: audit.Origin | None = None,
) -> RotatedApiKey | None:
    """Create a key with the rights of another, which ends after `overlap`; None if there is none.

    `choose_expiry` returns when the new key expires, or raises to refuse the rotation. It is called
    again if the record has changed meanwhile.
    """

    async def rotate(
        session: driver.Session,
    ) -> tuple[RotatedApiKey | None, audit.AuditEntry | None]:
        old = await _find_key(database, key_id, session)
        if old is None:
            return None, None
        now = current_second()
        new = msgspec.structs.replace(
            old,
            id=f"key_{secrets.token_hex(8)}",
            created_at=now,
            expires_at=choose_expiry(old),
            replaced_by_id=None,
        )
        key, created = await _insert_key(database, new, session)
        end = now + overlap if old.expires_at is None else min(old.expires_at, now + overlap)
        await database[KEYS_COLLECTION].update_one(
            {"_id": key_id},
            {"$set": {"expires_at": end, "replaced_by_id": new.id}},
            session=session,
        )
        ended = msgspec.structs.replace(old, expires_at=end)
        had, has = _describe_changes(old, ended), _describe_changes(ended, old)
        updated = audit.AuditChange.of_all(KEYS_COLLECTION, "updated", [key_id], had, has)
        target = audit.AuditTarget(KEYS_COLLECTION, [key_id])
        entry = audit.AuditEntry("key.rotated", target, [updated, created], old.asset_ids or ())
        return RotatedApiKey(new, key, msgspec.structs.replace(ended, replaced_by_id=new.id)), entry

    return await audit.run_audited(database, origin, rotate)


async def revoke_api_key(
    database: driver.Database, key_id: str, origin: audit.Origin | None = None
) -> ApiKey | None:
    """Revoke a key; None if there is none. Revoking it again keeps the first `revoked_at`."""

    async def revoke(session: driver.Session) -> tuple[ApiKey | None, audit.AuditEntry | None]:
        before = await database[KEYS_COLLECTION].find_one_and_update(
            {"_id": key_id},
            [{"$set": {"revoked_at": {"$ifNull": ["$revoked_at", "$$NOW"]}}}],
            session=session,
        )
        record = await _find_key(database, key_id, session)
        if before is None or before.get("revoked_at") is not None:
            return record, None
        had, has = ({"name": before["name"], "revoked": revoked} for revoked in (False, True))
        revoked = audit.AuditChange.of_all(KEYS_COLLECTION, "updated", [key_id], had, has)
        target = audit.AuditTarget(KEYS_COLLECTION, [key_id])
        return record, audit.AuditEntry("key.revoked", target, [revoked], before["asset_ids"] or ())

    return await audit.run_audited(database, origin, revoke)


async def delete_api_key(database: driver.Database, key_id: str) -> bool:
    """Delete a key that nobody will ask about again; False if there is none."""

    async def delete(session: driver.Session) -> tuple[bool, audit.AuditEntry | None]:
        before = await _find_key(database, key_id, session)
        if before is None:
            return False, None
        await database[KEYS_COLLECTION].delete_one({"_id": key_id}, session=session)
        await database[USES_COLLECTION].delete_one({"_id": key_id}, session=session)
        removed = audit.AuditChange.of_all(
            KEYS_COLLECTION, "removed", [key_id], before=_describe_rights(before)
        )
        target = audit.AuditTarget(KEYS_COLLECTION, [key_id])
        return True, audit.AuditEntry("key.deleted", target, [removed], before.asset_ids or ())

    return await audit.run_audited(database, None, delete)


async def list_api_keys(database: driver.Database) -> list[ApiKey]:
    """Return all keys with their last uses, oldest first."""
    keys = await list_keys(database, {}, "created_at")
    with driver.translate_errors():
        uses = await driver.read_all(database[USES_COLLECTION].find())
    last_used = {use["_id"]: use["at"].replace(tzinfo=UTC) for use in uses}
    return [msgspec.structs.replace(key, last_used_at=last_used.get(key.id)) for key in keys]


async def list_expiring_keys(database: driver.Database, within: timedelta) -> list[ApiKey]:
    """Return the valid keys that expire within a time from now, the first to expire first.

    A key that was rotated is to expire, so it is left out.
    """
    now = datetime.now(UTC)
    where = {
        "revoked_at": None,
        "replaced_by_id": None,
        "expires_at": {"$gt": now, "$lte": now + within},
    }
    return await list_keys(database, where, "expires_at")


async def list_keys_by_prefix(database: driver.Database, prefix: str, limit: int) -> list[ApiKey]:
    """Return up to `limit` keys with ids that begin so, by id; only the one that is exactly so."""
    where = {"$and": [{"_id": {"$gte": prefix}}, {"_id": {"$lt": prefix + "\U0010ffff"}}]}
    keys = await list_keys(database, where, limit=limit)
    return keys[:1] if keys and keys[0].id == prefix else keys


async def list_keys(
    database: driver.Database, where: Document, order_by: str = "_id", limit: int = 0
) -> list[ApiKey]:
    """Return the keys that match a condition, without their last uses; all for `limit` 0."""
    with driver.translate_errors():
        found = database[KEYS_COLLECTION].find(where, sort=[(order_by, 1)], limit=limit)
        return [_to_api_key(document) for document in await driver.read_all(found)]


async def find_last_use(database: driver.Database, key_id: str) -> datetime | None:
    """Return when a key was last used, or None if it never was."""
    with driver.translate_errors():
        use = await database[USES_COLLECTION].find_one({"_id": key_id})
    return None if use is None else use["at"].replace(tzinfo=UTC)


async def find_api_key(database: driver.Database, key_digest: KeyDigest) -> ApiKey | None:
    """Return the key with this digest, even if revoked or expired, or None."""
    with driver.translate_errors():
        found = await driver.find_documents(
            database, KEYS_COLLECTION, {"digest": key_digest}, {}, limit=1
        )
    return _to_api_key(found[0]) if found else None


async def read_key_summary(database: driver.Database) -> KeySummary:
    with driver.translate_errors():
        found = await driver.find_documents(
            database,
            KEYS_COLLECTION,
            {"revoked_at": None},
            {"_id": False, "digest": True, "origins": True, "expires_at": True},
            limit=driver.NO_LIMIT,
        )
    digests = frozenset([document["digest"] for document in found])
    now = datetime.now(UTC)
    ends_and_origins = [
        ((document.get("expires_at") or _NEVER).replace(tzinfo=UTC), document["origins"])
        for document in found
        if document.get("origins")
    ]
    valid = [(end, origins) for end, origins in ends_and_origins if now < end]
    return KeySummary(
        digests,
        frozenset(origin for _, origins in valid for origin in origins),
        min((end for end, _ in valid), default=_NEVER),
    )


async def record_uses(database: driver.Database, uses: dict[str, datetime]) -> None:
    """Store when keys were last used; a later time already stored stays."""
    with driver.translate_errors():
        for key_id, at in uses.items():
            await database[USES_COLLECTION].update_one(
                {"_id": key_id}, {"$max": {"at": at}}, upsert=True
            )


async def _find_key(
    database: driver.Database, key_id: str, session: driver.Session
) -> ApiKey | None:
    document = await database[KEYS_COLLECTION].find_one({"_id": key_id}, session=session)
    return None if document is None else _to_api_key(document)


async def _insert_key(
    database: driver.Database, record: ApiKey, session: driver.Session
) -> tuple[str, audit.AuditChange]:
    key = generate_key()
    document = msgspec.structs.asdict(record) | {
        "_id": record.id,
        "digest": hash_key(key),
    }
    del document["id"], document["last_used_at"]
    await database[KEYS_COLLECTION].insert_one(document, session=session)
    granted = _describe_rights(record)
    return key, audit.AuditChange.of_all(KEYS_COLLECTION, "inserted", [record.id], after=granted)


def _describe_rights(record: ApiKey) -> dict[str, Any]:
    return {
        "name": record.name,
        "permissions": record.permissions,
        "all_assets": record.asset_ids is None,
        "origins": record.origins,
        "expires_at": None if record.expires_at is None else record.expires_at.isoformat(),
    }


def _describe_changes(record: ApiKey, other: ApiKey) -> dict[str, Any]:
    """Return the fields of a key that differ from those of another, for the audit log."""
    fields: dict[str, Any] = {
        name: getattr(record, name)
        for name in _CHANGEABLE_FIELDS
        if getattr(record, name) != getattr(other, name)
    }
    if fields.get("asset_ids"):
        fields["asset_ids"] = fields["asset_ids"][: audit.MAX_LISTED_IDS]
    if fields.get("expires_at"):
        fields["expires_at"] = fields["expires_at"].isoformat()
    return fields


def _to_api_key(document: Document) -> ApiKey:
    del document["digest"]
    document["id"] = document.pop("_id")
    times = {
        name: value.replace(tzinfo=UTC)
        for name, value in document.items()
        if isinstance(value, datetime)
    }
    return msgspec.convert(document | times, ApiKey)
