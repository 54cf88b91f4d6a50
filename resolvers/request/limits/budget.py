"""What one operation has cost so far: records read and returned, bytes of drawings, waiting."""

from msgspec import Struct

from resolvers.request.errors import LimitExceededError

MAX_RECORDS_PER_REQUEST = 100_000
"""Limit on the records that one operation reads in lists, and on the cost of what it returns."""


class Budget(Struct):
    """Counts what an operation does while it runs, and ends it over a limit.

    All methods but `count_bytes` raise LimitExceededError, again and again once a limit is
    exceeded.

    >>> budget = Budget(max_bytes=1_000)
    >>> budget.count_bytes(800)
    >>> budget.count_bytes(800)
    >>> budget.check_least(budget.drawing_bytes)
    Traceback (most recent call last):
    resolvers.request.errors.LimitExceededError: The response would have at least 1600 bytes, ...
    """

    max_bytes: int | None = None
    """Limit on the bytes of the response; None for none."""
    drawing_bytes: int = 0
    """The drawings in the response, a drawing as often as it is written."""
    waited_seconds: float = 0.0
    """How long the operation waited for an equal one; counts for its deadline."""
    _records_read: int = 0
    _cost: int = 0

    @property
    def records_read(self) -> int:
        """The records of lists that were read so far."""
        return self._records_read

    @property
    def cost(self) -> int:
        """What was returned so far, in records."""
        return self._cost

    def count_read(self, count: int) -> None:
        """Count the records of a list that was read."""
        self._records_read += count
        _check(self._records_read)

    def count_cost(self, count: int) -> None:
        """Count records that are returned, as often as they are, or the cost of a field."""
        self._cost += count
        _check(self._cost)

    def count_bytes(self, count: int) -> None:
        """Count bytes of drawings that the response will contain.

        They are checked in the end, when the number is the same however the operation was executed.
        Until the response is written there are no copies of a drawing.
        """
        self.drawing_bytes += count

    def check_least(self, size: int) -> None:
        """Check a size that the response will have at least."""
        self._check_size(size, "at least ")

    def check_response(self, size: int) -> None:
        """Check the size of the whole response."""
        self._check_size(size)

    def restart(self) -> None:
        """Reset the counts of what is returned, to count it again; nothing is read again."""
        self.drawing_bytes = self._cost = 0

    def _check_size(self, size: int, prefix: str = "") -> None:
        if self.max_bytes is not None and size > self.max_bytes:
            raise LimitExceededError(
                f"The response would have {prefix}{size} bytes, over the limit of "
                f"{self.max_bytes}; ask for smaller pages with perPage, or for parsed of fewer "
                "maps",
                limit="response_bytes",
                maximum=self.max_bytes,
                requested=size,
            )


def _check(count: int) -> None:
    if count > MAX_RECORDS_PER_REQUEST:
        raise LimitExceededError(
            f"The operation returns more than {MAX_RECORDS_PER_REQUEST} records, counting each as "
            "often as it occurs and expensive fields by their cost; ask for smaller pages with "
            "perPage",
            limit="records",
            maximum=MAX_RECORDS_PER_REQUEST,
        )
