"""Random values of inputs: of records that a key sees, of others, and of none."""

import re
from typing import Any

from graphql import GraphQLEnumType, GraphQLInputObjectType, GraphQLList, get_nullable_type
from hypothesis import strategies as st

from tests.authorisation.catalog import ATTRIBUTES, GROUPS, UNITS, Catalog
from tests.authorisation.directory import NODES, Directory
from tests.authorisation.filters import FUTURE, PAST, split_words
from tests.authorisation.lists import parse_order
from tests.authorisation.requests import Cursor, EnumWord, NodeId

DRAWING = UNITS.format(unit="any")


class CannotGenerateError(AssertionError):
    """Nothing here has values for an input."""


KIND_OF_TYPE = {
    "Asset": "assets",
    "Floor": "floors",
    "Location": "locations",
    "Unit": "units",
    "Map": "maps",
    "Background": "backgrounds",
    "AttributeGroup": "attribute_groups",
}
KIND_OF_NAME = {
    "asset": "assets",
    "assetId": "assets",
    "floor": "floors",
    "floorId": "floors",
    "unit": "units",
    "unitId": "units",
    "map": "maps",
    "background": "backgrounds",
    "attributeGroup": "attribute_groups",
    "groupId": "attribute_groups",
}
KINDS = ["assets", "floors", "units", "maps"]
"""Kinds that every key may follow."""
REFERENCES = ("asset_references", "unit_references")
# Not by `updated_at`: no one knows here when the import was.
UNIT_ORDERS = ["id", "id_desc", "name", "name_desc"]


class Values:
    """Draws values of inputs: of visible and hidden records, and of none."""

    def __init__(self, directory: Directory) -> None:
        records = directory.records
        self.ids = {
            kind: [r["id"] for r in records[kind]] for kind in records if "id" in records[kind][0]
        }
        self.ids["attribute_groups"] = [*GROUPS, "none"]
        self.all_ids = [id for ids in self.ids.values() for id in ids]
        self.keys = [directory.key_of(kind, r) for kind, rs in records.items() for r in rs]
        self.records = records
        self.texts = {
            "key": sorted(
                {
                    r["key"]
                    for kind in ("asset_references", "unit_references")
                    for r in records[kind]
                }
            ),
            # No map has them: what is closed would change what the oracle knows of distances.
            **{name: ["none"] for name in ("connectors", "doors", "spaces")},
            "value": [r["value"] for kind in REFERENCES for r in records[kind]],
            "search": _list_beginnings(records),
            "updatedSince": [PAST, FUTURE],
            "attributeId": [key for group in GROUPS for key in ATTRIBUTES[group]],
            "name": ["Here"],
            "level": ["none"],
            "svg": [DRAWING],
        }
        self.tags = {
            "Map": sorted({tag for r in records["maps"] for tag in r["tags"]}),
            "Location": _list_terms(records),
        }

    def value(
        self, draw: st.DrawFn, name: str, type: Any, field_type: str, map_id: str | None = None
    ) -> Any:
        """A value of an argument, or of a member of one. Raises CannotGenerateError."""
        nullable = get_nullable_type(type)
        if isinstance(nullable, GraphQLList):
            items = range(draw(st.integers(1, 2)))
            return [self.value(draw, name, nullable.of_type, field_type, map_id) for _ in items]
        if nullable.name == "WaypointInput":
            return self.waypoint(draw, map_id)
        if nullable.name == "AssignmentInput":
            return self.assignment(draw)
        if isinstance(nullable, GraphQLInputObjectType):
            members = nullable.fields.items()
            return {
                key: self.value(draw, key, each.type, field_type, map_id) for key, each in members
            }
        if isinstance(nullable, GraphQLEnumType):
            known = {"RecordKind": KINDS, "UnitOrder": UNIT_ORDERS}
            words = known.get(nullable.name, [*nullable.values])
            return EnumWord(draw(st.sampled_from(words)))
        return self.scalar(draw, name, nullable.name, field_type)

    def routable_map(self, draw: st.DrawFn) -> str:
        """The id of a map with a network."""
        maps = [each["id"] for each in self.records["maps"] if "pathfinding" in each["tags"]]
        chosen: str = draw(st.sampled_from(maps))
        return chosen

    def node_id(self, draw: st.DrawFn) -> NodeId:
        """The node id of a record, or of none."""
        type = draw(st.sampled_from([*NODES]))
        kind, fields = NODES[type]
        if type == "Attribute" or not draw(st.integers(0, 9)):
            return NodeId(type, tuple(draw(st.sampled_from(self.all_ids)) for _ in fields))
        record = draw(st.sampled_from(self.records[kind]))
        return NodeId(type, tuple(record[name] for name in fields))

    def scalar(self, draw: st.DrawFn, name: str, type: str, field_type: str) -> Any:
        if field_type == "Node":
            return self.node_id(draw)
        named = KIND_OF_TYPE.get(field_type.removesuffix("Page")) if name in ("id", "ids") else None
        kind = named or KIND_OF_NAME.get(name)
        if name == "ids" and not kind:  # of a list in REST
            kind = draw(st.sampled_from([*KIND_OF_TYPE.values()]))
        if name == "key" and field_type == "Location":
            return draw(st.sampled_from(["svc:id", "SVC:type", "none"]))
        if kind:
            return self.id(draw, kind)
        if name == "tags" and field_type in ("MapPage", "Map"):
            terms = draw(st.lists(st.sampled_from(self.tags["Map"]), min_size=1, max_size=2))
            return ",".join(terms)
        if name == "tags":
            terms = draw(st.lists(st.sampled_from(self.tags["Location"]), min_size=1, max_size=2))
            return ",".join(draw(st.sampled_from(["", "", "-"])) + term for term in terms)
        if name in self.texts:
            return draw(st.sampled_from(self.texts[name]))
        if name == "since":
            years = st.integers(2000, 2100)
            return f"{draw(years)}-01-31T12:00:00+00:00"
        if name == "minutes":
            return draw(st.sampled_from([30.0, 60.0]))  # all of a floor
        if name == "places":
            return draw(st.sampled_from([1, 100]))
        if name == "limit":
            return draw(st.sampled_from([1, 2, 10]))
        if name == "width":
            return draw(st.sampled_from([16, 100]))
        if type == "Boolean":
            return draw(st.booleans())
        raise CannotGenerateError(f"give values for the input {name!r} in {__name__}.Values")

    def id(self, draw: st.DrawFn, kind: str) -> str:
        """The id of a record: of the kind, of another one, or of none."""
        pool = self.ids[kind] if draw(st.integers(0, 9)) else self.all_ids
        chosen: str = draw(st.sampled_from(pool))
        return chosen

    def paging(
        self,
        draw: st.DrawFn,
        coordinate: str,
        parent_id: str | None,
        filters: dict[str, Any],
        *,
        by_relay: bool,
    ) -> dict[str, Any]:
        """Arguments of a list: small pages, so that a request is about few records."""
        per_page = draw(st.sampled_from([1, 2, 5, 100]))
        sort = draw(st.sampled_from(["first", "first", "second", "cursor"]))
        paging: dict[str, Any] = {"perPage": per_page}
        if sort == "second":
            paging["page"] = 2
        if sort == "cursor":
            order = parse_order(filters)
            position: tuple[str | int, ...] = (draw(st.sampled_from(self.keys)),)
            if order.field is not None:  # of units, or of the floors of an asset
                kind = "floors" if coordinate == "Asset.floors" else "units"
                record = draw(st.sampled_from(self.records[kind]))
                position = (record[order.field], record["id"])
            cursor = Cursor(coordinate, parent_id, filters, 2, per_page, position)
            more = draw(st.sampled_from([{}, {"page": 2}, {"page": 2, "perPage": per_page}]))
            return {"after": cursor, **more}
        if by_relay and sort == "first":
            return {"first": per_page}
        return paging

    def waypoint(self, draw: st.DrawFn, map_id: str | None) -> dict[str, Any]:
        """A location, mostly of the map, or the unit that it stands for, or a position."""
        sort = draw(st.sampled_from(["location", "floor", "position", "both"]))
        locations = self.records["locations"]
        near = [each for each in locations if each["unit_map_id"] == map_id]
        is_near = bool(near) and draw(st.integers(0, 3)) > 0
        known = draw(st.sampled_from(near if is_near else locations))
        point: dict[str, Any] = {}
        if sort != "position":
            point["id"] = known["id"] if draw(st.integers(0, 5)) else self.id(draw, "units")
            units = [tag["value"] for tag in known["tags"] if tag["key"] == "svc:id"]
            if draw(st.integers(0, 2)) == 0:
                is_shown = units and draw(st.integers(0, 3)) > 0
                unit_id = units[0] if is_shown else self.id(draw, "units")
                key = draw(st.sampled_from(["id", "unitId"]))
                point = {key: unit_id}
        if sort != "location":
            related = [each["id"] for each in known["floors"]]
            chosen = draw(st.integers(0, 2))
            point["floorId"] = related[0] if chosen and related else self.id(draw, "floors")
        if sort in ("position", "both"):
            point |= {
                "x": draw(st.sampled_from([3.25, 51.5])),
                "y": draw(st.sampled_from([5.5, 21.0])),
            }
        return point

    def assignment(self, draw: st.DrawFn) -> dict[str, str]:
        """An assignment that mostly fits together."""
        unit = draw(st.sampled_from(self.records["units"]))
        group = draw(st.sampled_from(GROUPS))
        whole = {
            "groupId": group,
            "attributeId": draw(st.sampled_from(ATTRIBUTES[group])),
            "assetId": unit["asset_id"],
            "unitId": unit["id"],
        }
        if not draw(st.integers(0, 4)):
            whole["assetId"] = self.id(draw, "assets")
        if not draw(st.integers(0, 9)):
            whole["unitId"] = draw(st.sampled_from(self.all_ids))
        return whole


def _list_beginnings(records: Catalog) -> list[str]:
    names = {
        record["name"]
        for kind in ("assets", "units", "maps", "locations")
        for record in records[kind]
    }
    words = {word for name in names for word in split_words(name)}
    return sorted({word[: len(word) // 2 + 1] for word in words} | {"none"})


def _list_terms(records: Catalog) -> list[str]:
    tags = [tag for each in records["locations"] for tag in each["tags"]]
    terms = {_escape(tag["key"]) for tag in tags}
    return sorted(terms | {f"{_escape(tag['key'])}=={_escape(tag['value'])}" for tag in tags})


def _escape(text: str) -> str:
    return re.sub(r"([,=\\-])", r"\\\1", text)
