"""Faults on a replica set of three with two gateways, as far as they are quickly tried.

`make chaos` tries all of them, more often, and reports the times too. What fails here is a promise
of docs/reliability.md; the history of the try is in the directory of the test.
"""

import random
from collections.abc import Iterator

import pytest

from tests.faults.__main__ import try_scenario
from tests.faults.deployment import Deployment, run_deployment
from tests.faults.http_client import TIMEOUT_SECONDS
from tests.faults.scenarios import SCENARIOS

pytestmark = pytest.mark.xdist_group("faults")

ELECTION_MS = 4_000
"""Members of a busy machine that wait for each other for less elect again and again."""
ALWAYS = ["kill-primary", "kill-all", "step-down", "black-hole", "kill-gateway"]
SELDOM = [
    *("kill-and-stop", "kill-and-lag", "kill-secondaries"),
    *("isolate-primary", "reset", "kill-import", "kill-mirror", "terminate"),
]
TRIED = [*ALWAYS, *(pytest.param(name, marks=pytest.mark.slow) for name in SELDOM)]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with run_deployment(tmp_path_factory.mktemp("faults"), ELECTION_MS) as deployment:
        yield deployment


@pytest.mark.parametrize("name", TRIED)
def test_every_promise_holds_under_the_fault(deployment: Deployment, name: str) -> None:
    (scenario,) = [each for each in SCENARIOS if each.name == name]
    random.seed(name)
    verdict = try_scenario(deployment, scenario, TIMEOUT_SECONDS)
    assert verdict.violations == []
    assert verdict.counts["acknowledged"] > 0
