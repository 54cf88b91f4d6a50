"""Checks of arguments without running anything, for a door where input comes before existence.

Each raises RequestError, as the field itself would.
"""

from collections.abc import Mapping
from typing import Any

from resolvers import attributes, distances, waypoints
from resolvers.distances import CostingOptions, PedestrianOptions, parse_travel_mode
from resolvers.locations import parse_terms
from resolvers.request.arguments import parse_page_request, validate_id
from resolvers.routes import parse_limit


def check_cursor(text: str) -> None:
    """Whether `after` may be this."""
    parse_page_request(None, None, text)


def check_asset(text: str) -> None:
    """Whether an asset's id may be this."""
    validate_id("asset", text)


def check_location_tags(text: str) -> None:
    """Whether a filter of locations may be this."""
    parse_terms(text)


def check_mode(text: str) -> None:
    """Whether one may travel so."""
    parse_travel_mode("mode", text)


def check_nearest_limit(number: int) -> None:
    """Whether so many locations may be asked for."""
    parse_limit(number)


def check_assignments(count: int) -> None:
    """Whether so many assignments may be given at once."""
    attributes.check_count(count)


def check_waypoint(name: str, variable: Mapping[str, Any]) -> None:
    """Whether a waypoint has the form of one."""
    given = variable.get
    waypoints.validate_waypoint(
        name, given("id"), given("name"), given("x"), given("y"), given("floorId")
    )


def check_distance_request(variables: Mapping[str, Any]) -> None:
    """Whether a matrix may be asked for so."""
    sources, targets = variables["sources"], variables["targets"]
    distances.validate_matrix_size(len(sources), len(targets))
    options = variables.get("costingOptions") or {}
    pedestrian = options.get("pedestrian") or {}
    costing_options = CostingOptions(pedestrian=PedestrianOptions(mode=pedestrian.get("mode")))
    distances.parse_costing_mode(variables.get("costing"), costing_options)
    distances.parse_distance_method(variables.get("distanceMethod"))
    for name, given in (("sources", sources), ("targets", targets)):
        for index, waypoint in enumerate(given):
            check_waypoint(f"{name}[{index}]", waypoint)
