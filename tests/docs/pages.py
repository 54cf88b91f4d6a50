"""The pages in the docs that have examples which are run."""

from pathlib import Path

from tests.doc_pages import DOCS

RUN_PAGES: list[Path] = [
    DOCS / "demo.md",
    DOCS / "explain.md",
    DOCS / "graphql.md",
    *sorted((DOCS / "graphql").glob("*.md")),
    DOCS / "rest.md",
    *sorted((DOCS / "rest").glob("*.md")),
]
