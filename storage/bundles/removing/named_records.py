"""Finding the records that an operator names, to remove them."""

import asyncio
from collections.abc import Sequence
from typing import Any

from storage.bundles.importing.staging import find_neighbours
from storage.bundles.reading.suggestions import suggest
from storage.bundles.reading.violations import Violations, quote_json
from storage.catalog import RECORD_TYPES
from storage.errors import BundleError
from storage.mongo import driver
from storage.records.kinds import (
    Document,
    RecordType,
    format_key,
    get_key_values,
    get_stored_keys,
    parse_key,
)

KINDS_BY_TEXT = {
    text: kind
    for kind in RECORD_TYPES
    for name in (kind.singular, kind.name)
    for text in (name, name.replace("_", "-"))
}
_BATCH_KEYS = 1_000


def find_kind(text: str) -> RecordType[Any]:
    """Return the kind with this name, such as `unit`, `units` or `unit-references`.

    Raises BundleError.
    """
    if kind := KINDS_BY_TEXT.get(text.lower()):
        return kind
    meant = suggest(text, KINDS_BY_TEXT)
    hint = f"did you mean {meant}? Kinds" if meant else "kinds"
    names = ", ".join(kind.singular for kind in RECORD_TYPES)
    raise BundleError([f"there is no kind {quote_json(text)}; {hint} are {names}"])


async def find_named(
    database: driver.Database, kind: RecordType[Any], texts: Sequence[str]
) -> list[Document]:
    """Return the records with these keys. Raises BundleError with all that do not exist."""
    violations = Violations()
    values_by_text = {}
    for text in texts:
        try:
            values_by_text[text] = parse_key(kind, text)
        except ValueError as error:
            violations.add("id", str(error))
    found: dict[str, Document] = {}
    wanted = [key for values in values_by_text.values() for key in get_stored_keys(kind, values)]
    for start in range(0, len(wanted), _BATCH_KEYS):
        where = {"_id": {"$in": wanted[start : start + _BATCH_KEYS]}}
        documents = await database[kind.name].find(where).to_list(None)
        found |= {format_key(get_key_values(kind, each)): each for each in documents}
    for text, values in values_by_text.items():
        if format_key(values) not in found:
            meant = None if violations.is_full else await _find_meant(database, kind, text)
            hint = f"; did you mean {quote_json(meant)}?" if meant else ""
            violations.add(kind.name, f"there is no {kind.singular} {quote_json(text)}{hint}")
    violations.raise_if_any()
    return [found[format_key(values)] for values in values_by_text.values()]


async def _find_meant(database: driver.Database, kind: RecordType[Any], text: str) -> str | None:
    """Return a similar id, of those that begin alike."""
    if len(kind.key_fields) > 1:
        return None
    near = await find_neighbours(database[kind.name], "_id", text)
    return await asyncio.to_thread(suggest, text, near)
