"""A look-up that gives no answer to rely on is an error, never a pass."""

import json
from typing import Any

import pytest

from tools.audit import vulnerabilities
from tools.audit.programs import ROOT, CannotWorkError
from tools.audit.vulnerabilities import audit_npm, audit_python, find_npm_folders, parse

SAFE = {"name": "anyio", "version": "4.16.0", "vulns": []}
UNSAFE = {
    "name": "pyyaml",
    "version": "5.3",
    "vulns": [{"id": "PYSEC-2021-142", "fix_versions": ["5.4"], "aliases": []}],
}
UNKNOWN = {"name": "anyio", "skip_reason": "Dependency not found on PyPI"}
KNOWN_NPM = {"minimist": {"severity": "critical", "range": "<0.2.4"}}


def npm_answer(found: dict[str, Any], total: int = 1) -> dict[str, Any]:
    return {"vulnerabilities": found, "metadata": {"dependencies": {"total": total}}}


def answer(monkeypatch: pytest.MonkeyPatch, program: str, *printed: Any) -> None:
    """Lets a program print this, one value each time that it is run."""
    texts = iter(value if isinstance(value, str) else json.dumps(value) for value in printed)
    monkeypatch.setattr(vulnerabilities, program, lambda *_: next(texts))


def pip_answer(*packages: dict[str, Any]) -> dict[str, Any]:
    return {"dependencies": [*packages], "fixes": []}


def test_python_packages_without_vulnerabilities_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "run_program", pip_answer(UNSAFE), pip_answer(SAFE))
    assert audit_python(("requirements.lock",)) == (1, [])


def test_an_unsafe_python_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "run_program", pip_answer(UNSAFE), pip_answer(SAFE, UNSAFE))
    found = ["pyyaml 5.3: PYSEC-2021-142, fixed in 5.4"]
    assert audit_python(("requirements.lock",)) == (2, found)


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        # What pip-audit prints, with the exit status 0, where PyPI does not answer.
        ([pip_answer({"name": "pyyaml", "skip_reason": "not found on PyPI"})], "not found on PyPI"),
        ([pip_answer(UNSAFE | {"vulns": []})], "does not know that pyyaml==5.3 is unsafe"),
        ([pip_answer(UNSAFE), pip_answer(SAFE, UNKNOWN)], "not found on PyPI"),
        ([pip_answer(UNSAFE), pip_answer()], "looked up no package"),
        ([pip_answer(UNSAFE), "<html>"], "no JSON"),
        ([pip_answer(UNSAFE), "[]"], "no JSON object"),
    ],
)
def test_a_database_of_python_packages_has_to_answer(
    monkeypatch: pytest.MonkeyPatch, printed: list[Any], reason: str
) -> None:
    answer(monkeypatch, "run_program", *printed)
    with pytest.raises(CannotWorkError, match=reason):
        audit_python(("requirements.lock",))


def test_npm_packages_without_vulnerabilities_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "run_npm", npm_answer(KNOWN_NPM), npm_answer({}))
    number, found = audit_npm(("gateway/web",))
    assert number > 0
    assert found == []


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a clone with the git history")
def test_every_folder_with_packages_of_npm_is_audited() -> None:
    folders = find_npm_folders()
    assert {"gateway/web", "clients/typescript", "tests/rest/tools"} <= {*folders}
    for folder in folders:
        assert (ROOT / folder / "package.json").exists()
        assert "node_modules" not in folder


def test_without_folders_all_are_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vulnerabilities, "find_npm_folders", lambda: ("gateway/web",) * 2)
    answer(monkeypatch, "run_npm", npm_answer(KNOWN_NPM), npm_answer({}), npm_answer(KNOWN_NPM))
    assert audit_npm()[1] == ["minimist <0.2.4: critical"]


def test_an_unsafe_npm_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "run_npm", npm_answer(KNOWN_NPM), npm_answer(KNOWN_NPM))
    assert audit_npm(("gateway/web",))[1] == ["minimist <0.2.4: critical"]


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ([{"message": "405 Method Not Allowed", "error": {}}], "405 Method Not Allowed"),
        ([npm_answer({})], "does not know that minimist 0.0.8 is unsafe"),
        ([npm_answer(KNOWN_NPM), npm_answer({}, total=0)], "looked up no package"),
        ([npm_answer(KNOWN_NPM), {"error": {}}], "looked up no package"),
    ],
)
def test_a_database_of_npm_packages_has_to_answer(
    monkeypatch: pytest.MonkeyPatch, printed: list[Any], reason: str
) -> None:
    answer(monkeypatch, "run_npm", *printed)
    with pytest.raises(CannotWorkError, match=reason):
        audit_npm(("gateway/web",))


def test_a_program_that_prints_no_json_gave_no_answer() -> None:
    assert parse("{}") == {}
    with pytest.raises(CannotWorkError, match="no JSON: oops"):
        parse("oops")
