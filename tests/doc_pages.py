"""The pages of the docs, and how tests read them."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PRODUCT = ("gateway", "parsing", "resolvers", "rest", "routing", "schema", "storage")
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
DECISIONS = sorted((DOCS / "decisions").rglob("*.md"))
USER_PAGES = [
    page
    for page in PAGES
    if page.parent in (ROOT, DOCS, DOCS / "drawing", DOCS / "graphql", DOCS / "rest")
]


def page(name: str) -> str:
    return (DOCS / name).read_text()


def rows(text: str) -> list[list[str]]:
    """The cells of every table row, without code marks."""
    lines = (line.strip().strip("|") for line in text.splitlines() if line.startswith("|"))
    cells = ([cell.strip().replace("`", "") for cell in line.split("|")] for line in lines)
    return [row for row in cells if set(row[0]) != {"-"}]


def section(text: str, title: str) -> str:
    """What stands below a heading, up to the next one of its level."""
    level = title.partition(" ")[0]
    found = re.search(rf"^{re.escape(title)}$(.*?)(?=^{level} |\Z)", text, re.M | re.S)
    assert found is not None, f"there is no section {title!r}"
    return found[1]


def is_test(name: str) -> bool:
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
