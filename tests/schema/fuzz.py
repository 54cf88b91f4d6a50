"""Compare compiled with interpreted operations at length: `.venv/bin/python -m tests.schema.fuzz`.

An operation that is answered differently ends the run, made as small as it still differs.
"""

import argparse
import logging
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from storage.embedded.embedded_mongo import run_embedded_mongo
from tests.schema.executor_comparison import CALLERS, STORES, ExecutorComparison, open_comparison
from tests.schema.operations import DrawnOperation, operations


def compare(comparison: ExecutorComparison, number: int) -> None:
    """Compares a thousand operations, which `number` picks. Raises AssertionError."""

    @seed(number)
    @given(operations(), st.sampled_from(CALLERS), st.sampled_from(STORES))
    @settings(
        deadline=None,
        database=None,
        max_examples=1_000,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    def check(drawn: DrawnOperation, caller: str, store: str) -> None:
        comparison.check(drawn, caller, store)

    check()


def main() -> None:
    """Run for the given number of minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    end = time.monotonic() + parser.parse_args().minutes * 60
    logging.disable()
    with (
        tempfile.TemporaryDirectory() as folder,
        run_embedded_mongo(Path(folder)) as mongo_url,
        open_comparison(mongo_url, Path(folder)) as comparison,
    ):
        number = time.time_ns()
        while time.monotonic() < end:
            compare(comparison, number)
            number += 1
            print(comparison.summary, flush=True)  # noqa: T201
        comparison.require_shares()


if __name__ == "__main__":
    main()
