"""Errors that operations end with, for the layers above."""

from resolvers.request.errors import FlagRequiredError, PermissionRequiredError, RequestError

__all__ = ["FlagRequiredError", "PermissionRequiredError", "RequestError"]

UNAVAILABLE_MESSAGE = "Service unavailable"
SERVER_ERROR_MESSAGE = "Server error"
