"""`make audit` passes only if each audit ran and passed."""

from functools import partial

import pytest

from tools.audit.__main__ import (
    AUDITS,
    COULD_NOT_RUN,
    FAILED,
    PASSED,
    Result,
    look_up,
    read_report,
    run_audits,
)
from tools.audit.programs import CannotWorkError


def report(tests: int, failures: int = 0, skipped: int = 0) -> str:
    skips = '<testcase><skipped message="it is absent"/></testcase>' * skipped
    counts = f'tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}"'
    return f"<testsuites><testsuite {counts}>{skips}</testsuite></testsuites>"


def cannot_work() -> tuple[int, list[str]]:
    raise CannotWorkError("the database is silent")


@pytest.mark.parametrize(
    ("text", "status", "outcome", "note"),
    [
        (report(3), 0, PASSED, "3 tests"),
        (report(3, failures=1), 1, FAILED, "1 of 3 tests failed"),
        (report(3, skipped=1), 0, COULD_NOT_RUN, "it is absent"),
        (report(0), 5, COULD_NOT_RUN, "no test was found"),
        (report(3), 1, FAILED, "0 of 3 tests failed"),
    ],
)
def test_a_skipped_test_is_no_passed_audit(text: str, status: int, outcome: str, note: str) -> None:
    assert read_report(text, status, "")[:2] == (outcome, note)


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([PASSED, PASSED], 0),
        ([PASSED, FAILED, PASSED], 1),
        ([COULD_NOT_RUN, PASSED], 1),
    ],
)
def test_each_audit_has_a_line_and_the_summary_all(
    results: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    audits = {
        f"a{number}": partial(Result, outcome, "why") for number, outcome in enumerate(results)
    }
    assert run_audits(audits) == status
    before, _, summary = capsys.readouterr().out.partition("\nSummary\n")
    for number, outcome in enumerate(results):
        line = f"a{number}               {outcome:<14} why"
        assert line in before.splitlines()
        assert summary.splitlines()[number] == line


def test_an_audit_without_an_answer_could_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_audits({"pip-audit": lambda: look_up(cannot_work)}) == 1
    assert "could not run  the database is silent" in capsys.readouterr().out


def test_what_is_found_fails_the_audit() -> None:
    assert look_up(lambda: (7, [])) == Result(PASSED, "7 packages")
    assert look_up(lambda: (7, ["a 1: b"])) == Result(FAILED, "1 vulnerabilities", "a 1: b")


def test_every_suite_is_run() -> None:
    assert {"graphql-http", "schemathesis", "slowhttptest", "sslyze", "bandit"} <= {*AUDITS}
    assert {"pip-audit", "npm audit", "SBOM", "GraphQL attacks"} <= {*AUDITS}
