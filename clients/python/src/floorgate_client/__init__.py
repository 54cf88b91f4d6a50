"""A typed client of Floorgate; the types of its results are in `models`, of bodies in `params`."""

from floorgate_client.async_resources import AsyncFloorgate
from floorgate_client.errors import (
    ChangesExpiredError,
    ConnectionFailedError,
    FlagRequiredError,
    FloorgateError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    PermissionRequiredError,
    PreconditionFailedError,
    RateLimitedError,
    ResponseError,
    UnauthenticatedError,
    UnavailableError,
)
from floorgate_client.resources import Floorgate

__all__ = [
    "AsyncFloorgate",
    "ChangesExpiredError",
    "ConnectionFailedError",
    "FlagRequiredError",
    "Floorgate",
    "FloorgateError",
    "ForbiddenError",
    "InvalidInputError",
    "NotFoundError",
    "PermissionRequiredError",
    "PreconditionFailedError",
    "RateLimitedError",
    "ResponseError",
    "UnauthenticatedError",
    "UnavailableError",
]
