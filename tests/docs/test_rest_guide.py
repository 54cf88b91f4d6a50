"""The guide of the REST API shows every endpoint, and what the usual errors look like."""

import re
from collections.abc import Iterator
from pathlib import Path

from rest.endpoint_files import Endpoint
from rest.errors import ERROR_CODES
from tests.doc_pages import DOCS, page, rows, section
from tests.docs.markdown import Example, find_examples
from tests.endpoints import ENDPOINTS

PAGES = [DOCS / "rest.md", *sorted((DOCS / "rest").glob("*.md"))]
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
        for file in PAGES
        for method, path, error in requests(file)
        if not error
    }
    assert {row.number for row in ENDPOINTS} <= shown


def test_each_usual_error_is_shown() -> None:
    shown = {
        code
        for file in PAGES
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
