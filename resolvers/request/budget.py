"""What one operation has cost so far: records read, records returned, and bytes of drawings."""

from msgspec import Struct

from resolvers.request.errors import LimitExceededError

MAX_RECORDS_PER_REQUEST = 100_000
"""Limit on the records that one operation reads in lists, and on the cost of what it returns."""
ESTIMATE_TOLERANCE = 2
"""How many times the limit an estimated size may be; the response itself is measured then."""


class Budget(Struct):
    """Counts what an operation does while it runs, and ends it over a limit.

    Each method raises LimitExceededError, again and again once a limit is exceeded.

    >>> budget = Budget(max_bytes=1_000)
    >>> budget.count_bytes(800)
    >>> budget.count_bytes(800)
    Traceback (most recent call last):
    resolvers.request.errors.LimitExceededError: The response would have too many drawings, ...
    """

    max_bytes: int | None = None
    """Limit on the bytes of the response; None for none."""
    drawing_bytes: int = 0
    """The drawings in the response, a drawing as often as it is written."""
    _records_read: int = 0
    _cost: int = 0

    def count_read(self, count: int) -> None:
        """Count the records of a list that was read."""
        self._records_read += count
        _check(self._records_read)

    def count_cost(self, count: int) -> None:
        """Count records that are returned, as often as they are, or the cost of a field."""
        self._cost += count
        _check(self._cost)

    def count_bytes(self, count: int) -> None:
        """Count bytes of drawings that the response will contain."""
        self.drawing_bytes += count
        # Without the size: how much more would follow depends on how the operation is executed.
        if self.max_bytes is not None and self.drawing_bytes > self.max_bytes:
            raise _response_too_large("too many drawings", self.max_bytes)

    def check_drawings(self, size: int) -> None:
        """Check whether drawings of that size in total would fit into the response."""
        self._check_size(size, "at least ")

    def check_estimate(self, size: int) -> None:
        """Check the estimated size of what is not a drawing, with tolerance for its error."""
        total = self.drawing_bytes + size
        if self.max_bytes is not None and total > self.max_bytes * ESTIMATE_TOLERANCE:
            self._check_size(total, "about ")

    def check_response(self, size: int) -> None:
        """Check the size of the whole response."""
        self._check_size(size)

    def restart(self) -> None:
        """Reset the counts, so that the operation can run again from the start."""
        self.drawing_bytes = self._records_read = self._cost = 0

    def _check_size(self, size: int, prefix: str = "") -> None:
        if self.max_bytes is not None and size > self.max_bytes:
            raise _response_too_large(f"{prefix}{size} bytes", self.max_bytes, size)


def _response_too_large(size: str, maximum: int, requested: int | None = None) -> Exception:
    return LimitExceededError(
        f"The response would have {size}, over the limit of {maximum} bytes; ask for smaller "
        "pages with perPage, or for parsed of fewer maps",
        limit="response_bytes",
        maximum=maximum,
        requested=requested,
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
