"""Connection settings and their validation.

Does not import the driver, so that the command line can parse options without loading it.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

DriverName: TypeAlias = Literal["motor", "pymongo"]

_DATABASE_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
_SECRET_OPTION = re.compile(r"(password|token|passphrase)\w*[=:]", re.IGNORECASE)
_PASSWORD_HINT = "user name and password must be percent-encoded"  # noqa: S105


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Which MongoDB to use: the one at `mongo_url`, or the embedded one in `data_dir`."""

    data_dir: Path
    mongo_url: str | None = None
    driver: DriverName = "motor"
    database: str = "floorgate"


def validate_mongo_url(url: str) -> str:
    """Return `url` if it is a MongoDB connection string. Raises ValueError.

    >>> validate_mongo_url("mongodb://db.example:27017/?replicaSet=rs")
    'mongodb://db.example:27017/?replicaSet=rs'
    """
    if not url.startswith("mongodb+srv://"):  # parsing such a URL takes a DNS query
        from pymongo.errors import PyMongoError
        from pymongo.uri_parser import parse_uri

        try:
            parse_uri(url)
        except (PyMongoError, ValueError, OSError) as error:  # OSError: a tlsCAFile to read
            reason = _PASSWORD_HINT if _has_unescaped_password(url) else error
            raise ValueError(
                f"{reason}; must be a URL such as mongodb://host:27017/?replicaSet=rs"
            ) from error
    return url


def has_secret(url: str) -> bool:
    """Return whether a MongoDB URL contains a password or a token.

    >>> has_secret("mongodb://user:password@db.example/"), has_secret("mongodb://db.example:27017/")
    (True, False)
    """
    authority, _, options = url.partition("://")[2].partition("?")
    user = authority.rpartition("@")[0]
    return ":" in user or _SECRET_OPTION.search(options) is not None


def _has_unescaped_password(url: str) -> bool:
    """Return whether there may be a slash or question mark in the user name or password.

    The driver takes what follows it for a database or an option, and quotes it in its message.
    """
    before_host = url.partition("://")[2].rpartition("@")[0]
    return "/" in before_host or "?" in before_host


def validate_database_name(name: str) -> str:
    """Return `name` if it can be the name of a database. Raises ValueError."""
    if _DATABASE_NAME.fullmatch(name) is None:
        raise ValueError("must have 1 to 63 letters, digits, hyphens or underscores")
    return name
