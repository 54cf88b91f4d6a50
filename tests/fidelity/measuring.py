"""Measure how many drawings look the same after parsing, in a real browser."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from lxml import etree

from parsing.errors import ParsingError
from parsing.svg.render import to_svg
from parsing.svg.unit_map import parse_unit_map
from parsing.svg.viewports import root_frame
from tests.parsing.browser import Sheet, differing_share, draw

MAX_DIFFERING_SHARE: Final = 0.001
"""A picture is the same if fewer of its pixels differ."""
MAX_CHANNEL_DIFFERENCE: Final = 16
MAX_SIDE_PX: Final = 800
SHEETS_A_PAGE: Final = 12
SVG: Final = "{http://www.w3.org/2000/svg}"
STRIPPED_TAGS: Final = tuple(
    SVG + name
    for name in [
        "text",
        "image",
        "script",
        "filter",
        "mask",
        "clipPath",
        "marker",
        "set",
        "animate",
        "animateColor",
        "animateMotion",
        "animateTransform",
    ]
)
STRIPPED_ATTRIBUTES: Final = frozenset(
    ["filter", "mask", "clip-path", "marker", "marker-start", "marker-mid", "marker-end"]
)


class Comparison(NamedTuple):
    """What became of one drawing: the share of its pixels that differ, or why it has none."""

    path: Path
    differing_share: float
    error: str = ""
    keeps_round_trip: bool = True

    @property
    def is_same(self) -> bool:
        return not self.error and self.differing_share < MAX_DIFFERING_SHARE


class _Sample(NamedTuple):
    path: Path
    source: Sheet
    parsed: Sheet
    keeps_round_trip: bool


def compare_drawings(paths: Sequence[Path]) -> Iterator[Comparison]:
    """Compare the pictures of drawings with those of their parsed maps, without labels."""
    for start in range(0, len(paths), SHEETS_A_PAGE):
        samples: list[_Sample] = []
        for path in paths[start : start + SHEETS_A_PAGE]:
            try:
                samples.append(_make_sample(path))
            except (ParsingError, etree.XMLSyntaxError) as error:
                yield Comparison(path, 1, str(error))
        if samples:
            yield from _compare_page(samples)


def _compare_page(samples: Sequence[_Sample]) -> Iterator[Comparison]:
    with tempfile.TemporaryDirectory() as name:
        sources = draw([sample.source for sample in samples], Path(name))
        parsed = draw([sample.parsed for sample in samples], Path(name))
    for sample, one, other in zip(samples, sources, parsed, strict=True):
        share = differing_share(one, other, MAX_CHANNEL_DIFFERENCE)
        yield Comparison(sample.path, share, keeps_round_trip=sample.keeps_round_trip)


def _make_sample(path: Path) -> _Sample:
    root = read_stripped(path)
    map_ = parse_unit_map(etree.tostring(root))
    members = map_.to_dict()
    svg = to_svg(members).encode()
    width, height = members["width"], members["height"]
    scale = min(1, MAX_SIDE_PX / max(width, height))
    size = max(1, math.ceil(width * scale)), max(1, math.ceil(height * scale))
    _set_view_box(root, width, height)
    source = Sheet(etree.tostring(root), *size)
    return _Sample(path, source, Sheet(svg, *size), parse_unit_map(svg) == map_)


def read_stripped(path: Path) -> Any:
    """Read a drawing without text, images, scripts, animation, filters, masks, clips, markers."""
    parser = etree.XMLParser(huge_tree=True, resolve_entities=True, no_network=True)
    root = etree.fromstring(path.read_bytes(), parser)
    etree.strip_elements(root, *STRIPPED_TAGS, with_tail=False)
    for element in root.iter(etree.Element):
        for name in STRIPPED_ATTRIBUTES & {*map(str, element.attrib)}:
            del element.attrib[name]
    return root


def _set_view_box(root: Any, width: int, height: int) -> None:
    """Give a drawing the size of its parsed map, which has only whole user units."""
    attributes = {str(name): str(value) for name, value in root.items()}
    if "viewBox" not in attributes:
        root.set("viewBox", f"0 0 {width} {height}")
    else:
        frame = root_frame(attributes, 10**9)
        start = attributes["viewBox"].replace(",", " ").split()[:2]
        root.set("viewBox", " ".join([*start, str(width), str(height)]))
        assert frame.viewport
    root.set("width", str(width))
    root.set("height", str(height))


def summarize(comparisons: Sequence[Comparison]) -> str:
    """Return how many are the same, how many differ in less than 1 %, and how many more."""
    same = sum(comparison.is_same for comparison in comparisons)
    failed = sum(bool(comparison.error) for comparison in comparisons)
    almost = sum(not c.is_same and c.differing_share < 0.01 for c in comparisons)
    more = len(comparisons) - same - almost - failed
    return (
        f"{same} of {len(comparisons)} the same ({same / max(1, len(comparisons)):.1%}), "
        f"{almost} differ in less than 1 % of the pixels, {more} in more, {failed} not read"
    )
