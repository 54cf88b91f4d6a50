"""Faults on a replica set of three with two gateways: eleven kills, and what else is quickly tried.

`make chaos` tries all of them, more often, and reports the times too. What fails here is a promise
of docs/reliability.md; the history of the try is in the directory of the test.
"""

from collections.abc import Iterator

import pytest

from tests.faults.__main__ import try_scenario
from tests.faults.deployment import Deployment, run_deployment
from tests.faults.http_client import TIMEOUT_SECONDS
from tests.faults.scenarios import SCENARIOS, Scenario

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("faults")]

ELECTION_MS = 4_000
"""Members of a busy machine that wait for each other for less elect again and again."""
TRIED = [
    *("none", "kill-primary", "kill-and-stop", "kill-and-lag", "kill-secondaries", "kill-all"),
    *("step-down", "isolate-primary", "black-hole", "reset", "kill-gateway", "kill-import"),
    *("kill-mirror", "terminate", "leave"),
]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with run_deployment(tmp_path_factory.mktemp("faults"), ELECTION_MS) as deployment:
        yield deployment


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if each.name in TRIED], ids=str)
def test_every_promise_holds_under_the_fault(deployment: Deployment, scenario: Scenario) -> None:
    verdict = try_scenario(deployment, scenario, TIMEOUT_SECONDS)
    assert verdict.violations == []
    assert verdict.counts["acknowledged"] > 0


def test_there_are_eleven_kills() -> None:
    assert sum(scenario.kills for scenario in SCENARIOS if scenario.name in TRIED) == 11
