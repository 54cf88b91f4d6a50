"""Fuzz the parser: `.venv/bin/python -m tests.parsing.fuzz --minutes 10`.

Inputs that break a property are written to `tests/parsing/found/`, where the suite keeps trying
them.
"""

import argparse
import hashlib
import random
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.parsing import properties
from tests.parsing.sources import MADE
from tests.parsing.strategies import broken_drawings, drawings

FOLDER = Path(__file__).parent / "found"
SPLICE = st.sampled_from([path.read_bytes() for path in MADE])


@st.composite
def spliced_drawings(draw: st.DrawFn) -> bytes:
    """The head of one drawing-program's file and the tail of another's, cut between elements."""
    one, other = draw(SPLICE).split(b"\n"), draw(SPLICE).split(b"\n")
    head = draw(st.integers(0, len(one)))
    return b"\n".join(one[:head] + other[draw(st.integers(0, len(other))) :])


@settings(
    deadline=None,
    database=None,
    phases=[Phase.generate],
    max_examples=1_000,
    suppress_health_check=list(HealthCheck),
)
@given(drawings() | broken_drawings() | spliced_drawings() | st.binary())
def try_one(svg: bytes) -> None:
    """Check one input, and keep it when it breaks a property."""
    started = time.process_time()
    try:
        properties.check_properties(svg)
        assert time.process_time() - started < 10, "took over ten seconds"
    except Exception:
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / hashlib.sha256(svg).hexdigest()[:12]).write_bytes(svg)
        raise


def main() -> None:
    """Fuzz for the minutes asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    end = time.monotonic() + parser.parse_args().minutes * 60
    while time.monotonic() < end:
        random.seed()
        try_one()


if __name__ == "__main__":
    main()
