"""What is published has what is generated, its licence and its guide, and is typed."""

import json
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from tests.clients.environment import install, run
from tests.rest import packages
from tools import client_generation

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PYTHON = client_generation.PYTHON
TYPESCRIPT = client_generation.CLIENTS / "typescript"
MAP = client_generation.CLIENTS / "map"


@pytest.fixture(scope="module", autouse=True)
def generated() -> None:
    client_generation.main()


def test_the_python_package_is_typed_where_it_is_installed(tmp_path: Path) -> None:
    environment = install()
    if isinstance(environment, str):
        pytest.skip(environment)
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


def test_the_npm_package_has_what_it_exports_and_nothing_else(tmp_path: Path) -> None:
    installed = packages.install(TYPESCRIPT)
    if isinstance(installed, str):
        pytest.skip(installed)
    installed.run("node_modules/.bin/openapi-typescript", "openapi.json", "-o", "src/schema.ts")
    shutil.rmtree(TYPESCRIPT / "dist", ignore_errors=True)
    installed.tool("tsc", "--project", ".")
    installed.run(*packages.npm(), "pack", "--silent", "--pack-destination", str(tmp_path))
    [archive] = tmp_path.glob("floorgate-client-*.tgz")
    with tarfile.open(archive) as files:
        names = {name.removeprefix("package/") for name in files.getnames()}
    modules = {f"dist/{each}" for each in ("index", "errors", "schema", "transport")}
    built = {f"{module}{ending}" for module in modules for ending in (".js", ".d.ts")}
    assert names == {"package.json", "README.md", "LICENSE"} | built


MAP_PAGE = """import { ENGLISH, readLink, type FloorgateMap } from '@floorgate/map'
const map: FloorgateMap = document.createElement('floorgate-map')
map.apiKey = 'fgk_of_a_website'
map.state = { ...map.state, ...readLink(location.search) }
map.texts = { search: ENGLISH.search.toUpperCase() }
map.addEventListener('unitselect', ({ detail }) => console.log(detail?.name.length))
// @ts-expect-error: there is no such way of travel
map.change({ mode: 'car' })
"""


def test_the_map_component_is_one_file_with_its_types(tmp_path: Path) -> None:
    for folder in (TYPESCRIPT, MAP):
        installed = packages.install(folder)
        if isinstance(installed, str):
            pytest.skip(installed)
        if folder == TYPESCRIPT:
            script = ("node_modules/.bin/openapi-typescript", "openapi.json", "-o", "src/schema.ts")
            installed.run(*script)
    shutil.rmtree(MAP / "dist", ignore_errors=True)
    installed.run(*packages.npm(), "run", "--silent", "build")
    installed.run(*packages.npm(), "pack", "--silent", "--pack-destination", str(tmp_path))
    [archive] = tmp_path.glob("floorgate-map-*.tgz")
    modules = tmp_path / "node_modules"
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    (modules / "@floorgate").mkdir(parents=True)
    package = (tmp_path / "package").rename(modules / "@floorgate" / "map")
    names = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    own = {name for name in names if not name.endswith(".d.ts")}
    assert own == {"package.json", "README.md", "LICENSE", "dist/floorgate-map.js"}

    for dependency in json.loads((package / "package.json").read_text())["dependencies"]:
        (modules / dependency).symlink_to(MAP / "node_modules" / dependency)
    (page := tmp_path / "page.ts").write_text(MAP_PAGE)
    resolution = ("--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom,dom.iterable")
    installed.tool("tsc", "--noEmit", "--strict", *resolution, page)


@pytest.mark.parametrize("package", [PYTHON, TYPESCRIPT, MAP])
def test_packages_have_the_licence_of_the_service(package: Path) -> None:
    assert (package / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
