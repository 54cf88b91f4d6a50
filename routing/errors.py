"""Exceptions of routing.

RoutingError
├── PlanError        a plan contradicts itself; the message names the part and what to change
├── WaypointError    a waypoint is an unknown location, or has no finite position
├── ArchiveError     bytes that are not a stored network or table of this version
└── VerificationError  a distance that was measured is wrong; nothing may be published
"""


class RoutingError(Exception):
    pass


class PlanError(RoutingError):
    pass


class WaypointError(RoutingError):
    pass


class ArchiveError(RoutingError):
    pass


class VerificationError(RoutingError):
    pass
