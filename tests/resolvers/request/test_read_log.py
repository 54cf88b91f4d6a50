"""The log of what a response was read from."""

from resolvers.request.read_log import ReadLog


def test_an_incomplete_log_stays_incomplete() -> None:
    reads = ReadLog()
    reads.mark_incomplete()
    reads.add("units")
    assert not reads.is_complete
