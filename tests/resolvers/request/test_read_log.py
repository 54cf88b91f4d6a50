"""The log of what a response was read from."""

import pytest

from resolvers.request import read_log
from resolvers.request.errors import TooManyRecordsError
from resolvers.request.read_log import ReadLog


def test_the_records_of_a_request_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_log, "MAX_RECORDS_PER_REQUEST", 3)
    reads = ReadLog()
    reads.add("units")
    reads.count_records(3)
    assert reads.collections == {"units"}
    with pytest.raises(TooManyRecordsError, match="more than 3 records"):
        reads.count_records(1)


def test_an_incomplete_log_stays_incomplete() -> None:
    reads = ReadLog()
    reads.mark_incomplete()
    reads.add("units")
    assert not reads.is_complete
