"""Errors of storage.

StorageError
├── UnavailableError              MongoDB cannot be reached, or did not answer in time
│   ├── DiskFullError             ... or has no room on its disk
│   ├── MongoUnusableError        ... or is one that cannot be used; the message says why
│   └── OutcomeUnknownError       ... while something was being changed
├── InvalidPageRequestError       invalid page, page size or cursor
├── ChangesExpiredError           MongoDB no longer has the changes that a follower lacks
├── EmbeddedServerError           the embedded mongod does not start
├── MigrationRunningError         another gateway's migrations do not end
├── LeaseLostError                this process was suspended and lost its lease
│   └── ImportInterruptedError    ... in the middle of an import, which another process finishes
├── ImportRunningError            another import does not end
├── NetworkOutdatedError          a map was changed while its network was built
├── BundleError                   a bundle is invalid; nothing was written
├── RemovalRefusedError           more would be removed than is allowed; nothing was written
├── PlanChangedError              an import would change something else than was shown
├── ImportIdTakenError            an import has the id of another one; nothing was written
├── ErasureRefusedError           traces cannot be erased yet; nothing was written
├── DocumentsError                documents cannot be registered; nothing was written
└── BackupError                   a backup cannot be made or restored; nothing was written

`storage.attribute_assignments` adds AttributeGroupNotFoundError and InvalidAssignmentsError.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum


class UnavailableCause(StrEnum):
    """Why a request is answered 503: the `code` of its error, which `rest/errors.py` explains."""

    DATABASE_REFUSED = "DATABASE_REFUSED"
    DATABASE_UNREACHABLE = "DATABASE_UNREACHABLE"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    DISK_FULL = "DISK_FULL"
    IMPORT_RUNNING = "IMPORT_RUNNING"
    INTERRUPTED = "INTERRUPTED"
    NO_MAJORITY = "NO_MAJORITY"
    NO_PRIMARY = "NO_PRIMARY"
    QUEUE_FULL = "QUEUE_FULL"
    REPLICATION_LAG = "REPLICATION_LAG"
    RESTARTING = "RESTARTING"
    WRITE_CONFLICT = "WRITE_CONFLICT"


class StorageError(Exception):
    """Base class of the errors that storage raises."""


def iter_notes(error: BaseException | None) -> Iterator[str]:
    """Yield the notes on an error and on those before it, such as that an import is committed.

    >>> before, error = OSError("no room"), StorageError("MongoDB is lost")
    >>> before.add_note("the import is committed")
    >>> error.__context__ = before
    >>> [*iter_notes(error)]
    ['the import is committed']
    """
    while error is not None:
        yield from getattr(error, "__notes__", ())
        error = error.__cause__ or error.__context__


class UnavailableError(StorageError):
    """MongoDB cannot be reached, or did not answer in time."""

    cause = UnavailableCause.DATABASE_UNREACHABLE

    def __init__(self, message: str, cause: UnavailableCause | None = None) -> None:
        super().__init__(message)
        self.cause = cause or self.cause


class DiskFullError(UnavailableError):
    """MongoDB has no room on its disk to write."""

    cause = UnavailableCause.DISK_FULL


class MongoUnusableError(UnavailableError):
    """A database cannot be opened; the message says why, and what to do."""


class OutcomeUnknownError(UnavailableError):
    """MongoDB was lost during a change, which may or may not have been made."""


class InvalidPageRequestError(StorageError):
    """An invalid page, page size or cursor; `argument` names which."""

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(message)
        self.argument = argument


class ChangesExpiredError(StorageError):
    """MongoDB no longer has the changes that a follower lacks, or it is another database."""


class EmbeddedServerError(StorageError):
    """The embedded mongod does not start or does not answer."""


class MigrationRunningError(StorageError):
    """Another gateway is migrating the database and has not finished in time."""


class LeaseLostError(StorageError):
    """Another process may have taken over the lease that this one held."""


class ImportRunningError(StorageError):
    """Another import is running; only one at a time may write to the catalog."""


class NetworkOutdatedError(StorageError):
    """A map was changed while its network was built from what it was before."""


class ImportInterruptedError(LeaseLostError):
    """This import lost its lease; the next start or import finishes or discards it."""


class BundleError(StorageError):
    """A bundle is invalid. Each violation names the place, the error and a remedy.

    >>> print(BundleError(["oak.json: the file is empty"], total=3))
    oak.json: the file is empty
    ... and 2 more errors
    """

    def __init__(
        self, violations: Sequence[object], total: int | None = None, notes: Sequence[str] = ()
    ) -> None:
        self.parts = violations
        """Sentences, or what has a `place`, a `message`, and both as its text."""
        self.violations = [*map(str, violations)]
        self.notes = notes
        """Notes on what else was found, such as columns that were not read: the cause may be among
        them."""
        self.total = len(violations) if total is None else total
        """The number of all violations: only the first are listed."""
        more = self.total - len(violations)
        rest = [f"... and {more:,} more error{'s' * (more > 1)}"] if more else []
        super().__init__("\n".join([*self.violations, *rest]))


class RemovalRefusedError(StorageError):
    """An import would remove more than is allowed; nothing was written."""


class PlanChangedError(StorageError):
    """An import would change something else than the plan that was shown; nothing was written."""


class ImportIdTakenError(StorageError):
    """An import has the id that another one had; nothing was written."""


class ErasureRefusedError(StorageError):
    """Traces cannot be erased of what is still in use; nothing was written."""


class DocumentsError(StorageError):
    """Trusted documents cannot be registered; nothing was written."""


class BackupError(StorageError):
    """A backup cannot be made, or an archive cannot be restored; nothing was written."""
