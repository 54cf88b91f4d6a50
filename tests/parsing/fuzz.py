"""Fuzz the parser: `.venv/bin/python -m tests.parsing.fuzz --minutes 10`.

Inputs that break a property are written to `tests/parsing/found/`, where the suite keeps trying
them.
"""

import argparse
import hashlib
import pickle
import random
import time
from pathlib import Path

import orjson
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from parsing.errors import ParsingError
from parsing.svg.render import to_svg
from parsing.svg.unit_map import MEDIA_TYPE, UNIT_MAP_VERSION, parse_unit_map
from tests.parsing.parsed_maps import MADE, elements_of, find_bad_uids
from tests.parsing.strategies import broken_drawings, drawings

# Properties that hold for any bytes; the suite and the long fuzz run check the same.


def check_properties(svg: bytes) -> None:
    """Check that bytes parse to a map that survives rendering, or fail with a position."""
    try:
        parsed = parse_unit_map(svg)
    except ParsingError as error:
        _check_error(error, svg)
        return
    members = orjson.loads(parsed.json)
    assert (members["version"], members["type"]) == (UNIT_MAP_VERSION, MEDIA_TYPE)
    assert members["width"] >= 1 and members["height"] >= 1
    assert find_bad_uids(members) == []
    assert all(element["type"] for element in elements_of(members))
    assert parse_unit_map(to_svg(members).encode()).json == parsed.json


def _check_error(error: ParsingError, svg: bytes) -> None:
    assert error.message
    assert 1 <= error.line <= max(1, svg.count(b"\n") + svg.count(b"\r") + 1)
    assert error.column >= 1
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.args) == (type(error), error.args)


FOLDER = Path(__file__).parent / "found"
SPLICE = st.sampled_from([path.read_bytes() for path in MADE])


@st.composite
def spliced_drawings(draw: st.DrawFn) -> bytes:
    """Join the head of one drawing program's file and the tail of another's, between elements."""
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
        check_properties(svg)
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
