"""What can go wrong in storage.

StorageError
├── Unavailable            MongoDB cannot be reached in time
├── InvalidSlice           a page, a page size or a cursor that cannot be
├── EmbeddedServerError    the embedded mongod cannot be started
├── ImportRunning          another import does not end
├── ImportInterrupted      this import lost its turn; the next start or import ends it
└── BundleError            a bundle is at fault; nothing was written
"""


class StorageError(Exception):
    """The root of every error that storage raises."""


class UnavailableError(StorageError):
    """MongoDB cannot be reached, or did not answer in time."""


class InvalidPageRequestError(StorageError):
    """A page, a page size or a cursor that cannot be; `argument` names which."""

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(message)
        self.argument = argument


class EmbeddedServerError(StorageError):
    """The embedded mongod cannot be started, or does not answer."""


class ImportRunningError(StorageError):
    """Another import is running, and one at a time writes to the catalog."""


class ImportInterruptedError(StorageError):
    """This import stopped before its end; whoever imports or starts next ends it."""


class BundleError(StorageError):
    """A bundle is at fault: each complaint says where, what and what would be right."""

    def __init__(self, violations: list[str]) -> None:
        super().__init__("\n".join(violations))
        self.violations = violations
