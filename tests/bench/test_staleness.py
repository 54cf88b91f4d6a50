"""The staleness of a gateway is measured from the answer to a write to a read that shows it."""

from itertools import chain, repeat

import pytest
from click.testing import CliRunner

from bench import staleness
from bench.load.servers import PeerError
from bench.staleness import GatewayClient, seconds_until_visible

UNIT = "unit-1"


class CannedReader(GatewayClient):
    """Shows these attributes in turn, the last one for ever."""

    def __init__(self, *shown: str) -> None:
        self.shown = chain(shown, repeat(shown[-1]))
        self.reads = 0

    def list_assigned(self, unit_id: str) -> list[str]:
        self.reads += 1
        return [next(self.shown)]


def test_a_write_that_the_first_read_shows_is_not_stale() -> None:
    assert seconds_until_visible(CannedReader("oak"), UNIT, "oak") == 0.0


def test_a_write_is_stale_until_the_first_read_that_shows_it() -> None:
    reader = CannedReader("stone", "stone", "oak", "stone")
    assert 0 < seconds_until_visible(reader, UNIT, "oak") < staleness.MAX_WAIT_SECONDS
    assert reader.reads == 3


def test_a_read_that_was_answered_late_is_followed_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a machine that stood still during the first read would pass for a stale gateway."""
    monkeypatch.setattr(staleness, "MAX_WAIT_SECONDS", 0.0)
    assert seconds_until_visible(CannedReader("stone", "oak"), UNIT, "oak") > 0


def test_a_write_that_never_shows_is_an_error_with_what_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(staleness, "MAX_WAIT_SECONDS", 0.0)
    with pytest.raises(PeerError, match=r"'oak' was written .* reads return \['stone'\]"):
        seconds_until_visible(CannedReader("stone"), UNIT, "oak")


def test_one_write_is_too_few_to_measure() -> None:
    run = CliRunner().invoke(staleness.main, ["--writes", "1"])
    assert run.exit_code == 2
    assert "--writes" in run.output
