"""The format of API keys.

A key is `fgk_`, 43 base62 digits of 256 random bits, and 6 of their CRC-32. The prefix lets secret
scanners recognise a leaked key, the checksum lets a mistyped one be rejected without a query. An
unsalted SHA-256 is enough to store 256 random bits (docs/decisions/storage/api-keys.md).
"""

import hashlib
import secrets
import zlib
from typing import TypeAlias

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
