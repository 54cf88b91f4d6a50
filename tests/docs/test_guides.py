"""The guides of both APIs say what the code does."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rest.endpoint_files import Endpoint
from rest.errors import ERROR_CODES
from schema.root import GRAPHQL_SCHEMA
from tests.doc_pages import DOCS, page, rows, section
from tests.docs.pages import NOT_RUN, Block, Example, find_blocks, find_examples
from tests.endpoints import ENDPOINTS

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


REST_PAGES = [DOCS / "rest.md", *sorted((DOCS / "rest").glob("*.md"))]
SHOWN_ERRORS = {
    *("UNAUTHENTICATED", "FLAG_REQUIRED", "PERMISSION_REQUIRED", "NOT_FOUND"),
    *("INVALID_INPUT", "PRECONDITION_FAILED", "MALFORMED_DOCUMENT"),
}
"""Those that every client meets, each with an example."""


def requests(file: Path) -> Iterator[tuple[str, str, bool]]:
    """The method and path of each request that has a response, and whether it is an error."""
    for example in find_examples(file.read_text()):
        if example.response is None:
            continue
        command = example.request.text.rpartition("curl ")[2]
        if found := re.search(r'"\$URL(/v1[^"?$]*)["?]', command):
            yield method_of(command), found[1], is_error(example)


def method_of(command: str) -> str:
    if found := re.search(r"-X (\w+)", command):
        return found[1]
    return "POST" if re.search(r" (-d|--data-binary) ", command) else "GET"


def is_error(example: Example) -> bool:
    assert example.response is not None
    return re.match(r"HTTP/1.1 [45]", example.response.text) is not None


def endpoint_of(method: str, path: str) -> Endpoint:
    """The endpoint that answers a path: of several, the one with the fewest parameters."""
    matching = [
        row
        for row in ENDPOINTS
        if row.method == method and re.fullmatch(re.sub(r"{.*?}", "[^/]+", row.path), path)
    ]
    assert matching, f"no endpoint answers {method} {path}"
    return min(matching, key=lambda row: len(row.path_parameters))


def test_each_endpoint_is_shown_with_its_response() -> None:
    shown = {
        endpoint_of(method, path).number
        for file in REST_PAGES
        for method, path, error in requests(file)
        if not error
    }
    assert {row.number for row in ENDPOINTS} <= shown


def test_each_usual_error_is_shown() -> None:
    shown = {
        code
        for file in REST_PAGES
        for example in find_examples(file.read_text())
        if example.response is not None and is_error(example)
        for code in re.findall(r'"code": "(\w+)"', example.response.text)
    }
    assert shown >= SHOWN_ERRORS


def test_the_statuses_after_which_a_request_may_be_repeated_are_those_of_the_codes() -> None:
    waits = {row[0]: row[1] for row in rows(section(page("rest.md"), "## Repeating requests"))}
    listed = {
        int(status): wait
        for statuses, wait in waits.items()
        for status in re.findall(r"\b\d{3}\b", statuses)
    }
    repeated = {
        code.status: "Retry-After" in code.retry
        for code in ERROR_CODES.values()
        if code.retry not in ("no", "after a change")
    }
    assert {status: "Retry-After" in wait for status, wait in listed.items()} == repeated
