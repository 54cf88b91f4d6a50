"""Which networks an import makes stale: it changes the drawing, scale, floors or locations that
they were built from.

They are withdrawn in the transaction that commits the import, before anything is applied, so that
no network is ever beside what it does not match.
"""

from collections.abc import Sequence
from typing import Any

from storage import catalog
from storage.bundles.violations import quote_json
from storage.importing.planning import Change
from storage.mongo import driver
from storage.records.kinds import Document, RecordType
from storage.routing_inputs import (
    ROUTING_FIELDS,
    StaleNetwork,
    can_be_rebuilt,
    describe_change,
    load_floor_sorts,
    position_of,
    read_state,
)

MAX_LOSS_NOTES = 20
UNPROCESSED = "it is tagged pathfinding and has no network"
PLAN_REPLACED = "its plan is being replaced"
"""This is the reason until the network of the new plan is published."""


class StaleNetworks:
    """The networks that an import makes stale; give it all changes, then ask."""

    def __init__(self, database: driver.Database) -> None:
        self._database = database
        self._maps: dict[str, Document] | None = None
        """The maps with networks, as the import leaves them; None before they are read."""
        self._floor_sorts: dict[str, dict[str, int]] = {}
        """These floors have a new `sort`, by asset."""
        self._moved: set[str] = set()
        """Maps with locations that are moved or removed."""
        self._removed_floors: set[str] = set()
        self._removed_maps: set[str] = set()
        self._losses: list[str] = []
        self._withdrawn: list[StaleNetwork] = []
        """Maps of the import that an earlier one made stale, and that were not processed since."""

    async def add(self, kind: RecordType[Any], changes: Sequence[Change]) -> None:
        """Note what changes."""
        if kind is catalog.FLOORS:
            for change in changes:
                if change.after:
                    sorts = self._floor_sorts.setdefault(change.after["asset_id"], {})
                    sorts[change.key] = change.after["sort"]
                else:
                    self._removed_floors.add(change.key)
        elif kind is catalog.MAPS:
            routable = await self._load_maps()
            for change in changes:
                if not change.after:
                    self._removed_maps.add(change.key)
                    self._losses += filter(None, [_describe_loss(change.before)])
                elif change.key in routable:
                    planned = {name: change.after[name] for name in ("source", "feet_per_unit")}
                    routable[change.key] |= planned
        elif kind is catalog.LOCATIONS:
            for change in changes:
                # A network need not know all locations: new ones are not in its way.
                if change.before and (
                    not change.after or position_of(change.after) != position_of(change.before)
                ):
                    self._moved.add(change.before["unit_map_id"])

    def add_maps(self, changes: Sequence[Change]) -> None:
        """Note the maps of the import, also unchanged ones, that have no network any more."""
        for change in changes:
            unit_map = change.after
            state = read_state(unit_map)
            if not change.is_unchanged and _claims_network(unit_map):
                self._withdrawn.append(StaleNetwork(change.key, UNPROCESSED, True, True))
            elif state is not None and state.is_stale and state.withdrawn is not None:
                can_rebuild = can_be_rebuilt(unit_map)
                stale = StaleNetwork(change.key, state.withdrawn, can_rebuild, is_withdrawn=True)
                self._withdrawn.append(stale)

    def list_losses(self) -> list[str]:
        """Return notes of what removed maps have that no undo brings back: the first of them."""
        notes, more = self._losses[:MAX_LOSS_NOTES], len(self._losses) - MAX_LOSS_NOTES
        return [*notes, f"and {more:,} more routable or drawn maps"] if more > 0 else notes

    async def find(self) -> list[StaleNetwork]:
        """Return the networks that are stale once the import is applied, by map, and those that
        were withdrawn before."""
        routable = await self._load_maps()
        sorts: dict[str, dict[str, int]] = {}
        stale = [each for each in self._withdrawn if each.map_id not in self._removed_maps]
        for map_id, unit_map in sorted(routable.items()):
            if map_id in self._removed_maps:
                continue
            asset_id = unit_map["asset_id"]
            changed = self._floor_sorts.get(asset_id, {})
            if (changed or self._removed_floors) and asset_id not in sorts:
                live = await load_floor_sorts(self._database, asset_id)
                kept = {key: live[key] for key in live.keys() - self._removed_floors}
                sorts[asset_id] = kept | changed
            levels = (unit_map.get(catalog.REPORT_FIELD) or {}).get("levels") or ()
            has_lost_floor = any(level["level_id"] in self._removed_floors for level in levels)
            reason = (
                "a floor of it is removed"
                if has_lost_floor
                else describe_change(unit_map, sorts.get(asset_id))
            )
            if reason is None and map_id in self._moved:
                reason = "its locations have changed"
            if reason is not None:
                stale.append(StaleNetwork(map_id, reason, can_be_rebuilt(unit_map)))
        return stale

    async def _load_maps(self) -> dict[str, Document]:
        if self._maps is None:
            where = {catalog.NETWORK_FIELD: {"$type": "string"}}
            fields = (*ROUTING_FIELDS, f"{catalog.REPORT_FIELD}.levels.level_id")
            found = await self._database[catalog.MAPS.name].find(where, fields).to_list(None)
            self._maps = {unit_map["_id"]: unit_map for unit_map in found}
        return self._maps


def _claims_network(unit_map: Document) -> bool:
    """Return whether a map with a drawing is tagged as routable, without ever being processed."""
    is_tagged = catalog.PATHFINDING_TAG in unit_map.get("tags", ())
    is_processed = unit_map.get(catalog.NETWORK_FIELD) or unit_map.get(catalog.NETWORK_STATE_FIELD)
    return is_tagged and not is_processed and unit_map.get("source") is not None


def _describe_loss(unit_map: Document) -> str | None:
    """Return as a note what a removed map has that is in no bundle; None if it has nothing."""
    has_network = unit_map.get(catalog.NETWORK_FIELD)
    has_plan = unit_map.get(catalog.PARSED_FIELD) and unit_map.get("source") is None
    parts = ["routing network and closures"] if has_network else []
    parts += ["parsed map"] if has_plan else []
    if not parts:
        return None
    source = "the plan" if has_plan else "its drawing"
    return (
        f"map {quote_json(unit_map['_id'])} loses its {' and its '.join(parts)}, which no undo"
        f" brings back: it must be processed from {source} again"
    )
