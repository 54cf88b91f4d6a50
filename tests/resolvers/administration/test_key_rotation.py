"""Rotating keys: what the new one may do, and when the old one ends."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from resolvers.request.caller import (
    ADMIN_PERMISSION,
    PARSE_UNIT_MAPS_PERMISSION,
    WRITE_UNIT_ATTRIBUTES_PERMISSION,
)
from storage.administration import api_keys
from tests.fixtures import SEEN
from tests.resolvers.administration.key_changes import (
    LATER,
    NOW,
    ROTATE,
    UPDATE,
    Administration,
    is_refused,
)

pytestmark = pytest.mark.anyio


async def test_a_rotated_key_is_replaced_by_one_with_the_same_rights(
    administration: Administration,
) -> None:
    rights: dict[str, Any] = {"asset_ids": [SEEN], "expires_at": NOW + timedelta(days=90)}
    key_id = await administration.make(PARSE_UNIT_MAPS_PERMISSION, **rights)
    old = await administration.find(key_id)
    assert old.expires_at is not None
    then = datetime.now(UTC).replace(microsecond=0)
    rotated = await administration.run(ROTATE, id=key_id, overlap=60)
    new = await administration.find(rotated["id"])
    assert new.id != key_id
    assert (new.name, new.permissions, new.asset_ids) == (old.name, old.permissions, [SEEN])
    assert new.expires_at is not None
    assert new.expires_at - new.created_at == old.expires_at - old.created_at
    assert rotated["expiresAt"] == new.expires_at.isoformat()
    ended = await administration.find(key_id)
    assert rotated["replaced"]["id"] == key_id
    assert ended.expires_at == datetime.fromisoformat(rotated["replaced"]["expiresAt"])
    assert then + timedelta(seconds=60) <= ended.expires_at
    assert ended.expires_at <= datetime.now(UTC) + timedelta(seconds=60)
    found = await api_keys.find_api_key(administration.database, api_keys.hash_key(rotated["key"]))
    assert found == new


async def test_a_key_is_rotated_once_unless_its_end_is_changed(
    administration: Administration,
) -> None:
    """Its end is that of the overlap now, and no measure for the life of another."""
    key_id = await administration.make(asset_ids=[SEEN])
    rotated = await administration.run(ROTATE, id=key_id)
    assert rotated["expiresAt"] is None  # as the old one had no end
    assert (await administration.find(key_id)).expires_at is not None
    again = await administration.run(ROTATE, id=key_id)
    assert is_refused(again, "id", f"{rotated['id']!r} has replaced it")
    await administration.run(UPDATE, id=key_id, expires=LATER.isoformat())
    assert (await administration.run(ROTATE, id=key_id))["replaced"]["id"] == key_id


async def test_without_overlap_the_old_key_ends_at_once(administration: Administration) -> None:
    key_id = await administration.make(asset_ids=[SEEN])
    await administration.run(ROTATE, id=key_id, overlap=0)
    assert not (await administration.find(key_id)).is_valid(datetime.now(UTC))


async def test_an_overlap_never_makes_the_old_key_last_longer(
    administration: Administration,
) -> None:
    soon = NOW + timedelta(hours=1)
    key_id = await administration.make(asset_ids=[SEEN], expires_at=soon)
    rotated = await administration.run(ROTATE, id=key_id, overlap=86_400)
    assert rotated["replaced"]["expiresAt"] == soon.isoformat()


async def test_a_lifetime_beyond_the_calendar_ends_with_it(
    administration: Administration,
) -> None:
    last = datetime(9999, 12, 31, tzinfo=UTC)
    key_id = await administration.make(asset_ids=[SEEN], expires_at=last)
    old = {"created_at": datetime(2020, 1, 31, tzinfo=UTC)}
    await administration.database["api_keys"].update_one({"_id": key_id}, {"$set": old})
    assert (await administration.run(ROTATE, id=key_id))["expiresAt"] == last.isoformat()


async def test_rotation_hands_out_no_rights_that_the_caller_lacks(
    administration: Administration,
) -> None:
    key_id = await administration.make(WRITE_UNIT_ATTRIBUTES_PERMISSION, asset_ids=[SEEN])
    await administration.use_key((ADMIN_PERMISSION,))
    lacks = f"which lacks {WRITE_UNIT_ATTRIBUTES_PERMISSION}"
    result = await administration.run(ROTATE, id=key_id)
    assert is_refused(result, "permissions", "the key that rotates this one", lacks)
    assert (await administration.find(key_id)).expires_at is None


@pytest.mark.parametrize("overlap", [-1, api_keys.MAX_OVERLAP_DAYS * 86_400 + 1])
async def test_an_overlap_is_at_most_a_year(administration: Administration, overlap: int) -> None:
    key_id = await administration.make()
    assert is_refused(
        await administration.run(ROTATE, id=key_id, overlap=overlap), "overlapSeconds"
    )
