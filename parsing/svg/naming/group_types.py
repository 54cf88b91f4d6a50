"""What a group is: by its `data-type`, or by its name in drawings without any."""

from collections.abc import Mapping
from typing import Final

from parsing.svg.data_tags import parse_tags
from parsing.svg.elements import Group, ShapeContainer
from parsing.svg.names import UNIT_LAYERS
from parsing.svg.naming.layer_names import NamedType
from parsing.svg.naming.names_as_markup import NameReader
from parsing.svg.report.drawing_report import DrawingReport

PLAIN_LAYER: Final = Group("Layer")


def read_name(
    names: NameReader,
    attributes: Mapping[str, str],
    position: ShapeContainer,
    report: DrawingReport,
    ordinal: int,
) -> NamedType | None:
    """Return what the name of a group makes of it, if anything; report it."""
    found = names.read_group(attributes)
    if found is None:
        return None
    name, named = found
    if isinstance(named, str):
        if named in UNIT_LAYERS or position.level is None:
            report.suggest_name(name, named, ordinal)
    elif not names.are_markup:
        report.ignore_name(name, named.kind, ordinal)
    elif position.layer:
        report.add_nested_name(name, named.kind, position.layer, ordinal)
    elif named.kind == "Level" and position.level:
        report.add_nested_name(name, named.kind, position.level.kind, ordinal)
    else:
        report.add_name(name, named.kind, ordinal)
        return named
    return None


def check_name(
    names: NameReader,
    element: str,
    attributes: Mapping[str, str],
    report: DrawingReport,
    ordinal: int,
) -> None:
    """Report a name that would make a group a part of the map, on an element that is none."""
    found = names.read_group(attributes)
    if found is not None and isinstance(found[1], NamedType) and names.are_markup:
        report.misplace_name(found[0], element, ordinal)


def to_group(
    names: NameReader, kind: str | None, attributes: Mapping[str, str], named: NamedType | None
) -> Group:
    """Return the group of a kind, with the id and tags that its attributes or its name give."""
    if kind == "Level":
        if named is not None:
            return Group(kind, attributes.get("data-id", named.id), named.tags)
        tags = parse_tags(attributes.get("data-tags", ""))
        return Group(kind, names.find_name(attributes), tags or None)
    return Group(kind) if kind in UNIT_LAYERS else PLAIN_LAYER
