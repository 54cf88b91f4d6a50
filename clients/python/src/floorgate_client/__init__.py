"""Typed client of Floorgate; its endpoints are in `rest.api`, their types in `rest.models`."""

from floorgate_client.client import AsyncFloorgate, Floorgate
from floorgate_client.errors import (
    ChangesExpiredError,
    FlagRequiredError,
    FloorgateError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    PermissionRequiredError,
    PreconditionFailedError,
    RateLimitedError,
    UnauthenticatedError,
    UnavailableError,
)

__all__ = [
    "AsyncFloorgate",
    "ChangesExpiredError",
    "FlagRequiredError",
    "Floorgate",
    "FloorgateError",
    "ForbiddenError",
    "InvalidInputError",
    "NotFoundError",
    "PermissionRequiredError",
    "PreconditionFailedError",
    "RateLimitedError",
    "UnauthenticatedError",
    "UnavailableError",
]
