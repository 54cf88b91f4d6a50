"""Build the network of a map from its plan: the work that needs no database.

It takes seconds to minutes of CPU, so `resolvers.processing.pipeline` runs it in a separate
process; arguments and results are pickled.
"""

from collections.abc import Iterator
from dataclasses import asdict

from parsing.archives import unzip
from parsing.drawing import Drawing, ReadingFault
from parsing.errors import DocumentRejectedError
from parsing.plans import detect_format, read_plan
from resolvers import routable_maps
from resolvers.closures import list_parts
from resolvers.plans.parsed_map import build_parsed_map
from resolvers.plans.records import (
    build_directory,
    build_location_records,
    build_map_record,
    match_existing_locations,
)
from resolvers.plans.tag_classification import leave_out_tangles
from resolvers.plans.translation import TranslatedPlan, is_used, translate_plan
from resolvers.processing.build_task import BuildTask, BuiltNetwork, RecordDict
from resolvers.processing.task_process import report_progress
from resolvers.routable_maps import Placement
from routing.costing import TravelMode
from routing.diagnosis.names import shorten
from routing.issues import IssueKind, PlanIssue, ToSource
from routing.picture import draw_level
from routing.processing import ProcessedPlan, process_plan
from routing.values import ProcessingProgress


def build_network(task: BuildTask, progress: ProcessingProgress = report_progress) -> BuiltNetwork:
    """Read the plan and build its network. Raises ParsingError, RoutingError, InvalidInputError."""
    request = task.request
    if task.is_stored_plan:
        request = request._replace(files=unzip(*request.files.values()))
    progress(0.0, "reading the plan")
    plan_format = request.plan_format or detect_format(request.files)
    drawing = read_plan(request.files, plan_format, request.feet_per_unit, strict=request.strict)
    drawing = leave_out_tangles(drawing, is_used, strict=request.strict)
    # The levels of a drawing have to name floors of the asset; other plans bring their own.
    is_drawing = task.is_own and drawing.to_degrees is None
    names_floors = any(level.floor_id in (task.floor_sorts or ()) for level in drawing.levels)
    floor_sorts = task.floor_sorts if is_drawing or names_floors else None
    translated = translate_plan(drawing, request.map_id, floor_sorts)
    directory = {}
    if floor_sorts is None:
        directory = build_directory(translated, task.asset_id)
    elif task.is_new:
        directory = {"maps": [build_map_record(translated, task.asset_id)]}
    parsed, drawing_notes = (None, []) if task.is_own else _draw_map(translated)
    unit_names = {} if floor_sorts is None else task.unit_names
    translated = match_existing_locations(translated, task.existing)
    faults = [*_list_faults(translated.drawing)]
    processed = process_plan(translated.plan, reading_issues=faults, progress=progress)
    causes = {fault.cause for fault in drawing.faults}
    report = {
        "map": request.map_id,
        "feet_per_unit": drawing.feet_per_unit,
        # Those of faults are among the problems.
        "notes": [
            *(str(note) for note in translated.notes if note.message not in causes),
            *drawing_notes,
        ],
        **processed.report.to_dict(_to_source(drawing), drawing.feet_per_unit),
        "checked": asdict(processed.verification),
    }
    locations = [
        record | {"name": unit_names.get(candidate.unit_id or "", record["name"])}
        for record, candidate in zip(
            build_location_records(translated, task.asset_id), translated.candidates, strict=True
        )
    ]
    network = routable_maps.serialize_routable_map(
        processed.router,
        [*map(routable_maps.to_placement, task.existing), *map(_to_placement, locations)],
    )
    pictures = _draw_pictures(processed) if request.with_pictures else {}
    parts = list_parts(processed.router, drawing.feet_per_unit)
    return BuiltNetwork(network, report, directory, locations, pictures, parts, parsed)


def _list_faults(drawing: Drawing) -> Iterator[PlanIssue]:
    """Yield the problems of the elements that were left out of a drawing, or read in part.

    Those of a cause that a drawing does not keep are one problem, which counts them.
    """
    scale = drawing.feet_per_unit
    for fault in drawing.faults:
        at = fault.position and (fault.position[0] * scale, fault.position[1] * scale)
        level = next(iter(fault.levels), None)
        kind, name = _kind_of(fault), shorten(fault.name)
        yield PlanIssue(
            kind,
            fault.part,
            str(fault),
            level,
            at,
            name=name,
            count=fault.elements,
            file=fault.file,
            line=fault.line,
        )
    last = {fault.cause: fault for fault in drawing.faults}
    for note in drawing.notes:
        kept = sum(fault.elements for fault in drawing.faults if fault.cause == note.message)
        if kept and note.count > kept:
            more = note.count - kept
            message = f"{more:,} more: {note.message}"
            yield PlanIssue(_kind_of(last[note.message]), "", message, count=more)


def _kind_of(fault: ReadingFault) -> IssueKind:
    return IssueKind.ELEMENT_LEFT_OUT if fault.is_left_out else IssueKind.ERROR_WORKED_AROUND


def _to_source(drawing: Drawing) -> ToSource | None:
    """Return the conversion of feet to what the source has; None if that is feet."""
    to_degrees, scale = drawing.to_degrees, drawing.feet_per_unit
    if to_degrees is not None:
        return lambda x, y: to_degrees((x, y))
    return None if scale == 1 else lambda x, y: (round(x / scale, 3), round(y / scale, 3))


def _draw_map(translated: TranslatedPlan) -> tuple[bytes | None, list[str]]:
    """Return the parsed map of a plan, or None and why: the map is as routable without it."""
    try:
        return build_parsed_map(translated), []
    except DocumentRejectedError as error:
        return None, [f"no drawing: {error}"]


def _draw_pictures(processed: ProcessedPlan) -> dict[str, str]:
    return {
        f"{level.id}.{mode.value}": draw_level(processed, level.id, mode)
        for level in processed.plan.levels
        for mode in TravelMode
    }


def _to_placement(record: RecordDict) -> Placement:
    floor_ids = tuple(floor["id"] for floor in record["floors"])
    return Placement(record["id"], record["name"], record["x"], record["y"], floor_ids)
