"""Making a map routable: read its plan, build its network, publish what people reach by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import orjson
import strawberry

from parsing.errors import ParsingError
from parsing.plans import Format, read
from resolvers import reporting, routables
from resolvers.arguments import checked_id
from resolvers.catalog import load
from resolvers.context import Info
from resolvers.errors import InvalidInput, NotFound, RefusedDocument
from resolvers.plan_adoption import Given, adopt
from resolvers.plan_records import Member, directory_of, locations_of
from resolvers.plans import plan_of
from resolvers.reporting import Progress
from resolvers.routables import Placement, placement_of
from routing.costing import Mode
from routing.errors import FormatError, RoutingError
from routing.picture import draw_level
from routing.processing import process_plan
from storage import driver, files, networks
from storage.errors import BundleError
from storage.floors import FLOORS
from storage.locations import Location
from storage.maps import MAPS, Map
from storage.store import Store
from storage.units import UNITS
from storage.visibility import EVERYTHING

UNIT_ID = "svc:id"
MANY = 10_000
TIERS = {Mode.FOOT: "foot_routing", Mode.WHEELCHAIR: "wheelchair_routing"}
"""A map's tier is that of the last mode that reaches anything; wheelchairs go nowhere that feet
do not."""


class Request(NamedTuple):
    """What is to be processed: files by name, or without any the map's own drawing."""

    map_id: str
    files: Mapping[str, bytes]
    format: Format | None = None
    asset_id: str | None = None
    feet_per_unit: float | None = None
    with_pictures: bool = False
    require: float = 0.0
    """Per cent of the locations that have to reach each other, in each mode."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The report, whether it was published, and an SVG for each level and mode by name."""

    report: dict[str, Any]
    published: bool
    pictures: dict[str, str]


class _Task(NamedTuple):
    """What the process that builds the network needs to know."""

    request: Request
    asset_id: str
    floor_sorts: dict[str, int] | None
    unit_names: dict[str, str]
    """What the catalog calls the units of a drawing that knows only their ids."""
    given: list[Given]
    placements: list[Placement]
    """Of the locations that the map has already, and keeps."""


class _Built(NamedTuple):
    network: bytes
    report: dict[str, Any]
    directory: dict[str, list[Member]]
    locations: list[Member]
    pictures: dict[str, str]


def ignore(share: float, step: str) -> None:
    """Nobody is watching."""


class Result(NamedTuple):
    """What became of a map."""

    is_routable: bool
    report: dict[str, Any]


async def process_map(
    info: Info,
    id: strawberry.ID,
    plan: str | None = None,
    asset: strawberry.ID | None = None,
    feet_per_unit: float | None = None,
    require: float = 0.0,
) -> Result:
    """Makes a map routable: from its own drawing, or from the text of a floor plan.

    The plan is a unit map in SVG, or OpenStreetMap indoor data in XML or GeoJSON. Where fewer than
    `require` per cent of the locations reach each other, in either mode, nothing changes; where
    none do, the map is no longer routable. The report says why.
    """
    files = {} if plan is None else {"plan": plan.encode()}
    asset_id = None if asset is None else checked_id("asset", asset)
    map_id = checked_id("id", id)
    request = Request(map_id, files, None, asset_id, feet_per_unit, require=require)
    outcome = await process(info.context.store, request)
    return Result(outcome.published, outcome.report)


async def process(store: Store, request: Request, progress: Progress = ignore) -> Outcome:
    """Makes a map routable, or says in the report why it is not.

    Until the last step nothing changes; then readers see the new version at once. A plan that is
    no unit map's own brings map, asset, floors and units with it. A plan by which nobody reaches
    anything is not published, and withdraws the network of an earlier one. Raises NotFound,
    InvalidInput, RefusedDocument, ImportRunning, Unavailable.
    """
    if not 0 <= request.require <= 100:
        raise InvalidInput(require=f"must be from 0 to 100 per cent, not {request.require}")
    task = await _prepare(store, request)
    try:
        built = await reporting.run(_build, progress, task)
    except (ParsingError, RoutingError, reporting.WorkerDied) as error:
        raise RefusedDocument(str(error)) from error
    refusal = _too_little(built.report, request.require)
    if refusal is None and built.report["modes"]:
        await _publish(store.database, task, built)
    elif refusal is None:
        refusal = "no two locations reach each other"
        if await networks.withdraw(store.database, request.map_id, built.report):
            refusal += "; the map was routable before, and no longer is"
    report = {**built.report, "published": refusal is None, "refusal": refusal}
    return Outcome(report, refusal is None, built.pictures)


def _too_little(report: dict[str, Any], require: float) -> str | None:
    """What falls short of the required share, if anything does."""
    locations = report["locations"]
    short = [
        f"{check['reached']} of {locations} locations reach each other by {check['mode']}"
        for check in report["self_checks"]
        if check["reached"] * 100 < require * max(1, locations)
    ]
    if not short:
        return None
    return f"{' and '.join(short)}, fewer than the {require:g}% required; nothing was changed"


async def is_processed(store: Store, map_id: str) -> bool:
    """Whether a map is routable, by an archive that this version reads. Raises Unavailable."""
    digest = await networks.find_digest(store.database, EVERYTHING, map_id)
    with driver.translating():
        network = await files.read(store.database, digest) if digest else None
    if network is None:
        return False
    try:
        routables.load(network)
    except FormatError:
        return False
    return True


async def _prepare(store: Store, request: Request) -> _Task:
    known = await store.get(MAPS, EVERYTHING, {"_id": request.map_id})
    if known is None and not request.files:
        raise NotFound
    if known and request.asset_id not in (None, known.asset_id):
        raise InvalidInput(asset=f"must be {known.asset_id!r}, to which the map belongs")
    asset_id = known.asset_id if known else request.asset_id or request.map_id
    is_own = not request.files or (known is not None and known.source is not None)
    if not request.files and known is not None:
        request = request._replace(files={"map.svg": await _drawing(store, known)}, format="svg")
    if request.feet_per_unit is None and known is not None:
        request = request._replace(feet_per_unit=known.feet_per_unit)
    sorts = await _fields(store, FLOORS.name, asset_id, "sort") if is_own else None
    names = await _fields(store, UNITS.name, asset_id, "name") if is_own else {}
    given = await networks.given_locations(store.database, request.map_id)
    adopted = [_given(each) for each in given if each.floors]
    placements = [placement_of(each) for each in given]
    return _Task(request, asset_id, sorts, names, adopted, placements)


async def _drawing(store: Store, known: Map) -> bytes:
    content = await files.read(store.database, known.source) if known.source else None
    if content is None:
        raise InvalidInput(source=f"must be given: the map {known.id!r} has no drawing of its own")
    return content


async def _fields(store: Store, collection: str, asset_id: str, field: str) -> dict[str, Any]:
    found = store.database[collection].find({"asset_id": asset_id}, {field: 1}, batch_size=MANY)
    with driver.translating():
        return {document["_id"]: document[field] for document in await found.to_list(None)}


def _given(location: Location) -> Given:
    unit = next((tag.value for tag in location.tags if tag.key == UNIT_ID), None)
    return Given(location.id, location.name, location.x, location.y, location.floors[0].id, unit)


def _build(progress: Progress, task: _Task) -> _Built:
    """All that needs no database: in a process of its own."""
    request = task.request
    progress(0.0, "reading the plan")
    drawing = read(request.files, request.format, request.feet_per_unit)
    reading = plan_of(drawing, request.map_id, task.floor_sorts)
    directory = {} if task.floor_sorts is not None else directory_of(reading, task.asset_id)
    reading = adopt(reading, task.given)
    processed = process_plan(reading.plan, progress=progress)
    report = {
        "map": request.map_id,
        "feet_per_unit": drawing.feet_per_unit,
        "notes": [str(note) for note in reading.notes],
        **processed.report.as_dict(),
    }
    pictures: dict[str, str] = {}
    if request.with_pictures:
        pictures = {
            f"{level.id}.{mode.value}": draw_level(processed, level.id, mode)
            for level in processed.plan.levels
            for mode in Mode
        }
    locations = [
        member | {"name": task.unit_names.get(place.unit_id or "", member["name"])}
        for member, place in zip(locations_of(reading, task.asset_id), reading.places, strict=True)
    ]
    network = routables.save(processed.router, [*task.placements, *map(_placement, locations)])
    return _Built(network, report, directory, locations, pictures)


def _placement(member: Member) -> Placement:
    floor_ids = tuple(floor["id"] for floor in member["floors"])
    return Placement(member["id"], member["name"], member["x"], member["y"], floor_ids)


async def _publish(database: driver.Database, task: _Task, built: _Built) -> None:
    if built.directory:
        try:
            await load(database, [orjson.dumps(built.directory)])
        except BundleError as error:
            raise RefusedDocument(str(error)) from error
    locations: Sequence[Location] = msgspec.convert(built.locations, list[Location])
    tier = TIERS[built.report["modes"][-1]]
    await networks.publish(
        database, task.request.map_id, built.network, tier, built.report, locations
    )
