"""What is wrong with a bundle, gathered so that one run shows more than the first fault."""

from storage.errors import BundleError

MAX_VIOLATIONS = 20


class Violations:
    """Collects complaints; gives up at `MOST` of them."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, origin: str, message: str) -> None:
        """Notes one complaint. Raises BundleError when there are enough."""
        self._lines.append(f"{origin}: {message}")
        if len(self._lines) >= MAX_VIOLATIONS:
            raise BundleError([*self._lines, f"These are the first {MAX_VIOLATIONS} complaints."])

    def raise_if_any(self) -> None:
        """Raises BundleError when there is any complaint."""
        if self._lines:
            raise BundleError(self._lines)
