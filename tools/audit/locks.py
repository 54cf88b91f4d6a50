"""Read what the lock files pin."""

import json
import re
from pathlib import Path

_PIN = re.compile(r"^([\w.-]+)==([^\s;]+)", re.MULTILINE)


def read_python_lock(lock: Path) -> set[tuple[str, str]]:
    """Return names and versions in a requirements file.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile("w+") as file:
    ...     _ = file.write("Ruff==0.14 ; python_version > '3' \\\\\\n  --hash=sha256:00")
    ...     file.flush()
    ...     read_python_lock(Path(file.name))
    {('ruff', '0.14')}
    """
    return {(name.lower(), version) for name, version in _PIN.findall(lock.read_text())}


def read_npm_lock(lock: Path) -> set[tuple[str, str]]:
    """Return names and versions in a package-lock.json."""
    packages: dict[str, dict[str, str]] = json.loads(lock.read_text())["packages"]
    return {
        (path.rpartition("node_modules/")[2], package["version"])
        for path, package in packages.items()
        if path
    }
