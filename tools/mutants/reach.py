"""Find the tests that belong to a place: those that reach its function, and those beside it.

A place that belongs to no function is a constant: the functions that mention its name count.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from tools.mutants.places import PACKAGES, Place, find_again
from tools.mutants.probe import HITS, TESTS

PROBE = "floorgate_probe"
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Reach(Struct):
    """Says what a run of the suite with probes has shown."""

    seconds: dict[str, float]
    """Has each test that passed; the parameters of a test count together."""
    reached: dict[int, list[str]]
    """The tests that came to the function of a place, by the number of the place."""


def add_probes(root: Path, places: list[Place]) -> None:
    """Write probes into the product in `root`."""
    files = [file for package in PACKAGES for file in (root / package).rglob("*.py")]
    trees = {file: ast.parse(file.read_text()) for file in files}
    for file, functions in _functions_to_probe(root, places, trees).items():
        lines = file.read_text().splitlines(keepends=True)
        for function in sorted(functions, key=lambda function: -function.lineno):
            probe = f'__import__("{PROBE}").note({", ".join(map(str, functions[function]))})\n'
            _insert(lines, function, probe)
        file.write_text("".join(lines))


def _functions_to_probe(
    root: Path, places: list[Place], trees: dict[Path, ast.Module]
) -> dict[Path, dict[Function, list[int]]]:
    wanted: dict[Path, dict[Function, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, place in enumerate(places):
        file = root / place.file
        raw = file.read_bytes() if file in trees else b""
        start = find_again(raw, place)
        if start is None:
            continue
        line = raw.count(b"\n", 0, start) + 1
        around = [node for node in ast.walk(trees[file]) if _contains(node, line)]
        functions = [node for node in around if isinstance(node, Function)]
        if functions:
            wanted[file][max(functions, key=lambda function: function.lineno)].append(number)
            continue
        names = {name for node in around for name in _assigned(node)}
        for other, tree in trees.items():
            for node in ast.walk(tree):
                if isinstance(node, Function) and not names.isdisjoint(_mentioned(node)):
                    wanted[other][node].append(number)
    return wanted


def _contains(node: ast.AST, line: int) -> bool:
    if not isinstance(node, ast.stmt) or node.end_lineno is None:
        return False
    return _first_line(node) <= line <= node.end_lineno


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _assigned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from _mentioned(target)


def _mentioned(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute):
            yield part.id if isinstance(part, ast.Name) else part.attr


def _insert(lines: list[str], function: Function, statement: str) -> None:
    """Put a statement at the beginning of a function, after its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return
    line = _first_line(body[0]) - 1
    indent = lines[line][: body[0].col_offset]
    if not indent.strip():  # else the function stands on one line
        lines.insert(line, indent + statement)


def read_reach(packages: Path) -> Reach:
    """Read what the probes have noted in the packages of a copy."""
    seconds = msgspec.json.decode((packages / TESTS.name).read_bytes(), type=dict[str, float])
    reached: dict[int, set[str]] = defaultdict(set)
    for file in (packages / HITS.name).iterdir():
        for hit in file.read_text().splitlines():
            number, _, test = hit.partition("\t")
            reached[int(number)].add(test)
    return Reach(seconds, {number: sorted(tests) for number, tests in sorted(reached.items())})


def order_tests(place: Place, number: int, reach: Reach, limit_seconds: float) -> list[list[str]]:
    """Return the tests of a place in stages: of its module, then of its folder and elsewhere.

    The cheapest come first, as many as the limit has time for. Tests beside the place that did not
    reach it come last: they may share what an earlier test has built.
    """
    reached = set(reach.reached.get(number, ()))
    path = PurePosixPath("tests", place.file)
    folder, mirror = f"{path.parent}/", f"{path.with_name(f'test_{path.name}')}::"

    def rank(test: str) -> int:
        if test.startswith((mirror, f"{place.file}::")):
            return 0
        is_beside = test.startswith(folder) and "/" not in test.removeprefix(folder)
        return (1 if is_beside else 2) if test in reached else 3 if is_beside else 4

    ranked = sorted((rank(test), spent, test) for test, spent in reach.seconds.items())
    stages: dict[bool, list[str]] = {True: [], False: []}
    for order, spent, test in ranked:
        limit_seconds -= spent
        if order < 4 and (limit_seconds > 0 or not any(stages.values())):
            stages[order == 0].append(test)
    return [stage for stage in stages.values() if stage]
