"""Look up the servers that we ship, or name in examples, in OSV (https://osv.dev).

Its database knows those of images by the names of Bitnami's catalog. The embedded MongoDB is known
to be unsafe (docs/decisions/storage/embedded-mongod.md): that OSV says so shows that it answers,
and its vulnerabilities are counted apart.
"""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import Request, urlopen

from tools.audit.programs import ROOT, CannotWorkError

FILES = ("Dockerfile", "docker-compose.yml", "samples/deployment/compose.yml")
CATALOG = {
    "caddy": "caddy",
    "grafana/grafana": "grafana",
    "mongo": "mongodb",
    "prom/prometheus": "prometheus",
    "python": "python",
}
"""The names of Bitnami's catalog by those of images."""
_IMAGE = re.compile(r"(?:image: |BASE=)(?:docker\.io/)?(?:library/)?([\w/-]+):v?([\d.]+)")
_OSV = "https://api.osv.dev/v1/querybatch"
_SECONDS = 60


class Server(NamedTuple):
    """A server, by the name in Bitnami's catalog."""

    name: str
    version: str


EMBEDDED = Server("mongodb", "6.0.5")


def find_servers() -> list[Server]:
    """Return the servers of all images that are named. Raises CannotWorkError for unknown ones."""
    images = {image for file in FILES for image in _IMAGE.findall((ROOT / file).read_text())}
    images -= {image for image in images if image[0] == "floorgate"}
    if unknown := [name for name, _ in sorted(images) if name not in CATALOG]:
        raise CannotWorkError(f"no name in Bitnami's catalog is known for {', '.join(unknown)}")
    return sorted(Server(CATALOG[name], version) for name, version in images)


def ask_osv(servers: list[Server]) -> Any:
    """Return what OSV answers about servers. Raises CannotWorkError."""
    queries = [
        {"package": {"ecosystem": "Bitnami", "name": server.name}, "version": server.version}
        for server in servers
    ]
    request = Request(_OSV, json.dumps({"queries": queries}).encode())
    try:
        with urlopen(request, timeout=_SECONDS) as response:
            return json.load(response)
    except (URLError, ValueError, OSError) as error:
        raise CannotWorkError(f"OSV does not answer: {error}") from error


def audit_servers(ask: Callable[[list[Server]], Any] = ask_osv) -> tuple[int, list[str], str]:
    """Return how many servers were looked up, what was found, and a note on the embedded one.

    Raises CannotWorkError.
    """
    servers = [EMBEDDED, *find_servers()]
    answers = ask(servers).get("results", [])
    if len(answers) != len(servers):
        raise CannotWorkError(f"OSV answered for {len(answers)} of {len(servers)} servers")
    embedded, *others = ([entry["id"] for entry in answer.get("vulns", [])] for answer in answers)
    if not embedded:
        raise CannotWorkError(f"OSV does not know that MongoDB {EMBEDDED.version} is unsafe")
    found = [
        f"{server.name} {server.version}: {vulnerability}"
        for server, vulnerabilities in zip(servers[1:], others, strict=True)
        for vulnerability in vulnerabilities
    ]
    note = f"the embedded MongoDB {EMBEDDED.version} has {len(embedded)} (SECURITY.md)"
    return len(others), sorted(found), note
