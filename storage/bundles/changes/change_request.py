"""What an import does with its members, what it removes, and how it shows what it changes."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from storage.bundles.changes.change_plan import RecordChange
from storage.bundles.removing.limits import RemovalLimit


class ChangeRequest(NamedTuple):
    """What an import does besides writing its members; by default nothing."""

    force_drawings: bool = False
    """Whether to import drawings that are mostly an image, too."""
    merges: bool = False
    """Whether to change only the fields that members have; without `mirrors`."""
    mirrors: bool = False
    """Whether to remove what the bundles do not have, of the kinds that they mention."""
    asset_ids: frozenset[str] | None = None
    """The assets to mirror; all members must belong to them. None for all."""
    removed_kind: str = ""
    removed_keys: tuple[str, ...] = ()
    """Records to remove: their kind, and their keys as text."""
    limit: RemovalLimit = RemovalLimit()
    """Of what may be removed."""
    is_planned: bool = False
    """Whether the summary has the plan."""
    expected_digest: str | None = None
    """Of the plan that was shown: anything else is not applied."""
    undo_path: Path | None = None
    """Where to write what is changed or removed, as a bundle."""
    max_undo_bytes: int | None = None
    """Return that bundle with the summary instead, if it has no more bytes."""
    write_change: Callable[[RecordChange], None] | None = None
    """Receives each change of the plan."""

    @property
    def needs_plan(self) -> bool:
        """Whether the changes are to be listed."""
        return self.is_planned or self.expected_digest is not None or self.write_change is not None


NO_REMOVALS = ChangeRequest()
