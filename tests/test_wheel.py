"""The wheel: what it has in it, what is in its way, and all of it where there is only Python.

`make test-wheel` builds it, and tests it with each version of Python that it finds.
"""

import os
import re
import runpy
import shutil
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import floorgate
from gateway.cli.main import COMMANDS
from gateway.client_packages import CLIENTS_PATH
from tests.doc_pages import ROOT

SETUP = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")
WHEELS = sorted((ROOT / "dist").glob("floorgate-*.whl"))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What `floorgate files` writes; without what only `make wheel` builds."""
    monkeypatch.setitem(SETUP["find_files"].__globals__, "BUILT", ())
    SETUP["copy_files"](tmp_path / "files")
    return tmp_path / "files"


def test_every_link_of_the_guides_leads_to_a_file_of_the_wheel(files: Path) -> None:
    pages = [*files.rglob("*.md")]
    assert files / "docs" / "operation.md" in pages
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s:]+)(?:#[^)\s]+)?\)", page.read_text()):
            assert (page.parent / target).is_file(), f"{page.relative_to(files)}: {target}"


def test_a_link_to_what_only_a_checkout_has_is_text(files: Path) -> None:
    assert "[contributing](CONTRIBUTING.md)" in (ROOT / "README.md").read_text()
    readme = (files / "README.md").read_text()
    assert "contributing, [architecture](docs/architecture.md)" in readme


def test_a_wheel_without_what_has_to_be_built_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETUP["find_files"].__globals__, "BUILT", ("gateway/web/dist/none.js",))
    with pytest.raises(SystemExit, match=r"^Not built yet: gateway/web/dist/none.js. 'make wheel'"):
        SETUP["find_files"]()


Shadow = Callable[[Path, Path], Path]
"""Puts something in the way of Floorgate in the first folder; PYTHONPATH names the second."""


def overwrite(site: Path, _: Path) -> Path:
    """What pip does, if PyPI's schema is installed after Floorgate."""
    file = site / "schema" / "__init__.py"
    file.write_text("__version__ = '0.7'")
    return file


def overwritten_by(site: Path, _: Path) -> Path:
    """What pip leaves, if PyPI's schema is installed before Floorgate."""
    folder = site / "schema-0.7.8.dist-info"
    folder.mkdir()
    return folder


def module_beside(site: Path, _: Path) -> Path:
    file = site / "storage.py"
    file.touch()
    return file


def package_in_front(_: Path, other: Path) -> Path:
    file = other / "gateway" / "__init__.py"
    file.parent.mkdir()
    file.touch()
    return file


def uninstalled(site: Path, _: Path) -> Path:
    """What remains after both were installed and the other one removed."""
    file = site / "rest" / "__init__.py"
    file.unlink()
    return file


@pytest.mark.parametrize(
    "shadow", [overwrite, overwritten_by, module_beside, package_in_front, uninstalled]
)
def test_a_package_of_the_same_name_is_an_error_that_names_it(
    shadow: Shadow, tmp_path: Path
) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    for name in floorgate.PACKAGES:
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").touch()
    other.mkdir()
    shutil.copy(floorgate.__file__, site)
    (site / "gateway" / "cli").mkdir()
    (site / "gateway" / "cli" / "main.py").write_text("def main(): print('started')")

    def start() -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-P", "-S", "-m", "floorgate"]
        path = os.pathsep.join([str(other), str(site)])
        return subprocess.run(program, env={"PYTHONPATH": path}, capture_output=True, text=True)

    assert start().stdout == "started\n"
    file = shadow(site, other)
    ended = start()
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("Error: ")
    assert str(file) in ended.stderr
    assert ended.stderr.endswith(f"{floorgate.REMEDY}.\n")


def find_python(version: str) -> str:
    """An interpreter of this version: on the PATH, or of pyenv. Skips the test if there is none."""
    of_pyenv = map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    for name in filter(shutil.which, [f"python{version}", *of_pyenv]):
        if subprocess.run([name, "-c", ""], capture_output=True).returncode == 0:
            return name
    pytest.skip(f"there is no Python {version} here")


class Installed:
    """Floorgate from the wheel, in an environment and a folder of its own, without a checkout."""

    def __init__(self, python: str, folder: Path) -> None:
        self.folder = folder / "empty"
        self.folder.mkdir()
        uv, environment = str(Path(sys.executable).with_name("uv")), str(folder / "environment")
        subprocess.run([uv, "venv", "--quiet", "--python", python, environment], check=True)
        install = [uv, "pip", "install", "--quiet", "--python", environment, str(WHEELS[-1])]
        subprocess.run(install, check=True)
        self.program = f"{environment}/bin/floorgate"
        self.environment = {"PATH": str(folder), "HOME": str(folder)}

    def start(self, *arguments: str, **streams: Any) -> subprocess.Popen[str]:
        command = [self.program, *arguments]
        return subprocess.Popen(
            command, cwd=self.folder, env=self.environment, text=True, **streams
        )

    def run(self, *arguments: str) -> str:
        process = self.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, errors = process.communicate()
        assert process.returncode == 0, (arguments, output, errors)
        return output


@pytest.fixture(scope="module", params=["3.11", "3.12", "3.13", "3.14"])
def installed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    if not WHEELS:
        pytest.skip("there is no wheel in dist: run `make wheel`")
    return Installed(find_python(request.param), tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def client(installed: Installed) -> Iterator[httpx.Client]:
    """A client of `serve --demo`, with the key that it prints."""
    server = installed.start("serve", "--demo", "--port", "0", stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        printed = [*iter(server.stdout.readline, "\n"), *iter(server.stdout.readline, "\n")]
        lines = {line.partition(" ")[0]: line.split() for line in printed}
        trusted = ssl.create_default_context(
            cafile=str(installed.folder / ".floorgate" / "tls" / "cert.pem")
        )
        headers = {"API-Key": lines["API"][2]}
        url = lines["ready"][1]
        with httpx.Client(base_url=url, headers=headers, verify=trusted, timeout=60) as client:
            yield client
    finally:
        server.terminate()
        server.communicate()


@pytest.mark.slow
@pytest.mark.xdist_group("wheel")
def test_every_page_of_an_installed_wheel_is_served(client: httpx.Client) -> None:
    start = client.get("/", headers={"Accept": "text/html"}).text
    for page in re.findall(r'href="([^"]+)"', start):
        response = client.get(f"/{page}", headers={"Accept": "text/html,*/*;q=0.5"})
        assert response.status_code == 200, page
        for loaded in re.findall(r'(?:href|src)="[./]*(/pages/[^"]+)"', response.text):
            assert client.get(loaded).status_code == 200, loaded
    for file in re.findall(r'href="(floorgate[^"]+)"', client.get(CLIENTS_PATH).text):
        assert client.get(f"{CLIENTS_PATH}{file}").status_code == 200, file
    assert "customElements" in client.get(f"{CLIENTS_PATH}floorgate-map.js").text
    assert client.get("/v1/units").json()["data"]


RUNS = """
files guides
check guides/samples/drawings/elm-place.csv guides/samples/drawings/inkscape.svg
import guides/samples/demo/bundle.json
import guides/samples/drawings/elm-place.csv
export
template --xlsx demo.xlsx
check demo.xlsx
maps process alder-court-floor-plates
parse guides/samples/drawings/inkscape.svg
remove --yes asset birch-house
erase --yes --asset birch-house
backup demo.tar
restore --yes demo.tar
keys list
documents list
endpoints list
audit
doctor
schema
openapi
bundle-schema
"""


def test_every_command_is_run_from_the_wheel() -> None:
    assert {run.split()[0] for run in RUNS.strip().splitlines()} == COMMANDS.keys() - {"serve"}


@pytest.mark.slow
@pytest.mark.xdist_group("wheel")
def test_every_command_of_an_installed_wheel_works(
    installed: Installed, client: httpx.Client
) -> None:
    for command in COMMANDS:
        assert installed.run(command, "--help").startswith("Usage: floorgate")
    for run in RUNS.strip().splitlines():
        installed.run(*run.split())
    assert client.get("/health/ready").status_code == 200
