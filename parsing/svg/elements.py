"""What a walk of a drawing meets, and who is told of it.

A reader of any purpose is a `Sink`: E10's writer prints the shapes that are drawn, a reader of
floor plans takes shapes with their tags and level.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from parsing.svg.geometry.lengths import Number
from parsing.svg.identities import Identity


class Group(NamedTuple):
    """A Level, Layer, HitAreaLayer or UnitLayer."""

    kind: str
    id: str = ""
    tags: dict[str, str] | None = None


class Georeference(NamedTuple):
    """Where on Earth the drawing's centre is: degrees, and the zoom of a web map."""

    latitude: Number
    longitude: Number
    zoom: Number
    bearing: Number
    pitch: Number


class ShapePosition(NamedTuple):
    """Where a shape stands: the Level around it, and `HitAreaLayer` or `UnitLayer`, or ""."""

    level: Group | None = None
    layer: str = ""


class DrawingHandler(Protocol):
    """Is told of a drawing's parts in document order, the canvas first."""

    def set_canvas_size(self, width: int, height: int) -> None:
        """The drawing's size in whole user units."""

    def start_group(self, group: Group) -> None:
        """A group starts; what follows is in it until `close`."""

    def end_group(self) -> None:
        """The innermost open group ends."""

    def add_georeference(self, georeference: Georeference) -> None:
        """Where the drawing lies on Earth."""

    def add_shape(
        self,
        kind: str,
        attributes: Mapping[str, str | Number],
        source: Mapping[str, str],
        position: ShapePosition,
        identity: Identity | None,
        visible: bool,
    ) -> None:
        """One shape, with everything that its surroundings say about it.

        `attributes` are the kept ones, styles and group transforms resolved into them; `source`
        are those written on it, `data-tags` among them. `identity` says which unit it stands
        for. `visible` is False where `display`, `visibility` or a condition hides it.
        """
