"""The measurement of invalidation runs; nothing here looks at its figures."""

import subprocess
import sys

import pytest

from bench.load.servers import CHECKOUT


@pytest.mark.slow
def test_a_short_run_says_of_each_target_whether_it_is_met() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench.invalidation", "--assets", "12"),
            *("--seconds", "0.2", "--commits", "2"),
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("│ met") + done.stdout.count("│ missed") == 7
