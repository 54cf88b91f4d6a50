"""A directory of four assets in which every record of an asset carries a marker of its own.

A marker is `zq` and an even number. The odd number after it is in no record, so that an id with it
is a ghost: the same text, of the same length, right behind the real one in every order.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any, TypeAlias

from parsing.svg.unit_map import parse_unit_map
from resolvers.request.caller import ADMIN_PERMISSION, PERMISSIONS

Record: TypeAlias = dict[str, Any]
Catalog: TypeAlias = dict[str, list[Record]]

MARKER = re.compile(r"zq\d{4}|ZQ\d{4}")
ID_FORMS: tuple[Callable[[str], str], ...] = (
    lambda marker: marker,
    lambda marker: f"{marker}/b",
    lambda marker: f"$ne{marker}",
    lambda marker: f"{marker}%2F3",
    lambda marker: f"\u00e9{marker}",
    lambda marker: marker.ljust(255, "x"),
    lambda marker: f"{marker} b,-c==d",
    lambda marker: f"../{marker}?a&b#c",
)
"""Ids that something between a client and MongoDB could take for something else."""

ASSET_COUNT = 4
GROUPS = ("view", "fit/out")
ATTRIBUTES = {"view": ("sea", "yard"), "fit/out": ("oven", "bath")}
HALL = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 30">'
    '<g data-type="Level" data-tags="floor={floor}">'
    '<g><rect data-tags="indoor=corridor" x="0" y="0" width="100" height="30"/></g></g></svg>'
)
"""An empty hall: the way from one place to another is the straight line."""
UNITS = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8">'
    '<g data-type="Georeference" data-latitude="56" data-longitude="10" data-zoom="20"/>'
    '<g data-type="UnitLayer">'
    '<rect id="{unit}" width="4" height="8" fill="red"/></g></svg>'
)
ROUTABLE_ASSETS = 2
"""The first map of each of these is processed."""
PROCESSED = {"tags": ["ils", "pathfinding"], "routing_tier": "wheelchair_routing"}

_numbers = count(100, 2)


def find_markers(text: str) -> set[str]:
    """Return the markers in a text, also those in cursors, which are base64."""
    found = set(MARKER.findall(text))
    for token in re.findall(r"[A-Za-z0-9_-]{10,}", text):
        decoded = base64.urlsafe_b64decode(token[: len(token) // 4 * 4])
        found.update(MARKER.findall(decoded.decode("latin-1")))
    return found


def to_ghosts(text: str, markers: Iterable[str]) -> str:
    """Return the text with each of these markers changed to one that no record has."""
    for marker in markers:
        text = text.replace(marker, f"{marker[:2]}{int(marker[2:]) + 1:04}")
    return text


def to_data_url(svg: str) -> str:
    """Return a drawing as bundles hold it."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def parse_drawing(svg: str) -> Any:
    """Return a drawing as the service shows it."""
    return json.loads(parse_unit_map(svg.encode()).json)


class _Marked:
    """Makes the texts of one asset: each with a marker of its own, ids in every awkward form."""

    def __init__(self, number: int) -> None:
        self.forms = count(number)

    def text(self) -> str:
        return f"zq{next(_numbers):04}"

    def id(self) -> str:
        return ID_FORMS[next(self.forms) % len(ID_FORMS)](self.text())


def build_catalog() -> tuple[Catalog, dict[str, str]]:
    """Return the catalog, and the drawing of each map that has one, by map id.

    Every field is given, for the oracle knows no defaults.
    """
    catalog: Catalog = {}
    drawings: dict[str, str] = {}
    twin = f"{next(_numbers):04}"
    unit_ids: list[str] = []
    for number in range(ASSET_COUNT):
        # Units of the first two assets whose ids differ only in case.
        first_unit = {0: f"zq{twin}", 1: f"ZQ{twin}"}.get(number)
        members = _build_asset(number, _Marked(number), first_unit, unit_ids, drawings)
        for kind, record in members:
            catalog.setdefault(kind, []).append(record)
    catalog["attribute_groups"] = [
        {
            "group_id": group,
            "group_name": group.title(),
            "one_attribute_per_unit": group == "view",
            "attributes": [
                {"attribute_id": name, "attribute_name": name.title(), "attribute_key": name}
                for name in ATTRIBUTES[group]
            ],
        }
        for group in GROUPS
    ]
    return catalog, drawings


def _build_asset(
    number: int,
    marked: _Marked,
    first_unit: str | None,
    other_units: list[str],
    drawings: dict[str, str],
) -> Iterator[tuple[str, Record]]:
    asset, text = marked.id(), marked.text
    owned = {"asset_id": asset}
    yield "assets", {"id": asset, "name": text(), "market": text()}
    floors = [marked.id(), marked.id()]
    for sort, floor in enumerate(floors):
        names = {"name": text(), "label": text(), "short_label": text()}
        yield "floors", {"id": floor, **owned, **names, "sort": sort}
    maps = [marked.id(), marked.id(), marked.id()]
    units = [first_unit or marked.id(), *(marked.id() for _ in range(3))]
    yield from _build_maps(number, marked, asset, maps, drawings, floors[0], units[0])
    for index, unit in enumerate(units):
        shown = {1: [maps[1]], 2: maps[:2]}.get(index)
        place = {"floor_id": floors[index // 2], "map_ids": shown}
        yield "units", {"id": unit, **owned, "name": text(), **place}
    for key in ("crm", text()):
        yield "asset_references", {"id": marked.id(), **owned, "key": key, "value": text()}
    for unit, key in ((units[0], "crm"), (units[0], text()), (units[1], "crm")):
        about = {"group_id": text(), **owned, "unit_id": unit}
        yield "unit_references", {**about, "key": key, "value": text()}
    for unit, group, attribute in (
        (units[0], "view", "sea"),
        (units[1], "view", "yard"),
        (units[0], "fit/out", "oven"),
        (units[0], "fit/out", "bath"),
    ):
        about = {"group_id": group, "attribute_id": attribute}
        yield "attribute_assignments", {**about, **owned, "unit_id": unit}
    # The last of these locations names a unit of the asset before.
    shown_units = [units[0], units[1], *other_units[-1:]]
    for index in range(5):
        tags = [{"key": "svc:id", "value": unit} for unit in shown_units[index : index + 1]]
        tags += [{"key": "svc:amenity", "value": "yes"}] if index % 2 else []
        tags += [{"key": text(), "value": text()}]
        spot = {"x": 7.5 + 17.25 * index, "y": 4.0 + (index * index) % 7}
        where = {"unit_map_id": maps[index // 3], "floors": [{"id": floors[0]}]}
        yield (
            "locations",
            {"id": marked.id(), **owned, "name": text(), **spot, **where, "tags": tags},
        )
    other_units.append(units[0])


def _build_maps(
    number: int,
    marked: _Marked,
    asset: str,
    maps: list[str],
    drawings: dict[str, str],
    floor: str,
    unit: str,
) -> Iterator[tuple[str, Record]]:
    text = marked.text
    backgrounds = {id: marked.id() for id in maps}
    # A floor's id stands in an attribute of the drawing.
    plan = HALL.format(floor=floor.replace("&", "&amp;"))
    drawings[maps[0]] = plan if number < ROUTABLE_ASSETS else UNITS.format(unit=text())
    drawings[maps[1]] = UNITS.format(unit=unit.replace("&", "&amp;"))
    for index, id in enumerate(maps):
        routing = PROCESSED if number < ROUTABLE_ASSETS and not index else {}
        source = {"source": to_data_url(drawings[id])} if id in drawings else {"source": None}
        yield (
            "maps",
            {
                "id": id,
                "asset_id": asset,
                "name": text(),
                "style": text(),
                "style_type": text(),
                "tags": ["ils", text()],
                "routing_tier": "no_routing",
                "background_id": backgrounds[id] if index else None,
                "geojson_url": f"https://geo.test/{text()}",
                "url": f"https://maps.test/{text()}",
                "feet_per_unit": None if index == 1 else 1.0,
                **source,
                **routing,
            },
        )
        yield "backgrounds", {"id": backgrounds[id], "unit_map_id": id, "name": text()}
        yield "backgrounds", {"id": marked.id(), "unit_map_id": id, "name": text()}
        values = [{"name": text(), "value": floor}]
        for key in ("floor", text()):
            yield "level_tags", {"map_id": id, "key": key, "name": text(), "values": values}


def build_strays(catalog: Catalog) -> Catalog:
    """Return records of the second asset under owners of the first one.

    No import allows them: if the database ever has some, a key must still see its own assets only.
    """
    assets = [each["id"] for each in catalog["assets"]]
    units, floors, maps, references, locations = (
        [each for each in catalog[kind] if each["asset_id"] == assets[0]]
        for kind in ("units", "floors", "maps", "unit_references", "locations")
    )
    marked, owned = _Marked(0), {"asset_id": assets[1]}
    about = {"unit_id": units[2]["id"], **owned}
    return {
        "units": [{**units[0], **owned, "id": marked.id(), "name": marked.text()}],
        "unit_references": [
            {**references[0], **about, "key": marked.text(), "value": marked.text()}
        ],
        "attribute_assignments": [{"group_id": "fit/out", "attribute_id": "oven", **about}],
        "locations": [
            {
                **locations[0],
                **owned,
                "id": marked.id(),
                "name": marked.text(),
                "unit_map_id": maps[2]["id"],
                "floors": [{"id": floors[0]["id"]}],
            }
        ],
    }


def to_bundle(catalog: Catalog) -> bytes:
    """Return the catalog as a bundle, where a field that is absent is null."""
    members = {
        kind: [{n: v for n, v in each.items() if v is not None} for each in records]
        for kind, records in catalog.items()
    }
    return json.dumps(members).encode()


def list_rights(catalog: Catalog) -> dict[str, tuple[frozenset[str] | None, frozenset[str]]]:
    """Return the assets and permissions of each key, by its name; None stands for all assets."""
    assets = [record["id"] for record in catalog["assets"]]
    operators = {ADMIN_PERMISSION, "service.endpoints.read", "service.endpoints.write"}
    everything = frozenset(PERMISSIONS) - operators
    rights: dict[str, tuple[frozenset[str] | None, frozenset[str]]] = {
        "all": (None, everything),
        "none": (frozenset(), everything),
        "pair": (frozenset(assets[:2]), everything),
        "reader": (frozenset(assets[:1]), frozenset()),
        "all-reader": (None, frozenset()),
        "writer": (frozenset(assets[1:2]), frozenset(p for p in everything if ".write" in p)),
        "walker": (frozenset(assets[1:3]), frozenset(p for p in everything if "dist" in p)),
    }
    rights |= {f"only-{i}": (frozenset([asset]), everything) for i, asset in enumerate(assets)}
    return rights
