"""Where the catalog is. Loads no driver: the command line reads its options long before it asks."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

DriverName: TypeAlias = Literal["motor", "pymongo"]

_DATABASE_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Where the catalog is: at `mongo_url`, else in the embedded server of `data_dir`."""

    data_dir: Path
    mongo_url: str | None = None
    driver: DriverName = "motor"
    database: str = "floorgate"


def validate_mongo_url(url: str) -> str:
    """The address of a MongoDB. Raises ValueError with what would be right."""
    if not url.startswith("mongodb+srv://"):  # whose parsing would ask the name server
        from pymongo.errors import PyMongoError
        from pymongo.uri_parser import parse_uri

        try:
            parse_uri(url)
        except (PyMongoError, ValueError) as error:
            raise ValueError(f"{error}; it is like mongodb://host:27017/?replicaSet=rs") from error
    return url


def validate_database_name(name: str) -> str:
    """The name of a database. Raises ValueError with what would be right."""
    if _DATABASE_NAME.fullmatch(name) is None:
        raise ValueError("it must have 1 to 63 letters, digits, hyphens or underscores")
    return name
