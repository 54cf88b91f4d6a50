"""Errors of the service as exceptions, by their stable code."""

from typing import Any

import httpx
from httpx_retries import Retry


class FloorgateError(Exception):
    """An error response; `code` is stable, the wording of `message` may change."""

    def __init__(self, response: httpx.Response, body: dict[str, Any]) -> None:
        self.status = response.status_code
        self.message = str(body.get("message", _describe(response)))
        self.code: str | None = body.get("code")
        self.fields: dict[str, list[str]] = body.get("fields", {})
        """The errors of each invalid input, by its name."""
        self.request_id: str | None = body.get("request_id", response.headers.get("x-request-id"))
        self.docs: str | None = body.get("docs")
        """Address of what the service says about the code."""
        self.retry_after = _seconds_to_wait(response)
        """How many seconds to wait before trying again, if the service says so."""
        code = f" {self.code}" if self.code else ""
        super().__init__(f"{self.status}{code}: {self.message}")


class UnauthenticatedError(FloorgateError):
    """No API key arrived."""


class ForbiddenError(FloorgateError):
    """The key is unknown, revoked or expired, or lacks a permission."""


class PermissionRequiredError(ForbiddenError):
    """The key lacks the permission of the endpoint."""


class NotFoundError(FloorgateError):
    """There is no such resource, or the key does not see it."""


class InvalidInputError(FloorgateError):
    """An input is invalid; `fields` says which."""


class FlagRequiredError(FloorgateError):
    """The endpoint is experimental; name its flag in `flags` of the client."""


class PreconditionFailedError(FloorgateError):
    """The resource has changed since it was read."""


class ChangesExpiredError(FloorgateError):
    """The changes after the cursor are no longer known; copy the directory again."""


class RateLimitedError(FloorgateError):
    """The key has made too many requests, and trying again has not helped or would take long."""


class UnavailableError(FloorgateError):
    """The service cannot answer now, and trying again has not helped or would take long."""


_BY_CODE: dict[str, type[FloorgateError]] = {
    "CHANGES_EXPIRED": ChangesExpiredError,
    "FLAG_REQUIRED": FlagRequiredError,
    "PERMISSION_REQUIRED": PermissionRequiredError,
}
_BY_STATUS: dict[int, type[FloorgateError]] = {
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    412: PreconditionFailedError,
    422: InvalidInputError,
    429: RateLimitedError,
    503: UnavailableError,
}


def error_of(response: httpx.Response) -> FloorgateError:
    """Return the exception of an error response that has been read."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):  # not from the service but, say, from a proxy
        body = {}
    by_status = _BY_STATUS.get(response.status_code, FloorgateError)
    return _BY_CODE.get(str(body.get("code")), by_status)(response, body)


def _seconds_to_wait(response: httpx.Response) -> float | None:
    try:
        return Retry().parse_retry_after(response.headers.get("Retry-After", ""))
    except ValueError:
        return None


def _describe(response: httpx.Response) -> str:
    location = response.headers.get("location")
    return response.reason_phrase + (f", to {location}" if location else "")
