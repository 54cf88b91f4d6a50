"""Render a parsed map as SVG in the same dialect; parsing the result gives the same map."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from xml.sax.saxutils import quoteattr

from parsing.svg.data_tags import format_tags
from parsing.svg.identities import HIT_PREFIX
from parsing.svg.names import SHAPE_KINDS

TAG_BY_KIND: Final = {kind: kind.lower() for kind in SHAPE_KINDS}
JsonObject = Mapping[str, Any]


def to_svg(parsed: JsonObject) -> str:
    """Render the objects of `ParsedUnitMap.to_dict`. Raises KeyError if members are missing."""
    width, height = parsed["width"], parsed["height"]
    root = {
        "xmlns": "http://www.w3.org/2000/svg",
        "width": width,
        "height": height,
        "viewBox": f"0 0 {width} {height}",
    }
    return "\n".join([f"<svg{_format_attributes(root)}>", *render_elements(parsed), "</svg>", ""])


def render_elements(parent: JsonObject) -> Iterator[str]:
    """Yield the SVG of the elements of a parsed map or of one of its groups."""
    for element in parent["elements"]:
        kind = element["type"]
        if "elements" in element:
            yield f"<g{_format_attributes(_group_attributes(element))}>"
            yield from render_elements(element)
            yield "</g>"
        elif kind == "Georeference":
            yield f"<g{_format_attributes(_georeference_attributes(element))}/>"
        elif "shape" in element:
            yield render_shape({**_identity_attributes(element), **element["shape"]})
        else:
            yield render_shape(element)


def render_shape(attributes: JsonObject) -> str:
    """Return the SVG of a shape, from its attributes and its `type`."""
    own = {name: value for name, value in attributes.items() if name != "type"}
    return f"<{TAG_BY_KIND[attributes['type']]}{_format_attributes(own)}/>"


def _group_attributes(element: JsonObject) -> dict[str, str]:
    kind = element["type"]
    attributes = {} if kind == "Layer" else {"data-type": kind}
    if "id" in element:
        attributes["id"] = element["id"]
    if "tags" in element:
        attributes["data-tags"] = format_tags(element["tags"])
    return attributes


def _georeference_attributes(element: JsonObject) -> dict[str, object]:
    numbers = {f"data-{n}": v for n, v in element.items() if n not in ("type", "uid")}
    return {"data-type": element["type"], **numbers}


def _identity_attributes(element: JsonObject) -> dict[str, str]:
    """Return `id` and those `data-target-*` attributes that do not follow from it."""
    attributes = {"id": element["id"]}
    target = element.get("target")
    if target is not None and element["id"] != HIT_PREFIX + target["id"]:
        attributes["data-target-id"] = target["id"]
    if target is not None and target["type"] != "Unit":
        attributes["data-target-type"] = target["type"]
    return attributes


def _format_attributes(attributes: Mapping[str, object]) -> str:
    return "".join(f" {name}={quoteattr(str(value))}" for name, value in attributes.items())
