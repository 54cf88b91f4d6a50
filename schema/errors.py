"""Errors that operations end with, for the layers above."""

from resolvers.request.errors import FlagRequiredError, PermissionRequiredError, RequestError

__all__ = ["FlagRequiredError", "PermissionRequiredError", "RequestError"]
