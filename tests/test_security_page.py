"""Each guarantee of SECURITY.md names the tests that enforce it, and they exist."""

import ast
import re

import pytest

from tests.doc_pages import ROOT, rows, section

GUARANTEES = section((ROOT / "SECURITY.md").read_text(), "## The tests that enforce this")
TITLES = re.findall(r"^### .*$", GUARANTEES, re.M)
ROWS = [row for title in TITLES for row in rows(section(GUARANTEES, title))[1:]]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_guarantee_has_tests_or_a_reason_why_it_needs_none(row: list[str]) -> None:
    _, guarantee, named = row
    assert bool(named) != guarantee.startswith("Not applicable, because ")
    assert [name for name in named.split("<br>") if name and not exists(name)] == []


def exists(name: str) -> bool:
    """Whether pytest collects a test function of this `path::name`."""
    path, _, function = name.partition("::")
    file = ROOT / path
    if not (re.fullmatch(r"tests/(\w+/)*test_\w+\.py", path) and file.exists()):
        return False
    return function.startswith("test_") and function in {
        node.name
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_the_top_10_are_complete() -> None:
    top_10 = rows(section(GUARANTEES, "### OWASP API Security Top 10 (2023)"))[1:]
    assert [row[0].split()[0] for row in top_10] == [f"API{number}" for number in range(1, 11)]


def test_the_page_has_no_guarantee_twice() -> None:
    assert len(TITLES) == 3
    for title in TITLES:
        names = [row[0] for row in rows(section(GUARANTEES, title))]
        assert sorted({*names}) == sorted(names)
