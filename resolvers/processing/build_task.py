"""What the network of a map is built from, and what comes out: pickled, to and from a process."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from resolvers.request.inputs import Range
from storage.catalog import Location
from storage.closures import NetworkPart

if TYPE_CHECKING:
    from parsing.plans import PlanFormat


RecordDict = dict[str, Any]


REQUIRED_PERCENTAGE = Range(0, 100)


class ProcessingRequest(NamedTuple):
    """What to process: the files of a plan by name, or no files for what is stored: the map's own
    drawing, else the plan that it was processed from."""

    map_id: str
    files: Mapping[str, bytes]
    plan_format: "PlanFormat | None" = None
    asset_id: str | None = None
    feet_per_unit: float | None = None
    with_pictures: bool = False
    require: float = 0.0
    """Percentage of the locations that must reach one another, in each travel mode."""
    strict: bool = False
    """Reject a plan with faulty elements, which are left out otherwise."""
    as_before: bool = False
    """Take the stored plan also if the map has a drawing."""


class BuildTask(NamedTuple):
    """A request, and what the database says about its map."""

    request: ProcessingRequest
    asset_id: str
    floor_sorts: dict[str, int] | None
    """`sort` of the asset's floors by id."""
    unit_names: dict[str, str]
    """Names of the catalog's units by id, for a drawing that has only their ids."""
    existing: list[Location]
    """The map's locations, which are kept."""
    is_own: bool = True
    """True if the plan is the map's own drawing, or replaces it: the map has one."""
    is_new: bool = False
    """True if there is no such map yet."""
    is_stored_plan: bool = False
    """True if the plan is the stored one: its only file is the zip of its files."""


class BuiltNetwork(NamedTuple):
    """A network's archive, its report, and the records to write with it."""

    network: bytes
    report: dict[str, Any]
    directory: dict[str, list[RecordDict]]
    locations: list[RecordDict]
    pictures: dict[str, str]
    parts: list[NetworkPart]
    """Parts of the map that can be closed."""
    parsed: bytes | None = None
    """The parsed map of a plan that is not the map's own drawing."""
