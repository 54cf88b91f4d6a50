"""Check what shapes draw: their place on the canvas, their geometry, and pictures among them."""

import sys
from collections.abc import Mapping
from typing import Final

from parsing.errors import DocumentRejectedError, InvalidMarkupError, ParsingError
from parsing.svg.elements import Group, Shape
from parsing.svg.geometry.lengths import Number, Viewport
from parsing.svg.names import RECT_LENGTHS
from parsing.svg.report.boxes import NOTHING, Box
from parsing.svg.report.canvas import (
    GEOMETRY_TEXTS,
    Canvas,
    find_fault,
    find_text_fault,
)
from parsing.svg.report.pictures import PictureCover, image_lengths
from parsing.svg.report.warnings import WarningCollector, ignore_faults, is_fault, quote

FIRST_SHAPES: Final = 100
MAX_STRIDE: Final = 64
"""Of the shapes that are no units, the first are looked at closely, then fewer, and then one in so
many."""
SUSPECT_SHAPES: Final = 64
"""So many shapes behind one with a fault are all looked at: often they have the same."""
MAX_LOOKS: Final = 20_000
"""After so many, shapes of Levels that may be blank, and behind faults, are looked at as others."""
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


class DrawnShapes:
    """Looks at the shapes of one drawing: at all units and hit areas, and some of the others."""

    def __init__(self, warnings: WarningCollector) -> None:
        self._warnings = warnings
        self.shapes = 0
        """Visible shapes that are neither units nor hit areas."""
        self.next_look = sys.maxsize
        """How many such shapes there are when the next is looked at."""
        self._canvas = Canvas(0, 0)
        self._cover = PictureCover()
        self._first_shapes: list[Shape] = []
        self._looks = 0
        self._suspect_until = 0
        self._is_blank = True
        self.level_ordinals: list[int] = []
        """The start tags of the first Levels."""
        self._blank_levels: dict[int, tuple[Group, int]] = {}  # those with nothing on the canvas

    @property
    def canvas_size(self) -> tuple[float, float]:
        """Width and height of the canvas."""
        return self._canvas.box[2:]

    def set_canvas(self, canvas: Viewport) -> None:
        """Receive the size of the canvas."""
        self._canvas = Canvas(*canvas)
        self.next_look = 0

    def add_level(self, level: Group, outer: Group | None, ordinal: int) -> None:
        """Expect something on the canvas in a Level; `outer` is the Level around it."""
        if len(self.level_ordinals) < MAX_CHECKED_LEVELS:
            self.level_ordinals.append(ordinal)
        if len(self._blank_levels) < MAX_CHECKED_LEVELS:
            self._blank_levels.pop(id(outer), None)
            self._blank_levels[id(level)] = level, ordinal
            self.next_look = 0

    def add_image(self, lengths: Mapping[str, str | Number], transform: str) -> None:
        """Add the part of the canvas that an image covers."""
        self.add_picture(image_lengths(lengths, self._canvas.box), transform)

    def add_picture(self, lengths: Mapping[str, str | Number], transform: str) -> None:
        """Add the part of the canvas that a box with a picture in it covers."""
        self._cover_with("Rect", {**lengths, "transform": transform})

    def add_painted(self, shape: Shape) -> None:
        """Add the part of the canvas that a shape covers which is painted with an image."""
        self._cover_with(shape.kind, shape.attributes)

    def look_at(self, shape: Shape, ordinal: int) -> None:
        """Check a shape of the sample: where it lies and whether it draws anything."""
        level = shape.container.level
        is_blank = self._is_blank if level is None else id(level) in self._blank_levels
        if self.shapes <= MANY_SHAPES:
            self._first_shapes.append(shape)
        self._looks += 1
        if self._is_on_canvas(shape, ordinal):
            self._see(level)
            is_blank = False
        is_suspect = is_blank or self.shapes < self._suspect_until
        if self.shapes < FIRST_SHAPES or (is_suspect and self._looks < MAX_LOOKS):
            self.next_look = self.shapes + 1
        else:
            self.next_look = self.shapes + min(MAX_STRIDE, 1 + 2 * self.shapes // FIRST_SHAPES)

    def check_unit(self, shape: Shape, is_clickable: bool, ordinal: int) -> None:
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
            self._report("outside-canvas", shape, ordinal, box or "begins outside")
        if fault:
            self._report("geometry", shape, ordinal, fault)
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

    def _is_on_canvas(self, shape: Shape, ordinal: int) -> bool:
        """Return whether a shape draws anything on the canvas; report it if it does not."""
        if self._canvas.has_plain_start(shape.kind, shape.attributes, shape.source):
            return True
        fault = find_fault(shape.kind, shape.attributes, shape.source)
        fault = fault or find_text_fault(shape.kind, shape.attributes)
        is_inside = self._canvas.has_start(shape.kind, shape.attributes)
        if is_inside is False:
            fault, box = self._find_box(shape)
            is_inside = box is not None and box.reaches_into(self._canvas.box)
            if box and box != NOTHING and not is_inside:
                self._report("shape-outside", shape, ordinal, box)
        if fault:
            self._report("geometry", shape, ordinal, fault)
        if is_inside is not None:
            return is_inside
        # What cannot be told is not called blank.
        name = GEOMETRY_TEXTS.get(shape.kind)
        return name is None or bool(shape.attributes.get(name))

    def _cover_with(self, kind: str, attributes: Mapping[str, str | float]) -> None:
        if self.shapes >= MANY_SHAPES:
            return  # it is no picture, whatever else there is
        with ignore_faults():
            if box := self._canvas.find_box(kind, attributes):
                self._cover.add(box, self._canvas.box)

    def _find_box(self, shape: Shape) -> tuple[str, Box | None]:
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

    def _see(self, level: Group | None) -> None:
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

    def _report(self, code: str, shape: Shape, ordinal: int, what: str | Box) -> None:
        self._suspect_until = self.shapes + SUSPECT_SHAPES
        if self._warnings.is_full(code):
            return
        if isinstance(what, Box):
            what = what.describe()
        element, level = shape.kind.lower(), shape.container.level
        name = shape.identity.id if shape.identity else shape.source.get("id", "")
        subject = f"<{element}> {quote(name)!r}" if name else f"<{element}>"
        place = element, name, level.id if level else ""
        self._warnings.add(code, ordinal, *place, f"{subject}: {what}")
