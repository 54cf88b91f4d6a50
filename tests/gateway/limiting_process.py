"""A process that checks a rate limit in memory that it inherits, as workers do.

A line of its standard input names a client, how many requests it sends and at what time (null: now,
by the clock). The answer is the list of the times at which they were admitted.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from gateway import rate_limits
from gateway.rate_limits import ArrivalTables, RateLimiter

CHECKOUT = Path(__file__).parents[2]


class LimitingProcess:
    """The process, as its parent sees it."""

    def __init__(self, descriptor: int, per_second: float, burst: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(descriptor), str(per_second), str(burst)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[descriptor],
            cwd=CHECKOUT,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            text=True,
        )

    def begin(self, name: str, requests: int = 1, now: float | None = None) -> None:
        """Let it send requests, at a given time or at the times of its clock."""
        assert self.process.stdin is not None
        print(json.dumps([name, requests, now]), file=self.process.stdin, flush=True)

    def admitted(self) -> list[float]:
        """The times of the requests that were admitted."""
        assert self.process.stdout is not None
        times: list[float] = json.loads(self.process.stdout.readline())
        return times

    def stop(self) -> None:
        self.process.communicate()


def main() -> None:
    descriptor, per_second, burst = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    rate_limits._LOCK_ATTEMPTS = sys.maxsize  # the machine may be busy; the count is exact
    limiter = RateLimiter(per_second, burst, ArrivalTables.attach(descriptor).keys)
    for line in sys.stdin:
        name, requests, now = json.loads(line)
        admitted = list[float]()
        for _ in range(requests):
            at = time.monotonic() if now is None else now
            if limiter.check(name, at).wait_seconds is None:
                admitted.append(at)
        sys.stdout.write(json.dumps(admitted) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
