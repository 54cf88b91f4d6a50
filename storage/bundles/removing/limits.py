"""The limit of what an import may remove, so that a wrong source cannot empty the catalog."""

from collections.abc import Mapping
from typing import NamedTuple

from storage.catalog import ASSETS, FLOORS, MAPS

DEFAULT_SHARE = 0.2
ALWAYS_ALLOWED = 5
"""Records of a kind that may be removed however few there are: a fifth of three is none."""
NEVER_FREE = frozenset({ASSETS.name, FLOORS.name, MAPS.name})
"""Kinds of which a fifth is a fifth: few records, and much goes with each."""


class RemovalLimit(NamedTuple):
    """How much may be removed: a share of the records of each kind, or a number of all kinds."""

    share: float | None = DEFAULT_SHARE
    total: int | None = None

    @classmethod
    def parse(cls, text: str) -> "RemovalLimit":
        """Parse `100` or `30%`. Raises ValueError.

        >>> RemovalLimit.parse("30%"), RemovalLimit.parse("100")
        (RemovalLimit(share=0.3, total=None), RemovalLimit(share=None, total=100))
        """
        number = text.strip().removesuffix("%")
        is_share = number != text.strip()
        if not (number.isascii() and number.isdecimal()) or (is_share and int(number) > 100):
            raise ValueError(f"must be a number such as 100, or a share such as 30%, not {text!r}")
        return cls(int(number) / 100) if is_share else cls(None, int(number))

    def find_excess(self, removed: Mapping[str, int], existing: Mapping[str, int]) -> str | None:
        """Return what exceeds the limit, as a sentence; None if nothing does.

        Both count records by kind: those to remove, and those there are.

        >>> RemovalLimit(0.2).find_excess({"units": 21}, {"units": 100})
        '21 of 100 units would be removed, more than 20% of a kind'
        >>> RemovalLimit(0.2).find_excess({"units": 20, "floors": 0}, {"units": 100, "floors": 9})
        """
        if self.total is not None and sum(removed.values()) > self.total:
            return (
                f"{sum(removed.values()):,} records would be removed, more than the"
                f" {self.total:,} allowed"
            )
        if self.share is None:
            return None
        parts = [
            f"{count:,} of {existing[kind]:,} {kind}"
            for kind, count in removed.items()
            if count > self.share * existing[kind]
            and (count > ALWAYS_ALLOWED or kind in NEVER_FREE)
        ]
        if not parts:
            return None
        return f"{', '.join(parts)} would be removed, more than {self.share:.0%} of a kind"
