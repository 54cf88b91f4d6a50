"""Which faults `make chaos` tries, and what it makes of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.faults import __main__ as chaos
from tests.faults.checking.verdict import Verdict
from tests.faults.scenarios import SCENARIOS, Scenario

NAMES = [scenario.name for scenario in SCENARIOS]


def test_all_faults_are_tried_once_and_kills_as_often_as_asked() -> None:
    tries = chaos.list_tries(100, ())
    assert [each.name for each in tries[: len(SCENARIOS)]] == NAMES
    assert 100 <= sum(each.kills for each in tries) <= 102
    assert all(each.kills for each in tries[len(SCENARIOS) :])


def test_names_are_unique_and_an_unknown_one_is_refused() -> None:
    assert len(set(NAMES)) == len(NAMES)
    run = CliRunner().invoke(chaos.main, ["--only", "earthquake"])
    assert run.exit_code == 2
    assert "earthquake" in run.output


@pytest.mark.parametrize(
    ("name", "maxima", "late"),
    [
        ("kill-primary", {"read gap": 4.5}, ["no reads for 4.5 s"]),
        ("kill-all", {"read gap": 4.5}, []),
        ("kill-all", {"recovery": 6.0}, ["errors until 6.0 s after recovery"]),
        (
            "kill-primary",
            {"import finished": 10.5},
            ["an interrupted import was finished after 10.5 s"],
        ),
        (
            "cache",
            {"cache recovery": 1.5},
            ["nothing was cached until 1.5 s after the change stream was back"],
        ),
    ],
)
def test_gaps_are_limited_where_a_majority_exists(
    name: str, maxima: dict[str, float], late: list[str]
) -> None:
    (scenario,) = [each for each in SCENARIOS if each.name == name]
    verdict = Verdict(maxima={"read gap": 0.0, "recovery": 0.0} | maxima)
    assert chaos.find_late(scenario, verdict) == late


def test_a_try_that_cannot_end_is_reported_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    @contextmanager
    def run_deployment(directory: Path, election_ms: int) -> Iterator[Any]:
        started.append(directory.name)
        yield None

    def try_scenario(deployment: Any, scenario: Scenario, longest_allowed: float) -> Verdict:
        if scenario.name == "kill-primary":
            raise OSError("no such process")
        return Verdict()

    monkeypatch.setattr(chaos, "run_deployment", run_deployment)
    monkeypatch.setattr(chaos, "try_scenario", try_scenario)
    tries = [each for each in SCENARIOS if each.name in ("none", "kill-primary", "reset")]
    verdicts = {each.name: verdict for each, verdict in chaos.try_all(tries, tmp_path, 2.0, 6.0)}
    assert verdicts["kill-primary"].violations == ["not judged: OSError: no such process"]
    assert not verdicts["none"].violations and not verdicts["reset"].violations
    assert [verdict.counts["kills"] for verdict in verdicts.values()] == [0, 0, 0]
    assert started == ["deployment-1", "deployment-2"]
