"""Each guarantee of SECURITY.md names the tests that enforce it, and they exist."""

import re

import pytest

from tests.doc_pages import ROOT, is_test, rows, section

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
