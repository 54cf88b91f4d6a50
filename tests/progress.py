"""A line for each folder of tests that is done, in a run that is divided among workers."""

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Report on runs that are divided among workers; others print what pytest prints."""
    if config.getoption("numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(FolderProgress(config))


class FolderProgress:
    """Counts the tests of each folder, in the process that divides them."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._left: Counter[str] = Counter()
        self._outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Count the tests of each folder; all workers collect the same."""
        self._left = Counter(map(find_folder, ids))

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str]:
        """Count each test, and print no letter for it."""
        if report.failed:
            return ("failed", "", "FAILED") if report.when == "call" else ("error", "", "ERROR")
        return (report.outcome if report.when == "call" or report.skipped else "", "", "")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print what fails at once, and the line of a folder with the last report of its tests."""
        folder = find_folder(report.nodeid)
        if report.when == "call" or not report.passed:
            self._outcomes[folder][report.outcome] += 1
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed:
            reporter.write_line(f"FAILED {report.nodeid} ({report.when})")
        if report.when == "teardown":
            self._left[folder] -= 1
            if self._left[folder] == 0:
                counts = sorted(self._outcomes[folder].items())
                outcomes = ", ".join(f"{count} {outcome}" for outcome, count in counts)
                reporter.write_line(f"{folder:<34} {outcomes}")


def find_folder(test: str) -> str:
    """Return the folder that a test belongs to; examples in docstrings belong to their package.

    >>> find_folder("tests/gateway/server/test_admission.py::test_it[a/b]")
    'tests/gateway/server'
    >>> find_folder("gateway/cli/formats.py::gateway.cli.formats.shorten")
    'gateway'
    """
    parts = PurePosixPath(test.partition("::")[0]).parent.parts
    return "/".join(parts[: 3 if parts[0] == "tests" else 1])
