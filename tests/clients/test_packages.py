"""What is published has what is generated, its licence and its guide, and is typed."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients.environment import CLIENTS, generate_types, install, run
from tests.rest import packages

pytestmark = pytest.mark.xdist_group("clients")

ROOT = Path(__file__).parents[2]
PYTHON = CLIENTS / "python"
TYPESCRIPT = CLIENTS / "typescript"
MAP = CLIENTS / "map"
PROGRAM = """import { Floorgate, type Unit } from '@floorgate/client'
const client = new Floorgate({
  url: 'https://floorgate.example',
  key: 'key',
  fetch: async () => new Response('{"id": "gym"}'),
})
const unit: Unit = await client.units.get('gym')
const asset: string | undefined = undefined
client.units.list({ asset })
console.log(unit.id.length && (await client.request('GET', '/v1/units/gym')).status)
"""


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
def test_the_npm_package_installs_alone_and_has_its_types(tmp_path: Path) -> None:
    installed = packages.install(TYPESCRIPT)
    generate_types(installed)
    installed.run(*packages.npm(), "pack", "--silent", "--pack-destination", str(tmp_path))
    [archive] = tmp_path.glob("floorgate-client-*.tgz")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    user = replace(installed, tools=tmp_path)
    user.run(*packages.npm(), "install", "--offline", "--silent", archive)
    package = tmp_path / "node_modules" / "@floorgate" / "client"
    assert [*(tmp_path / "node_modules").glob("[!.]*")] == [package.parent]
    files = {str(file.relative_to(package)) for file in package.rglob("*") if file.is_file()}
    modules = ("core", "errors", "index", "resources", "schema")
    built = {f"dist/{module}{ending}" for module in modules for ending in (".js", ".d.ts")}
    assert files == {"package.json", "README.md", "LICENSE"} | built

    (program := tmp_path / "program.ts").write_text(PROGRAM)
    types = ("--types", "node", "--typeRoots", TYPESCRIPT / "node_modules" / "@types")
    own = ("--strict", "--exactOptionalPropertyTypes", "--module", "nodenext", "--lib", "es2023")
    installed.tool("tsc", *own, *types, program)
    assert user.run("node", "program.js") == "200\n"


@pytest.mark.parametrize("package", [PYTHON, TYPESCRIPT, MAP])
def test_packages_have_the_licence_of_the_service(package: Path) -> None:
    assert (package / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
