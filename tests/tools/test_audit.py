"""`make audit` passes only if each audit ran and passed; a look-up without an answer is no pass."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tools.audit import vulnerabilities
from tools.audit.__main__ import (
    COULD_NOT_RUN,
    FAILED,
    PASSED,
    Result,
    look_up,
    read_report,
    run_audits,
)
from tools.audit.locks import read_npm_lock, read_python_lock
from tools.audit.programs import ROOT, CannotWorkError, find_program
from tools.audit.sbom import check, write_sboms
from tools.audit.vulnerabilities import audit_npm, audit_python

SAFE = {"name": "anyio", "version": "4.16.0", "vulns": []}
UNSAFE = {
    "name": "pyyaml",
    "version": "5.3",
    "vulns": [{"id": "PYSEC-2021-142", "fix_versions": ["5.4"], "aliases": []}],
}
UNKNOWN = {"name": "anyio", "skip_reason": "not found on PyPI"}
MINIMIST = {"minimist": {"severity": "critical", "range": "<0.2.4"}}
LXML = {"name": "lxml", "version": "6.1", "purl": "pkg:pypi/lxml@6.1"}


def report(tests: int, failures: int = 0, skipped: int = 0) -> str:
    skips = '<testcase><skipped message="it is absent"/></testcase>' * skipped
    counts = f'tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}"'
    return f"<testsuites><testsuite {counts}>{skips}</testsuite></testsuites>"


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
    [([PASSED, PASSED], 0), ([PASSED, FAILED, PASSED], 1), ([COULD_NOT_RUN, PASSED], 1)],
)
def test_each_audit_has_a_line_in_the_summary(
    results: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    audits = {f"a{n}": partial(Result, outcome, "why") for n, outcome in enumerate(results)}
    assert run_audits(audits) == status
    summary = capsys.readouterr().out.partition("\nSummary\n")[2]
    assert summary.splitlines() == [
        f"a{n}               {outcome:<14} why" for n, outcome in enumerate(results)
    ]


def pip_answer(*packages: dict[str, Any]) -> dict[str, Any]:
    return {"dependencies": [*packages], "fixes": []}


def npm_answer(found: dict[str, Any], total: int = 1) -> dict[str, Any]:
    return {"vulnerabilities": found, "metadata": {"dependencies": {"total": total}}}


def answer(monkeypatch: pytest.MonkeyPatch, program: str, *printed: Any) -> None:
    """Let a program print this, one value each time that it is run."""
    texts = iter(value if isinstance(value, str) else json.dumps(value) for value in printed)
    monkeypatch.setattr(vulnerabilities, program, lambda *_: next(texts))


def test_unsafe_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "run_program", pip_answer(UNSAFE), pip_answer(SAFE, UNSAFE))
    python = audit_python(("requirements.lock",))
    assert python == (2, ["pyyaml 5.3: PYSEC-2021-142, fixed in 5.4"])
    answer(monkeypatch, "run_npm", npm_answer(MINIMIST), npm_answer(MINIMIST))
    assert audit_npm(("gateway/web",))[1] == ["minimist <0.2.4: critical"]
    assert look_up(lambda: python) == Result(FAILED, "1 vulnerabilities", python[1][0])
    assert look_up(lambda: (7, [])) == Result(PASSED, "7 packages")


def test_a_look_up_without_an_answer_could_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    def be_silent() -> tuple[int, list[str]]:
        raise CannotWorkError("the database is silent")

    assert run_audits({"pip-audit": lambda: look_up(be_silent)}) == 1
    assert "could not run  the database is silent" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        # What pip-audit prints, with the exit status 0, where PyPI does not answer.
        ([pip_answer({"name": "pyyaml", "skip_reason": "not found on PyPI"})], "not found on PyPI"),
        ([pip_answer(UNSAFE | {"vulns": []})], "does not know that pyyaml==5.3 is unsafe"),
        ([pip_answer(UNSAFE), pip_answer(SAFE, UNKNOWN)], "not found on PyPI"),
        ([pip_answer(UNSAFE), pip_answer()], "looked up no package"),
        ([pip_answer(UNSAFE), "<html>"], "no JSON"),
    ],
)
def test_a_database_of_python_packages_has_to_answer(
    monkeypatch: pytest.MonkeyPatch, printed: list[Any], reason: str
) -> None:
    answer(monkeypatch, "run_program", *printed)
    with pytest.raises(CannotWorkError, match=reason):
        audit_python(("requirements.lock",))


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ([{"message": "405 Method Not Allowed", "error": {}}], "405 Method Not Allowed"),
        ([npm_answer({})], "does not know that minimist 0.0.8 is unsafe"),
        ([npm_answer(MINIMIST), npm_answer({}, total=0)], "looked up no package"),
    ],
)
def test_a_database_of_npm_packages_has_to_answer(
    monkeypatch: pytest.MonkeyPatch, printed: list[Any], reason: str
) -> None:
    answer(monkeypatch, "run_npm", *printed)
    with pytest.raises(CannotWorkError, match=reason):
        audit_npm(("gateway/web",))


@pytest.mark.parametrize(
    ("components", "packages"),
    [
        ([], {("lxml", "6.1")}),
        ([LXML], {("lxml", "6.2")}),
        ([LXML], set[tuple[str, str]]()),
        ([{**LXML, "purl": ""}], {("lxml", "6.1")}),
    ],
)
def test_a_bill_of_materials_that_differs_from_the_lock_file_is_an_error(
    components: list[dict[str, str]], packages: set[tuple[str, str]]
) -> None:
    check({"components": [LXML]}, {("lxml", "6.1")})
    with pytest.raises(CannotWorkError, match="lxml"):
        check({"components": components}, packages)


@pytest.mark.slow
@pytest.mark.skipif(find_program("cyclonedx-py") is None, reason="make audit installs cyclonedx-py")
def test_each_pinned_package_is_in_a_bill_with_hashes(tmp_path: Path) -> None:
    python, pages = (json.loads(file.read_text()) for file in write_sboms(tmp_path / "sbom"))
    by_name = {component["name"]: component for component in python["components"]}
    assert {*by_name} == {name for name, _ in read_python_lock(ROOT / "requirements.lock")}
    assert by_name["lxml"]["externalReferences"][0]["hashes"][0]["alg"] == "SHA-256"
    assert len(pages["components"]) == len(read_npm_lock(ROOT / "gateway/web/package-lock.json"))
    assert all(component["hashes"] for component in pages["components"])
