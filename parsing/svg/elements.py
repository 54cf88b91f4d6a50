"""The parts of a drawing and the interface of their readers.

Readers implement `DrawingHandler` and are called back in document order, as SAX handlers are. The
unit-map writer prints the shapes that are visible; the floor-plan reader takes shapes with their
tags and level.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import msgspec

from parsing.errors import InvalidMarkupError
from parsing.svg.geometry.lengths import Number
from parsing.svg.identities import Identity


class Group(NamedTuple):
    """A Level, Layer, HitAreaLayer or UnitLayer."""

    kind: str
    id: str = ""
    tags: dict[str, str] | None = None


class Georeference(NamedTuple):
    """The geographic position of the drawing's centre in degrees, and the zoom of a web map."""

    latitude: Number
    longitude: Number
    zoom: Number
    bearing: Number
    pitch: Number


class UnitGroup:
    """A group with the name of a unit: the first shape in it without a name is the unit's."""

    __slots__ = ("is_drawn", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_drawn = False


class ShapeContainer(NamedTuple):
    """The Level around a shape and its layer: `HitAreaLayer`, `UnitLayer` or ""."""

    level: Group | None = None
    layer: str = ""
    group: UnitGroup | None = None


# A msgspec struct takes a third of a NamedTuple's time to make, and there is one per shape.
class Shape(msgspec.Struct, frozen=True, gc=False):
    """A shape with the styles and transforms of its groups resolved into it.

    `attributes` are those of the output, `source` those written on the element (with `data-tags`).
    `is_visible` is False where `display`, `visibility`, a condition or a viewport hides the shape.
    `ordinal` is the number of its start tag. `is_part` is True for one more part of the shape
    before, which is drawn in several.
    """

    kind: str
    attributes: Mapping[str, str | Number]
    source: Mapping[str, str]
    container: ShapeContainer
    identity: Identity | None
    is_visible: bool
    ordinal: int = 0
    is_part: bool = False


class RejectedShape(NamedTuple):
    """What is known of a shape that cannot be read; `ordinal` is the number of its start tag."""

    kind: str
    id: str
    level: Group | None
    ordinal: int


class DrawingHandler(Protocol):
    """Receives the parts of a drawing in document order, the canvas size first."""

    def set_canvas_size(self, width: int, height: int) -> None:
        """Receive the size of the drawing in whole user units."""

    def start_group(self, group: Group) -> None:
        """Receive the start of a group; what follows is in it until `end_group`."""

    def end_group(self) -> None:
        """Receive the end of the innermost open group."""

    def add_georeference(self, georeference: Georeference) -> None:
        """Receive the geographic position of the drawing."""

    def add_shape(self, shape: Shape) -> None:
        """Receive one shape."""

    def reject_shape(self, error: InvalidMarkupError, shape: RejectedShape) -> None:
        """Receive a shape that cannot be read; raise the error, or leave out the shape."""
