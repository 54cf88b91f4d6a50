"""Read OSM JSON, as Overpass writes it, through the reader of OSM XML.

https://wiki.openstreetmap.org/wiki/OSM_JSON
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from parsing.drawing import NoteCollector, ReadingFault
from parsing.errors import InvalidPlanError
from parsing.geo.geojson import parse_json
from parsing.xml.tokens import ParserTarget, StartTag

OSM_JSON_START: Final = re.compile(r'\{(?:[^\["]|"[^"]*+")*?"elements"\s*+:\s*+\[')
ATTRIBUTES: Final = ("id", "lon", "lat")


def feed_json(content: bytes, name: str, target: ParserTarget, collector: NoteCollector) -> None:
    """Feed the elements of a document to a target for OSM XML. Raises `ParsingError`.

    With `out geom`, ways have the coordinates of their nodes, which need not be elements then.
    """
    document = parse_json(content, name, collector)
    elements = document.get("elements") if isinstance(document, dict) else None
    if not isinstance(elements, list):
        raise InvalidPlanError("elements is missing; expected a list of nodes, ways and relations")
    target.start("osm", {})
    written = {node["id"] for node in _of_type(elements, "node") if isinstance(node.get("id"), int)}
    for way in _of_type(elements, "way"):
        for node, point in zip(_list(way, "nodes"), _list(way, "geometry"), strict=False):
            if isinstance(node, int) and isinstance(point, dict) and node not in written:
                written.add(node)
                _feed_element("node", {**point, "id": node}, target)
    for element in elements:
        if isinstance(element, dict) and isinstance(element.get("type"), str):
            _feed_element(element["type"], element, target)
        else:
            message = f"{str(element)[:60]!r} is no element; expected one with type and id"
            collector.add_fault(ReadingFault("left out, no element", message, file=name))
    target.end("osm")


def _of_type(elements: list[Any], kind: str) -> Iterator[Mapping[str, Any]]:
    return (e for e in elements if isinstance(e, dict) and e.get("type") == kind)


def _list(element: Mapping[str, Any], key: str) -> list[Any]:
    value = element.get(key)
    return value if isinstance(value, list) else []


def _feed_element(kind: str, element: Mapping[str, Any], target: ParserTarget) -> None:
    target.start(kind, _to_attributes(element, ATTRIBUTES))
    for tag, attributes in _iter_children(element):
        target.start(tag, attributes)
        target.end(tag)
    target.end(kind)


def _iter_children(element: Mapping[str, Any]) -> Iterator[StartTag]:
    for node in _list(element, "nodes"):
        yield "nd", {"ref": str(node)}
    for member in _list(element, "members"):
        keys = ("type", "ref", "role")
        yield "member", _to_attributes(member if isinstance(member, dict) else {}, keys)
    tags = element.get("tags")
    for key, value in tags.items() if isinstance(tags, dict) else ():
        yield "tag", {"k": key, "v": str(value)}


def _to_attributes(values: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, str]:
    return {key: str(values[key]) for key in keys if values.get(key) is not None}
