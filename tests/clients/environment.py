"""What users of clients have: packages, programs, pages, generated types and a certificate."""

import fcntl
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from rest.openapi.description import build_description
from schema.root import GRAPHQL_SCHEMA
from tests.doc_pages import page
from tests.docs.pages import find_blocks
from tests.rest import packages
from tests.rest.demo_service import DemoService
from tests.rest.packages import Packages, npm

CLIENTS = Path(__file__).parents[2] / "clients"
TYPESCRIPT = CLIENTS / "typescript"
LOCK = Path(__file__).parents[2] / "requirements-clients.lock"


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    directory: Path

    @property
    def python(self) -> Path:
        return self.directory / "bin" / "python"

    def pip(self, *arguments: object) -> str:
        """Run pip on the environment; raises AssertionError with what it says when it fails."""
        quiet = ["--quiet", "--disable-pip-version-check", "--retries", "1"]
        return run(
            *(sys.executable, "-m", "pip", *quiet, "--python", self.python, *arguments),
            cwd=LOCK.parent,
        )


def run(*command: object, cwd: Path, **variables: str) -> str:
    """What a program prints; raises AssertionError with it all when it fails."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def install() -> Environment:
    """Return the environment of the lock file; skip the test if it cannot be had."""
    environment = Environment(Path(sys.prefix) / "clients")
    installed = environment.directory / ".installed"
    with LOCK.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if installed.exists() and installed.stat().st_mtime >= LOCK.stat().st_mtime:
            return environment
        create = (sys.executable, "-m", "venv", "--clear", "--without-pip")
        run(*create, environment.directory, cwd=LOCK.parent)
        try:
            environment.pip("install", "--require-hashes", "-r", LOCK)
        except AssertionError as error:
            pytest.skip(f"pip could not install {LOCK.name}: {error}")
        installed.touch()
    return environment


def read_snippets() -> dict[str, tuple[str, str]]:
    """The last program of each language in the guide, and what the guide shows as its output."""
    blocks = find_blocks(page("rest/clients.md"))
    return {one.language: (one.text, other.text) for one, other in pairwise(blocks)}


def trust_variables(demo: DemoService) -> dict[str, str]:
    """What the guide sets, with the certificate of the service."""
    names = re.findall(r"`(\w+)=\$CURL_CA_BUNDLE`", page("rest/clients.md"))
    assert names == ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"]
    return dict.fromkeys(names, str(demo.certificate))


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        if self.path != "/favicon.ico":  # browsers ask for it by themselves
            return super().do_GET()
        self.send_response(HTTPStatus.NO_CONTENT)
        self.end_headers()


@contextmanager
def serve_directory(directory: Path) -> Iterator[str]:
    """Yield the address of the files."""
    handler = partial(QuietHandler, directory=str(directory))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def trust_of(demo: DemoService) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=demo.certificate)


def copy_clients(directory: Path) -> Path:
    """Return a copy of the folder, without what is installed or built in it."""
    left_out = ("node_modules", "examples", "dist", "build", "program", "tmp*")
    ignore = shutil.ignore_patterns(*left_out)
    return shutil.copytree(CLIENTS, directory / "clients", ignore=ignore, dirs_exist_ok=True)


def generate(*languages: str) -> None:
    """Write what is generated of the clients, by default of both; one process after another."""
    with (
        (CLIENTS / "generate.py").open() as lock,
        NamedTemporaryFile("w", suffix=".json") as file,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        json.dump(build_description(GRAPHQL_SCHEMA), file)
        file.flush()
        run(sys.executable, CLIENTS / "generate.py", file.name, *languages, cwd=CLIENTS)


def generate_types(installed: Packages) -> None:
    """Write the generated modules of the client for TypeScript, and compile it.

    What is up to date stays, as tests in another process may be using it.
    """
    generate("typescript")
    built = TYPESCRIPT / "dist"
    sources = [*TYPESCRIPT.glob("src/*.ts"), *TYPESCRIPT.glob("*.json")]
    with (TYPESCRIPT / "tsconfig.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        written = (built / "index.js").stat().st_mtime if (built / "index.js").exists() else 0.0
        if written < max(source.stat().st_mtime for source in sources):
            shutil.rmtree(built, ignore_errors=True)  # modules that are no longer there
            installed.run(*npm(), "run", "build")


def build_component() -> None:
    """Build the map component; skip the test if its packages cannot be had."""
    generate_types(packages.install(TYPESCRIPT))
    packages.install(CLIENTS / "map").run(*npm(), "run", "--silent", "build")
