"""Write the software bill of materials of a release, in CycloneDX: `make sbom`.

One file has the Python packages that an installation has, the other the npm packages of which the
browser pages are built.
"""

import json
import sys
import tomllib
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

from tools.audit.locks import read_npm_lock, read_python_lock
from tools.audit.programs import ROOT, CannotWorkError, run_npm, run_program
from tools.audit.vulnerabilities import parse

PYTHON_LOCK = ROOT / "requirements.lock"
PAGES = ROOT / "gateway" / "web"


def write_sboms(folder: Path) -> list[Path]:
    """Write both files, each checked against its lock file. Raises CannotWorkError."""
    pinned = {
        "floorgate-python.cdx.json": (_describe_python(), read_python_lock(PYTHON_LOCK)),
        "floorgate-pages.cdx.json": (_describe_pages(), read_npm_lock(PAGES / "package-lock.json")),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, (sbom, packages) in pinned.items():
        check(sbom, packages)
        (folder / name).write_text(json.dumps(sbom, indent=1) + "\n")
    return [folder / name for name in pinned]


def check(sbom: Any, packages: set[tuple[str, str]]) -> None:
    """Raise CannotWorkError unless the components are these, each with its address."""
    components = {
        (component_name(component).lower(), component["version"])
        for component in sbom["components"]
        if component["purl"]
    }
    if components != packages:
        different = sorted(components ^ packages)
        raise CannotWorkError(f"the components are not those of the lock file: {different}")


def component_name(component: Any) -> str:
    """Return a component's name as package managers write it.

    >>> component_name({"group": "@codemirror", "name": "view"})
    '@codemirror/view'
    """
    return "/".join(filter(None, (component.get("group"), component["name"])))


def _describe_python() -> Any:
    options = ("--pyproject", ROOT / "pyproject.toml", "--output-format", "JSON")
    return parse(run_program("cyclonedx-py", "requirements", PYTHON_LOCK, *options))


def _describe_pages() -> Any:
    package = json.loads((PAGES / "package.json").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with TemporaryDirectory() as folder:
        package["version"] = project["version"]  # npm wants one, and the pages have none
        (Path(folder) / "package.json").write_text(json.dumps(package))
        copyfile(PAGES / "package-lock.json", Path(folder) / "package-lock.json")
        printed = run_npm(Path(folder), "sbom", "--sbom-format=cyclonedx", "--package-lock-only")
    return parse(printed)


if __name__ == "__main__":
    for written in write_sboms(Path(sys.argv[1])):
        sys.stdout.write(f"{written}\n")
