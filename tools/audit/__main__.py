"""Run all security audits, each with one line of result: `make audit`.

An audit that could not run has failed: a missing program, a skipped test, a silent database.
"""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tools.audit.programs import ROOT, CannotWorkError
from tools.audit.sbom import write_sboms
from tools.audit.servers import audit_servers
from tools.audit.vulnerabilities import audit_npm, audit_python


class Result(NamedTuple):
    """Says what an audit has found: `outcome` is passed, failed or could not run."""

    outcome: str
    note: str
    details: str = ""


PASSED, FAILED, COULD_NOT_RUN = "passed", "failed", "could not run"
Audit = Callable[[], Result]


def run_tests(*paths: str) -> Result:
    """Run tests; a skipped one means that the audit could not run."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        pytest = [sys.executable, "-m", "pytest", "-q", "-rs", f"--junitxml={report}", *paths]
        done = subprocess.run(pytest, cwd=ROOT, capture_output=True, text=True, check=False)
        if not report.exists():
            return Result(COULD_NOT_RUN, "pytest wrote no report", done.stdout + done.stderr)
        return read_report(report.read_text(), done.returncode, done.stdout)


def read_report(report: str, status: int, output: str) -> Result:
    """Return what a JUnit report of pytest says."""
    suite = ElementTree.fromstring(report).find("testsuite")
    assert suite is not None
    count = {key: int(suite.attrib[key]) for key in ("tests", "failures", "errors", "skipped")}
    if count["skipped"] or not count["tests"]:
        reasons = {skipped.attrib["message"] for skipped in suite.iter("skipped")}
        return Result(COULD_NOT_RUN, "; ".join(sorted(reasons)) or "no test was found", output)
    if status or count["failures"] or count["errors"]:
        failed = count["failures"] + count["errors"]
        return Result(FAILED, f"{failed} of {count['tests']} tests failed", output)
    return Result(PASSED, f"{count['tests']} tests")


def run_bandit() -> Result:
    """Check the code with ruff, whose S rules are those of bandit."""
    ruff = [str(Path(sys.executable).with_name("ruff")), "check"]
    done = subprocess.run([*ruff, "."], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        return Result(COULD_NOT_RUN, "ruff failed", done.stderr)
    return Result(
        FAILED if done.returncode else PASSED, done.stdout.strip().splitlines()[-1], done.stdout
    )


def look_up(audit: Callable[[], tuple[int, list[str]]]) -> Result:
    """Look up packages in a database of vulnerabilities."""
    number, found = audit()
    if found:
        return Result(FAILED, f"{len(found)} vulnerabilities", "\n".join(found))
    return Result(PASSED, f"{number} packages")


def look_up_servers() -> Result:
    """Look up the servers of images, and the embedded MongoDB."""
    number, found, note = audit_servers()
    if found:
        return Result(FAILED, f"{len(found)} vulnerabilities; {note}", "\n".join(found))
    return Result(PASSED, f"{number} servers; {note}")


def check_sboms() -> Result:
    """Write the software bills of materials, which checks them."""
    with TemporaryDirectory() as folder:
        return Result(PASSED, f"{len(write_sboms(Path(folder)))} files")


AUDITS: dict[str, Audit] = {
    "graphql-http": lambda: run_tests("tests/gateway/test_audit.py"),
    "GraphQL attacks": lambda: run_tests("tests/gateway/graphql/test_endpoint.py"),
    "schemathesis": lambda: run_tests(
        "tests/rest/test_openapi_tools.py::test_schemathesis_finds_nothing_against_the_running_service"
    ),
    "slowhttptest": lambda: run_tests("tests/gateway/server/test_slow_clients.py"),
    "sslyze": lambda: run_tests("tests/gateway/server/test_tls_scan.py"),
    "bandit": run_bandit,
    "pip-audit": lambda: look_up(audit_python),
    "npm audit": lambda: look_up(audit_npm),
    "servers": look_up_servers,
    "SBOM": check_sboms,
    "SECURITY.md": lambda: run_tests("tests/test_doc_pages.py"),
}


def run_audits(audits: Mapping[str, Audit]) -> int:
    """Run audits, and return 1 if one failed or could not run."""
    results = {}
    for name, audit in audits.items():
        try:
            result = audit()
        except CannotWorkError as error:
            result = Result(COULD_NOT_RUN, str(error))
        results[name] = result
        if result.outcome != PASSED:
            write(result.details)
        write(line(name, result))
    write("\nSummary")
    for name, result in results.items():
        write(line(name, result))
    return int(any(result.outcome != PASSED for result in results.values()))


def line(name: str, result: Result) -> str:
    """Return one line for an audit.

    >>> line("sslyze", Result(PASSED, "1 tests"))
    'sslyze           passed         1 tests'
    """
    first, *_ = (result.note or "-").splitlines()
    return f"{name:<16} {result.outcome:<14} {first}"


def write(text: str) -> None:
    """Write a line at once, since audits take minutes."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(run_audits(AUDITS))
