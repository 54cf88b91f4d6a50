"""Source and parsed map look the same in a real browser."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from lxml import etree
from PIL import Image

from parsing.svg.geometry.lengths import Viewport
from parsing.svg.render import to_svg
from parsing.svg.unit_map import parse_unit_map
from parsing.svg.viewports import root_frame
from tests.parsing.browser import CHROMIUM, Sheet, differing_share, draw, is_blank
from tests.parsing.sources import DEMO, MADE, REAL, REAL_FOLDER, cad_export, without_text

MAX_DIFFERING_SHARE = 0.001
MAX_SIDE_PX = 1_200

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.xdist_group("chromium"),
    pytest.mark.slow,
]


class Pair(NamedTuple):
    source: Image.Image
    round_trip: Image.Image


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Pair]]:
    """Drawing -> both of its pictures, all taken at once: a browser takes a second to start."""
    drawings = {_name(path): without_text(path.read_bytes()) for path in [*MADE, *DEMO, *REAL]}
    drawings["cad-export"] = cad_export()
    folder = tmp_path_factory.mktemp("browser")
    sources = draw([_source_sheet(svg) for svg in drawings.values()], folder)
    round_trips = draw([_round_trip_sheet(svg) for svg in drawings.values()], folder)
    yield dict(zip(drawings, map(Pair, sources, round_trips), strict=True))


@pytest.mark.parametrize("path", [*MADE, *DEMO], ids=lambda path: _name(path))
def test_the_parsed_map_draws_the_same_picture(path: Path, pairs: dict[str, Pair]) -> None:
    source, round_trip = pairs[_name(path)]
    assert not is_blank(source)
    assert differing_share(source, round_trip) < MAX_DIFFERING_SHARE


def test_a_cad_export_draws_the_same_picture(pairs: dict[str, Pair]) -> None:
    source, round_trip = pairs["cad-export"]
    assert not is_blank(source)
    assert differing_share(source, round_trip) < MAX_DIFFERING_SHARE


@pytest.mark.skipif(not REAL, reason=f"no real drawings at {REAL_FOLDER}")
def test_real_drawings_draw_the_same_picture(pairs: dict[str, Pair]) -> None:
    for path in REAL:
        assert differing_share(*pairs[_name(path)]) < MAX_DIFFERING_SHARE, path.name


def test_a_picture_that_differs_is_noticed(pairs: dict[str, Pair]) -> None:
    shapes, transforms = (
        pairs[f"parsing/drawings/{name}"].source for name in ("shapes", "transforms")
    )
    assert differing_share(shapes, transforms) > MAX_DIFFERING_SHARE


def _name(path: Path) -> str:
    """A drawing and a template may have the same file name."""
    return path.relative_to(path.parents[2]).with_suffix("").as_posix()


def _source_sheet(svg: bytes) -> Sheet:
    attributes = {str(name): str(value) for name, value in etree.fromstring(svg).items()}
    return _sheet(svg, root_frame(attributes, 10**6).viewport)


def _round_trip_sheet(svg: bytes) -> Sheet:
    parsed = parse_unit_map(svg).to_dict()
    size = _sheet(svg, Viewport(parsed["width"], parsed["height"]))
    return Sheet(to_svg(parsed).encode(), size.width, size.height)


def _sheet(svg: bytes, size: Viewport) -> Sheet:
    scale = min(1, MAX_SIDE_PX / max(size))
    return Sheet(svg, math.ceil(size.width * scale), math.ceil(size.height * scale))
