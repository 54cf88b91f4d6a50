"""What is wrong with a bundle, gathered so that one run shows more than the first fault."""

from storage.errors import BundleError

MOST = 20


class Complaints:
    """Collects complaints; gives up at `MOST` of them."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, place: str, message: str) -> None:
        """Notes one complaint. Raises BundleError when there are enough."""
        self._lines.append(f"{place}: {message}")
        if len(self._lines) >= MOST:
            raise BundleError([*self._lines, f"These are the first {MOST} complaints."])

    def settle(self) -> None:
        """Raises BundleError when there is any complaint."""
        if self._lines:
            raise BundleError(self._lines)
