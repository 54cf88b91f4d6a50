"""Random drawings, and their properties: `python -m tests.parsing.fuzz --minutes 10`."""

import argparse
import hashlib
import pickle
import random
import time
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import orjson
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from parsing.errors import ParsingError
from parsing.svg.render import to_svg
from parsing.svg.unit_map import MEDIA_TYPE, UNIT_MAP_VERSION, parse_unit_map
from tests.parsing.parsed_maps import MADE, elements_of, find_bad_uids

XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=12
)


def any_of(values: str) -> st.SearchStrategy[str]:
    """Draw one of the values between bars."""
    return st.sampled_from(values.split("|"))


IDS = any_of("a|b|c|hit101|101|hit|_x31_01_2_|R 1;2|é")
NUMBERS = any_of("0|10|-3.5|1e2|50%|2mm|2em|3vw|1.5in| 7 |+.5|1e400|1e-400|auto||1 2")
COLORS = any_of(
    "red|#fff|none|currentColor|inherit|unset|url(#a)|url(#b) #0f0|var(--x, blue)|context-stroke"
    "|rgb(1, 2, 3)"
)
OPACITIES = any_of("0|.5|1|50%|-1|7|x")
TRANSFORMS = any_of("translate(1,2)|rotate(45)|scale(2) skewX(3)|matrix(1 0 0 1 0 0)|none||oops(")
VALUES = {
    "id": IDS,
    "class": any_of("wall|room wall|room||  |x y z"),
    "fill": COLORS,
    "stroke": COLORS,
    "color": COLORS,
    "stroke-width": NUMBERS,
    "stroke-dasharray": any_of("1 2|none|5%,1"),
    "opacity": OPACITIES,
    "fill-opacity": OPACITIES,
    "transform": TRANSFORMS,
    "display": any_of("none|inline|x"),
    "visibility": any_of("hidden|visible|collapse|inherit"),
    **{name: NUMBERS for name in ["x", "y", "width", "height", "x1", "y2", "cx", "r", "ry"]},
    "points": any_of("0,0 1,1||1e999 NaN") | XML_TEXT,
    "d": any_of("M0 0h1v1z||M") | XML_TEXT,
    "viewBox": any_of("0 0 10 10|1,2,30,40|0 0 0 1|0 0 1e300 1|a b c d|-5 -5 9.5 9"),
    "preserveAspectRatio": any_of("none|xMinYMax slice|xMidYMid|oops"),
    "href": any_of("#a|#b|#c|#hit101|other.svg#a|#|"),
    "overflow": any_of("visible|hidden|inherit"),
    "font-size": any_of("2em|larger|50%|1e9px"),
    "paint-order": any_of("stroke|fill stroke|x"),
    "stroke-dashoffset": NUMBERS,
    "transform-origin": any_of("center|1px 50%|top left|x|0"),
    "offset": NUMBERS,
    "stop-color": COLORS,
    "stop-opacity": OPACITIES,
    "patternUnits": any_of("userSpaceOnUse|objectBoundingBox"),
    "data-type": any_of("Level|UnitLayer|HitAreaLayer|Georeference|Other"),
    "data-tags": any_of("building=1;floor=2|a=\\;b; c = d\\ ;e=|indoor=room||x"),
    "data-id": IDS,
    "data-name": IDS,
    "data-target-id": IDS,
    "data-target-type": any_of("Unit|Amenity|"),
    "data-latitude": NUMBERS,
    "data-longitude": NUMBERS,
    "systemLanguage": any_of("en|de, en-GB|tlh|"),
    "requiredExtensions": any_of("|http://example.org/"),
    "odd": XML_TEXT,
}
SELECTORS = any_of("rect|.wall|#a|*|g rect|g > .room|rect.wall#a|.room.wall|a:hover|b, .wall")
DECLARED = any_of(
    "fill:red|stroke : blue !important|opacity:.5|display:none|x:3px|transform:rotate(.5turn)"
    "|fill:url('a;b')|color:#123|fill:|:|}|/*|visibility:hidden|--x:var(--y)|--y:var(--x,1px)"
    "|--x:#123|rotate:45deg|scale:50%|translate:1px 2px|font:2em/3 x|d:path('M0 0h9v9z')|FILL:GREEN"
)
DECLARATIONS = st.lists(DECLARED, max_size=3).map(";".join)
RULES = st.tuples(SELECTORS, DECLARATIONS).map("{0[0]}{{{0[1]}}}".format)
STYLE = st.lists(RULES, max_size=4).map(lambda rules: f"<style>{escape(' '.join(rules))}</style>")
SHAPES = any_of("rect|circle|ellipse|line|polyline|polygon|path")
GROUPS = any_of(
    "g|g|g|a|svg|switch|symbol|defs|text|script|pattern|stop|linearGradient|radialGradient"
)


@st.composite
def attributes(draw: st.DrawFn) -> str:
    """Return attributes of one element as markup, `style` among them at times."""
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=5, unique=True))
    pairs = {name: draw(VALUES[name]) for name in names}
    if draw(st.booleans()):
        pairs["style"] = draw(DECLARATIONS)
    return "".join(f" {name}={quoteattr(value)}" for name, value in pairs.items())


def element(name: str, own: str, children: list[str]) -> str:
    """Return the markup of an element."""
    return f"<{name}{own}>{''.join(children)}</{name}>"


SHAPE = st.builds(element, SHAPES, attributes(), st.just([]))
USE = st.builds(element, st.just("use"), attributes(), st.just([]))
CONTENT = st.recursive(
    SHAPE | USE | STYLE | XML_TEXT.map(escape),
    lambda children: st.builds(element, GROUPS, attributes(), st.lists(children, max_size=5)),
    max_leaves=12,
)


@st.composite
def drawings(draw: st.DrawFn) -> bytes:
    """Return a whole document, well-formed."""
    generator = draw(any_of("|<!-- Generator: Adobe Illustrator 27.0.0 -->"))
    content = draw(st.lists(CONTENT, min_size=1, max_size=6))
    own = ' xmlns="http://www.w3.org/2000/svg"' + draw(attributes())
    return (generator + element("svg", own, content)).encode()


@st.composite
def broken_drawings(draw: st.DrawFn) -> bytes:
    """Return a document with some bytes cut out or put in."""
    svg = draw(drawings())
    start = draw(st.integers(0, len(svg)))
    end = draw(st.integers(start, min(len(svg), start + 40)))
    pieces = st.sampled_from(
        [b"", b"<", b">", b"&", b"&#0;", b'"', b"\0", b"\xff", b"]]>", b"<!--"]
    )
    return svg[:start] + draw(pieces | st.binary(max_size=8)) + svg[end:]


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
