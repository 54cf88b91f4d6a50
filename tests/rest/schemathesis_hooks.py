"""Bodies of `POST /v1/maps/parse` for schemathesis, which knows XML but not SVG."""

import schemathesis
from hypothesis import strategies as st

NUMBERS = st.integers(-10_000, 10_000)
COLOURS = st.sampled_from(["red", "#abc", "none", "transparent", "url(#x)", "rgb(1 2 3)"])
NAMES = st.text("abc/% -_é<&\"'", min_size=1, max_size=20)


def escaped(text: str) -> str:
    """The text within a double-quoted attribute."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


RECTANGLES = st.builds(
    lambda id, x, y, fill: (
        f'<rect id="{escaped(id)}" x="{x}" y="{y}" width="10" height="5" fill="{fill}"/>'
    ),
    NAMES,
    NUMBERS,
    NUMBERS,
    COLOURS,
)
POLYGONS = st.builds(
    lambda id, points: (
        f'<polygon id="{escaped(id)}" points="{" ".join(f"{x},{y}" for x, y in points)}"/>'
    ),
    NAMES,
    st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=5),
)
SHAPES = st.one_of(RECTANGLES, POLYGONS, st.just('<path d="M0,0 L1,1 Z"/>'))
LAYERS = st.builds(
    lambda kind, shapes: f'<g data-type="{kind}">{"".join(shapes)}</g>',
    st.sampled_from(["UnitLayer", "HitAreaLayer", "Layer"]),
    st.lists(SHAPES, max_size=3, unique_by=lambda shape: shape.partition(' id="')[2].split('"')[0]),
)
LEVELS = st.builds(
    lambda layers: f'<g data-type="Level" data-tags="floor=1">{"".join(layers)}</g>',
    st.lists(LAYERS, max_size=1),
)
DRAWINGS = st.builds(
    lambda width, content: (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 100">'
        f"{''.join(content)}</svg>"
    ).encode(),
    st.integers(1, 10_000),
    st.lists(st.one_of(LEVELS, SHAPES), max_size=2, unique=True),
)

schemathesis.openapi.media_type("application/vnd.map+xml", DRAWINGS)
