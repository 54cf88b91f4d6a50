"""How faithful parsed drawings are: corpora of files, drawn by Chromium before and after."""

import io
import json
import math
import os
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import httpx
from lxml import etree
from PIL import Image, ImageChops, ImageStat

from parsing.errors import ParsingError
from parsing.svg.render import to_svg
from parsing.svg.unit_map import parse_unit_map
from parsing.svg.viewports import root_frame
from tests.parsing.browser import PictureSheet, differing_share, draw, is_blank

MAX_DIFFERING_SHARE: Final = 0.001
"""A picture is the same if fewer of its pixels differ."""
MAX_CHANNEL_DIFFERENCE: Final = 16
MAX_MEAN_DIFFERENCE: Final = 4
"""Of a channel from 0 to 255, over a whole picture."""
MAX_SIDE_PX: Final = 800
SHEETS_A_PAGE: Final = 12
SVG: Final = "{http://www.w3.org/2000/svg}"
STRIPPED_TAGS: Final = ("text", "filter", "mask", "marker", "script")
"""Elements that are taken out of drawings before they are compared; maps have none of them."""
MORE_STRIPPED_TAGS: Final = (
    "image",
    "clipPath",
    "set",
    "animate",
    "animateColor",
    "animateMotion",
    "animateTransform",
)
"""Elements that are taken out too, unless a stricter measure is asked for."""
STRIPPED_ATTRIBUTES: Final = frozenset(
    ["filter", "mask", "marker", "marker-start", "marker-mid", "marker-end"]
)
PAINT_SERVERS: Final = re.compile(rb"<(?:\w+:)?(?:linearGradient|radialGradient|pattern)\b")


class Comparison(NamedTuple):
    """What became of one drawing: the share of its pixels that differ, or why it has none.

    `is_same_on_average` tells whether the same pixels are painted, less than 0.1 % excepted, and
    the mean colour of all pixels is the same: a gradient in its average colour passes.
    """

    path: Path
    differing_share: float
    error: str = ""
    keeps_round_trip: bool = True
    is_same_on_average: bool = False
    is_blank: bool = False

    @property
    def is_same(self) -> bool:
        return not self.error and self.differing_share < MAX_DIFFERING_SHARE

    @property
    def has_paint_servers(self) -> bool:
        """Whether the drawing has gradients or patterns, which a map draws as one colour."""
        return PAINT_SERVERS.search(self.path.read_bytes()) is not None


class _Sample(NamedTuple):
    path: Path
    source: PictureSheet
    parsed: PictureSheet
    keeps_round_trip: bool


def compare_drawings(
    paths: Sequence[Path], strictly: bool = False, tolerance: int = MAX_CHANNEL_DIFFERENCE
) -> Iterator[Comparison]:
    """Compare the pictures of drawings with those of their parsed maps, without labels.

    `strictly` leaves images, clip paths and animation in, which maps do not have. Pixels differ if
    one of their channels does by more than `tolerance` of 255.
    """
    for start in range(0, len(paths), SHEETS_A_PAGE):
        samples: list[_Sample] = []
        for path in paths[start : start + SHEETS_A_PAGE]:
            try:
                samples.append(_make_sample(path, strictly))
            except (ParsingError, etree.XMLSyntaxError) as error:
                yield Comparison(path, 1, str(error))
        if samples:
            yield from _compare_page(samples, tolerance)


def _compare_page(samples: Sequence[_Sample], tolerance: int) -> Iterator[Comparison]:
    with tempfile.TemporaryDirectory() as name:
        sources = draw([sample.source for sample in samples], Path(name))
        parsed = draw([sample.parsed for sample in samples], Path(name))
    for sample, one, other in zip(samples, sources, parsed, strict=True):
        share = differing_share(one, other, tolerance)
        on_average = is_same_on_average(one, other)
        yield Comparison(sample.path, share, "", sample.keeps_round_trip, on_average, is_blank(one))


def is_same_on_average(one: Image.Image, other: Image.Image) -> bool:
    """Return whether the same pixels are painted, in the same colour on average."""
    masks = [_paint_mask(picture) for picture in (one, other)]
    differing = ImageChops.difference(*masks).histogram()[255] / (one.width * one.height)
    means = zip(ImageStat.Stat(one).mean, ImageStat.Stat(other).mean, strict=True)
    return differing < MAX_DIFFERING_SHARE and all(
        abs(mean - other_mean) <= MAX_MEAN_DIFFERENCE for mean, other_mean in means
    )


def _paint_mask(picture: Image.Image) -> Image.Image:
    """Return a picture that is white where something is painted on the white page."""
    darkest = reduce(ImageChops.darker, picture.split())
    return darkest.point(lambda value: 255 if value < 255 - MAX_CHANNEL_DIFFERENCE else 0)


def _make_sample(path: Path, strictly: bool) -> _Sample:
    root = read_stripped(path, strictly)
    map_ = parse_unit_map(etree.tostring(root), force=True)
    members = map_.to_dict()
    svg = to_svg(members).encode()
    width, height = members["width"], members["height"]
    scale = min(1, MAX_SIDE_PX / max(width, height))
    size = max(1, math.ceil(width * scale)), max(1, math.ceil(height * scale))
    _set_view_box(root, width, height)
    source = PictureSheet(etree.tostring(root), *size)
    return _Sample(
        path, source, PictureSheet(svg, *size), parse_unit_map(svg, force=True).json == map_.json
    )


def read_stripped(path: Path, strictly: bool = False) -> Any:
    """Read a drawing without the parts that maps do not have."""
    parser = etree.XMLParser(huge_tree=True, resolve_entities=True, no_network=True)
    root = etree.fromstring(path.read_bytes(), parser)
    tags = STRIPPED_TAGS if strictly else STRIPPED_TAGS + MORE_STRIPPED_TAGS
    etree.strip_elements(root, *(SVG + tag for tag in tags), with_tail=False)
    names = STRIPPED_ATTRIBUTES if strictly else STRIPPED_ATTRIBUTES | {"clip-path"}
    for element in root.iter(etree.Element):
        for name in names & {*map(str, element.attrib)}:
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
    """Return how many are the same, on average too, and the same without gradients."""
    same = sum(comparison.is_same for comparison in comparisons)
    average = sum(one.is_same or one.is_same_on_average for one in comparisons)
    plain = [comparison for comparison in comparisons if not comparison.has_paint_servers]
    plain_same = sum(comparison.is_same for comparison in plain)
    failed = sum(bool(comparison.error) for comparison in comparisons)
    return (
        f"{_share(same, comparisons)} the same; with the same pixels painted, in the same colour "
        f"on average, {_share(average, comparisons)}; without gradients and patterns "
        f"{_share(plain_same, plain)} the same; {failed} not read"
    )


def _share(count: int, of: Sequence[Comparison]) -> str:
    return f"{count} of {len(of)} ({count / max(1, len(of)):.1%})"


SUITE_FOLDER = Path(os.environ.get("FLOORGATE_SVG_SUITE", "../resvg-suite"))
"""Has the folders of the tests of resvg (Apache-2.0 or MIT)."""
SUITE_REPOSITORY: Final = "linebender/resvg"
SUITE_COMMIT: Final = "08c79a3148df4ce8ab08fca72204b142b95423dd"
SUITE_ROOT: Final = "crates/resvg/tests/tests"
SUITE_PARTS: Final = ("painting", "shapes", "structure")

PLANS_FOLDER = Path(os.environ.get("FLOORGATE_SVG_PLANS", "../plans-svg"))
"""Has a folder for each repository of `plans.json`."""


class RealDrawing(NamedTuple):
    """A floor plan in a public repository."""

    repository: str
    commit: str
    file: str

    @property
    def path(self) -> Path:
        """Where the file is, or would be."""
        return PLANS_FOLDER / self.repository.replace("/", "+") / self.file.replace("/", "__")

    @property
    def url(self) -> str:
        address = f"{self.repository}/{self.commit}/{self.file}"
        return f"https://raw.githubusercontent.com/{quote(address)}"


def list_real_drawings() -> list[RealDrawing]:
    rows = json.loads(Path(__file__).with_name("plans.json").read_text())
    return [
        RealDrawing(row["repository"], row["commit"], file) for row in rows for file in row["files"]
    ]


def find_plans() -> list[Path]:
    """Return the real floor plans that are present."""
    return [drawing.path for drawing in list_real_drawings() if drawing.path.exists()]


def find_suite() -> list[Path]:
    """Return the files of those parts of the suite that are present."""
    return sorted(path for part in SUITE_PARTS for path in (SUITE_FOLDER / part).rglob("*.svg"))


def fetch_plans() -> None:
    for drawing in list_real_drawings():
        if not drawing.path.exists():
            drawing.path.parent.mkdir(parents=True, exist_ok=True)
            drawing.path.write_bytes(_download(drawing.url))


def fetch_suite() -> None:
    if find_suite():
        return
    archive = _download(f"https://codeload.github.com/{SUITE_REPOSITORY}/tar.gz/{SUITE_COMMIT}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files.getmembers():
            _, _, name = member.name.partition(f"/{SUITE_ROOT}/")
            source = files.extractfile(member)
            if source is not None and name.endswith(".svg"):
                path = SUITE_FOLDER / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(source.read())


def _download(url: str) -> bytes:
    return httpx.get(url, follow_redirects=True, timeout=60).raise_for_status().content


class Corpus(NamedTuple):
    """A set of drawings, and the share of all of them that looks as in a browser.

    `min_average_share` counts gradients and patterns that have the right colour on average, too.
    """

    name: str
    find: Callable[[], list[Path]]
    fetch: Callable[[], None]
    min_same_share: float
    min_average_share: float


CORPORA: Final = (
    Corpus("resvg suite", find_suite, fetch_suite, 0.88, 0.89),
    Corpus("real plans", find_plans, fetch_plans, 0.91, 0.95),
)
