"""Errors as exceptions: those of the connection, and those of the service by status and code."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx


class FloorgateError(Exception):
    """A request has failed, also after retries where these might help."""

    is_temporary = True
    """True if the same request may succeed later."""
    retry_after: float | None = None
    """The service asks to wait for this many seconds; None if it does not."""


class ConnectionFailedError(FloorgateError):
    """There is no response; `__cause__` is the exception of httpx."""

    def __init__(self, url: str, cause: httpx.RequestError) -> None:
        text = str(cause) or type(cause).__name__
        hints = [hint for sign, hint in _HINTS.items() if sign in text]
        self.is_temporary = not hints and not isinstance(cause, httpx.LocalProtocolError)
        if isinstance(cause, httpx.RemoteProtocolError) and url.startswith("http://"):
            hints = ["Does its address begin with https://?"]
        super().__init__(". ".join([f"No response from {url}: {text}", *hints]))
        self.__cause__ = cause


_WITHOUT_TLS = "The service answers without TLS: its address begins with http://"
_HINTS = {
    "CERTIFICATE_VERIFY_FAILED": "To trust a certificate, name its file: verify='cert.pem'",
    "WRONG_VERSION_NUMBER": _WITHOUT_TLS,
    "RECORD_LAYER_FAILURE": _WITHOUT_TLS,
}


class ResponseError(FloorgateError):
    """The response is an error. `code` is stable, the wording of `message` may change."""

    def __init__(self, response: httpx.Response, body: dict[str, Any]) -> None:
        reason = response.reason_phrase
        if location := response.headers.get("Location"):
            reason += f", to {location}: redirects are not followed"
        self.status = response.status_code
        self.message = str(body.get("message", reason))
        self.code: str | None = body.get("code")
        self.fields: dict[str, list[str]] = body.get("fields", {})
        """Maps the name of each invalid input to what is wrong with it."""
        self.request_id: str | None = body.get("request_id", response.headers.get("X-Request-Id"))
        self.docs: str | None = body.get("docs")
        """Links to a page about the code."""
        self.is_temporary = self.status in {429, 502, 503, 504}
        self.retry_after = _read_retry_after(response)
        super().__init__(f"{self.status}{f' {self.code}' if self.code else ''}: {self.message}")


class UnauthenticatedError(ResponseError):
    """The request has no API key, or more than one."""


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
    """The key has made too many requests."""


class UnavailableError(ResponseError):
    """The service cannot respond now."""


_KINDS: dict[str | int, type[ResponseError]] = {
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    412: PreconditionFailedError,
    422: InvalidInputError,
    429: RateLimitedError,
    502: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
    "CHANGES_EXPIRED": ChangesExpiredError,
    "FLAG_REQUIRED": FlagRequiredError,
    "PERMISSION_REQUIRED": PermissionRequiredError,
}
"""A code is looked up before a status."""


def error_of(response: httpx.Response) -> ResponseError:
    """Return the exception of an error response that has been read."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):  # a proxy has sent it, not the service
        body = {}
    kind = _KINDS.get(str(body.get("code"))) or _KINDS.get(response.status_code, ResponseError)
    return kind(response, body)


def _read_retry_after(response: httpx.Response) -> float | None:
    value = response.headers.get("Retry-After", "")
    try:
        if value.isdecimal():
            return float(value)
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
