"""Commands start fast: they import only what they use, and what they need while MongoDB starts."""

import json
import re
import subprocess
import sys

import pytest

from gateway.server.supervisor import WORKER_PROGRAM

PROGRAM = "from gateway.cli.main import main; main()"
SLOW_PACKAGES = {"igraph", "numpy", "shapely", "lxml", "strawberry", "graphql", "uvicorn", "motor"}
OTHERS = ("export", "backup -", "audit")
BUNDLE = json.dumps({"assets": [{"id": "lark", "name": "Lark"}]})


def import_packages(*arguments: str, stdin: str = "") -> set[str]:
    """Return the packages that a command imports until it ends."""
    command = [sys.executable, "-X", "importtime", "-c", PROGRAM, *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr.splitlines()[-1]
    modules = re.findall(r"^import time: .*\| +(\S+)$", done.stderr, re.MULTILINE)
    return {module.partition(".")[0] for module in modules}


@pytest.mark.parametrize(
    "command",
    ["keys list", "import -", *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)],
)
def test_a_command_imports_no_slow_package_that_it_does_not_use(
    storage: list[str], command: str
) -> None:
    packages = import_packages(*command.split(), *storage, stdin=BUNDLE)
    assert {"storage", "pymongo"} <= packages
    assert not packages & SLOW_PACKAGES


def test_a_command_that_changes_a_key_imports_the_schema(storage: list[str]) -> None:
    assert "strawberry" in import_packages("keys", "create", "--name", "till", *storage)


IMPORTED_LATER = {
    "openpyxl",
    "parsing.plans",
    "resolvers.plans.translation",
    "resolvers.processing.network_build",
    "routing.processing",
}
"""What only processes for drawings, maps and tables need."""
IMPORTED_WHEN_READY = {"igraph", "lxml", "numpy", "parsing.svg.unit_map", "shapely"}
"""What some requests need."""


def import_modules(imports: str) -> set[str]:
    """Return the modules that are there after a program that begins with `imports`."""
    program = f"{imports}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_a_supervisor_starts_workers_before_it_imports_what_takes_long() -> None:
    modules = import_modules("import gateway.cli.commands.serve, gateway.server.server")
    assert "gateway.server.supervisor" in modules
    assert not modules & {
        *SLOW_PACKAGES,
        "asyncio",
        "cryptography",
        "pymongo",
        "starlette.requests",
    }


def test_a_worker_starts_without_what_few_requests_or_only_other_processes_need() -> None:
    modules = import_modules(WORKER_PROGRAM.removesuffix("main()\n") + "import gateway.app")
    assert "schema.root" in modules
    unused = {"cryptography.x509", "resvg_py", "yaml"}
    assert not modules & {*IMPORTED_LATER, *IMPORTED_WHEN_READY, *unused}


def test_a_worker_imports_what_some_requests_need_when_it_is_ready() -> None:
    modules = import_modules("import asyncio, gateway.app; asyncio.run(gateway.app.warm_up([]))")
    assert modules >= IMPORTED_WHEN_READY
    assert not modules & IMPORTED_LATER
