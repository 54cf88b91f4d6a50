"""Errors that operations end with, for the layers above."""

from resolvers.request.errors import (
    Cause,
    ChangesExpiredError,
    FlagRequiredError,
    PermissionRequiredError,
    PreconditionFailedError,
    RequestError,
    UnavailableError,
)

__all__ = [
    "Cause",
    "ChangesExpiredError",
    "FlagRequiredError",
    "PermissionRequiredError",
    "PreconditionFailedError",
    "RequestError",
    "UnavailableError",
]

UNAVAILABLE_MESSAGE = "Service unavailable"
SERVER_ERROR_MESSAGE = "Server error"
