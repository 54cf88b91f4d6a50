"""What `make drill` does, and that it would notice a loss."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.drill import __main__ as program
from tests.drill.drill import Outcome, run_drill
from tests.drill.requests import Reading

READING = Reading(200, '"a"', b"{}")


@pytest.mark.slow
def test_everything_is_answered_as_before(tmp_path: Path) -> None:
    outcomes = run_drill(tmp_path, print)
    assert [outcome.name for outcome in outcomes if not outcome.is_equal] == []
    changed = {outcome.name.split()[0] for outcome in outcomes if outcome.changed}
    # Of these, nothing was changed: references, a drawing that comes with the request, and the
    # connectors and doors that can be closed.
    unchanged = {"E5", "E8", "E10", "X7"}
    assert {outcome.name.split()[0] for outcome in outcomes} - changed == unchanged


@pytest.mark.parametrize(
    "other", [Reading(404, '"a"', b"{}"), Reading(200, '"b"', b"{}"), Reading(200, '"a"', b"[]")]
)
def test_a_difference_fails_the_drill(other: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [
        Outcome("E1 GET /v1/assets", READING, READING, READING, changed=True),
        Outcome("E2 GET /v1/assets/a", READING, READING, other, changed=True),
    ]
    monkeypatch.setattr(program, "run_drill", lambda *_: outcomes)
    run = CliRunner().invoke(program.main)
    assert run.exit_code == 1
    assert "DIFFERS: E2 GET /v1/assets/a\n" in run.output
    monkeypatch.setattr(program, "run_drill", lambda *_: outcomes[:1])
    assert CliRunner().invoke(program.main).exit_code == 0
