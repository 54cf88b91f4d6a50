"""API keys: their form, and the collection that holds their digests.

A key is `fgk_`, 43 base62 characters of 256 random bits, and 6 of their CRC-32: a secret scanner
recognises a leaked one, and a mistyped one costs no look-up. Only its SHA-256 is stored, which is
enough for 256 random bits.
"""

import hashlib
import secrets
import zlib
from datetime import UTC, datetime
from functools import cached_property
from typing import TypeAlias

import msgspec

from storage.mongo import driver
from storage.records.fields import Id, Text
from storage.records.visibility import Scope

KEY_PREFIX = "fgk_"
BASE62_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SECRET_LENGTH = 43
CHECKSUM_LENGTH = 6
KEY_LENGTH = len(KEY_PREFIX) + SECRET_LENGTH + CHECKSUM_LENGTH

KEYS_COLLECTION = "api_keys"
USES_COLLECTION = "api_key_uses"
"""Last uses live apart, so that writing them does not look like a change of keys."""

KeyDigest: TypeAlias = bytes


class ApiKey(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What is known of a key; never the key itself. `asset_ids` None means all assets."""

    id: Id
    name: Text
    permissions: list[str] = []
    asset_ids: list[Id] | None = []
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    @cached_property
    def scope(self) -> Scope:
        """Made once: what is kept for callers of this key holds one set of assets between them."""
        return Scope(None if self.asset_ids is None else frozenset(self.asset_ids))

    def is_valid(self, now: datetime) -> bool:
        """Whether the key opens anything at this time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def generate_key() -> str:
    """A new key, to be shown once."""
    secret = _base62(secrets.randbits(256), SECRET_LENGTH)
    return KEY_PREFIX + secret + _checksum(secret)


def is_well_formed(key: str) -> bool:
    """Whether the key has the form and checksum of one of ours."""
    if len(key) != KEY_LENGTH or not key.startswith(KEY_PREFIX) or not key.isascii():
        return False
    secret, checksum = key[len(KEY_PREFIX) : -CHECKSUM_LENGTH], key[-CHECKSUM_LENGTH:]
    return _checksum(secret) == checksum


def hash_key(key: str) -> KeyDigest:
    """The form in which a key is stored and looked up."""
    return hashlib.sha256(key.encode()).digest()


async def create_api_key(
    database: driver.Database,
    *,
    name: str,
    permissions: list[str],
    asset_ids: list[str] | None,
    expires_at: datetime | None,
) -> tuple[ApiKey, str]:
    """Stores a new key's digest and gives the record and, this once, the key."""
    key = generate_key()
    record = ApiKey(
        id=f"key_{secrets.token_hex(8)}",
        name=name,
        permissions=permissions,
        asset_ids=asset_ids,
        created_at=_now(),
        expires_at=expires_at,
    )
    document = msgspec.structs.asdict(record) | {"_id": record.id, "digest": hash_key(key)}
    del document["id"], document["last_used_at"]
    with driver.translate_errors():
        await database[KEYS_COLLECTION].insert_one(document)
    return record, key


async def revoke_api_key(database: driver.Database, key_id: str) -> bool:
    """Ends a key for good; False when there is no such key. Revoking twice keeps the first time."""
    with driver.translate_errors():
        result = await database[KEYS_COLLECTION].update_one(
            {"_id": key_id},
            [{"$set": {"revoked_at": {"$ifNull": ["$revoked_at", "$$NOW"]}}}],
        )
    return bool(result.matched_count)


async def list_api_keys(database: driver.Database) -> list[ApiKey]:
    """All keys in the order of their making, with their last uses."""
    with driver.translate_errors():
        documents = await database[KEYS_COLLECTION].find(sort=[("created_at", 1)]).to_list(None)
        uses = await database[USES_COLLECTION].find().to_list(None)
    last_used = {use["_id"]: use["at"] for use in uses}
    return [_to_api_key(document, last_used.get(document["_id"])) for document in documents]


async def find_api_key(database: driver.Database, key_digest: KeyDigest) -> ApiKey | None:
    """The key with this digest, revoked and expired ones included."""
    with driver.translate_errors():
        document = await database[KEYS_COLLECTION].find_one({"digest": key_digest})
    return None if document is None else _to_api_key(document)


async def record_uses(database: driver.Database, uses: dict[str, datetime]) -> None:
    """Remembers when keys were last used; an earlier time never replaces a later one."""
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


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _checksum(secret: str) -> str:
    return _base62(zlib.crc32(secret.encode()), CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(BASE62_ALPHABET[digit])
    return "".join(reversed(digits))
