"""What a request can be answered with instead of data.

RequestError                a code, a message, perhaps fields; graphql-core carries them through
├── InvalidInput            INVALID_INPUT
├── FlagRequired            FLAG_REQUIRED
├── PermissionRequired      PERMISSION_REQUIRED
├── NotFound                NOT_FOUND
├── MalformedDocument       MALFORMED_DOCUMENT
├── RefusedDocument         REFUSED_DOCUMENT
└── TooManyRecords          LIMIT_EXCEEDED
"""

from typing import Any

from storage.errors import UnavailableError

__all__ = [
    "FlagRequiredError",
    "InvalidInputError",
    "MalformedDocumentError",
    "NotFoundError",
    "PermissionRequiredError",
    "RefusedDocumentError",
    "RequestError",
    "TooManyRecordsError",
    "UnavailableError",
]


class RequestError(Exception):
    """An expected failure; `extensions` is what GraphQL shows beside the message."""

    code = "REQUEST_ERROR"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.extensions: dict[str, Any] = {"code": self.code, **details}

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors cross process borders whatever their constructors take."""
        return _rebuild_error, (type(self), str(self), self.extensions)


class InvalidInputError(RequestError):
    """An argument that cannot be: `fields` maps its name to what is wrong with it."""

    code = "INVALID_INPUT"

    def __init__(self, **fields: str) -> None:
        message = "; ".join(f"{name}: {complaint}" for name, complaint in fields.items())
        super().__init__(message, fields={name: [complaint] for name, complaint in fields.items()})


class FlagRequiredError(RequestError):
    """An experimental field was asked for without its flag."""

    code = "FLAG_REQUIRED"

    def __init__(self, flag: str) -> None:
        super().__init__(f"Experimental-Flags header must include {flag}", flag=flag)


class PermissionRequiredError(RequestError):
    """The key lacks a permission."""

    code = "PERMISSION_REQUIRED"

    def __init__(self, permission: str) -> None:
        super().__init__(
            f"Access denied: this key lacks the permission {permission}", permission=permission
        )


class NotFoundError(RequestError):
    """An id that names nothing, or nothing that the key may see."""

    code = "NOT_FOUND"

    def __init__(self, message: str = "Not found") -> None:
        super().__init__(message)


class TooManyRecordsError(RequestError):
    """An operation turned out to return more records than any may."""

    code = "LIMIT_EXCEEDED"

    def __init__(self, max_records: int) -> None:
        super().__init__(
            f"The operation returns more than {max_records} records; "
            "ask for smaller pages with perPage"
        )


class MalformedDocumentError(RequestError):
    """A document that cannot be read; `line` and `column` say where."""

    code = "MALFORMED_DOCUMENT"


class RefusedDocumentError(RequestError):
    """A document that could be read and is not: it is over a limit."""

    code = "REFUSED_DOCUMENT"


def _rebuild_error(
    kind: type[RequestError], message: str, extensions: dict[str, Any]
) -> RequestError:
    error = kind.__new__(kind, message)
    RequestError.__init__(error, message)
    error.extensions = extensions
    return error
