"""What is published has what is generated, its licence and its guide, and is typed."""

import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from tests.clients.environment import CLIENTS, generate_types, install, run
from tests.rest import packages

pytestmark = pytest.mark.xdist_group("clients")

ROOT = Path(__file__).parents[2]
PYTHON = CLIENTS / "python"
TYPESCRIPT = CLIENTS / "typescript"
MAP = CLIENTS / "map"


@pytest.mark.slow
@pytest.mark.usefixtures("generated")
def test_the_python_package_is_typed_where_it_is_installed(tmp_path: Path) -> None:
    environment = install()
    environment.pip("wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, PYTHON)
    [wheel] = tmp_path.glob("floorgate_client-*.whl")
    environment.pip("install", "--no-deps", "--force-reinstall", wheel)
    environment.pip("check")
    found = "from importlib.metadata import files; print(*files('floorgate-client'))"
    files = run(environment.python, "-I", "-c", found, cwd=tmp_path)
    assert "floorgate_client/py.typed" in files
    assert "licenses/LICENSE" in files
    mypy = (sys.executable, "-m", "mypy", "--strict", "--config-file=")
    own = ("--python-executable", environment.python, "--cache-dir", ROOT / ".mypy_cache")
    run(*mypy, *own, PYTHON / "examples" / "sync_directory.py", cwd=tmp_path, MYPYPATH="")


@pytest.mark.slow
@pytest.mark.usefixtures("generated")
def test_the_npm_package_has_what_it_exports_and_nothing_else(tmp_path: Path) -> None:
    installed = packages.install(TYPESCRIPT)
    generate_types(installed)
    shutil.rmtree(TYPESCRIPT / "dist", ignore_errors=True)
    installed.tool("tsc", "--project", ".")
    installed.run(*packages.npm(), "pack", "--silent", "--pack-destination", str(tmp_path))
    [archive] = tmp_path.glob("floorgate-client-*.tgz")
    with tarfile.open(archive) as files:
        names = {name.removeprefix("package/") for name in files.getnames()}
    modules = {f"dist/{each}" for each in ("index", "errors", "schema", "transport")}
    built = {f"{module}{ending}" for module in modules for ending in (".js", ".d.ts")}
    assert names == {"package.json", "README.md", "LICENSE"} | built


@pytest.mark.parametrize("package", [PYTHON, TYPESCRIPT, MAP])
def test_packages_have_the_licence_of_the_service(package: Path) -> None:
    assert (package / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
