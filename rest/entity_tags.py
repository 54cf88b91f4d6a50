"""Entity tags, and requests that depend on them (RFC 9110: 8.8.3, 13.1)."""

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from starlette.datastructures import Headers

from schema.errors import PreconditionFailedError

Encoding = Literal["zstd", "gzip", "identity"]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)

_ENTITY_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')


_TAGGED_HEADERS = (b"link", b"floorgate-total-count")
"""Headers that can change while the body stays: with a 304, clients would keep the old ones."""


def compute_etag(body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()) -> str:
    """Compute a strong entity tag: 128 bits of SHA-256 over the unencoded body and some headers."""
    hashed = hashlib.sha256(body)
    for name, value in headers:
        if name in _TAGGED_HEADERS:
            hashed.update(b"\0%b:%b" % (name, value))
    digest = hashed.digest()[:16]
    return f'"{base64.urlsafe_b64encode(digest).decode().rstrip("=")}"'


def etag_for_encoding(tag: str, encoding: Encoding) -> str:
    """Return the tag of the encoded body. Each coding needs its own (RFC 9110, 8.8.3.3)."""
    return tag if encoding == "identity" else f'{tag[:-1]}-{encoding}"'


def etag_matches(if_none_match: bytes | None, tag: str) -> bool:
    """Return whether `If-None-Match` matches the tag, by weak comparison (RFC 9110, 13.1.2).

    Join repeated headers with commas. A malformed header matches nothing.

    >>> etag_matches(b'W/"abc", "def"', '"abc"')
    True
    """
    if if_none_match is None:
        return False
    header = if_none_match.decode("latin-1").strip()
    given = (opaque for _, opaque in _ENTITY_TAG.findall(header))
    return header in (tag, "*") or tag.removeprefix("W/") in given


def find_encoding(if_none_match: bytes, tag: str) -> Encoding | None:
    """Return the encoding of a body with this tag, if `If-None-Match` names it in any.

    A client that has the body in another encoding has the same content.
    """
    for encoding in ENCODINGS:
        if etag_matches(if_none_match, etag_for_encoding(tag, encoding)):
            return encoding
    return None


@dataclass(frozen=True, slots=True)
class Precondition:
    """The entity tags that a write depends on.

    >>> Precondition(if_match='"abc"', if_none_match=None).check('"abc"')
    """

    if_match: str | None
    if_none_match: str | None

    @classmethod
    def from_headers(cls, headers: Headers) -> "Precondition | None":
        """Return the precondition of a request, or None if it has none."""
        values = [", ".join(headers.getlist(name)) for name in ("if-match", "if-none-match")]
        names = [name in headers for name in ("if-match", "if-none-match")]
        if not any(names):
            return None
        return cls(*(value if given else None for value, given in zip(values, names, strict=True)))

    def check(self, tag: str) -> None:
        """Compare with the tag of the current representation, in any content coding.

        `*` stands for any representation, so there is always one. Raises PreconditionFailedError.
        """
        current = {etag_for_encoding(tag, encoding) for encoding in ENCODINGS}
        if self.if_match is not None and not self._matches(self.if_match, current, strongly=True):
            raise PreconditionFailedError(
                "If-Match: must hold the ETag of the current list; it has changed, so read it again"
            )
        if self.if_none_match is not None and self._matches(self.if_none_match, current):
            raise PreconditionFailedError(
                "If-None-Match: must not match the ETag of the current list"
            )

    @staticmethod
    def _matches(header: str, current: set[str], *, strongly: bool = False) -> bool:
        """Compare as RFC 9110, 8.8.3.2, defines: a weak tag never matches strongly."""
        tags = _ENTITY_TAG.findall(header)
        given = {tag for weak, tag in tags if not (weak and strongly)}
        return header.strip() == "*" or not given.isdisjoint(current)
