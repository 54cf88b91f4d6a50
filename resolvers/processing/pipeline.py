"""Make a map routable: load its drawing and records, build its network, publish the result."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from parsing.archives import zip_files
from parsing.errors import ParsingError
from resolvers import routable_maps
from resolvers.administration.catalog import import_catalog
from resolvers.processing.build_process import build_network
from resolvers.processing.build_task import (
    REQUIRED_PERCENTAGE,
    BuildTask,
    BuiltNetwork,
    ProcessingRequest,
    RecordDict,
)
from resolvers.processing.process_pool import ProcessPool
from resolvers.processing.task_process import WorkerDiedError
from resolvers.request.errors import (
    InvalidInputError,
    NotFoundError,
    RefusedDocumentError,
    RequestError,
)
from routing.errors import RoutingError
from routing.values import ProcessingProgress, TravelMode, ignore_progress
from storage import catalog, networks
from storage.administration.audit import Origin
from storage.errors import BundleError, NetworkOutdatedError
from storage.mongo import files
from storage.publication import BuiltFrom, Publication
from storage.records.visibility import ALL_ASSETS
from storage.routing_inputs import RoutingInputs, StaleNetwork, position_of
from storage.store import Store

__all__ = ["ProcessingOutcome", "ProcessingRequest", "is_processed", "process_and_publish"]

logger = logging.getLogger("floorgate.processing")
MAX_PROCESSING_CPU_SECONDS = 600.0
MAX_ATTEMPTS = 3
"""The network of a map that is changed each time meanwhile is built so often."""
PROCESSING_MESSAGE = (
    "the map takes over {:g} seconds of CPU time to process; simplify its plan, or divide it into"
    " several maps"
)
TIERS = {TravelMode.FOOT: catalog.FOOT_ROUTING, TravelMode.WHEELCHAIR: catalog.WHEELCHAIR_ROUTING}
"""Routing tier by the last mode in which any two locations reach each other.

A path for a wheelchair is a path on foot, so the last of these modes implies the others.
"""


@dataclass(frozen=True, slots=True)
class ProcessingOutcome:
    """The report, whether it was published, and SVG pictures by `<level>.<mode>`."""

    report: dict[str, Any]
    published: bool
    pictures: dict[str, str]
    stale_networks: Sequence[StaleNetwork] = ()
    """The networks of other maps that the floors of the plan have made stale."""


async def process_and_publish(
    store: Store,
    request: ProcessingRequest,
    progress: ProcessingProgress = ignore_progress,
    origin: Origin | None = None,
    pool: ProcessPool | None = None,
    owner: str = "",
) -> ProcessingOutcome:
    """Make a map routable, or say in the report why it is not.

    The work is done in a process of the pool, by default one of its own, on behalf of the owner.

    Nothing changes before the last step, and then readers see the new version at once. A plan that
    is not the map's own drawing brings map, asset, floors and units with it; they and the network
    are one import. If no two locations reach each other, nothing is published and an earlier
    network is withdrawn.

    Raises NotFoundError, InvalidInputError, RefusedDocumentError, ImportRunningError,
    LeaseLostError, ServiceBusyError, UnavailableError.
    """
    if message := REQUIRED_PERCENTAGE.check(request.require):
        raise InvalidInputError(require=message)
    for attempt in range(MAX_ATTEMPTS):
        task, built_from = await _prepare_task(store, request)
        built = await _build(task, progress, pool, owner)
        try:
            return await _publish(store, task, built, built_from, origin)
        except NetworkOutdatedError as error:  # an import has changed the map meanwhile
            if attempt == MAX_ATTEMPTS - 1:
                raise RefusedDocumentError(str(error)) from error
    raise AssertionError


async def _build(
    task: BuildTask, progress: ProcessingProgress, pool: ProcessPool | None, owner: str
) -> BuiltNetwork:
    try:
        async with nullcontext(pool) if pool else ProcessPool(1) as processes:
            return await processes.run(
                build_network,
                task,
                cpu_seconds=MAX_PROCESSING_CPU_SECONDS,
                cpu_message=PROCESSING_MESSAGE,
                owner=owner,
                size_bytes=sum(map(len, task.request.files.values())),
                progress=progress,
            )
    except (ParsingError, RoutingError, WorkerDiedError) as error:
        raise RefusedDocumentError(str(error)) from error
    except (RequestError, OSError):
        raise
    except Exception as error:
        what = f"the plan of {task.request.map_id!r} could not be processed"
        logger.exception(what)
        fault = f"{type(error).__name__}: {error}"
        raise RefusedDocumentError(f"{what}: please report it, and this: {fault}") from error


async def _publish(
    store: Store, task: BuildTask, built: BuiltNetwork, built_from: BuiltFrom, origin: Origin | None
) -> ProcessingOutcome:
    """Publish a network, or withdraw that of the map. Raises NetworkOutdatedError."""
    map_id, report = task.request.map_id, built.report
    if built.directory:  # the plan brings its own floors and scale
        inputs = built_from.inputs._replace(feet_per_unit=None, floor_sorts=None)
        built_from = built_from._replace(inputs=inputs)
    brought = {floor["id"] for floor in built.directory.get("floors", ())}
    if task.is_stored_plan and (lacking := brought.difference(task.floor_sorts or ())):
        ids = ", ".join(map(repr, sorted(lacking)))
        raise RefusedDocumentError(f"the asset lacks floors of the plan ({ids}): give the plan")
    stale: Sequence[StaleNetwork] = ()
    refusal = _describe_shortfall(report, task.request.require)
    if refusal is None and report["modes"]:
        tier = TIERS[report["modes"][-1]]
        locations = msgspec.convert(built.locations, list[catalog.Location])
        publication = Publication(
            map_id,
            built.network,
            tier,
            report,
            locations,
            built_from,
            origin,
            built.parts,
            built.parsed,
            await _pack_plan(task, built_from),
            task.request.plan_format,
            task.is_stored_plan,
        )
        if built.directory and not task.is_stored_plan:
            stale = await _import_directory(store, task, built.directory, publication)
        else:
            await networks.publish_network(store.database, publication)
        # Publishing adds notes on what is closed.
        stored = await networks.load_routing_reports(store.database, ALL_ASSETS, [map_id])
        report = report | {"notes": stored.get(map_id, report)["notes"]}
    elif refusal is None:
        refusal = networks.UNROUTABLE
        if await networks.withdraw_network(store.database, map_id, report, origin, built_from):
            refusal += "; the map was routable before, and no longer is"
    report = {**report, "published": refusal is None, "refusal": refusal}
    return ProcessingOutcome(report, refusal is None, built.pictures, stale)


async def _pack_plan(task: BuildTask, built_from: BuiltFrom) -> bytes | None:
    """Return the zip of a plan that is not the map's own drawing; None if it is too large."""
    if task.is_stored_plan:
        return next(iter(task.request.files.values()))
    if built_from.is_from_drawing:
        return None
    return await asyncio.to_thread(zip_files, task.request.files)


async def is_processed(store: Store, map_id: str) -> bool:
    """Return whether a map has an archive that this version can read. Raises UnavailableError."""
    digest = await networks.find_network_digest(store.database, ALL_ASSETS, map_id)
    network = await files.read_file(store.database, digest) if digest else None
    return routable_maps.is_loadable(network)


def _describe_shortfall(report: dict[str, Any], require: float) -> str | None:
    """Return the modes in which too few locations reach one another, or None."""
    locations = report["locations"]
    short = [
        f"{check['reached']} of {locations} locations reach each other by {check['mode']}"
        for check in report["reachability"]
        if check["reached"] * 100 < require * max(1, locations)
    ]
    if not short:
        return None
    return f"{' and '.join(short)}, fewer than the {require:g}% required; nothing was changed"


async def _prepare_task(store: Store, request: ProcessingRequest) -> tuple[BuildTask, BuiltFrom]:
    unit_map = await store.load_record(catalog.MAPS, ALL_ASSETS, request.map_id)
    if unit_map is None and not request.files:
        raise NotFoundError
    if unit_map and request.asset_id not in (None, unit_map.asset_id):
        raise InvalidInputError(asset=f"must be {unit_map.asset_id!r}, to which the map belongs")
    asset_id = unit_map.asset_id if unit_map else request.asset_id or request.map_id
    is_stored, is_scale_given = not request.files, request.feet_per_unit is not None
    is_stored_plan = False
    if is_stored and unit_map is not None:
        request, is_stored_plan = await _add_stored(store, unit_map, request)
    is_from_drawing = is_stored and not is_stored_plan
    # A map that has a drawing keeps it, also when it is processed from a file.
    is_own = unit_map is not None and unit_map.source is not None
    if request.feet_per_unit is None and unit_map is not None:
        request = request._replace(feet_per_unit=unit_map.feet_per_unit)
    where = {"asset_id": asset_id}
    sorts = await store.load_field(catalog.FLOORS, ALL_ASSETS, where, "sort")
    names = await store.load_field(catalog.UNITS, ALL_ASSETS, where, "name")
    imported = await networks.list_imported_locations(store.database, request.map_id)
    inputs = RoutingInputs(
        unit_map.source if unit_map else None,
        unit_map.feet_per_unit if unit_map else None,
        sorts,
        {location.id: position_of(location) for location in imported},
    )
    built_from = BuiltFrom(inputs, is_from_drawing, is_scale_given)
    is_new = unit_map is None
    task = BuildTask(request, asset_id, sorts, names, imported, is_own, is_new, is_stored_plan)
    return task, built_from


async def _add_stored(
    store: Store, unit_map: catalog.Map, request: ProcessingRequest
) -> tuple[ProcessingRequest, bool]:
    """Return a request with the map's drawing or stored plan as its file, and whether it is the
    plan."""
    state = await networks.load_state(store.database, unit_map.id)
    is_plan = state.plan is not None and (unit_map.source is None or request.as_before)
    digest = state.plan if is_plan else unit_map.source
    content = await files.read_file(store.database, digest) if digest else None
    if content is None:
        message = f"must be given, because the map {unit_map.id!r} has no drawing or stored plan"
        raise InvalidInputError(source=message)
    name = "plan.zip" if is_plan else f"{unit_map.id}.svg"
    plan_format: Any = state.plan_format if is_plan else "svg"
    return request._replace(files={name: content}, plan_format=plan_format), is_plan


KEPT_MAP_FIELDS = ("name", "style", "style_type", "tags", "background_id", "geojson_url", "url")
"""Fields of a map that a plan knows nothing of, or that its name in the catalog overrides."""


async def _import_directory(
    store: Store,
    task: BuildTask,
    directory: dict[str, list[RecordDict]],
    publication: Publication,
) -> list[StaleNetwork]:
    """Import the map, floors and units of a plan, and publish its network with them. Return the
    networks of other maps that this withdraws."""
    if await store.load_record(catalog.ASSETS, ALL_ASSETS, task.asset_id) is not None:
        directory = {**directory, "assets": []}  # a plan does not rename what is there
    known = await store.load_record(catalog.MAPS, ALL_ASSETS, publication.map_id)
    if known is not None:
        kept = {name: getattr(known, name) for name in KEPT_MAP_FIELDS}
        # A record of a plan has no drawing, so a map with one would lose it.
        maps = [] if known.source else [each | kept for each in directory["maps"]]
        directory = {**directory, "maps": maps}
    try:
        summary = await import_catalog(
            store.database,
            [orjson.dumps(directory)],
            origin=publication.origin,
            publication=publication,
        )
    except BundleError as error:
        raise RefusedDocumentError(str(error)) from error
    return [each for each in summary.stale_networks if each.map_id != publication.map_id]
