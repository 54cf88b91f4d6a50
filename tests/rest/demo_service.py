"""The service as a new user starts it, with the demo property: a process of its own, over HTTPS."""

import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from tests.gateway.floorgate_process import storage_options

FLOORGATE = Path(sys.executable).with_name("floorgate")
NO_BAD_KEY_LIMIT = ("--bad-key-limit", "0")
"""For tools, which send many invalid keys on purpose."""
UNLIMITED = ("--rate-limit", "0", *NO_BAD_KEY_LIMIT)
"""For tools that send more than people, too."""


@dataclass(frozen=True)
class DemoService:
    """Where it is, and how to be let in."""

    url: str
    explorer: str
    """The address of the explorer as it is printed, with the key."""
    key: str
    certificate: Path
    environment: dict[str, str]
    """The variables with which the command `floorgate` works on its database."""


@contextmanager
def demo_service(
    mongo_url: str, data_dir: Path, limits: tuple[str, ...] = UNLIMITED
) -> Iterator[DemoService]:
    """Runs the service on a database of its own until the block ends."""
    database = uuid.uuid4().hex
    where = [*storage_options(mongo_url, database, data_dir), "--data-dir", str(data_dir)]
    command = [str(FLOORGATE), "serve", "--demo", "--port", "0", "--log-level", "warning", *where]
    environment = {
        "FLOORGATE_MONGO_URL_FILE": str(data_dir / "mongo-url"),
        "FLOORGATE_DATABASE": database,
        "FLOORGATE_DATA_DIR": str(data_dir),
    }
    command += limits
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            lines = iter(process.stdout or ())
            url = _found(r"ready (\S+)", lines)
            explorer = _found(r"Explorer +(\S+)", lines)
            key = explorer.partition("#key=")[2]
            yield DemoService(url, explorer, key, data_dir / "tls" / "cert.pem", environment)
        finally:
            process.terminate()
            process.communicate()
            with MongoClient[dict[str, Any]](mongo_url) as client:
                client.drop_database(database)


def _found(pattern: str, lines: Iterator[str]) -> str:
    matches = (match[1] for line in lines if (match := re.search(pattern, line)))
    found = next(matches, None)
    assert found is not None, f"the service printed nothing like {pattern}"
    return found
