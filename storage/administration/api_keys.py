"""API keys: their format, and the collection that holds their digests.

A key is `fgk_`, 43 base62 digits of 256 random bits, and 6 of their CRC-32. The prefix lets secret
scanners recognise a leaked key, the checksum lets a mistyped one be rejected without a query. An
unsalted SHA-256 is enough to store 256 random bits (docs/decisions/storage/api-keys.md).
"""

import hashlib
import secrets
import zlib
from datetime import UTC, datetime
from functools import cached_property
from typing import TypeAlias

import msgspec

from storage.administration import audit
from storage.administration.audit import AuditChange, AuditEntry, AuditTarget, Origin
from storage.mongo import driver
from storage.records.fields import Id, Text
from storage.records.timestamps import current_second
from storage.records.visibility import AssetScope

KEY_PREFIX = "fgk_"
BASE62_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SECRET_LENGTH = 43
CHECKSUM_LENGTH = 6
KEY_LENGTH = len(KEY_PREFIX) + SECRET_LENGTH + CHECKSUM_LENGTH

KEYS_COLLECTION = "api_keys"
USES_COLLECTION = "api_key_uses"
"""Last uses are stored apart, because writing to `api_keys` invalidates every key cache."""

KeyDigest: TypeAlias = bytes


class ApiKey(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The record of an API key, without the key. `asset_ids` None means all assets."""

    id: Id
    name: Text
    permissions: list[str] = []
    asset_ids: list[Id] | None = []
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    @cached_property
    def scope(self) -> AssetScope:
        """The assets that the key may read. Cached: cache keys share one set."""
        return AssetScope(None if self.asset_ids is None else frozenset(self.asset_ids))

    def is_valid(self, now: datetime) -> bool:
        """Return whether the key is neither revoked nor expired at this time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


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


async def create_api_key(
    database: driver.Database,
    *,
    name: str,
    permissions: list[str],
    asset_ids: list[str] | None,
    expires_at: datetime | None,
    origin: Origin | None = None,
) -> tuple[ApiKey, str]:
    """Create a key; return its record and the key itself, which cannot be read again."""
    key = generate_key()
    record = ApiKey(
        id=f"key_{secrets.token_hex(8)}",
        name=name,
        permissions=permissions,
        asset_ids=asset_ids,
        created_at=current_second(),
        expires_at=expires_at,
    )
    document = msgspec.structs.asdict(record) | {"_id": record.id, "digest": hash_key(key)}
    del document["id"], document["last_used_at"]
    granted = {
        "name": name,
        "permissions": permissions,
        "all_assets": asset_ids is None,
        "expires_at": None if expires_at is None else expires_at.isoformat(),
    }
    created = AuditChange.of_all(KEYS_COLLECTION, "inserted", [record.id], after=granted)
    target = AuditTarget(KEYS_COLLECTION, [record.id])
    entry = AuditEntry("key.created", target, [created], asset_ids or ())

    async def insert(session: driver.Session) -> tuple[None, AuditEntry]:
        await database[KEYS_COLLECTION].insert_one(document, session=session)
        return None, entry

    with driver.translate_errors():
        await audit.run_in_transaction(database, origin, insert)
    return record, key


async def revoke_api_key(
    database: driver.Database, key_id: str, origin: Origin | None = None
) -> bool:
    """Revoke a key; False if there is none. Revoking it again keeps the first `revoked_at`."""

    async def revoke(session: driver.Session) -> tuple[bool, AuditEntry | None]:
        before = await database[KEYS_COLLECTION].find_one_and_update(
            {"_id": key_id},
            [{"$set": {"revoked_at": {"$ifNull": ["$revoked_at", "$$NOW"]}}}],
            session=session,
        )
        if before is None or before.get("revoked_at") is not None:
            return before is not None, None
        had, has = ({"name": before["name"], "revoked": revoked} for revoked in (False, True))
        revoked = AuditChange.of_all(KEYS_COLLECTION, "updated", [key_id], had, has)
        target = AuditTarget(KEYS_COLLECTION, [key_id])
        return True, AuditEntry("key.revoked", target, [revoked], before["asset_ids"] or ())

    with driver.translate_errors():
        return await audit.run_in_transaction(database, origin, revoke)


async def list_api_keys(database: driver.Database) -> list[ApiKey]:
    """Return all keys with their last uses, oldest first."""
    with driver.translate_errors():
        documents = await database[KEYS_COLLECTION].find(sort=[("created_at", 1)]).to_list(None)
        uses = await database[USES_COLLECTION].find().to_list(None)
    last_used = {use["_id"]: use["at"] for use in uses}
    return [_to_api_key(document, last_used.get(document["_id"])) for document in documents]


async def find_api_key(database: driver.Database, key_digest: KeyDigest) -> ApiKey | None:
    """Return the key with this digest, even if revoked or expired, or None."""
    with driver.translate_errors():
        found = await driver.find_documents(
            database, KEYS_COLLECTION, {"digest": key_digest}, {}, limit=1
        )
    return _to_api_key(found[0]) if found else None


async def list_digests(database: driver.Database) -> frozenset[KeyDigest]:
    """Return the digests of all keys that are not revoked."""
    with driver.translate_errors():
        found = await driver.find_documents(
            database,
            KEYS_COLLECTION,
            {"revoked_at": None},
            {"_id": False, "digest": True},
            limit=driver.NO_LIMIT,
        )
    return frozenset([document["digest"] for document in found])


async def record_uses(database: driver.Database, uses: dict[str, datetime]) -> None:
    """Store when keys were last used; a later time already stored stays."""
    with driver.translate_errors():
        for key_id, at in uses.items():
            await database[USES_COLLECTION].update_one(
                {"_id": key_id}, {"$max": {"at": at}}, upsert=True
            )


def _to_api_key(document: dict[str, object], last_used_at: datetime | None = None) -> ApiKey:
    del document["digest"]
    document["id"] = document.pop("_id")
    times = {
        name: value.replace(tzinfo=UTC)
        for name, value in document.items()
        if isinstance(value, datetime)
    }
    used = last_used_at.replace(tzinfo=UTC) if last_used_at else None
    return msgspec.convert(document | times | {"last_used_at": used}, ApiKey)


def _checksum(secret: str) -> str:
    return _base62(zlib.crc32(secret.encode()), CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(BASE62_ALPHABET[digit])
    return "".join(reversed(digits))
