"""Properties that hold for any bytes; the suite and the long fuzz run check the same."""

import pickle

import orjson

from parsing.errors import ParsingError
from parsing.svg.render import to_svg
from parsing.svg.unit_map import MEDIA_TYPE, UNIT_MAP_VERSION, parse_unit_map
from tests.parsing.tree import elements_of, find_bad_uids


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
