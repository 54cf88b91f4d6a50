"""Check what shapes draw: their place on the canvas, their geometry, pictures among them."""

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from parsing.errors import DocumentRejectedError, InvalidMarkupError, ParsingError
from parsing.svg.definitions import Definitions
from parsing.svg.elements import DrawnGroup, DrawnShape
from parsing.svg.lengths import NUMBER_PATTERN, Number, Viewport, parse_length
from parsing.svg.names import LEFT_OUT_TAGS, RECT_LENGTHS, USE_TAGS, referenced_id
from parsing.svg.outlines import Attributes, find_start, trace_shape
from parsing.svg.transforms import AffineTransform, parse_transform
from parsing.svg.values import WIDE_KEYWORDS
from parsing.svg.warnings import (
    NOTHING,
    CanvasBox,
    WarningCollector,
    ignore_faults,
    is_fault,
    name_element,
    quote,
)

# Find where shapes lie on the canvas, and geometry that cannot be drawn, at bounded cost.

MAX_TRACED_CHARS: Final = 200_000
"""Characters of geometry that are traced to find where the shapes of a drawing end."""
MAX_CHORDS: Final = 4
"""A curve is traced with so many: its box need not be exact."""
SLACK: Final = 0.01
"""Part of the canvas by which a unit may reach over its edge, as strokes do."""
GEOMETRY_TEXTS: Final = {"Path": "d", "Polygon": "points", "Polyline": "points"}
FAULTS: Final = {
    "d": re.compile(r"[^0-9MmZzLlHhVvCcSsQqTtAaEe+\-.,\s]"),
    "points": re.compile(r"[^0-9Ee+\-.,\s]"),
}
MAX_GLANCE_CHARS: Final = 200
"""Geometry of so many characters is traced to find what is wrong with it."""
PATH_START: Final = re.compile(r"\s*(?:[Mm]|$)")
NUMBER: Final = rf"[\s,]*+(?>{NUMBER_PATTERN})"
PLAIN_PATH: Final = re.compile(  # possessive, so that it takes linear time; without arcs
    rf"\s*+[Mm][\s,]*+((?>{NUMBER_PATTERN}))[\s,]*+((?>{NUMBER_PATTERN}))(?:{NUMBER}{NUMBER})*+"
    rf"(?:\s*+(?:[MmLlTt](?:{NUMBER}{NUMBER})++|[HhVv](?:{NUMBER})++|[Cc](?:(?:{NUMBER}){{6}})++"
    rf"|[SsQq](?:(?:{NUMBER}){{4}})++|[Zz]))*+\s*+"
)
NO_LENGTHS: Final = WIDE_KEYWORDS | {"auto"}
# It has all of ASCII, because `translate` takes three times as long if it looks up what is missing.
SEPARATORS: Final = {code: code for code in range(128)} | dict.fromkeys(map(ord, "MLZz,"), " ")
CORNERS: Final = {
    "Rect": ("x", "y", "width", "height"),
    "Line": ("x1", "y1", "x2", "y2"),
    "Circle": ("cx", "cy", "r"),
    "Ellipse": ("cx", "cy", "rx", "ry"),
}
SIZES: Final = {"Rect": ("width", "height"), "Circle": ("r",), "Ellipse": ("rx", "ry")}
IDENTITY: Final = AffineTransform()


class Canvas:
    """The canvas of one drawing, and what was spent on finding the places of shapes."""

    def __init__(self, width: float, height: float) -> None:
        self.box = CanvasBox(0, 0, width, height)
        self._viewport = Viewport(width, height)
        slack = max(1.0, SLACK * max(width, height))  # at least a pixel, for small canvases
        self.wide_box = CanvasBox(-slack, -slack, width + slack, height + slack)
        self._traced = 0

    def has_plain_start(self, kind: str, attributes: Attributes, source: Mapping[str, str]) -> bool:
        """Return whether a shape of a usual form begins on the canvas and has no fault.

        This is fast. If it does not, or has another form, that is to be found out.
        """
        text = str(attributes.get("d", ""))
        if kind == "Path" and len(text) <= MAX_GLANCE_CHARS:
            path = PLAIN_PATH.fullmatch(text)
            return path is not None and bool(self._has(float(path[1]), float(path[2]), attributes))
        if kind != "Rect" or not RECT_LENGTHS & source.keys() <= attributes.keys():
            return False
        x, y, width, height = (float(attributes.get(name, 0)) for name in CORNERS["Rect"])
        return width >= 0 and height >= 0 and bool(self._has(x, y, attributes))

    def has_start(self, kind: str, attributes: Attributes) -> bool | None:
        """Return whether a shape begins on the canvas, or None if that cannot be told."""
        if kind in CORNERS:
            lengths = self._find_lengths(kind, attributes)
            start = (lengths[0], lengths[1]) if lengths else None
        else:
            start = find_start(kind, attributes)
        return self._has(*start, attributes) if start else None

    def _has(self, x: float, y: float, attributes: Attributes) -> bool | None:
        """Return whether a point of a shape is on the canvas."""
        if "transform" in attributes:
            matrix = parse_matrix(str(attributes["transform"]))
            if matrix is None:
                return None
            x, y = matrix.apply((x, y))
        left, top, right, bottom = self.wide_box
        return left <= x <= right and top <= y <= bottom

    def find_box(self, kind: str, attributes: Attributes) -> CanvasBox | None:
        """Return the box of a shape, or None if it is not known.

        Raises `InvalidMarkupError` if the geometry is in error.
        """
        matrix = (
            parse_matrix(str(attributes["transform"])) if "transform" in attributes else IDENTITY
        )
        if matrix is None:
            return None
        numbers = self._find_numbers(kind, attributes)
        if not numbers:
            return numbers if numbers is None else NOTHING
        xs, ys = numbers[::2], numbers[1::2]
        if matrix is not IDENTITY:
            points = [matrix.apply(point) for point in zip(xs, ys, strict=True)]
            xs, ys = [x for x, _ in points], [y for _, y in points]
        return CanvasBox(min(xs), min(ys), max(xs), max(ys))

    def _find_numbers(self, kind: str, attributes: Attributes) -> list[float] | None:
        """Return x and y of each point of a shape in turn, or None if they are not known."""
        if kind in CORNERS:
            return self._find_corners(kind, attributes)
        name = GEOMETRY_TEXTS[kind]
        text = str(attributes.get(name, ""))
        self._traced += 20 + len(text)
        if self._traced > MAX_TRACED_CHARS:
            return None
        if name == "d" and not PATH_START.match(text):
            raise InvalidMarkupError("d does not begin with M")
        if numbers := _read_corners(text):
            return numbers
        lines = trace_shape(kind, attributes, 1.0, MAX_CHORDS)
        return [number for line in lines for point in line.points for number in point]

    def _find_corners(self, kind: str, attributes: Attributes) -> list[float] | None:
        """Return the corners of a shape without text of points, or None if they are not known."""
        lengths = self._find_lengths(kind, attributes)
        if lengths is None:
            return None
        x, y, width, *others = lengths
        height = others[0] if others else width
        if kind == "Line":
            return [x, y, width, height]
        if width <= 0 or height <= 0:
            return []
        left, top = (x, y) if kind == "Rect" else (x - width, y - height)
        right, bottom = x + width, y + height
        return [left, top, right, top, right, bottom, left, bottom]

    def _find_lengths(self, kind: str, attributes: Attributes) -> list[float] | None:
        """Return the lengths of such a shape, or None if one is in error."""
        lengths = []
        for name in CORNERS[kind]:
            value: str | float | None = attributes.get(name, 0)
            if isinstance(value, str):
                value = parse_length(value[:100], self._viewport.hundred_percent(name))
            if value is None:
                return None
            lengths.append(float(value))
        return lengths


def _read_corners(text: str) -> list[float]:
    """Return the corners of a polygon, or of a path of straight lines as most programs write it.

    Returns none for any other, which is to be traced.
    """
    try:
        numbers = [*map(float, text.translate(SEPARATORS).split())]
    except ValueError:  # other commands, or numbers as in 1-2
        return []
    return numbers if len(numbers) % 2 == 0 else []


def find_fault(kind: str, attributes: Attributes, source: Mapping[str, str]) -> str:
    """Return what is wrong with the geometry of a shape, as far as a glance shows it, or "".

    Lengths in error are missing in the attributes of a Rect, and are still in its `source`.

    >>> find_fault("Path", {"d": "M0 0 L5 x"}, {})
    "d has 'x' at character 9"
    """
    if name := GEOMETRY_TEXTS.get(kind):
        text = str(attributes.get(name, ""))
        if fault := FAULTS[name].search(text):
            return f"{name} has {fault[0]!r} at character {fault.start() + 1:,}"
        if name == "d" and not PATH_START.match(text):
            return "d does not begin with M"
        return ""
    for name in CORNERS[kind]:
        value = attributes.get(name, source.get(name, 0))
        size = parse_length(value, 1) if isinstance(value, str) and len(value) < 100 else value
        if size is None and value not in NO_LENGTHS:
            return f"{name} is {value!r}"
        if isinstance(size, int | float) and size < 0 and name in SIZES.get(kind, ()):
            return f"{name} is {value}"
    return ""


def find_text_fault(kind: str, attributes: Attributes) -> str:
    """Return what is wrong with a short path or list of points, or ""."""
    if kind not in GEOMETRY_TEXTS:
        return ""
    text = str(attributes.get(GEOMETRY_TEXTS[kind], ""))
    if len(text) > MAX_GLANCE_CHARS or _read_corners(text) or PLAIN_PATH.fullmatch(text):
        return ""
    try:
        trace_shape(kind, attributes, 1.0, MAX_CHORDS)
    except InvalidMarkupError as error:
        return error.message
    return ""


@lru_cache(maxsize=1_000)  # which keeps those in error, too
def parse_matrix(transform: str) -> AffineTransform | None:
    """Parse a transform; None for one in error."""
    matrix = None
    with ignore_faults():
        matrix = parse_transform(transform)
    return matrix


# Find out whether a drawing is a picture: an image, or shapes painted with one, as Figma's.

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

    def add(self, picture: CanvasBox, canvas: CanvasBox) -> None:
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
        """Return the share of the canvas, from 0 to 1."""
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


def image_lengths(
    lengths: Mapping[str, str | Number], canvas: CanvasBox
) -> dict[str, str | Number]:
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


FIRST_SHAPES: Final = 100
MAX_STRIDE: Final = 64
"""The first shapes that are no units are all looked at, then fewer, and in the end one in 64."""
SUSPECT_SHAPES: Final = 64
"""So many shapes behind one with a fault are all looked at: often they have the same."""
MAX_LOOKS: Final = 20_000
"""Then shapes of Levels that may be blank, and behind faults, are looked at as rarely as others."""
MAX_CHECKED_LEVELS: Final = 100_000
MAX_IMAGE_SHARE: Final = 0.5
"""Share of the canvas that images may cover in a drawing of few shapes."""
FEW_SHAPES: Final = 10
MANY_SHAPES: Final = 50
"""So many shapes are a drawing, however small they are."""
LARGE_SHARE: Final = 0.06
"""Part of the longer side of the canvas over which a shape reaches that is not trivial."""
SHORT_GEOMETRY: Final = 60
"""Characters of a path that may be a mere line."""


class ShapeChecks:
    """Looks at the shapes of one drawing: at all units and hit areas, and some of the others."""

    def __init__(self, warnings: WarningCollector) -> None:
        self._warnings = warnings
        self.shapes = 0
        """Visible shapes that are neither units nor hit areas."""
        self.next_look = sys.maxsize
        """The number of such shapes at which the next is looked at."""
        self._canvas = Canvas(0, 0)
        self._cover = PictureCover()
        self._first_shapes: list[DrawnShape] = []
        self._looks = 0
        self._suspect_until = 0
        self._is_blank = True
        self.level_ordinals: list[int] = []
        """The start tags of the first Levels."""
        self._blank_levels: dict[
            int, tuple[DrawnGroup, int]
        ] = {}  # those with nothing on the canvas

    @property
    def canvas_size(self) -> tuple[float, float]:
        """Return width and height of the canvas."""
        return self._canvas.box[2:]

    def set_canvas(self, canvas: Viewport) -> None:
        """Receive the size of the canvas."""
        self._canvas = Canvas(*canvas)
        self.next_look = 0

    def add_level(self, level: DrawnGroup, outer: DrawnGroup | None, ordinal: int) -> None:
        """Expect something on the canvas in a Level; `outer` is the Level around it."""
        if len(self.level_ordinals) < MAX_CHECKED_LEVELS:
            self.level_ordinals.append(ordinal)
        if len(self._blank_levels) < MAX_CHECKED_LEVELS:
            self._blank_levels.pop(id(outer), None)
            self._blank_levels[id(level)] = level, ordinal
            self.next_look = 0

    def add_image(self, lengths: Mapping[str, str | Number], transform: str) -> None:
        """Add the part of the canvas that an image covers."""
        placed = image_lengths(lengths, self._canvas.box)
        self.add_picture("Rect", {**placed, "transform": transform})

    def add_picture(self, kind: str, attributes: Attributes) -> None:
        """Add the part of the canvas that a shape covers which has a picture in it."""
        if self.shapes >= MANY_SHAPES:
            return  # it is no picture, whatever else there is
        with ignore_faults():
            if box := self._canvas.find_box(kind, attributes):
                self._cover.add(box, self._canvas.box)

    def look_at(self, shape: DrawnShape) -> None:
        """Check a shape of the sample: where it lies and whether it draws anything."""
        level = shape.container.level
        is_blank = self._is_blank if level is None else id(level) in self._blank_levels
        if self.shapes <= MANY_SHAPES:
            self._first_shapes.append(shape)
        self._looks += 1
        if self._is_on_canvas(shape):
            self._see(level)
            is_blank = False
        is_suspect = is_blank or self.shapes < self._suspect_until
        if self.shapes < FIRST_SHAPES or (is_suspect and self._looks < MAX_LOOKS):
            self.next_look = self.shapes + 1
        else:
            self.next_look = self.shapes + min(MAX_STRIDE, 1 + 2 * self.shapes // FIRST_SHAPES)

    def check_unit(self, shape: DrawnShape, is_clickable: bool) -> None:
        """Check that a unit or hit area has an area, and all of it is on the canvas."""
        fault, box = self._find_box(shape)
        if box is None:
            is_inside = self._canvas.has_start(shape.kind, shape.attributes)
            is_seen = is_inside is not False
        else:
            is_inside = box.is_within(self._canvas.wide_box)
            is_seen = box.reaches_into(self._canvas.box)
            if not fault and box == NOTHING:
                fault = "it draws nothing"
            elif not fault and is_clickable and not box.has_area:
                fault = "it has no area, so it cannot be clicked"
        if is_inside is False:
            self._report("outside-canvas", shape, box or "begins outside")
        if fault:
            self._report("geometry", shape, fault)
        if is_seen and (self._is_blank or self._blank_levels):
            self._see(shape.container.level)

    def finish(self, has_levels: bool) -> None:
        """Report Levels, or a drawing without any, that have nothing on the canvas."""
        if self._looks < self.shapes:
            self._warnings.mark_sampled("shape-outside", "geometry")
        for level, ordinal in self._blank_levels.values():
            which = f"the Level {quote(level.id)!r}" if level.id else "a Level without id"
            self._warnings.add("blank", ordinal, "g", level.id, detail=which)
        if self._is_blank and not has_levels:
            self._warnings.add("blank", 0, detail="the map")

    def check_image_share(self, identified: int) -> None:
        """Reject a drawing that is a picture. Raises `DocumentRejectedError`.

        `identified` is the number of units and hit areas.
        """
        share, drawn = self._cover.share, identified + self.shapes
        if share <= MAX_IMAGE_SHARE or drawn >= MANY_SHAPES:
            return
        if identified + self._count_large() < FEW_SHAPES:
            small = " mostly small" if drawn >= FEW_SHAPES else ""
            raise DocumentRejectedError(
                f"images cover {share:.0%} of the canvas, and images are left out: the map would "
                f"have {drawn}{small} {'shape' if drawn == 1 else 'shapes'}; trace the plan as "
                "shapes, or force it (--force on the command line, force: true in GraphQL)"
            )

    def _is_on_canvas(self, shape: DrawnShape) -> bool:
        """Return whether a shape draws anything on the canvas; report it if it does not."""
        # Without this glance, a drawing of 500 units takes 3 % more instructions.
        if self._canvas.has_plain_start(shape.kind, shape.attributes, shape.source):
            return True
        fault = find_fault(shape.kind, shape.attributes, shape.source)
        fault = fault or find_text_fault(shape.kind, shape.attributes)
        is_inside = self._canvas.has_start(shape.kind, shape.attributes)
        if is_inside is False:
            fault, box = self._find_box(shape)
            is_inside = box is not None and box.reaches_into(self._canvas.box)
            if box and box != NOTHING and not is_inside:
                self._report("shape-outside", shape, box)
        if fault:
            self._report("geometry", shape, fault)
        if is_inside is not None:
            return is_inside
        # What cannot be told is not called blank.
        name = GEOMETRY_TEXTS.get(shape.kind)
        return name is None or bool(shape.attributes.get(name))

    def _find_box(self, shape: DrawnShape) -> tuple[str, CanvasBox | None]:
        """Return what is wrong with the geometry of a shape, or "", and its box, if it is known."""
        fault, box = "", None
        try:
            box = self._canvas.find_box(shape.kind, shape.attributes)
        except ParsingError as error:
            if not is_fault(error):
                raise
            if isinstance(error, InvalidMarkupError):
                fault = error.message
        has_lost_length = (
            shape.kind == "Rect"
            and not RECT_LENGTHS & shape.source.keys() <= shape.attributes.keys()
        )
        if box is None or box == NOTHING or has_lost_length:
            fault = find_fault(shape.kind, shape.attributes, shape.source) or fault
        return fault, box

    def _see(self, level: DrawnGroup | None) -> None:
        self._is_blank = False
        self._blank_levels.pop(id(level), None)

    def _count_large(self) -> int:
        """Count the shapes that are too large to be mere scraps beside a picture."""
        side = LARGE_SHARE * max(self.canvas_size)
        large = 0
        for shape in self._first_shapes:
            text = str(shape.attributes.get(GEOMETRY_TEXTS.get(shape.kind, ""), ""))
            if len(text) > SHORT_GEOMETRY:
                large += 1
            else:
                _, box = self._find_box(shape)
                large += box is not None and box.side >= side and box.reaches_into(self._canvas.box)
        return large

    def _report(self, code: str, shape: DrawnShape, what: str | CanvasBox) -> None:
        self._suspect_until = self.shapes + SUSPECT_SHAPES
        if self._warnings.is_full(code):
            return
        element, level = shape.kind.lower(), shape.container.level
        name = shape.identity.id if shape.identity else shape.source.get("id", "")
        detail = f"{name_element(element, name)}: {what}"
        self._warnings.add(code, shape.ordinal, element, name, level, detail)
