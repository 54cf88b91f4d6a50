"""Errors of the service as exceptions, by their stable code."""

from typing import Any

import httpx


class FloorgateError(Exception):
    """An error response; `code` is stable, the wording of `message` may change."""

    def __init__(self, response: httpx.Response, body: dict[str, Any]) -> None:
        self.status = response.status_code
        self.message = str(body.get("message", response.reason_phrase))
        self.code: str | None = body.get("code")
        self.fields: dict[str, list[str]] = body.get("fields", {})
        """The errors of each invalid input, by its name."""
        self.request_id: str | None = body.get("request_id", response.headers.get("x-request-id"))
        self.docs: str | None = body.get("docs")
        """Address of what the service says about the code."""
        super().__init__(f"{self.status} {self.code or ''}: {self.message}")


class UnauthenticatedError(FloorgateError):
    """No API key arrived."""


class ForbiddenError(FloorgateError):
    """The key is unknown, revoked or expired, or lacks a permission."""


class NotFoundError(FloorgateError):
    """There is no such resource, or the key does not see it."""


class InvalidInputError(FloorgateError):
    """An input is invalid; `fields` says which."""


class FlagRequiredError(FloorgateError):
    """The endpoint is experimental; name its flag in `flags` of the client."""


class PreconditionFailedError(FloorgateError):
    """The resource has changed since it was read."""


class RateLimitedError(FloorgateError):
    """The key has made too many requests, also after the client's retries."""


class UnavailableError(FloorgateError):
    """The service cannot answer now, also after the client's retries."""


_BY_CODE: dict[str, type[FloorgateError]] = {"FLAG_REQUIRED": FlagRequiredError}
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
        body = {}
    error_type = _BY_CODE.get(body.get("code", ""), _BY_STATUS.get(response.status_code))
    return (error_type or FloorgateError)(response, body)
