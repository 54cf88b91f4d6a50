"""Validation errors of an import, collected so that one run reports many of them."""

import json
from typing import Any

from storage.bundles.reading.column_names import ColumnNames
from storage.errors import BundleError

MAX_VIOLATIONS = 20


class Violations:
    """Collects violations; raises at MAX_VIOLATIONS.

    >>> violations = Violations()
    >>> violations.add("$.units[0].name", "Expected `str`, got `int`")
    >>> violations.raise_if_any()
    Traceback (most recent call last):
    storage.errors.BundleError: $.units[0].name: Expected `str`, got `int`
    """

    def __init__(self, columns: ColumnNames | None = None) -> None:
        self.columns = columns or ColumnNames()
        self._lines: list[str] = []

    def add(self, origin: str, message: str) -> None:
        """Add a violation. Raises BundleError if that makes MAX_VIOLATIONS."""
        self._lines.append(f"{self.columns.describe(origin)}: {message}")
        if len(self._lines) >= MAX_VIOLATIONS:
            raise BundleError([*self._lines, f"These are the first {MAX_VIOLATIONS} errors."])

    def raise_if_any(self) -> None:
        """Raise BundleError if there are violations."""
        if self._lines:
            raise BundleError(self._lines)


def quote_json(value: Any) -> str:
    """Return a value as JSON, to quote it in a message."""
    return json.dumps(value, ensure_ascii=False)
