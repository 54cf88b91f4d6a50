"""Making a map routable: read its plan, build its network, publish what people reach by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import orjson
import strawberry

from parsing.errors import ParsingError
from parsing.plans import PlanFormat, read_plan
from resolvers.catalog import import_catalog
from resolvers.networks import routable_maps
from resolvers.networks.routable_maps import Placement, placement_of
from resolvers.plans.adoption import ExistingLocation, adopt_locations
from resolvers.plans.records import RecordDict, build_directory, build_location_records
from resolvers.plans.translation import translate_plan
from resolvers.processing import worker_process
from resolvers.processing.worker_process import ProgressCallback
from resolvers.request.arguments import validate_id
from resolvers.request.context import Info
from resolvers.request.errors import InvalidInputError, NotFoundError, RefusedDocumentError
from routing.costing import TravelMode
from routing.errors import ArchiveError, RoutingError
from routing.picture import draw_level
from routing.processing import process_plan
from storage import files, networks
from storage.errors import BundleError
from storage.floors import FLOORS
from storage.locations import Location
from storage.maps import MAPS, Map
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS
from storage.store import Store
from storage.units import UNITS

UNIT_ID_TAG = "svc:id"
CURSOR_BATCH_SIZE = 10_000
TIERS = {TravelMode.FOOT: "foot_routing", TravelMode.WHEELCHAIR: "wheelchair_routing"}
"""A map's tier is that of the last mode that reaches anything; wheelchairs go nowhere that feet
do not."""


class ProcessingRequest(NamedTuple):
    """What is to be processed: files by name, or without any the map's own drawing."""

    map_id: str
    files: Mapping[str, bytes]
    plan_format: PlanFormat | None = None
    asset_id: str | None = None
    feet_per_unit: float | None = None
    with_pictures: bool = False
    require: float = 0.0
    """Per cent of the locations that have to reach each other, in each mode."""


@dataclass(frozen=True, slots=True)
class ProcessingOutcome:
    """The report, whether it was published, and an SVG for each level and mode by name."""

    report: dict[str, Any]
    published: bool
    pictures: dict[str, str]


class _BuildTask(NamedTuple):
    """What the process that builds the network needs to know."""

    request: ProcessingRequest
    asset_id: str
    floor_sorts: dict[str, int] | None
    unit_names: dict[str, str]
    """What the catalog calls the units of a drawing that knows only their ids."""
    existing: list[ExistingLocation]
    placements: list[Placement]
    """Of the locations that the map has already, and keeps."""


class _BuiltNetwork(NamedTuple):
    network: bytes
    report: dict[str, Any]
    directory: dict[str, list[RecordDict]]
    locations: list[RecordDict]
    pictures: dict[str, str]


def ignore_progress(share: float, step: str) -> None:
    """Nobody is watching."""


class ProcessedMap(NamedTuple):
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
) -> ProcessedMap:
    """Makes a map routable: from its own drawing, or from the text of a floor plan.

    The plan is a unit map in SVG, or OpenStreetMap indoor data in XML or GeoJSON. Where fewer than
    `require` per cent of the locations reach each other, in either mode, nothing changes; where
    none do, the map is no longer routable. The report says why.
    """
    files = {} if plan is None else {"plan": plan.encode()}
    asset_id = None if asset is None else validate_id("asset", asset)
    map_id = validate_id("id", id)
    request = ProcessingRequest(map_id, files, None, asset_id, feet_per_unit, require=require)
    outcome = await process_and_publish(info.context.untracked_store, request)
    return ProcessedMap(outcome.published, outcome.report)


async def process_and_publish(
    store: Store, request: ProcessingRequest, progress: ProgressCallback = ignore_progress
) -> ProcessingOutcome:
    """Makes a map routable, or says in the report why it is not.

    Until the last step nothing changes; then readers see the new version at once. A plan that is
    no unit map's own brings map, asset, floors and units with it. A plan by which nobody reaches
    anything is not published, and withdraws the network of an earlier one. Raises NotFound,
    InvalidInput, RefusedDocument, ImportRunning, Unavailable.
    """
    if not 0 <= request.require <= 100:
        raise InvalidInputError(require=f"must be from 0 to 100 per cent, not {request.require}")
    task = await _prepare_task(store, request)
    try:
        built = await worker_process.run_with_progress(_build_network, progress, task)
    except (ParsingError, RoutingError, worker_process.WorkerProcessDiedError) as error:
        raise RefusedDocumentError(str(error)) from error
    refusal = _too_little(built.report, request.require)
    if refusal is None and built.report["modes"]:
        await _publish_map(store.database, task, built)
    elif refusal is None:
        refusal = "no two locations reach each other"
        if await networks.withdraw(store.database, request.map_id, built.report):
            refusal += "; the map was routable before, and no longer is"
    report = {**built.report, "published": refusal is None, "refusal": refusal}
    return ProcessingOutcome(report, refusal is None, built.pictures)


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
    digest = await networks.find_network_digest(store.database, ALL_ASSETS, map_id)
    with driver.translate_errors():
        network = await files.read_file(store.database, digest) if digest else None
    if network is None:
        return False
    try:
        routable_maps.deserialize_routable_map(network)
    except ArchiveError:
        return False
    return True


async def _prepare_task(store: Store, request: ProcessingRequest) -> _BuildTask:
    known = await store.find_record(MAPS, ALL_ASSETS, {"_id": request.map_id})
    if known is None and not request.files:
        raise NotFoundError
    if known and request.asset_id not in (None, known.asset_id):
        raise InvalidInputError(asset=f"must be {known.asset_id!r}, to which the map belongs")
    asset_id = known.asset_id if known else request.asset_id or request.map_id
    is_own = not request.files or (known is not None and known.source is not None)
    if not request.files and known is not None:
        request = request._replace(
            files={"map.svg": await _read_drawing(store, known)}, plan_format="svg"
        )
    if request.feet_per_unit is None and known is not None:
        request = request._replace(feet_per_unit=known.feet_per_unit)
    sorts = await _load_field_by_id(store, FLOORS.name, asset_id, "sort") if is_own else None
    names = await _load_field_by_id(store, UNITS.name, asset_id, "name") if is_own else {}
    given = await networks.list_imported_locations(store.database, request.map_id)
    adopted = [_to_existing_location(each) for each in given if each.floors]
    placements = [placement_of(each) for each in given]
    return _BuildTask(request, asset_id, sorts, names, adopted, placements)


async def _read_drawing(store: Store, known: Map) -> bytes:
    content = await files.read_file(store.database, known.source) if known.source else None
    if content is None:
        raise InvalidInputError(
            source=f"must be given: the map {known.id!r} has no drawing of its own"
        )
    return content


async def _load_field_by_id(
    store: Store, collection: str, asset_id: str, field: str
) -> dict[str, Any]:
    found = store.database[collection].find(
        {"asset_id": asset_id}, {field: 1}, batch_size=CURSOR_BATCH_SIZE
    )
    with driver.translate_errors():
        return {document["_id"]: document[field] for document in await found.to_list(None)}


def _to_existing_location(location: Location) -> ExistingLocation:
    unit = next((tag.value for tag in location.tags if tag.key == UNIT_ID_TAG), None)
    return ExistingLocation(
        location.id, location.name, location.x, location.y, location.floors[0].id, unit
    )


def _build_network(progress: ProgressCallback, task: _BuildTask) -> _BuiltNetwork:
    """All that needs no database: in a process of its own."""
    request = task.request
    progress(0.0, "reading the plan")
    drawing = read_plan(request.files, request.plan_format, request.feet_per_unit)
    reading = translate_plan(drawing, request.map_id, task.floor_sorts)
    directory = {} if task.floor_sorts is not None else build_directory(reading, task.asset_id)
    reading = adopt_locations(reading, task.existing)
    processed = process_plan(reading.plan, progress=progress)
    report = {
        "map": request.map_id,
        "feet_per_unit": drawing.feet_per_unit,
        "notes": [str(note) for note in reading.notes],
        **processed.report.to_dict(),
    }
    pictures: dict[str, str] = {}
    if request.with_pictures:
        pictures = {
            f"{level.id}.{mode.value}": draw_level(processed, level.id, mode)
            for level in processed.plan.levels
            for mode in TravelMode
        }
    locations = [
        member | {"name": task.unit_names.get(place.unit_id or "", member["name"])}
        for member, place in zip(
            build_location_records(reading, task.asset_id), reading.candidates, strict=True
        )
    ]
    network = routable_maps.serialize_routable_map(
        processed.router, [*task.placements, *map(_to_placement, locations)]
    )
    return _BuiltNetwork(network, report, directory, locations, pictures)


def _to_placement(member: RecordDict) -> Placement:
    floor_ids = tuple(floor["id"] for floor in member["floors"])
    return Placement(member["id"], member["name"], member["x"], member["y"], floor_ids)


async def _publish_map(database: driver.Database, task: _BuildTask, built: _BuiltNetwork) -> None:
    if built.directory:
        try:
            await import_catalog(database, [orjson.dumps(built.directory)])
        except BundleError as error:
            raise RefusedDocumentError(str(error)) from error
    locations: Sequence[Location] = msgspec.convert(built.locations, list[Location])
    tier = TIERS[built.report["modes"][-1]]
    await networks.publish_network(
        database, task.request.map_id, built.network, tier, built.report, locations
    )
