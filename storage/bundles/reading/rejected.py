"""The members that an import could not read.

What is said of owners depends on them: a unit whose floor has a mistake of its own has no mistake.
So does what is said of members with the same id. What a rejected member refers to is checked, too.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from storage.catalog import RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.records.kinds import Document, RecordType, is_storable, stored_name

MAX_REJECTED_KEYS = 100_000
"""Of a kind. With more, any member of the kind counts as rejected."""
MAX_KEPT_MEMBERS = 1000
MAX_KEPT_CHARACTERS = 16 << 20
"""Of all rejected members: the owners and drawings of others are not checked."""


class RejectedMember(NamedTuple):
    """A member with a mistake of its own, and None in place of its wrong and absent fields."""

    origin: str
    kind: RecordType[Any]
    document: Document
    directory: Path | None
    """Where its drawing is."""


class RejectedMembers:
    """The keys of rejected members as far as they can be read.

    >>> rejected = RejectedMembers()
    >>> rejected.add(RECORD_TYPES[0], {"id": "oak-street", "nmae": "Oak Street"})
    >>> rejected.may_include("assets", "oak-street"), rejected.may_include("assets", "oak")
    (True, False)
    """

    def __init__(self) -> None:
        self._places: dict[str, dict[str, str]] = defaultdict(dict)
        self.kinds_with_unknown: set[str] = set()
        """Kinds of which there are rejected members with unknown keys."""
        self.members: list[RejectedMember] = []
        """The first of them."""
        self.directory: Path | None = None
        """Where the drawings are of the bundle that is being read."""
        self._kept_characters = 0

    def add(self, kind: RecordType[Any], value: Any, place: str = "") -> str | None:
        """Add a member that was rejected, as it was decoded from JSON.

        Return where the first one with the same key is, if there is one.
        """
        fields = [value.get(field) for field in kind.key_fields] if isinstance(value, dict) else []
        # Keys of several fields are no owners, so whether they are known does not matter.
        is_known = len(fields) == 1 and isinstance(fields[0], str) and is_storable(fields[0])
        if not is_known or not fields[0]:
            self.kinds_with_unknown.add(kind.name)
            return None
        places = self._places[kind.name]
        if fields[0] in places:
            return places[fields[0]]
        places[fields[0]] = place
        if len(places) > MAX_REJECTED_KEYS:
            places.clear()
            self.kinds_with_unknown.add(kind.name)
        return None

    def keep(
        self,
        kind: RecordType[Any],
        value: Any,
        origin: str,
        wrong_paths: Iterable[str],
        characters: int = 0,
    ) -> None:
        """Keep a member, to check what it refers to; `wrong_paths` begin with wrong fields."""
        self._kept_characters += characters
        is_full = self._kept_characters > MAX_KEPT_CHARACTERS
        if is_full or len(self.members) >= MAX_KEPT_MEMBERS or not isinstance(value, dict):
            return
        wrong = {name for path in wrong_paths for name in re.findall(r"^\.?(\w+)", path)}
        given = value.keys() & {*kind.struct.__struct_fields__} - wrong
        document = dict.fromkeys(("_id", *kind.stored_fields))
        document |= {stored_name(name): value[name] for name in given}
        self.members.append(RejectedMember(origin, kind, document, self.directory))

    def iter_places(self) -> Iterator[tuple[RecordType[Any], dict[str, str]]]:
        """Yield for each kind where its rejected members are, by key."""
        for name, places in self._places.items():
            yield RECORD_TYPES_BY_NAME[name], places

    def add_unknown(self, kind: RecordType[Any] | None = None) -> None:
        """Add members that could not be read at all, of one kind or of any."""
        kinds = RECORD_TYPES if kind is None else (kind,)
        self.kinds_with_unknown |= {each.name for each in kinds}

    def includes(self, kind_name: str, key: str) -> bool:
        """Return whether a member of this kind and key has been rejected."""
        return key in self._places[kind_name]

    def may_include(self, kind_name: str, key: str) -> bool:
        """Return whether a member of this kind and key may have been rejected."""
        return kind_name in self.kinds_with_unknown or self.includes(kind_name, key)
