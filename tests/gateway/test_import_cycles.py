"""The modules of the gateway import each other one way, imports within functions included."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

GATEWAY = Path(__file__).parents[2] / "gateway"
FOLDERS = ("server", "middleware", "cache", "cli")


def module_name(file: Path) -> str:
    return ".".join(file.relative_to(GATEWAY.parent).with_suffix("").parts)


MODULES = {module_name(file): file for file in GATEWAY.rglob("*.py")}


def imports_of(file: Path) -> set[str]:
    """Modules of the gateway that a file imports, or names in a string as `module:attribute`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value.partition(":")[0])
    return names & MODULES.keys()


def test_no_module_imports_itself_through_others() -> None:
    TopologicalSorter({name: imports_of(file) for name, file in MODULES.items()}).prepare()


def test_no_folder_imports_itself_through_others() -> None:
    graph: dict[str, set[str]] = {folder: set() for folder in FOLDERS}
    for name, file in MODULES.items():
        folder = name.split(".")[1]
        if folder in graph:
            used = {imported.split(".")[1] for imported in imports_of(file)}
            graph[folder] |= used & graph.keys() - {folder}
    TopologicalSorter(graph).prepare()


def test_a_string_counts_as_an_import() -> None:
    assert "gateway.cli.serve" in imports_of(MODULES["gateway.cli.main"])
