"""Collect the warnings of one drawing and the summary of its map while it is walked."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from parsing.errors import InvalidMarkupError
from parsing.svg.cascade import StyleReport
from parsing.svg.definitions import Definitions
from parsing.svg.effects import (
    EFFECT_ATTRIBUTES,
    REPORTED_ATTRIBUTES,
    URLS,
    changes_shapes,
    find_canvas_clips,
    find_effects,
    find_reference,
    find_unread_sheets,
    has_effects,
)
from parsing.svg.elements import (
    COPY_NUMBER,
    HIT_PREFIX,
    IDENTITY_ATTRIBUTES,
    DrawnGeoreference,
    DrawnGroup,
    DrawnShape,
    Identity,
    UnitGroup,
    inkscape_label,
    is_generated_id,
    is_made_up,
    parse_tags,
)
from parsing.svg.group_names import GROUP_TYPES, is_type, suggest_type
from parsing.svg.names import HREF_ATTRIBUTES
from parsing.svg.outcome import MAX_PLACES, MapSummary, ParseWarning
from parsing.svg.shape_checks import PicturePatterns, ShapeChecks
from parsing.svg.warnings import (
    FindElements,
    WarningCollector,
    find_blank_texts,
    ignore_faults,
    name_element,
    quote,
)
from parsing.xml_documents import XmlDocument

TYPE_ATTRIBUTE: Final = "data-type"
NEAR_TYPE_ATTRIBUTE: Final = re.compile(r"(?!(?-i:data-type)\Z)data[-_]?type", re.IGNORECASE)


def may_misspell_type(text: bytes) -> bool:
    """Return whether a drawing may have such attributes; this is cheap."""
    folded, name = text.lower(), TYPE_ATTRIBUTE.encode()
    return b"datatype" in folded or b"data_type" in folded or folded.count(name) > text.count(name)


def find_misspelt_types(attributes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Iterate over names and values of attributes that were probably meant to be `data-type`.

    >>> [*find_misspelt_types({"dataType": "Level", "Data-type": "12"})]
    [('dataType', 'Level')]
    """
    for name, value in attributes.items():
        if NEAR_TYPE_ATTRIBUTE.fullmatch(name) and is_type(value):
            yield name, value


MAX_GROUPS: Final = 100_000
DIGIT: Final = re.compile(r"[0-9]")


class UnitGroups:
    """Checks the groups of one drawing that have the name of a unit."""

    def __init__(self, warnings: WarningCollector) -> None:
        self._warnings = warnings
        self._open: list[UnitGroup] = []
        self._without_unit: list[UnitGroup] = []

    def enter(self, group: UnitGroup, ordinal: int, shapes: int) -> None:
        """Receive the start of a group; `shapes` are those of the drawing so far."""
        group.ordinal, group.shapes_before = ordinal, shapes
        self._open.append(group)

    def add_unit(self, id: str) -> None:
        """Receive a unit or hit area with a name of its own or that of its group."""
        if self._open:
            self._open[-1].units += 1
            self._open[-1].numbered_units += DIGIT.search(id) is not None

    def leave(self, shapes: int) -> None:
        """Receive the end of a group; report one without a shape."""
        group = self._open.pop()
        if self._open:
            self._open[-1].units += group.units
            self._open[-1].numbered_units += group.numbered_units
        if shapes == group.shapes_before:
            if not self._warnings.is_full("empty-unit"):
                self._report("empty-unit", group)
        elif group.units and not group.is_drawn and len(self._without_unit) < MAX_GROUPS:
            self._without_unit.append(group)

    def finish(self, missing_units: set[str]) -> None:
        """Report groups that are probably units, though all shapes in them have other names.

        They are if a hit area points to a unit of this name, or if they have a number and the
        shapes have none, unlike an area with rooms.
        """
        for group in self._without_unit:
            is_number = DIGIT.search(group.name) and not group.numbered_units
            if is_number or group.name in missing_units:
                self._report("named-parts", group)

    def _report(self, code: str, group: UnitGroup) -> None:
        detail = f"group named {quote(group.name)!r}"
        self._warnings.add(code, group.ordinal, "g", group.name, detail=detail)


RANGES: Final = {
    "latitude": (-90, 90),
    "longitude": (-180, 180),
    "zoom": (0, 24),
    "bearing": (-360, 360),
    "pitch": (0, 90),
}


def find_out_of_range(georeference: DrawnGeoreference) -> Iterator[str]:
    """Iterate over what is out of range.

    >>> [*find_out_of_range(DrawnGeoreference(123, 0, 18, 0, 0))]
    ['latitude is 123']
    >>> [*find_out_of_range(DrawnGeoreference(-90.5, 180.5, 24, 360, 90))]
    ['latitude is -90.5', 'longitude is 180.5']
    """
    for name, value in georeference._asdict().items():
        low, high = RANGES[name]
        if not low <= value <= high:
            yield f"{name} is {value}"


MAX_CHECKED_IDS: Final = 100_000
"""Ids of Levels, of units and of hit areas that are compared."""
MAX_ID_CHARACTERS: Final = 255

LEFT_OUT_CAUSES: Final = {"text": "text", "image": "image", "foreignObject": "foreign-object"}
PROLOG_BYTES: Final = 100_000
"""The root and its namespaces are in the first bytes."""
INKSCAPE_NAMESPACE: Final = b"http://www.inkscape.org/namespaces/inkscape"


class DrawingReport(StyleReport):
    """Collects what to tell about a drawing in addition to its parts."""

    def __init__(self, max_places: int = MAX_PLACES) -> None:
        self.warnings = WarningCollector(max_places)
        self.has_names = False
        """True once a name of a group was read as markup."""
        self.drawn = ShapeChecks(self.warnings)
        self.has_references = False
        """True if the shapes so far may refer to gradients, clips and the like, or have effects."""
        self._definitions = Definitions()
        self._patterns = PicturePatterns(self._definitions)
        self._is_from_inkscape = self._misspells_type = False
        self._level_ids: set[str] = set()
        # The start tag of the first of each id.
        self._unit_ordinals: dict[str, int] = {}
        self._hit_area_ordinals: dict[str, int] = {}
        self._target_ordinals: dict[str, int] = {}
        self._clips: list[tuple[int, str, str, str, DrawnGroup | None]] = []
        self._texts: list[tuple[int, str, DrawnGroup | None]] = []
        self._georeferences = 0
        self._misspelt_types = 0
        self._levels = self._units = self._hit_areas = 0
        self._outside_ordinals: list[int] = []
        self._readable_tags: set[str] = set()  # many shapes have the same
        self._unit_groups = UnitGroups(self.warnings)

    def begin(self, text: bytes, definitions: Definitions) -> None:
        """Receive the text of the drawing, and the rules and patterns in it."""
        self.has_references = any(url in text for url in URLS)
        self._misspells_type = may_misspell_type(text)
        self._is_from_inkscape = INKSCAPE_NAMESPACE in text[:PROLOG_BYTES]
        self._definitions = definitions
        self._patterns = PicturePatterns(definitions)
        for sheet in find_unread_sheets(text, definitions.style_sheet):
            self.warnings.add("style", 0, detail=sheet)
        for media in definitions.unread_media:
            self.rule_unread(f"@media {media}")

    def rule_unread(self, prelude: str) -> None:
        """Report a rule of a style sheet that is not read, by its selector or at-rule."""
        if changes_shapes(prelude):
            self.warnings.add("style", 0, detail=quote(" ".join(prelude[:1_000].split())))

    @property
    def summary(self) -> MapSummary:
        """Return the counts so far."""
        return MapSummary(self._levels, self._units, self._hit_areas, self.drawn.shapes)

    def see_style(self, style: str) -> None:
        """Receive each `style` attribute and rule with effects, once or more often."""
        if not self.has_references and has_effects(style):
            self.has_references = True

    def check_type(self, kind: str, element_id: str, ordinal: int) -> None:
        """Report a `data-type` of a group that is no type."""
        if kind in GROUP_TYPES:
            return
        self._misspelt_types += 1
        suggestion = suggest_type(kind[:40]) if self._misspelt_types <= MAX_PLACES else ""
        hint = f"; did you mean {suggestion!r}?" if suggestion else ""
        detail = f"{quote(kind)!r}{hint}"
        self.warnings.add("misspelt-type", ordinal, "g", element_id, detail=detail)

    def check_attribute_names(
        self, element: str, attributes: Mapping[str, str], ordinal: int
    ) -> None:
        """Report attributes of a group that are called almost `data-type`."""
        for name, value in find_misspelt_types(attributes) if self._misspells_type else ():
            id, detail = attributes.get("id", ""), f'{name}="{quote(value)}"'
            self.warnings.add("misspelt-attribute", ordinal, element, id, detail=detail)

    def misplace_type(self, element: str, attributes: Mapping[str, str], ordinal: int) -> None:
        """Report a type of a group on an element that is none."""
        kind, name = attributes["data-type"], attributes.get("id", "")
        if is_type(kind):
            detail = f"{kind!r} on <{element}>"
            self.warnings.add("misplaced-type", ordinal, element, name, detail=detail)

    def add_level(self, level: DrawnGroup, outer: DrawnGroup | None, ordinal: int) -> None:
        """Count a Level and check its id; `outer` is the Level around it."""
        self._levels += 1
        if level.id and self._levels <= MAX_CHECKED_IDS:
            self._check_id(level.id, level.id in self._level_ids, "g", None, ordinal)
            self._level_ids.add(level.id)
        self.drawn.add_level(level, outer, ordinal)

    def add_layer(self, level: DrawnGroup | None, ordinal: int) -> None:
        """Note a UnitLayer or HitAreaLayer that is outside of every Level."""
        if level is None and len(self._outside_ordinals) < MAX_CHECKED_IDS:
            self._outside_ordinals.append(ordinal)

    def enter_unit(self, group: UnitGroup, ordinal: int) -> None:
        """Receive the start of a group that has the name of a unit."""
        self._unit_groups.enter(group, ordinal, sum(self.summary))

    def leave_unit(self) -> None:
        """Receive the end of the innermost such group."""
        self._unit_groups.leave(sum(self.summary))

    def add_georeference(self, georeference: DrawnGeoreference, ordinal: int) -> None:
        """Check the ranges of a Georeference."""
        self._georeferences += 1
        if self._georeferences > 1:
            self.warnings.add("georeferences", ordinal, "g")
        for detail in find_out_of_range(georeference):
            self.warnings.add("georeference-range", ordinal, "g", detail=detail)

    def leave_out(
        self, element: str, attributes: Mapping[str, str], level: DrawnGroup | None, ordinal: int
    ) -> None:
        """Report an element that a unit map cannot have."""
        code, name = LEFT_OUT_CAUSES[element], attributes.get("id", "")
        if code == "text" and len(self._texts) < MAX_CHECKED_IDS:
            self._texts.append((ordinal, name, level))  # it may have nothing in it
        else:
            self.warnings.add(code, ordinal, element, name, level)

    def miss_use(
        self, attributes: Mapping[str, str], level: DrawnGroup | None, ordinal: int
    ) -> None:
        """Report a `use` that draws nothing."""
        if self.warnings.is_full("use"):
            return
        address = next((attributes[name] for name in HREF_ATTRIBUTES if name in attributes), "")
        name = attributes.get("id", "")
        subject = name_element("use", name)
        detail = f"{subject} of {quote(address)!r}" if address else f"{subject} without href"
        self.warnings.add("use", ordinal, "use", name, level, detail)

    def check_references(
        self,
        element: str,
        attributes: Mapping[str, str],
        ruled: Mapping[str, str],
        level: DrawnGroup | None,
        ordinal: int,
    ) -> None:
        """Report clips, masks, filters, markers and the like; `ruled` are values of rules."""
        if not ruled and EFFECT_ATTRIBUTES.isdisjoint(attributes):
            return
        for cause, name, value in find_effects(attributes, ruled):
            place = attributes.get("id", ""), level
            reference = find_reference(value)
            if cause == "clip" and reference is not None:
                # Whether it cuts anything off is known once the clip path itself is.
                if len(self._clips) < MAX_CHECKED_IDS:
                    self._clips.append((ordinal, reference, element, *place))
            elif not self.warnings.is_full(cause):
                detail = f"{name}: {quote(value)}" if reference is None else ""
                self.warnings.add(cause, ordinal, element, *place, detail)

    def check_shape(
        self, shape: DrawnShape, specified: Mapping[str, str], ruled: Mapping[str, str]
    ) -> None:
        """Check a shape: its place, its paint as it is specified, and in a layer its identity.

        `ruled` are values that rules of style have for it, if any is reported.
        """
        element, level = shape.kind.lower(), shape.container.level
        if shape.is_visible and (
            self.has_references or not REPORTED_ATTRIBUTES.isdisjoint(shape.source)
        ):
            self._check_paint(shape, element, specified)
            self.check_references(element, shape.source, ruled, level, shape.ordinal)
        if shape.identity is not None:
            self._check_identified(shape, element, shape.identity)
        else:
            if shape.container.layer:
                self._report_unidentified(shape, element)
            if shape.is_visible and self.drawn.shapes >= self.drawn.next_look:
                self.drawn.look_at(shape)
        if "data-type" in shape.source:
            self.misplace_type(element, shape.source, shape.ordinal)

    def check_tags(self, element: str, attributes: Mapping[str, str], ordinal: int) -> None:
        """Report `data-tags` of a shape that cannot be read; a parsed map does without them."""
        text = attributes["data-tags"]
        if text in self._readable_tags:
            return
        with ignore_faults():
            try:
                parse_tags(text)
                self._readable_tags.add(text)
            except InvalidMarkupError as error:
                name = attributes.get("id", "")
                detail = f"{name_element(element, name)}: {quote(error.message)}"
                self.warnings.add("tags", ordinal, element, name, detail=detail)

    def finish(self, document: XmlDocument, find: FindElements | None = None) -> list[ParseWarning]:
        """Check the drawing as a whole; return the warnings with the places that `find` finds."""
        if not self._levels:
            self.warnings.add("no-level", 0)
        else:
            for ordinal in self._outside_ordinals:
                self.warnings.add("outside-level", ordinal, "g")
        self._compare_layers()
        self._unit_groups.finish(self._target_ordinals.keys() - self._unit_ordinals.keys())
        blank = find_blank_texts(document, [each[0] for each in self._texts])
        for ordinal, name, level in self._texts:
            if ordinal not in blank:
                self.warnings.add("text", ordinal, "text", name, level)
        if self._clips:
            harmless = find_canvas_clips(document.text, self.drawn.canvas_size)
            for ordinal, reference, element, name, level in self._clips:
                if reference not in harmless:
                    self.warnings.add("clip", ordinal, element, name, level)
        self.drawn.finish(self._levels > 0)
        return self.warnings.locate(document, find)

    def check_image_share(self) -> None:
        """Reject a drawing that is a picture. Raises `DocumentRejectedError`."""
        self.drawn.check_image_share(self._units + self._hit_areas)

    def _check_paint(self, shape: DrawnShape, element: str, specified: Mapping[str, str]) -> None:
        for name in ("fill", "stroke"):
            value = specified.get(name) or ""
            server = find_reference(value) if "(" in value else None
            if server is None:
                continue
            source_id, drawn = shape.source.get("id", ""), shape.attributes.get(name, "none")
            detail = (
                f"{name} {quote(value)} of {name_element(element, source_id)} is drawn as {drawn}"
            )
            code = "paint" if server in self._definitions.paint_servers else "missing-paint"
            if self._patterns.is_picture(server):
                code = "image"
                self.drawn.add_picture(shape.kind, shape.attributes)
            level = shape.container.level
            self.warnings.add(code, shape.ordinal, element, source_id, level, detail)

    def _check_identified(self, shape: DrawnShape, element: str, identity: Identity) -> None:
        """Count a unit or hit area, and check its place and its id."""
        id, ordinal = identity.id, shape.ordinal
        layer, level = shape.container.layer, shape.container.level
        self._unit_groups.add_unit(id)
        if layer == "UnitLayer":
            self._units += 1
            ordinals = self._unit_ordinals
        else:
            self._hit_areas += 1
            ordinals = self._hit_area_ordinals
            if identity.target_type == "Unit" and len(self._target_ordinals) < MAX_CHECKED_IDS:
                self._target_ordinals.setdefault(identity.target_id, ordinal)
        is_second = id in ordinals
        if is_second or len(id) > MAX_ID_CHARACTERS or id.isspace():
            self._check_id(id, is_second, element, level, ordinal)
        elif len(ordinals) < MAX_CHECKED_IDS:
            ordinals[id] = ordinal
        self.drawn.check_unit(shape, is_clickable=layer == "HitAreaLayer")
        written = shape.source.get("id", "")
        if self.has_names and IDENTITY_ATTRIBUTES & shape.source.keys() == {"id"}:
            copy = COPY_NUMBER.fullmatch(id)
            if copy and copy[1] in ordinals:
                self.warnings.add("numbered", ordinal, element, id, level)
        if id != written:
            if "data-id" not in shape.source:
                detail = f"read as {quote(id)!r}: a <{element}> with id {quote(written)!r}"
                self.warnings.add("unit-by-name", ordinal, element, id, detail=detail)
        elif self._is_from_inkscape:
            label = inkscape_label(shape.source)
            if label not in ("", id.strip()) and not is_made_up(label):
                detail = f"the id {quote(id)!r} counts, not the label {quote(label)!r}"
                self.warnings.add("other-label", ordinal, element, id, detail=detail)
            elif is_generated_id(id):
                self.warnings.add("generated-id", ordinal, element, id, level)

    def _check_id(
        self, id: str, is_second: bool, element: str, level: DrawnGroup | None, ordinal: int
    ) -> None:
        causes = {
            "duplicate-id": is_second,
            "long-id": len(id) > MAX_ID_CHARACTERS,
            "blank-id": id.isspace(),
        }
        for code, applies in causes.items():
            if applies:
                self.warnings.add(code, ordinal, element, id, level)

    def _report_unidentified(self, shape: DrawnShape, element: str) -> None:
        written, hint = shape.source.get("id", ""), ""
        layer, level = shape.container.layer, shape.container.level
        if layer == "HitAreaLayer" and written.lower().startswith(HIT_PREFIX):
            meant = HIT_PREFIX + written[len(HIT_PREFIX) :].lstrip(" -_")
            if meant not in (written, HIT_PREFIX):
                hint = f"{quote(written)!r}; did you mean {quote(meant)!r}?"
        code = "generated-id" if is_generated_id(written) else "no-id"
        self.warnings.add(code, shape.ordinal, element, written, level, hint)

    def _compare_layers(self) -> None:
        """Report units without hit areas, if the drawing has any, and the reverse."""
        units, targets = self._unit_ordinals, self._target_ordinals
        if max(len(units), len(targets)) == MAX_CHECKED_IDS:
            return  # the others are not known
        for id, ordinal in units.items():
            if targets and id not in targets:
                self.warnings.add("unit-without-hit-area", ordinal, name=id)
        for id, ordinal in targets.items():
            if id not in units:
                self.warnings.add("hit-area-without-unit", ordinal, name=id)
