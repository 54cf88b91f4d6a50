"""The rules that graphql-eslint recommends for schemas; exceptions are in its configuration."""

import shutil
from pathlib import Path

import pytest

from schema import root
from tests.rest.packages import Packages, install

TOOLS = Path(__file__).with_name("tools")
SDL = Path(root.__file__).with_name("schema.graphql")


@pytest.fixture(scope="module")
def packages() -> Packages:
    """The linter, or skip."""
    return install(TOOLS)


def lint(packages: Packages, sdl: str, directory: Path) -> str:
    """Lint a schema with our configuration, in a folder of its own. Raises AssertionError."""
    path = directory / "linted" / "schema.graphql"
    path.parent.mkdir()
    path.write_text(sdl)
    config = (TOOLS / "eslint.config.js").read_text()
    shutil.copy(TOOLS / "package.json", directory)
    (directory / "node_modules").symlink_to(TOOLS / "node_modules")
    (directory / "eslint.config.js").write_text(
        config.replace("../../../../schema/schema.graphql", "linted/schema.graphql")
    )
    linter = Packages(packages.node_directory, directory)
    return linter.tool("eslint", "--max-warnings", 0, "linted/schema.graphql")


@pytest.mark.slow
def test_the_schema_keeps_the_recommended_rules(packages: Packages, tmp_path: Path) -> None:
    assert lint(packages, SDL.read_text(), tmp_path) == ""
