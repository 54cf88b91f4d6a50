"""Errors as exceptions: those of the service by their stable code, and of the connection."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx


class FloorgateError(Exception):
    """Any error of the service, or on the way to it."""

    def __init__(
        self, message: str, *, is_temporary: bool, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.is_temporary = is_temporary
        """Whether to try again helps: the client has done so."""
        self.retry_after = retry_after
        """How many seconds to wait before trying again, if the service says so."""


class ConnectionFailedError(FloorgateError):
    """There was no response: its cause is an exception of httpx."""

    def __init__(self, url: str, cause: httpx.TransportError | None) -> None:
        hint, is_temporary = _find_hint(url, cause)
        super().__init__(f"No response from {url}: {cause}{hint}", is_temporary=is_temporary)
        self.__cause__ = cause


class ResponseError(FloorgateError):
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
        code = f" {self.code}" if self.code else ""
        super().__init__(
            f"{self.status}{code}: {self.message}",
            is_temporary=self.status in {429, 503},
            retry_after=_seconds_to_wait(response),
        )


class UnauthenticatedError(ResponseError):
    """No API key arrived."""


class ForbiddenError(ResponseError):
    """The key is unknown, revoked or expired, or lacks a permission."""


class PermissionRequiredError(ForbiddenError):
    """The key lacks the permission of the endpoint."""


class NotFoundError(ResponseError):
    """There is no such resource, or the key does not see it."""


class InvalidInputError(ResponseError):
    """An input is invalid; `fields` says which."""


class FlagRequiredError(ResponseError):
    """The endpoint is experimental; name its flag in `flags` of the client."""


class PreconditionFailedError(ResponseError):
    """The resource has changed since it was read."""


class ChangesExpiredError(ResponseError):
    """The changes after the cursor are no longer known; copy the directory again."""


class RateLimitedError(ResponseError):
    """The key has made too many requests, and trying again has not helped or would take long."""


class UnavailableError(ResponseError):
    """The service cannot answer now, and trying again has not helped or would take long."""


_BY_CODE: dict[str, type[ResponseError]] = {
    "CHANGES_EXPIRED": ChangesExpiredError,
    "FLAG_REQUIRED": FlagRequiredError,
    "PERMISSION_REQUIRED": PermissionRequiredError,
}
_BY_STATUS: dict[int, type[ResponseError]] = {
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    412: PreconditionFailedError,
    422: InvalidInputError,
    429: RateLimitedError,
    503: UnavailableError,
}


def error_of(response: httpx.Response) -> ResponseError:
    """Return the exception of an error response that has been read."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):  # not from the service but, say, from a proxy
        body = {}
    by_status = _BY_STATUS.get(response.status_code, ResponseError)
    return _BY_CODE.get(str(body.get("code")), by_status)(response, body)


def _seconds_to_wait(response: httpx.Response) -> float | None:
    asked = response.headers.get("Retry-After", "")
    try:
        if asked.isdecimal():
            return float(asked)
        return max(0.0, (parsedate_to_datetime(asked) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def _describe(response: httpx.Response) -> str:
    location = response.headers.get("location")
    return response.reason_phrase + (f", to {location}" if location else "")


def _find_hint(url: str, cause: httpx.TransportError | None) -> tuple[str, bool]:
    """Return what to say about a failure, and whether to try again may help."""
    text = str(cause)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return ". To trust a certificate, name its file: verify='cert.pem'", False
    if "WRONG_VERSION_NUMBER" in text or "RECORD_LAYER_FAILURE" in text:
        return ". The service answers without TLS: its address begins with http://", False
    if isinstance(cause, httpx.RemoteProtocolError) and url.startswith("http://"):
        return ". Does its address begin with https://?", True
    return "", True
