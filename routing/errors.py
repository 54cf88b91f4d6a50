"""What routing refuses.

RoutingError
├── PlanError        the plan contradicts itself; says which part and what would be right
├── WaypointError    a waypoint is no location of the map, or no position at all
└── FormatError      bytes that are no stored network or table of this version
"""


class RoutingError(Exception):
    pass


class PlanError(RoutingError):
    pass


class WaypointError(RoutingError):
    pass


class ArchiveError(RoutingError):
    pass
