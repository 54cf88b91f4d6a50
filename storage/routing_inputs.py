"""The inputs of a map's network, and whether the catalog still has them.

A map's document keeps what its network was built from, with the network. Every look-up of the
network compares the drawing and the scale with those of the same document; an import looks for what
it would change before it changes anything (docs/decisions/routing/network-inputs.md).
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import to_builtins
from msgspec.structs import replace

from storage import catalog
from storage.administration.audit import AuditChange
from storage.mongo import driver, files
from storage.records.kinds import UPDATED_AT, Document, current_timestamp

FloorSorts: TypeAlias = Mapping[str, int]
"""`sort` by floor."""
Position: TypeAlias = tuple[float | str, ...]
"""x, y and the floors of a location."""
NetworkLoader: TypeAlias = Callable[[bytes | None], bool]
"""Returns whether a network can be loaded; it is None if the file is missing."""

NETWORK_FORMAT = 5
"""The format of the networks that this release reads and writes."""
REPROCESS_COMMAND = "floorgate maps process --stale"
OTHER_FORMAT = f"another release built its network; `{REPROCESS_COMMAND}` builds it again"
ROUTING_FIELDS = (
    *("asset_id", "tags", "routing_tier", "source", "feet_per_unit"),
    *(catalog.NETWORK_FIELD, catalog.NETWORK_STATE_FIELD),
)
"""The fields of a map that withdrawing its network looks at, or changes."""
_ARCHIVE_START = re.compile(rb'FLOORRTE.{8}\{"kind":"\w+","version":(\d+),', re.DOTALL)


class NetworkState(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs that a map's network was built from, or the reason why it was withdrawn."""

    network: str | None = None
    """Digest of the network that this is about: an earlier release publishes another one without
    changing this. None where it was recorded before there was this field."""
    network_format: int | None = None
    """The format of the network. None if a release published it that recorded none: another one."""
    source: str | None = None
    """Digest of the map's own drawing, also if the network was built from another plan."""
    feet_per_unit: float | None = None
    levels: list[tuple[str, int]] = []
    """The floors of the network with their ranks; none if they are of no account."""
    is_from_drawing: bool = True
    """True if it was built from the map's own drawing."""
    plan: str | None = None
    """Digest of the other plan that it was built from. None if a release that stores none built it,
    or the plan is too large."""
    plan_format: str | None = None
    """The format that was given with the plan."""
    is_scale_given: bool = False
    """True if the scale was given for processing: an import without a scale keeps it."""
    withdrawn: str | None = None
    """Why it was withdrawn, as a clause."""
    is_stale: bool = False
    """True if it was withdrawn because it no longer matched."""


class StaleNetwork(msgspec.Struct, frozen=True):
    """A map whose network no longer matches, or was withdrawn because it did not."""

    map_id: str
    reason: str
    """A clause, such as `its drawing has changed`."""
    can_be_rebuilt: bool
    """True if the network can be built again from what is stored."""
    is_withdrawn: bool = False
    """True if it was withdrawn before."""

    @property
    def command(self) -> str:
        """The command that makes the map routable again."""
        arguments = [self.map_id] if self.can_be_rebuilt else [self.map_id, "SOURCE"]
        return f"floorgate maps process {' '.join(arguments)}"


class RoutingInputs(NamedTuple):
    """The inputs of a network, apart from a plan that is given, as read at one time."""

    source: str | None
    feet_per_unit: float | None
    floor_sorts: FloorSorts | None
    """None if the plan brings its own floors and scale."""
    positions: Mapping[str, Position]
    """The positions of the map's locations that processing did not create."""


async def read_inputs(
    database: driver.Database, map_id: str, *, is_own: bool, session: driver.Session
) -> RoutingInputs:
    """Read what a network of a map would be built from now.

    `is_own`: the map has its own drawing, with the floors and the scale of the catalog.
    """
    found = await database[catalog.MAPS.name].find_one({"_id": map_id}, session=session)
    unit_map = found or {}
    sorts = None
    if is_own:
        sorts = await load_floor_sorts(database, unit_map.get("asset_id", ""), session)
    where = {"unit_map_id": map_id, catalog.PROCESSED_FIELD: {"$ne": True}}
    locations = await driver.read_all(database[catalog.LOCATIONS.name].find(where, session=session))
    return RoutingInputs(
        unit_map.get("source"),
        unit_map.get("feet_per_unit") if is_own else None,
        sorts,
        {location["_id"]: position_of(location) for location in locations},
    )


async def load_floor_sorts(
    database: driver.Database, asset_id: str, session: driver.Session | None = None
) -> dict[str, int]:
    """Return `sort` of the floors of an asset."""
    where = {"asset_id": asset_id}
    floors = await driver.read_all(
        database[catalog.FLOORS.name].find(where, ["sort"], session=session)
    )
    return {floor["_id"]: floor.get("sort", 0) for floor in floors}


def position_of(location: Document | catalog.Location) -> Position:
    """Return the position of a location, from its record or its document."""
    if isinstance(location, catalog.Location):
        return location.x, location.y, *(floor.id for floor in location.floors)
    return location["x"], location["y"], *(floor["id"] for floor in location.get("floors") or ())


def rank_floors(sorts: FloorSorts, floor_ids: Iterable[str]) -> list[tuple[str, int]]:
    """Return floors with their ranks among those of the asset, counted from the lowest of them.

    That is what a network knows of `sort`: floors between two others count, those above and below
    all of them do not. An unknown floor has -1.

    >>> rank_floors({"roof": 9, "cellar": -1, "ground": 0}, ["roof", "ground"])
    [('ground', 0), ('roof', 1)]
    """
    ranks = {sort: rank for rank, sort in enumerate(sorted(set(sorts.values())))}
    known = {floor: ranks[sorts[floor]] for floor in floor_ids if floor in sorts}
    lowest = min(known.values(), default=0)
    return sorted((floor, known.get(floor, lowest - 1) - lowest) for floor in floor_ids)


def read_state(unit_map: Document) -> NetworkState | None:
    """Return what the network in a map's document was built from, if the document says."""
    state = unit_map.get(catalog.NETWORK_STATE_FIELD)
    return None if state is None else msgspec.convert(state, NetworkState)


def read_format(network: bytes) -> int | None:
    """Return the format of an archive (`routing/archive.py`); None if it is not one."""
    start = _ARCHIVE_START.match(network)
    return int(start[1]) if start else None


def describe_change(unit_map: Document, sorts: FloorSorts | None = None) -> str | None:
    """Return as a clause why a map's network does not match its document, and its floors if given,
    or cannot be loaded; None if neither.

    >>> state = {"source": "digest", "feet_per_unit": 1.0}
    >>> describe_change({"network_state": state, "source": "digest", "feet_per_unit": 2.0})
    'its scale has changed'
    """
    state = read_state(unit_map)
    if state is None:
        return OTHER_FORMAT
    if state.network not in (None, unit_map.get(catalog.NETWORK_FIELD)):
        return "it is not known what its network was built from"
    if state.source != unit_map.get("source"):
        return "its drawing has changed"
    if state.feet_per_unit != unit_map.get("feet_per_unit"):
        return "its scale has changed"
    if sorts is not None and state.levels:
        ranks = rank_floors(sorts, [floor for floor, _ in state.levels])
        if ranks != [*map(tuple, state.levels)]:
            return "the order of its floors has changed"
    return None if state.network_format == NETWORK_FORMAT else OTHER_FORMAT


def build_withdrawal(unit_map: Document, reason: str, *, is_stale: bool) -> Document:
    """Return the fields to set in the document of a map whose network is withdrawn."""
    state = read_state(unit_map) or NetworkState()
    fields: Document = {
        catalog.NETWORK_STATE_FIELD: to_builtins(
            replace(state, withdrawn=reason, is_stale=is_stale)
        ),
    }
    tags = unit_map.get("tags", [])
    if catalog.PATHFINDING_TAG in tags or unit_map.get(catalog.NETWORK_FIELD):
        fields |= {
            catalog.NETWORK_FIELD: None,
            "tags": [tag for tag in tags if tag != catalog.PATHFINDING_TAG],
            "routing_tier": catalog.NO_ROUTING,
            UPDATED_AT: current_timestamp(),
        }
    return fields


async def withdraw_stale_networks(
    database: driver.Database, stale: list[StaleNetwork], session: driver.Session
) -> list[AuditChange]:
    """Withdraw networks, of maps that have one, in the transaction of a session; return what that
    changes."""
    changes = []
    for network in stale:
        if network.is_withdrawn:
            continue
        where = {"_id": network.map_id}
        before = await database[catalog.MAPS.name].find_one(where, ROUTING_FIELDS, session=session)
        if before is None or not before.get(catalog.NETWORK_FIELD):
            continue
        fields = build_withdrawal(before, network.reason, is_stale=True)
        await database[catalog.MAPS.name].update_one(where, {"$set": fields}, session=session)
        changes.append(build_audit_change(before, fields))
    return changes


def build_audit_change(before: Document, after: Document) -> AuditChange:
    """Return the change of a map's network and tier for the audit log."""
    had, has = (
        {field: document.get(field) for field in (catalog.NETWORK_FIELD, "routing_tier")}
        for document in (before, after)
    )
    return AuditChange.of_all(catalog.MAPS.name, "updated", [before["_id"]], had, has)


async def list_stale_networks(
    database: driver.Database, can_load: NetworkLoader | None = None
) -> list[StaleNetwork]:
    """Return the maps whose networks no longer match, or were withdrawn for that, by id.

    `can_load` is asked about all others. Raises UnavailableError.
    """
    stale = []
    sorts: dict[str, FloorSorts] = {}
    where = {
        "$or": [
            {catalog.NETWORK_FIELD: {"$type": "string"}},
            {f"{catalog.NETWORK_STATE_FIELD}.is_stale": True},
        ]
    }
    with driver.translate_errors():
        async for unit_map in database[catalog.MAPS.name].find(where, sort=[("_id", 1)]):
            asset_id = unit_map["asset_id"]
            if asset_id not in sorts:
                sorts[asset_id] = await load_floor_sorts(database, asset_id)
            if digest := unit_map.get(catalog.NETWORK_FIELD):
                reason = describe_change(unit_map, sorts[asset_id])
                if reason is None and can_load is not None:
                    network = await files.read_file(database, digest)
                    if not await asyncio.to_thread(can_load, network):
                        reason = "its network is missing or damaged"
            else:
                reason = (read_state(unit_map) or NetworkState()).withdrawn
            if reason is not None:
                stale.append(StaleNetwork(unit_map["_id"], reason, can_be_rebuilt(unit_map)))
    return stale


def can_be_rebuilt(unit_map: Document) -> bool:
    """Return whether a map's network can be built again from what it was built from before, its own
    drawing or a stored plan. A drawing that is newer than the plan may contradict it."""
    state, source = read_state(unit_map) or NetworkState(), unit_map.get("source")
    if state.is_from_drawing:
        return source is not None
    return state.plan is not None and state.source == source
