"""What a run of many tests prints: a line for each folder that is done, and the dearest tests.

The CPU time of a test is that of its worker, with the fixtures that it is the first to need, and of
the processes that ended meanwhile; that of the shared mongod is not in it.
"""

import os
import resource
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any

import pytest

MAX_DEAREST = 10
MAX_DEPTH = 3
"""What is below `tests/gateway/server` belongs to it; examples in docstrings, to their package."""
CPU_SECONDS = "cpu_seconds"
_STARTED = pytest.StashKey[float]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note the CPU time at which a test begins."""
    item.stash[_STARTED] = _read_cpu_seconds()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Add to the last report of a test what CPU time it took."""
    if call.when == "teardown":
        seconds = _read_cpu_seconds() - item.stash[_STARTED]
        item.user_properties.append((CPU_SECONDS, round(seconds, 3)))


def _read_cpu_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


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
        self._seconds: dict[str, float] = {}

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
        if report.failed:
            self._print(f"FAILED {report.nodeid} ({report.when})")
        if report.when != "teardown":
            return
        properties: dict[str, Any] = dict(report.user_properties)
        self._seconds[report.nodeid] = properties[CPU_SECONDS]
        self._left[folder] -= 1
        if self._left[folder] == 0:
            self._print(self._describe(folder))

    def _print(self, line: str) -> None:
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        reporter.write_line(line)

    def _describe(self, folder: str) -> str:
        outcomes = ", ".join(f"{n} {what}" for what, n in sorted(self._outcomes[folder].items()))
        seconds = sum(s for test, s in self._seconds.items() if find_folder(test) == folder)
        return f"{folder:<34} {seconds:6.1f} CPU seconds  {outcomes}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the tests that took the most CPU time."""
        if len(self._seconds) > MAX_DEAREST:
            terminalreporter.section(f"dearest {MAX_DEAREST} tests, in CPU seconds")
            for test, seconds in find_dearest(self._seconds.items()):
                terminalreporter.write_line(f"{seconds:6.1f}  {test}")


def find_folder(test: str) -> str:
    """Return the folder that a test belongs to.

    >>> find_folder("tests/gateway/server/test_admission.py::test_it[a/b]")
    'tests/gateway/server'
    >>> find_folder("gateway/cli/formats.py::gateway.cli.formats.shorten")
    'gateway'
    """
    parts = PurePosixPath(test.partition("::")[0]).parent.parts
    return "/".join(parts[: MAX_DEPTH if parts[0] == "tests" else 1])


def find_dearest(seconds: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return the tests that took the most time, dearest first.

    >>> find_dearest([("a", 1.0), ("b", 2.0)])
    [('b', 2.0), ('a', 1.0)]
    """
    return sorted(seconds, key=lambda each: each[1], reverse=True)[:MAX_DEAREST]
