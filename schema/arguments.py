"""Checks of arguments without running anything, for a door where input comes before existence.

Each raises RequestError, as the field itself would.
"""

from collections.abc import Mapping
from typing import Any

from resolvers import attributes, distances, waypoints
from resolvers.arguments import checked_id, checked_slice
from resolvers.distances import CostingOptions, PedestrianOptions, parse_mode
from resolvers.locations import checked_terms
from resolvers.routes import checked_limit


def check_cursor(text: str) -> None:
    """Whether `after` may be this."""
    checked_slice(None, None, text)


def check_asset(text: str) -> None:
    """Whether an asset's id may be this."""
    checked_id("asset", text)


def check_terms(text: str) -> None:
    """Whether a filter of locations may be this."""
    checked_terms(text)


def check_mode(text: str) -> None:
    """Whether one may travel so."""
    parse_mode("mode", text)


def check_limit(number: int) -> None:
    """Whether so many locations may be asked for."""
    checked_limit(number)


def check_assignments(count: int) -> None:
    """Whether so many assignments may be given at once."""
    attributes.check_count(count)


def check_waypoint(name: str, variable: Mapping[str, Any]) -> None:
    """Whether a waypoint has the form of one."""
    given = variable.get
    waypoints.check_waypoint(
        name, given("id"), given("name"), given("x"), given("y"), given("floorId")
    )


def check_matrix(variables: Mapping[str, Any]) -> None:
    """Whether a matrix may be asked for so."""
    sources, targets = variables["sources"], variables["targets"]
    distances.check_size(len(sources), len(targets))
    options = variables.get("costingOptions") or {}
    pedestrian = options.get("pedestrian") or {}
    costing_options = CostingOptions(pedestrian=PedestrianOptions(mode=pedestrian.get("mode")))
    distances.checked_mode(variables.get("costing"), costing_options)
    distances.checked_method(variables.get("distanceMethod"))
    for name, given in (("sources", sources), ("targets", targets)):
        for index, waypoint in enumerate(given):
            check_waypoint(f"{name}[{index}]", waypoint)
