"""Resolver of the steps of a route: what people are told to do, one sentence each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Annotated

import strawberry

from resolvers.distances import round_up
from resolvers.networks.searches import run_search
from resolvers.request.context import Info
from resolvers.request.threads import ROUTING
from resolvers.routes import Route
from resolvers.units import load_unit_names
from routing.values import MAX_STEP_NAMES, ConnectorKind
from storage.catalog import FLOORS, Floor

if TYPE_CHECKING:
    from routing.directions.steps import Step

MAX_UNITS_TO_NAME = 1_000
"""Spaces beside a route that may be units: those where it begins."""


@dataclass(frozen=True, slots=True)
class RouteStep:
    """What to do at one place of a route, and the walk or ride that follows."""

    code: Annotated[
        str,
        "What to do, in any language: `depart`, `turn`, `door` (go straight through it), "
        "`connector` (take it), `continue` (leave it), `arrive`. More may be added.",
    ]
    modifier: Annotated[
        str | None,
        "Of a turn: `slight_left`, `left`, `sharp_left`, `slight_right`, `right`, `sharp_right` or "
        "`uturn`; of a door `straight`. Of the arrival the side on which the target is, if any: "
        "`left` or `right`.",
    ]
    text: Annotated[str, "The step as an English sentence."]
    distance: Annotated[float, "Of what follows, in feet. They add up to the route's `feet`."]
    time: Annotated[float, "Of what follows, in seconds. They add up to the route's `seconds`."]
    floor_id: str
    x: Annotated[float, "Where it begins, in the map's own coordinates."]
    y: Annotated[float, "Where it begins, in the map's own coordinates."]
    door_ids: Annotated[
        list[str], "The doors that it leads through at its beginning, as on the plan."
    ]
    spaces: Annotated[
        list[str],
        f"Names of the rooms, corridors and areas that it leads through, up to {MAX_STEP_NAMES}.",
    ]
    passed: Annotated[
        list[str], f"Names of the rooms whose doors it passes, up to {MAX_STEP_NAMES}."
    ]
    connector_id: Annotated[str | None, "The lift, stairs, escalator or ramp to take."] = None
    connector_kind: ConnectorKind | None = None
    connector_name: str | None = None
    to_floor_id: Annotated[str | None, "Where the connector leads."] = None
    to_floor_name: str | None = None


async def list_steps_of_route(parent: strawberry.Parent[Route], info: Info) -> list[RouteStep]:
    """List what to do on the way, step by step: the first departs, the last arrives."""
    await ROUTING.load()
    from routing.directions.steps import build_steps, list_spaces_to_name

    found = parent.found
    floor_ids = sorted({leg.to_floor_id for leg in parent.legs if leg.connector_id is not None})
    floors = await info.context.load_in_order(FLOORS, floor_ids)
    names = {floor.id: floor.name for floor in floors if isinstance(floor, Floor)}
    unnamed = await run_search(list_spaces_to_name, found.network, found.route)
    units = await load_unit_names(info.context, found.unit_map, unnamed[:MAX_UNITS_TO_NAME])
    steps = await run_search(
        build_steps, found.network, found.route, names, found.target_name, units
    )
    return [
        _to_step(step, distance, time, found.scale, names)
        for step, distance, time in zip(
            steps,
            _round_parts([step.feet for step in steps]),
            _round_parts([step.seconds for step in steps]),
            strict=True,
        )
    ]


def _round_parts(parts: Sequence[float]) -> list[float]:
    """Round the parts of a sum to thousandths so that they add up to the sum, rounded up.

    >>> _round_parts([0.4444, 0.4444, 0.1112])
    [0.445, 0.444, 0.111]
    """
    totals = [0.0, *map(round_up, accumulate(parts))]
    return [round(end - start, 3) for start, end in pairwise(totals)]


def _to_step(
    step: "Step", distance: float, time: float, scale: float, floor_names: dict[str, str]
) -> RouteStep:
    own = RouteStep(
        step.code.value,
        step.modifier and step.modifier.value,
        step.text,
        distance,
        time,
        step.level_id,
        round(step.x / scale, 3),
        round(step.y / scale, 3),
        [*step.door_ids],
        [*step.spaces],
        [*step.passed],
    )
    if step.ride is None:
        return own
    return replace(
        own,
        connector_id=step.ride.connector_id,
        connector_kind=step.ride.kind,
        connector_name=step.ride.name or None,
        to_floor_id=step.ride.to_level_id,
        to_floor_name=floor_names.get(step.ride.to_level_id),
    )
