"""Ids of API keys as operators type them: whole, or the beginning of one."""

import click

from storage.administration.api_keys import ApiKey, list_keys_by_prefix
from storage.mongo import driver

MIN_PREFIX_CHARACTERS = 8
"""`key_` and four more."""
MAX_CANDIDATES = 10


async def find_key_id(database: driver.Database, text: str) -> str:
    """Return the id that is this text, or else the only one that begins so.

    Raises ClickException, which says what is right.
    """
    found = await list_keys_by_prefix(database, text, MAX_CANDIDATES + 1)
    if found and found[0].id == text:
        return text
    if len(text) < MIN_PREFIX_CHARACTERS:
        raise click.ClickException(
            f"There is no key with the id {text!r}: give a whole id of `floorgate keys list`, or at"
            f" least its first {MIN_PREFIX_CHARACTERS} characters"
        )
    if not found:
        raise click.ClickException(
            f"There is no key with the id {text!r}, and none that begins so: `floorgate keys list`"
            " shows all ids"
        )
    if len(found) > 1:
        candidates = ", ".join(map(_describe_key, found[:MAX_CANDIDATES]))
        more = ", ..." if len(found) > MAX_CANDIDATES else ""
        raise click.ClickException(
            f"Several keys have ids that begin with {text!r}: {candidates}{more}"
        )
    return found[0].id


async def complete_key_id(database: driver.Database, text: str | None) -> str | None:
    """Return the id of the only key that begins so; the text itself if no key does, as ids of
    other records may be meant. Raises ClickException if several do."""
    is_prefix = text is not None and len(text) >= MIN_PREFIX_CHARACTERS
    if text is None or not is_prefix or not await list_keys_by_prefix(database, text, 1):
        return text
    return await find_key_id(database, text)


def _describe_key(key: ApiKey) -> str:
    return f"{key.id} ({key.name}{', revoked' if key.revoked_at else ''})"
