"""Expected errors of a request."""

from typing import Any

from storage.errors import UnavailableCause as UnavailableCause
from storage.errors import UnavailableError as UnavailableError

MAX_QUOTED_CHARACTERS = 50
"""An error quotes so much of a value."""


MAX_JSON_INTEGER = 2**53
"""Integers up to this are exact in every JSON parser (RFC 8259, section 6)."""


class RequestError(Exception):
    """An expected error; graphql-core adds `extensions` to the message."""

    code = "REQUEST_ERROR"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.extensions: dict[str, Any] = {"code": self.code, **details}

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, although the constructors of subclasses take other arguments."""
        return _rebuild_error, (type(self), str(self), self.extensions)


class InvalidInputError(RequestError):
    """An invalid argument. `fields` maps each argument's name to its error."""

    code = "INVALID_INPUT"

    def __init__(self, **fields: str) -> None:
        message = "; ".join(f"{name}: {error}" for name, error in fields.items())
        super().__init__(message, fields={name: [error] for name, error in fields.items()})

    def within(self, name: str) -> "InvalidInputError":
        """Return the error of an argument that has these arguments as members."""
        fields: dict[str, list[str]] = self.extensions["fields"]
        return InvalidInputError(
            **{f"{name}.{member}": error for member, [error] in fields.items()}
        )


class FlagRequiredError(RequestError):
    """The request selects an experimental field without sending its flag."""

    code = "FLAG_REQUIRED"

    def __init__(self, flag: str, place: str = "Experimental-Flags header") -> None:
        super().__init__(f"{place} must include {flag}", flag=flag)


class PermissionRequiredError(RequestError):
    """The key lacks a permission."""

    code = "PERMISSION_REQUIRED"

    def __init__(self, permission: str, extent: str = "") -> None:
        super().__init__(
            f"Access denied: this key lacks the permission {permission}{extent}",
            permission=permission,
        )


class NotFoundError(RequestError):
    """An id that names nothing, or nothing that the key may see."""

    code = "NOT_FOUND"

    def __init__(self, message: str = "Not found") -> None:
        super().__init__(message)


class PreconditionFailedError(RequestError):
    """A conditional write depends on something that does not hold; nothing was written."""

    code = "PRECONDITION_FAILED"


class ChangesExpiredError(RequestError):
    """The changes after a cursor are no longer known."""

    code = "CHANGES_EXPIRED"

    def __init__(self) -> None:
        super().__init__(
            "The changes after this cursor are no longer known: get a new cursor without `after`, "
            "copy the directory again, and follow from that cursor"
        )


class OperationError(RequestError):
    """An error of the whole operation: it ends at once, without data and without a path."""


WHOLE_OPERATION_ERRORS = (OperationError, UnavailableError)


class DeadlineExceededError(OperationError):
    """The operation took longer than it may."""

    code = UnavailableCause.DEADLINE_EXCEEDED

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The operation took over {seconds:g} seconds; ask for less at a time")


class LateFieldError(RequestError):
    """A field of a mutation was not begun, because those before it took too long."""

    code = UnavailableCause.DEADLINE_EXCEEDED

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"Not begun: the fields before it took over {seconds:g} seconds; they have been "
            "carried out"
        )


class LimitExceededError(OperationError):
    """An operation that exceeds a limit. It ends as a whole, whichever field exceeds it.

    `limit` names the limit, `maximum` is its value, and `requested` the size that exceeds it.
    """

    code = "LIMIT_EXCEEDED"

    def __init__(
        self,
        message: str,
        *,
        limit: str,
        maximum: int | None = None,
        requested: int | None = None,
    ) -> None:
        numbers = {"max": maximum, "requested": requested}
        given = {
            name: min(number, MAX_JSON_INTEGER)
            for name, number in numbers.items()
            if number is not None
        }
        super().__init__(message, limit=limit, **given)


class MalformedDocumentError(RequestError):
    """A malformed document; `line` and `column` locate the error."""

    code = "MALFORMED_DOCUMENT"


class RefusedDocumentError(RequestError):
    """A well-formed document that the service refuses.

    It exceeds a limit, is invalid, or cannot be processed now.
    """

    code = "REFUSED_DOCUMENT"


class TooManyRemovalsError(RequestError):
    """A change that would remove more than is allowed; nothing was changed."""

    code = "TOO_MANY_REMOVALS"


class ChangedPlanError(RequestError):
    """A change that would no longer be the one that was shown; nothing was changed."""

    code = "PLAN_CHANGED"


class ServiceBusyError(RequestError):
    """There is too much work of one kind; nothing is wrong with the request."""

    code = UnavailableCause.QUEUE_FULL

    def __init__(self, message: str = "The service is busy; try again later") -> None:
        super().__init__(message)


class ImportLostError(RequestError):
    """Another import does not end, or another process completes or discards this one."""

    code = UnavailableCause.IMPORT_RUNNING


def _rebuild_error(
    kind: type[RequestError], message: str, extensions: dict[str, Any]
) -> RequestError:
    error = kind.__new__(kind, message)
    RequestError.__init__(error, message)
    error.extensions = extensions
    return error
