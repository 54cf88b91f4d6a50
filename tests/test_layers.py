"""The packages import each other one way only, and keep to their duties."""

import ast
import contextlib
import importlib.util
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
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


def module_name(file: Path) -> str:
    return file.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")


FILES = {module_name(file): file for package in MAY_IMPORT for file in modules(package)}
MODULE_STRING = re.compile(r"(\w+(?:\.\w+)+)(?::\w+)?")
PROGRAM_STRING = re.compile(r"\s*(?:from|import) \w")


def needed_modules(file: Path) -> Iterator[str]:
    """Yield what a module imports, at any depth, or names in a string.

    Such a string is `"pkg.mod:attr"`, or a program such as `"from pkg.mod import main; main()"`.
    """
    yield from modules_needed_by(ast.parse(file.read_text()))


def modules_needed_by(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if match := MODULE_STRING.fullmatch(node.value):
                yield match[1]
            elif PROGRAM_STRING.match(node.value):
                with contextlib.suppress(SyntaxError):  # prose may begin like a program
                    yield from modules_needed_by(ast.parse(node.value))


def find_import_cycle(files: dict[str, Path]) -> list[str]:
    """Return modules of which each needs the next, and the last the first; empty if none do."""
    graph = {
        name: {needed for needed in needed_modules(file) if needed in files and needed != name}
        for name, file in files.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle[::-1]
    return []


def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert find_import_cycle(FILES) == []


@pytest.mark.parametrize(
    "back",
    [
        "import schema.a",
        "from schema.a import A",
        "from schema import a",
        "def late():\n    from schema import a",
        'lazy("schema.a")',
        'run("schema.a:app", factory=True)',
        'run("python", "-c", "from schema.a import main; main()")',
        'run("python", "-c", "import sys, schema.a")',
        'run("""\nimport schema.a\nschema.a.main()\n""")',
    ],
)
def test_cycles_through_functions_and_strings_are_found(back: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from schema.b import B")
    (tmp_path / "b.py").write_text(back)
    files = {"schema.a": tmp_path / "a.py", "schema.b": tmp_path / "b.py"}
    assert set(find_import_cycle(files)) == {"schema.a", "schema.b"}


def test_only_storage_mongo_imports_the_mongodb_driver() -> None:
    driver = {"motor", "pymongo", "bson", "gridfs"}
    importing = {
        file.relative_to(ROOT).parent.as_posix()
        for package in MAY_IMPORT
        for file in modules(package)
        if any(name.partition(".")[0] in driver for name in imported(file))
    }
    assert importing == {"storage/mongo"}


DATABASE_NAMES = ("database", "_database")


def calls_mongodb(file: Path) -> bool:
    """Return whether a module takes a collection from a database, or runs a command on one."""
    return any(
        (isinstance(node, ast.Subscript) and name_of(node.value) in DATABASE_NAMES)
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("command", "get_collection")
            and name_of(node.func.value) in DATABASE_NAMES
        )
        for node in ast.walk(ast.parse(file.read_text()))
    )


def name_of(node: ast.expr) -> str | None:
    return getattr(node, "id", None) or getattr(node, "attr", None)


def test_only_storage_calls_mongodb() -> None:
    calling = {name.partition(".")[0] for name, file in FILES.items() if calls_mongodb(file)}
    assert calling == {"storage"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("database[MAPS.name].find({})", True),
        ('store.database["maps"]', True),
        ('self._database[kind.name].distinct("_id")', True),
        ('await database.command("ping")', True),
        ('@maps.command("process")\ndef process(): ...', False),
        ("store.list_page(MAPS)", False),
    ],
)
def test_calls_to_mongodb_are_found(code: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(code)
    assert calls_mongodb(tmp_path / "a.py") == expected


STORAGE_LAYERS: dict[str, set[str]] = {
    "storage.records": set(),
    "storage.mongo": {"storage.records"},
    "storage.embedded": {"storage.mongo"},
    "storage.administration": {"storage.mongo", "storage.records"},
    "storage.cache": {"storage.administration", "storage.mongo", "storage.records"},
    "storage.setup": {
        "storage.administration",
        "storage.embedded",
        "storage.mongo",
        "storage.records",
    },
    "storage.bundles": {"storage.mongo", "storage.records"},
    "storage.spreadsheets": {"storage.bundles", "storage.records"},
    "storage.importing": {
        "storage.administration",
        "storage.bundles",
        "storage.cache",
        "storage.mongo",
        "storage.records",
        "storage.setup",
        "storage.spreadsheets",
    },
    "storage.exporting": {
        "storage.bundles",
        "storage.importing",
        "storage.mongo",
        "storage.records",
        "storage.spreadsheets",
    },
    "storage.backup": {
        "storage.administration",
        "storage.importing",
        "storage.mongo",
        "storage.records",
        "storage.setup",
    },
}
"""The folders of storage; the resources, in storage itself, are known to those of more than one."""


@pytest.mark.parametrize("folder", STORAGE_LAYERS)
def test_the_folders_of_storage_import_one_way(folder: str) -> None:
    for file in modules(folder.replace(".", "/")):
        for name in imported(file):
            parent = ".".join(name.split(".")[:2])
            if parent in STORAGE_LAYERS and parent != folder:
                assert parent in STORAGE_LAYERS[folder], f"{file.relative_to(ROOT)}: {name}"
            if folder in ("storage.records", "storage.mongo", "storage.embedded"):
                known = parent in STORAGE_LAYERS or parent == "storage.errors"
                assert known or not name.startswith("storage"), f"{file.relative_to(ROOT)}: {name}"


def test_no_module_makes_http_requests() -> None:
    """The service connects to MongoDB and to nothing that a client could name."""
    clients = {"aiohttp", "ftplib", "http.client", "httpx", "requests", "urllib.request", "urllib3"}
    for file in FILES.values():
        assert not clients & {*needed_modules(file)}, file.relative_to(ROOT)


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
