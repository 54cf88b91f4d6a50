"""Programs that parse SVG to shapes, as a Python program would call them.

`make bench` installs all but CairoSVG, which needs the library Cairo.
"""

import importlib
import io
from collections.abc import Callable
from typing import Any, NamedTuple

from parsing.svg.unit_map import parse_unit_map

Parse = Callable[[bytes], object]


class ParserPeer(NamedTuple):
    """A parser: its name on tables, its module, and how the module parses a drawing."""

    name: str
    module: str
    bind: Callable[[Any], Parse]

    def load(self) -> Parse:
        """Return the function that parses. Raises ImportError if the module is absent."""
        try:
            return self.bind(importlib.import_module(self.module))
        except OSError as error:  # a library that is not Python's
            raise ImportError(str(error)) from error


def _parse_by_force(svg: bytes) -> object:
    return parse_unit_map(svg, force=True)  # some plans are pictures


def _bind_usvg(resvg: Any) -> Parse:
    options = resvg.usvg.Options.default()
    return lambda svg: resvg.usvg.Tree.from_str(svg.decode(), options)


def _bind_svgpathtools(svgpathtools: Any) -> Parse:
    return lambda svg: svgpathtools.svgstr2paths(svg.decode())


FLOORGATE = "Floorgate"
USVG = "usvg"
PEERS = (
    ParserPeer(FLOORGATE, "parsing.svg.unit_map", lambda _: _parse_by_force),
    ParserPeer(USVG, "resvg", _bind_usvg),
    ParserPeer("CairoSVG", "cairosvg.parser", lambda m: lambda svg: m.Tree(bytestring=svg)),
    ParserPeer("picosvg", "picosvg.svg", lambda m: lambda svg: m.SVG.fromstring(svg).shapes()),
    ParserPeer("svglib", "svglib.svglib", lambda m: lambda svg: m.svg2rlg(io.BytesIO(svg))),
    ParserPeer("svgpathtools", "svgpathtools", _bind_svgpathtools),
    ParserPeer("svgelements", "svgelements", lambda m: lambda svg: m.SVG.parse(io.BytesIO(svg))),
)
"""usvg is the parser of resvg, in Rust; the others are Python's."""
