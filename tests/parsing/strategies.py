"""Random drawings: mostly sensible, often odd, sometimes broken."""

from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st

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
