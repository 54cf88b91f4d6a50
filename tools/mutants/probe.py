"""Note which test reaches which place, and what each test costs.

A copy of this file lies among the packages of a probed copy, so that every process of a test can
import it. It is a plugin of pytest as well.
"""

import json
import os
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

HITS = Path(__file__).with_name("floorgate_probe_hits")
TESTS = Path(__file__).with_name("floorgate_probe_tests.json")

_noted: set[tuple[int, str]] = set()
_seconds: dict[str, float] = defaultdict(float)
_failed: set[str] = set()


def function_of(test: str) -> str:
    """Return the id of a test without its parameters, the group of xdist and the phase."""
    return re.split(r"\[|@| \(", test, maxsplit=1)[0]


def note(*places: int) -> None:
    """Note that the current test has come here; processes inherit its name."""
    test = os.environ.get("PYTEST_CURRENT_TEST")
    if test is None or all((place, test) in _noted for place in places):
        return
    _noted.update((place, test) for place in places)
    with (HITS / str(os.getpid())).open("a") as file:
        file.writelines(f"{place}\t{function_of(test)}\n" for place in places)


def pytest_runtest_logreport(report: "pytest.TestReport") -> None:
    """Add up the time of a test."""
    _seconds[function_of(report.nodeid)] += report.duration
    if report.failed:
        _failed.add(function_of(report.nodeid))


def pytest_sessionfinish() -> None:
    """Write the time of the tests that passed, unless this is a worker of xdist."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        passed = {test: spent for test, spent in _seconds.items() if test not in _failed}
        TESTS.write_text(json.dumps(passed))
