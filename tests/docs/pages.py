"""The pages that have examples which are run, and the examples in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.doc_pages import DOCS

RUN_PAGES: list[Path] = [
    DOCS / "demo.md",
    DOCS / "endpoints.md",
    DOCS / "explain.md",
    DOCS / "graphql.md",
    *sorted((DOCS / "graphql").glob("*.md")),
    DOCS / "rest.md",
    *sorted((DOCS / "rest").glob("*.md")),
]


REQUESTS: Final = ("sh", "graphql", "python")
RESPONSES: Final = ("json", "http", "text")
_FENCE: Final = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)
NOT_RUN: Final = re.compile(r"<!-- not run: [^>]+ -->\n\n?\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block, and where its text is in the page."""

    language: str
    text: str
    start: int
    end: int
    line: int


@dataclass(frozen=True)
class Example:
    """A request (shell, GraphQL, Python) and the block after it that shows the response."""

    request: Block
    variables: Block | None = None
    response: Block | None = None


def find_blocks(page: str) -> list[Block]:
    """Return the fenced blocks that start at the margin."""
    return [
        Block(found[1], found[2], *found.span(2), page.count("\n", 0, found.start()) + 1)
        for found in _FENCE.finditer(page)
    ]


def find_examples(page: str) -> Iterator[Example]:
    """Yield the examples that are run.

    Only empty lines are between a request and its response. The comment `<!-- not run: reason -->`
    before a request leaves it out.
    """
    blocks = find_blocks(page)
    followed = {one: other for one, other in pairwise(blocks) if _are_adjacent(page, one, other)}
    for block in blocks:
        opening = page.rfind("```", 0, block.start)
        if block.language in REQUESTS and not NOT_RUN.search(page[:opening]):
            yield _make_example(block, followed)


def _make_example(request: Block, followed: dict[Block, Block]) -> Example:
    after = followed.get(request)
    if after is None or after.language not in RESPONSES:
        return Example(request)
    if request.language == "graphql" and _is_variables(after):
        return Example(request, after, followed.get(after))
    return Example(request, None, after)


def _is_variables(block: Block) -> bool:
    """Whether it is no response: those begin with their data or errors, or are yet to be filled."""
    return bool(block.text.strip()) and not re.match(r'\s*{\s*"(data|errors)"', block.text)


def _are_adjacent(page: str, one: Block, other: Block) -> bool:
    between = page[one.end : page.rfind("```", 0, other.start)]
    return not between.removeprefix("```").strip()
