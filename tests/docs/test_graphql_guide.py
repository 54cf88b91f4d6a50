"""The pages of the GraphQL API: each example is run, each mutation says whether to repeat it."""

import re
from pathlib import Path

import pytest

from schema.root import GRAPHQL_SCHEMA
from tests.doc_pages import DOCS, page, rows, section
from tests.docs.markdown import NOT_RUN, Block, find_blocks, find_examples

PAGES = [DOCS / "graphql.md", *sorted((DOCS / "graphql").glob("*.md"))]
RUN_BY_CLIENTS = {
    "changes.md": {"js"},  # tests/clients/test_following_programs.py
    "clients.md": {"js", "json", "toml"},  # tests/clients
}


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.relative_to(DOCS).as_posix())
def test_each_block_is_run_or_says_why_not(file: Path) -> None:
    text = file.read_text()
    run: set[Block | None] = set()
    for example in find_examples(text):
        run |= {example.request, example.variables, example.response}
    loose = [
        block
        for block in find_blocks(text)
        if block not in run
        and block.language not in RUN_BY_CLIENTS.get(file.name, ())
        and not NOT_RUN.search(text[: text.rfind("```", 0, block.start)])
    ]
    assert [f"line {block.line}" for block in loose] == []


def test_each_mutation_says_what_happens_when_it_is_repeated() -> None:
    table = rows(section(page("graphql/errors.md"), "## Repeating requests"))
    named = {name for operations, _ in table for name in re.findall(r"\w+", operations)}
    assert GRAPHQL_SCHEMA.mutation_type is not None
    assert GRAPHQL_SCHEMA.mutation_type.fields.keys() <= named
