"""The causes of warnings, with what to do about each; the same table is in docs/unit-maps.md."""

from typing import Final, NamedTuple


class Cause(NamedTuple):
    """The message of a warning; a note says how a name was read, and nothing is wrong."""

    message: str
    remedy: str
    is_note: bool = False


CAUSES: Final[dict[str, Cause]] = {
    # Names
    "read-as": Cause("a name is read as markup", "", is_note=True),
    "unit-by-name": Cause("a unit or hit area has its id from a name", "", is_note=True),
    "misspelt-type": Cause(
        "data-type has a value that is no type, so the group is a Layer",
        "write Level, UnitLayer, HitAreaLayer or Georeference, with these capitals",
    ),
    "misspelt-attribute": Cause(
        "an attribute is called almost data-type, so it is not read",
        "write data-type, in small letters and with a hyphen",
    ),
    "misplaced-type": Cause(
        "data-type is on an element that is no group, so it is not read",
        "put the element into a <g> with this data-type",
    ),
    "misspelt-name": Cause(
        "the name of a group is almost one that makes it a part of the map",
        "rename the group, or ignore this if a plain Layer is meant",
    ),
    "name-not-read": Cause(
        "the name of a group is not read, because the drawing uses data-type",
        "give this group a data-type too, or remove data-type from all others",
    ),
    "nested-name": Cause(
        "a group that its name makes a part of the map is in another, so its name is not read",
        "move it out of that group: layers stand in a Level, and Levels in no other",
    ),
    "other-label": Cause(
        "a shape of a UnitLayer or HitAreaLayer has an id and another label",
        "give it the same label, or remove the id if the label is meant",
    ),
    "numbered": Cause(
        "a unit or hit area is called as another with a number, as copies are",
        "rename it if it is a copy; ignore this if both are units",
    ),
    "tags": Cause(
        "data-tags of a shape cannot be read, so routing leaves the shape out",
        "write key=value pairs joined by ;, such as indoor=corridor",
    ),
    "empty-unit": Cause(
        "a group with the name of a unit has no shape, so the unit is not in the map",
        "draw the unit in the group; ignore this if the group is none",
    ),
    "named-parts": Cause(
        "a group is named as a unit, but its shapes have names of their own, so these are units",
        "remove the name of the shape that is the unit; ignore this if the shapes are units",
    ),
    # Structure
    "no-level": Cause(
        "the drawing has no Level",
        'put the content of each storey into a group with data-type="Level", or named "Level 2"',
    ),
    "outside-level": Cause(
        "a UnitLayer or HitAreaLayer is outside of every Level, so its storey is unknown",
        'move it into the group of its storey, which is a Level: data-type="Level" or "Level 2"',
    ),
    "duplicate-id": Cause(
        "an id of a Level, Unit or HitArea is used twice",
        "give each its own id, or draw what belongs together as one path",
    ),
    "blank-id": Cause("an id is blank", "give it the id of the unit, or remove the attribute"),
    "long-id": Cause(
        "an id has over 255 characters", "use the id that the unit has in the catalog"
    ),
    "no-id": Cause(
        "a shape of a UnitLayer or HitAreaLayer has no unit's id, so it is an ordinary shape",
        "give it the id of its unit, or move it to another layer",
    ),
    "generated-id": Cause(
        "a shape of a UnitLayer or HitAreaLayer has the id that the drawing program made up",
        "give it the id of its unit as its label or id",
    ),
    "unit-without-hit-area": Cause(
        "a unit has no hit area, so it cannot be clicked",
        "copy its shape into the HitAreaLayer, with hit in front of the id",
    ),
    "hit-area-without-unit": Cause(
        "a hit area points to a unit that is not drawn",
        "correct its id, which is hit and the id of the unit, or draw the unit",
    ),
    "outside-canvas": Cause(
        "a unit or hit area is outside of the canvas, or reaches over its edge",
        "move it onto the page, or fit the page to the drawing before the export",
    ),
    "shape-outside": Cause(
        "a shape lies outside of the canvas, so it is not seen",
        "move it onto the page, fit the page to the drawing, or delete it",
    ),
    "blank": Cause(
        "nothing of a Level, or of the map, is on the canvas, so it would be blank",
        "draw the storey as shapes, or fit the page to the drawing before the export",
    ),
    "geometry": Cause(
        "a shape is drawn in part or not at all, because its geometry is faulty",
        "correct the numbers, or draw it anew",
    ),
    "georeference-range": Cause(
        "the Georeference is out of range",
        "latitude is -90 to 90, longitude -180 to 180, zoom 0 to 24, pitch 0 to 90",
    ),
    "georeferences": Cause("there is more than one Georeference", "keep one of them"),
    # What the format does not have
    "text": Cause(
        "text is left out",
        "convert it to paths if the map needs it; labels of units come from the directory",
    ),
    "image": Cause("an image is left out", "trace what the map needs of it as shapes"),
    "foreign-object": Cause("a foreignObject is left out", "draw what the map needs as shapes"),
    "use": Cause(
        "a use draws nothing, because what it refers to is not in the drawing",
        "put the symbol into the drawing, or unlink the copy before the export",
    ),
    "paint": Cause(
        "a gradient or pattern is drawn as its average colour",
        "use a plain colour where that is wrong",
    ),
    "missing-paint": Cause(
        "a gradient or pattern is not in the drawing",
        "use a plain colour, or put it into the drawing",
    ),
    "marker": Cause("markers are left out", "convert arrows and line ends to paths"),
    "clip": Cause("a clip path is not applied", "cut the shapes themselves, or draw them smaller"),
    "mask": Cause("a mask is not applied", "cut the shapes themselves"),
    "filter": Cause("a filter is not applied", "remove the effect, or draw it as shapes"),
    "style": Cause(
        "style is not read or not applied", "write colours and sizes as attributes of the shapes"
    ),
}
