"""The log of what a response was read from."""

from resolvers.request.read_log import ReadLog
from storage.cache.read_set import whole
from storage.records.paging import KeyRange
from storage.units import UNITS


def test_an_incomplete_log_stays_incomplete() -> None:
    reads = ReadLog()
    reads.mark_incomplete()
    reads.add("units")
    assert not reads.is_complete


def test_a_page_and_then_a_list_depend_on_the_whole_list() -> None:
    reads = ReadLog()
    reads.add("units", keys=KeyRange(None, "b"))
    reads.add_lists(UNITS, None, [{}])
    assert reads.build_read_set() == whole("units")
