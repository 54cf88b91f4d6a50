"""Find out whether a drawing is a picture: an image, or shapes painted with one, as Figma's."""

from collections.abc import Mapping
from typing import Final

from parsing.svg.definitions import Definitions
from parsing.svg.geometry.lengths import Number
from parsing.svg.names import LEFT_OUT_TAGS, USE_TAGS, referenced_id
from parsing.svg.report.boxes import Box

CELLS: Final = 64
"""Rows and columns into which the canvas is divided to measure what pictures cover."""
MAX_PICTURES: Final = 10_000
MAX_STEPS: Final = 200_000
"""Elements of patterns that are searched for images."""
MAX_REFERENCES: Final = 16


class PictureCover:
    """The part of the canvas that pictures cover. Where they overlap counts once."""

    def __init__(self) -> None:
        self._rows = [0] * CELLS  # a bit for each cell with a covered centre
        self._pictures = 0

    def add(self, picture: Box, canvas: Box) -> None:
        """Cover a box."""
        self._pictures += 1
        if self._pictures > MAX_PICTURES or not (canvas.right and canvas.bottom):
            return
        first, last = _cells(picture.left, picture.right, canvas.right)
        mask = (1 << last) - (1 << first) if last > first else 0
        for row in range(*_cells(picture.top, picture.bottom, canvas.bottom)):
            self._rows[row] |= mask

    @property
    def share(self) -> float:
        """The share of the canvas, from 0 to 1."""
        return sum(row.bit_count() for row in self._rows) / CELLS**2


class PicturePatterns:
    """Tells which patterns have an image in them, or use one."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._is_picture: dict[str, bool] = {}
        self._steps = 0

    def is_picture(self, name: str) -> bool:
        """Return whether the pattern of this id paints an image."""
        if name not in self._is_picture:
            self._is_picture[name] = self._search(name)
        return self._is_picture[name]

    def _search(self, name: str) -> bool:
        servers = self._definitions.paint_servers
        names: list[str] = []
        while name in servers and name not in names and len(names) < MAX_REFERENCES:
            names.append(name)
            name = referenced_id(servers[name].attributes)
        return any(self._has_image(name, MAX_REFERENCES) for name in names)

    def _has_image(self, name: str, depth: int) -> bool:
        for token in self._definitions.instance_tokens(name):
            self._steps += 1
            if self._steps > MAX_STEPS:
                return False
            if token is None:
                continue
            tag, attributes = token
            if LEFT_OUT_TAGS.get(tag) == "image":
                return True
            if tag in USE_TAGS and depth and self._has_image(referenced_id(attributes), depth - 1):
                return True
        return False


def image_lengths(lengths: Mapping[str, str | Number], canvas: Box) -> dict[str, str | Number]:
    """Return place and size of an image.

    An image without a size has its own, which is not known; it is taken to be as large as the
    canvas.
    """
    width, height = lengths.get("width"), lengths.get("height")
    if width is None and height is None:
        width, height = canvas.right, canvas.bottom
    elif width is None or height is None:
        width = height = height if width is None else width
    return {**lengths, "width": width or 0, "height": height or 0}


def _cells(start: float, end: float, side: float) -> tuple[int, int]:
    """Return the range of cells with their centres between two positions: first, last + 1."""
    first, last = (round(min(max(place / side, 0), 1) * CELLS) for place in (start, end))
    return first, last
