"""A parsed map -> SVG in the same dialect: parsing that again gives the same map."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from xml.sax.saxutils import quoteattr

from parsing.identities import HIT
from parsing.names import SHAPE_KINDS
from parsing.tags import format_tags

TAGS: Final = {kind: kind.lower() for kind in SHAPE_KINDS}
Members = Mapping[str, Any]


def to_svg(parsed: Members) -> str:
    """Draw what `parse` returned, as objects; raises KeyError for what it never returns."""
    width, height = parsed["width"], parsed["height"]
    root = {
        "xmlns": "http://www.w3.org/2000/svg",
        "width": width,
        "height": height,
        "viewBox": f"0 0 {width} {height}",
    }
    return "\n".join([f"<svg{_attributes(root)}>", *_children(parsed), "</svg>", ""])


def _children(parent: Members) -> Iterator[str]:
    for element in parent["elements"]:
        kind = element["type"]
        if "elements" in element:
            yield f"<g{_attributes(_group(element))}>"
            yield from _children(element)
            yield "</g>"
        elif kind == "Georeference":
            yield f"<g{_attributes(_georeference(element))}/>"
        elif "shape" in element:
            yield _shape({**_identity(element), **element["shape"]})
        else:
            yield _shape(element)


def _shape(attributes: Members) -> str:
    own = {name: value for name, value in attributes.items() if name != "type"}
    return f"<{TAGS[attributes['type']]}{_attributes(own)}/>"


def _group(element: Members) -> dict[str, str]:
    kind = element["type"]
    attributes = {} if kind == "Layer" else {"data-type": kind}
    if "id" in element:
        attributes["id"] = element["id"]
    if "tags" in element:
        attributes["data-tags"] = format_tags(element["tags"])
    return attributes


def _georeference(element: Members) -> dict[str, object]:
    numbers = {f"data-{n}": v for n, v in element.items() if n not in ("type", "uid")}
    return {"data-type": element["type"], **numbers}


def _identity(element: Members) -> dict[str, str]:
    """`id` alone where it says all."""
    attributes = {"id": element["id"]}
    target = element.get("target")
    if target is not None and element["id"] != HIT + target["id"]:
        attributes["data-target-id"] = target["id"]
    if target is not None and target["type"] != "Unit":
        attributes["data-target-type"] = target["type"]
    return attributes


def _attributes(attributes: Mapping[str, object]) -> str:
    return "".join(f" {name}={quoteattr(str(value))}" for name, value in attributes.items())
