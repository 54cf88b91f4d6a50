"""Pages name what exists, link where something is, and keep to one width, also SECURITY.md."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doc_pages import (
    DECISIONS,
    DOCS,
    PAGES,
    PRODUCT,
    ROOT,
    USER_PAGES,
    is_test,
    page,
    rows,
    section,
)

CODE_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", DOCS / "architecture.md", *DECISIONS]
"""Pages that name files of the project."""
MAX_COLUMNS = 100


@pytest.mark.parametrize("row", rows(page("glossary.md"))[1:], ids=lambda row: row[0])
def test_each_word_of_the_glossary_is_defined_where_it_says(row: list[str]) -> None:
    places = [place.split(": ") for place in row[2].split(", ")]
    for path, name in places:
        assert name in definitions(ROOT / path)


def definitions(file: Path) -> set[str]:
    """The classes, functions and constants at the top level of a module."""
    found: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize("file", CODE_PAGES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_each_file_that_a_page_names_exists(file: Path) -> None:
    roots = "|".join((*PRODUCT, "tests", "docs", "samples"))
    # Relative links have a test of their own.
    named = set(re.findall(rf"(?<![\w./(-])(?:{roots})/[\w/.-]*\w/?", file.read_text()))
    built = {"gateway/web/dist/"}  # by `make setup`
    assert [path for path in sorted(named - built) if not (ROOT / path).exists()] == []


def test_the_list_of_decisions_is_complete() -> None:
    listed = re.findall(r"\]\(([^)\s]+)\)", page("decisions/README.md"))
    decisions = {file.relative_to(DOCS / "decisions").as_posix() for file in DECISIONS}
    assert decisions - {"README.md"} <= set(listed)


def test_code_refers_only_to_pages_that_exist() -> None:
    named = {
        path
        for package in PRODUCT
        for file in (ROOT / package).rglob("*.py")
        for path in re.findall(r"\bdocs/[\w/-]+\.md\b", file.read_text())
    }
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    "file", [*USER_PAGES, *DECISIONS], ids=lambda file: file.relative_to(ROOT).as_posix()
)
def test_prose_is_at_most_100_columns_wide(file: Path) -> None:
    wide = [
        f"line {number}: {line}"
        for number, line in prose(file.read_text())
        if len(line) > MAX_COLUMNS and " " in line.strip()
    ]
    assert wide == []


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines outside of code, tables and measured figures."""
    is_code = is_measured = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        if "<!--" in line and "measured:" in line:
            is_measured = "/measured:" not in line
        if not is_code and not is_measured and not line.startswith("|"):
            yield number, line


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_relative_links_lead_somewhere(file: Path) -> None:
    for target in re.findall(
        r"\]\(([^)\s]+)\)", "\n".join(line for _, line in lines_outside_code(file))
    ):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (file.parent / path).resolve() if path else file
        assert linked.exists(), f"{file.name}: {target}"
        if anchor:
            assert anchor in anchors(linked.read_text()), f"{file.name}: {target}"


def lines_outside_code(file: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines outside of code."""
    is_code = False
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        is_code ^= line.lstrip().startswith("```")
        if not is_code:
            yield number, line


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives headings."""
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_leads_to_every_page() -> None:
    reached: set[Path] = set()
    pending = [ROOT / "README.md"]
    while pending:
        file = pending.pop()
        if file not in reached:
            reached.add(file)
            linked = re.findall(r"\]\(([^)#\s]+\.md)", file.read_text())
            pending += [(file.parent / path).resolve() for path in linked if ":" not in path]
    assert {*USER_PAGES} - reached == set()


GUARANTEES = section((ROOT / "SECURITY.md").read_text(), "## The tests that enforce this")
TITLES = re.findall(r"^### .*$", GUARANTEES, re.M)
ROWS = [row for title in TITLES for row in rows(section(GUARANTEES, title))[1:]]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_guarantee_has_tests_or_a_reason_why_it_needs_none(row: list[str]) -> None:
    _, guarantee, named = row
    assert bool(named) != guarantee.startswith("Not applicable, because ")
    assert [name for name in named.split("<br>") if name and not is_test(name)] == []


def test_the_top_10_are_complete() -> None:
    top_10 = rows(section(GUARANTEES, "### OWASP API Security Top 10 (2023)"))[1:]
    assert [row[0].split()[0] for row in top_10] == [f"API{number}" for number in range(1, 11)]


def test_the_page_has_no_guarantee_twice() -> None:
    assert len(TITLES) == 3
    for title in TITLES:
        names = [row[0] for row in rows(section(GUARANTEES, title))]
        assert sorted({*names}) == sorted(names)
