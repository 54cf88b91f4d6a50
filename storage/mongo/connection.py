"""Connection settings and their validation.

Does not import the driver, so that the command line can parse options without loading it.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

DriverName: TypeAlias = Literal["motor", "pymongo"]

_DATABASE_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
_SECRET_OPTION = re.compile(r"(password|token|passphrase)\w*[=:]", re.IGNORECASE)
_HOST = r"(\[[0-9A-Fa-f:.%]*\]|[^][:/?@,]*)(:\d*)?"
_WITHOUT_LOOSE_PASSWORD = re.compile(
    rf"([\w+]+://)?([^][/?#@]*@)?{_HOST}(,{_HOST})*(/[^:?@]*)?(\?[^@]*)?", re.DOTALL
)
"""Matches a URL unless a part of its password may be taken for a host, database or option."""
_PASSWORD_HINT = "user name and password must be percent-encoded, and ports be numbers"  # noqa: S105


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """The MongoDB to use: the one at `mongo_url`, or the embedded one in `data_dir`."""

    data_dir: Path
    mongo_url: str | None = field(default=None, repr=False)
    """Has a password, perhaps."""
    driver: DriverName = "motor"
    database: str = "floorgate"


def validate_mongo_url(url: str) -> str:
    """Return `url` if it is a MongoDB connection string. Raises ValueError.

    >>> validate_mongo_url("mongodb://db.example:27017/?replicaSet=rs")
    'mongodb://db.example:27017/?replicaSet=rs'
    """
    example = "must be a URL such as mongodb://host:27017/?replicaSet=rs"
    if _WITHOUT_LOOSE_PASSWORD.fullmatch(url) is None:
        # The driver quotes in its errors what it takes for a host, a database or an option.
        raise ValueError(f"{_PASSWORD_HINT}; {example}")
    if not url.startswith("mongodb+srv://"):  # parsing such a URL takes a DNS query
        from pymongo.errors import PyMongoError
        from pymongo.uri_parser import parse_uri

        try:
            parse_uri(url)
        except (PyMongoError, ValueError, OSError) as error:  # OSError: a tlsCAFile to read
            raise ValueError(f"{error}; {example}") from error
    return url


def has_secret(url: str) -> bool:
    """Return whether a MongoDB URL contains a password or a token.

    >>> has_secret("mongodb://user:password@db.example/"), has_secret("mongodb://db.example:27017/")
    (True, False)
    """
    authority, _, options = url.partition("://")[2].partition("?")
    user = authority.rpartition("@")[0]
    return ":" in user or _SECRET_OPTION.search(options) is not None


def validate_database_name(name: str) -> str:
    """Return `name` if it can be the name of a database. Raises ValueError."""
    if _DATABASE_NAME.fullmatch(name) is None:
        raise ValueError("must have 1 to 63 letters, digits, hyphens or underscores")
    return name
