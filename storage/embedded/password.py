"""The password of the embedded MongoDB: 256 random bits in a file that only its owner may read.

The file is also the server's keyfile: MongoDB takes its content as the password of the internal
user `__system`. With that user every start creates or updates the user of this release, so a lost
file costs nothing but a new password.
"""

import os
import secrets
from pathlib import Path

from storage.errors import EmbeddedServerError

FILE_NAME = "password"


def ensure_password(home: Path) -> None:
    """Create the file unless it exists. Call it while no server runs and none can be started."""
    path = home / FILE_NAME
    if path.exists():
        return
    unfinished = home / f"{FILE_NAME}.new"
    unfinished.unlink(missing_ok=True)  # of a process that was killed
    unfinished.touch(0o600)
    with unfinished.open("w") as file:
        file.write(f"{secrets.token_hex(32)}\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def read_password(home: Path) -> str:
    """Return the password of the server that runs. Raises EmbeddedServerError without a file."""
    path = home / FILE_NAME
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        raise EmbeddedServerError(
            f"The MongoDB in {home} runs without its password file {path}: the file was removed,"
            " or an older release started MongoDB. Stop every floorgate process that uses this"
            " directory and start again: that creates a new password and keeps the data."
        ) from None
