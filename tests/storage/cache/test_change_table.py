"""Changes are told apart by what they concern, in bounded memory."""

import pytest

from storage.cache import change_table
from storage.cache.change_table import Change, ChangeTable
from storage.cache.read_set import Read, whole
from storage.records.paging import KeyRange

ONE, OTHER = {"units": Read((1,))}, {"units": Read((2,))}


@pytest.fixture
def table() -> ChangeTable:
    """A table of two collections."""
    return ChangeTable(["units", "floors"])


def test_a_change_concerns_reads_with_one_of_its_tags_and_of_the_whole(table: ChangeTable) -> None:
    table.record([Change("units", [1, 3])])
    assert table.has_changed(ONE, 0)
    assert table.has_changed(whole("units"), 0)
    assert not table.has_changed(OTHER, 0)
    assert not table.has_changed(whole("floors"), 0)
    assert not table.has_changed(ONE, table.number)


def test_a_change_without_tags_concerns_every_read_of_its_collection(table: ChangeTable) -> None:
    table.record([Change("units")])
    assert table.has_changed(OTHER, 0)
    assert not table.has_changed(whole("floors"), 0)


def test_everything_concerns_every_read(table: ChangeTable) -> None:
    table.record_everything()
    assert table.has_changed(OTHER, 0)
    assert table.has_changed(whole("floors"), 0)


def test_what_is_forgotten_concerns_reads_from_before_it(
    table: ChangeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read that was checked since the older generation began is still told apart."""
    monkeypatch.setattr(change_table, "MAX_CHANGED_TAGS", 10)
    table.record([Change("units", [100])])
    checked = table.number
    for tag in range(200, 240):
        table.record([Change("units", [tag])])
        if not table.has_changed(OTHER, checked):
            checked = table.number
    assert table.has_changed(OTHER, 0)
    assert not table.has_changed(OTHER, checked)
    assert len(table._collections["units"].newer) <= 11


@pytest.mark.parametrize(
    ("key", "tags", "is_concerned"),
    [
        ("c", [1], True),
        ("e", [1], True),
        ("b", [1], False),
        ("f", [1], False),
        ("c", [2], False),
        ("c", None, True),
        (None, [1], True),
    ],
)
def test_a_page_depends_on_its_keys(
    table: ChangeTable, key: str | None, tags: list[int] | None, is_concerned: bool
) -> None:
    page = {"units": Read((1,), KeyRange("b", "e"))}
    table.record([Change("units", tags, key), Change("units", [1], "z")])
    assert table.has_changed(page, 0) == is_concerned


def test_a_page_that_was_checked_too_long_ago_counts_as_changed(
    table: ChangeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = {"units": Read(None, KeyRange("b", "e"))}
    for _ in range(change_table.MAX_LATEST_CHANGES - 1):
        table.record([Change("units", [1], "z")])
    assert not table.has_changed(page, 0)
    table.record([Change("units", [1], "z")])
    assert table.has_changed(page, 0)
