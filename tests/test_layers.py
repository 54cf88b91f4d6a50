"""The packages import each other one way only, and keep to their duties."""

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "parsing": set[str](),
    "routing": set[str](),
    "storage": set[str](),
    "resolvers": {"parsing", "routing", "storage"},
    "schema": {"resolvers"},
    "rest": {"schema"},
    "gateway": {"parsing", "routing", "storage", "resolvers", "schema", "rest"},
}


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_what_stands_below_it(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}
    for file in modules(package):
        for name in imported(file):
            top = name.partition(".")[0]
            assert top not in MAY_IMPORT or top in allowed, f"{file.relative_to(ROOT)}: {name}"


def test_only_the_driver_module_imports_motor() -> None:
    knowing = [
        file.relative_to(ROOT).as_posix()
        for package in MAY_IMPORT
        for file in modules(package)
        if any(name.split(".")[0] == "motor" for name in imported(file))
    ]
    assert knowing == ["storage/mongo/driver.py"]


@pytest.mark.parametrize("package", ["parsing", "routing"])
def test_pure_packages_open_no_files_sockets_or_clocks(package: str) -> None:
    impure = {"pathlib", "os", "socket", "time", "datetime", "asyncio", "subprocess"}
    for file in modules(package):
        for name in imported(file):
            assert name.partition(".")[0] not in impure, f"{file.relative_to(ROOT)}: {name}"


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_packages_have_empty_init_files(package: str) -> None:
    assert all(not file.read_text() for file in modules(package) if file.name == "__init__.py")


def test_no_dependency_brings_a_package_of_the_same_name() -> None:
    for package in MAY_IMPORT:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        assert Path(spec.origin).is_relative_to(ROOT), f"{package} comes from {spec.origin}"
