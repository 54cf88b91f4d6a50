"""API keys and registered documents: how they are found, and the record of each change."""

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.administration import api_keys, trusted_documents
from storage.administration.api_keys import BASE62_ALPHABET, KEY_LENGTH, KEY_PREFIX, ApiKey
from storage.administration.audit import AUDIT_COLLECTION
from storage.administration.trusted_documents import (
    Registration,
    TrustedDocument,
    find_document,
    list_documents,
    register_documents,
    remove_documents,
)
from storage.errors import DocumentsError

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def api_key(**given: Any) -> ApiKey:
    return ApiKey(**{"id": "k", "name": "n", "created_at": NOW, **given})


@pytest.mark.parametrize(
    ("given", "is_valid"),
    [
        ({}, True),
        ({"expires_at": NOW + timedelta(seconds=1)}, True),
        ({"expires_at": NOW}, False),
        ({"expires_at": NOW - timedelta(days=1)}, False),
        ({"revoked_at": NOW - timedelta(days=1)}, False),
        ({"revoked_at": NOW, "expires_at": NOW + timedelta(days=1)}, False),
    ],
)
def test_a_key_opens_until_it_expires_or_is_revoked(given: dict[str, Any], is_valid: bool) -> None:
    assert api_key(**given).is_valid(NOW) == is_valid


@pytest.mark.parametrize(
    ("origins", "others", "is_within"),
    [
        (["https://a"], ["https://b", "https://a"], True),
        (["https://a"], [], True),
        ([], [], True),
        (["https://a", "https://b"], ["https://a"], False),
        ([], ["https://a"], False),  # of all pages
    ],
)
def test_a_key_for_more_pages_than_another_is_not_within_it(
    origins: list[str], others: list[str], is_within: bool
) -> None:
    assert api_key(origins=origins).is_within(api_key(origins=others)) == is_within


async def create(database: Any, **given: Any) -> tuple[ApiKey, str]:
    wanted = {"name": "n", "permissions": [], "asset_ids": [], "expires_at": None, **given}
    return await api_keys.create_api_key(database, **wanted)


async def test_a_key_is_found_by_its_digest_as_it_was_made(database: Any) -> None:
    record, key = await create(
        database,
        name="till",
        permissions=["p"],
        asset_ids=["a/b", "$gt"],
        origins=["https://a.example"],
        expires_at=NOW,
    )
    found = await api_keys.find_api_key(database, api_keys.hash_key(key))
    assert found == record
    assert found is not None
    assert found.created_at.tzinfo == UTC
    assert await api_keys.find_api_key(database, api_keys.hash_key(api_keys.generate_key())) is None


async def test_the_key_itself_is_nowhere_in_the_database(database: Any) -> None:
    _, key = await create(database)
    stored = [document async for document in database[api_keys.KEYS_COLLECTION].find()]
    assert len(stored) == 1
    assert key not in repr(stored)
    assert key.removeprefix(KEY_PREFIX) not in repr(stored)
    assert key[len(KEY_PREFIX) : -api_keys.CHECKSUM_LENGTH] not in repr(stored)


async def test_revoking_is_for_good_and_keeps_the_first_time(database: Any) -> None:
    record, key = await create(database)
    assert await api_keys.revoke_api_key(database, record.id)
    first = await api_keys.find_api_key(database, api_keys.hash_key(key))
    assert await api_keys.revoke_api_key(database, record.id)
    again = await api_keys.find_api_key(database, api_keys.hash_key(key))
    assert first is not None
    assert first.revoked_at is not None
    assert first == again
    assert not first.is_valid(datetime.now(UTC) + timedelta(seconds=1))


async def test_the_last_use_never_goes_back(database: Any) -> None:
    record, _ = await create(database)
    later = NOW + timedelta(hours=1)
    for at in (later, NOW):
        await api_keys.record_uses(database, {record.id: at})
    (listed,) = await api_keys.list_api_keys(database)
    assert listed.last_used_at == later


async def test_a_change_is_made_to_what_the_key_is_then(database: Any) -> None:
    """Two changes at once are made one after the other, and none is lost."""
    record, _ = await create(database, asset_ids=[])

    def add(asset_id: str) -> Any:
        def change(before: ApiKey) -> ApiKey:
            return msgspec.structs.replace(before, asset_ids=[*(before.asset_ids or ()), asset_id])

        return change

    names = [f"asset {number}" for number in range(5)]
    await asyncio.gather(
        *(api_keys.update_api_key(database, record.id, add(name)) for name in names)
    )
    (changed,) = await api_keys.list_api_keys(database)
    assert sorted(changed.asset_ids or ()) == names


async def test_a_change_that_is_refused_leaves_the_key_and_no_record(database: Any) -> None:
    record, _ = await create(database)
    await database["audit_log"].delete_many({})

    def refuse(_: ApiKey) -> Any:
        raise LookupError

    with pytest.raises(LookupError):
        await api_keys.update_api_key(database, record.id, refuse)
    with pytest.raises(LookupError):
        await api_keys.rotate_api_key(database, record.id, timedelta(0), refuse)
    assert await api_keys.list_api_keys(database) == [record]
    assert await database["audit_log"].count_documents({}) == 0


async def test_changes_are_recorded_with_before_and_after(database: Any) -> None:
    record, _ = await create(database, asset_ids=["a"])
    await database["audit_log"].delete_many({})
    many = [f"{number:04}" for number in range(1_100)]

    def change(before: ApiKey) -> ApiKey:
        return msgspec.structs.replace(before, permissions=["p"], asset_ids=many)

    await api_keys.update_api_key(database, record.id, change)
    await api_keys.update_api_key(database, record.id, change)  # nothing more: no record
    rotated = await api_keys.rotate_api_key(database, record.id, timedelta(hours=1), lambda _: NOW)
    assert rotated is not None
    updated, ended = [entry async for entry in database["audit_log"].find(sort=[("_id", 1)])]
    assert (updated["action"], updated["target"]["ids"]) == ("key.updated", [record.id])
    [each] = updated["changes"]
    assert each["before"] == {"permissions": [], "asset_ids": ["a"]}
    assert each["after"] == {"permissions": ["p"], "asset_ids": many[:1_000]}
    assert (ended["action"], ended["target"]["ids"]) == ("key.rotated", [record.id])
    old, new = ended["changes"]
    assert rotated.replaced.expires_at is not None
    end = rotated.replaced.expires_at.isoformat()
    assert (old["ids"], old["before"], old["after"]) == (
        [record.id],
        {"expires_at": None},
        {"expires_at": end},
    )
    assert (new["operation"], new["ids"]) == ("inserted", [rotated.record.id])
    assert new["after"]["expires_at"] == NOW.isoformat()


async def test_a_summary_has_the_origins_of_valid_keys_and_their_end(database: Any) -> None:
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    for name, expires_at in (("lasting", None), ("ending", later), ("ended", NOW)):
        _, key = await create(database, origins=[f"https://{name}"], expires_at=expires_at)
    revoked, _ = await create(database, origins=["https://revoked"])
    await api_keys.revoke_api_key(database, revoked.id)
    await create(database)
    summary = await api_keys.read_key_summary(database)
    assert summary.origins == {"https://lasting", "https://ending"}
    assert summary.origins_end_at == later
    assert len(summary.digests) == 4
    assert api_keys.hash_key(key) in summary.digests
    await database["api_keys"].update_many({}, {"$unset": {"origins": ""}})  # of older releases
    assert not (await api_keys.read_key_summary(database)).origins


async def test_a_deleted_key_is_gone_with_its_last_use(database: Any) -> None:
    record, key = await create(database)
    await api_keys.record_uses(database, {record.id: NOW})
    assert await api_keys.find_last_use(database, record.id) == NOW
    assert await api_keys.delete_api_key(database, record.id)
    assert not await api_keys.delete_api_key(database, record.id)
    assert await api_keys.find_last_use(database, record.id) is None
    assert await api_keys.find_api_key(database, api_keys.hash_key(key)) is None


async def test_keys_about_to_expire_are_listed_the_first_to_expire_first(database: Any) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    for hours in (-1, 30, 2, 1, None):
        end = None if hours is None else now + timedelta(hours=hours)
        await create(database, name=str(hours), expires_at=end)
    gone, _ = await create(database, name="revoked", expires_at=now + timedelta(hours=1))
    await api_keys.revoke_api_key(database, gone.id)
    rotated, _ = await create(database, name="rotated")
    await api_keys.rotate_api_key(database, rotated.id, timedelta(hours=1), lambda _: None)
    listed = await api_keys.list_expiring_keys(database, timedelta(hours=24))
    assert [record.name for record in listed] == ["1", "2"]


@pytest.mark.parametrize(
    ("prefix", "found"),
    [("k_", ["k_1", "k_12", "k_2"]), ("k_1", ["k_1"]), ("k_12", ["k_12"]), ("K", []), (".", [])],
)
async def test_keys_are_listed_by_the_beginning_of_their_ids(
    database: Any, prefix: str, found: list[str]
) -> None:
    for key_id in ("k_2", "k_1", "k_12", "l"):
        await create(database)
        [made] = [each for each in await api_keys.list_api_keys(database) if each.id[:4] == "key_"]
        document = await database["api_keys"].find_one_and_delete({"_id": made.id})
        await database["api_keys"].insert_one({**document, "_id": key_id})
    listed = await api_keys.list_keys_by_prefix(database, prefix, 3)
    assert [record.id for record in listed] == found


KEY = api_keys.generate_key()


def test_a_key_has_a_prefix_that_scanners_know_and_a_fixed_length() -> None:
    for key in {api_keys.generate_key() for _ in range(100)}:
        assert key.startswith(KEY_PREFIX)
        assert len(key) == KEY_LENGTH
        assert set(key.removeprefix(KEY_PREFIX)) <= set(BASE62_ALPHABET)
        assert api_keys.is_well_formed(key)


def test_a_key_holds_256_random_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.randbits", lambda bits: 2**bits - 1)
    greatest = api_keys.generate_key()[len(KEY_PREFIX) : -api_keys.CHECKSUM_LENGTH]
    number = 0
    for digit in greatest:
        number = number * len(BASE62_ALPHABET) + BASE62_ALPHABET.index(digit)
    assert number == 2**256 - 1


@given(st.integers(len(KEY_PREFIX), KEY_LENGTH - 1), st.sampled_from(BASE62_ALPHABET))
def test_a_mistyped_key_is_noticed_without_a_look_up(position: int, letter: str) -> None:
    mistyped = KEY[:position] + letter + KEY[position + 1 :]
    assert api_keys.is_well_formed(mistyped) == (mistyped == KEY)


@given(st.text(max_size=80))
def test_any_other_text_is_no_key(text: str) -> None:
    assert not api_keys.is_well_formed(text)
    assert not api_keys.is_well_formed(KEY_PREFIX + text)


def test_only_a_digest_identifies_a_key() -> None:
    assert api_keys.hash_key(KEY) == hashlib.sha256(KEY.encode()).digest()


def document(digest: str, *ids: str, name: str = "Units") -> TrustedDocument:
    return TrustedDocument(ids=[digest, *ids], operations=[name], text=f"text of {digest}")


async def records(database: Any) -> list[tuple[str, dict[str, list[str]]]]:
    """The actions in the audit log with the ids of each of their changes."""
    stored = await database[AUDIT_COLLECTION].find(sort=[("_id", 1)]).to_list(None)
    return [
        (each["action"], {change["operation"]: change["ids"] for change in each["changes"]})
        for each in stored
    ]


async def test_documents_are_registered_once_and_get_further_ids(database: Any) -> None:
    assert await register_documents(database, [document("1"), document("2")]) == (2, 0, 0)
    assert await register_documents(database, [document("1"), document("2", "md5")]) == (0, 1, 1)
    again = await register_documents(database, [document("2", "md5"), document("3")])
    assert again == Registration(added=1, changed=0, unchanged=1)
    found = await find_document(database, "md5")
    assert found is not None
    assert (found.sha256, found.text) == ("2", "text of 2")
    assert await find_document(database, "4") is None
    assert await records(database) == [
        ("documents.registered", {"inserted": ["1", "2"]}),
        ("documents.registered", {"updated": ["2"]}),
        ("documents.registered", {"inserted": ["3"]}),
    ]


@pytest.mark.parametrize(
    "clash",
    [[document("2", "page")], [document("2", "1")], [document("2", "x"), document("3", "x")]],
)
async def test_an_id_names_one_document(database: Any, clash: list[TrustedDocument]) -> None:
    await register_documents(database, [document("1", "page")])
    with pytest.raises(DocumentsError, match="would be that of two documents"):
        await register_documents(database, [document("4"), *clash])
    assert [each.sha256 for each in await list_documents(database)] == ["1"]


async def test_there_is_a_limit(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trusted_documents, "MAX_TRUSTED_DOCUMENTS", 2)
    await register_documents(database, [document("1"), document("2")])
    with pytest.raises(DocumentsError, match="3 documents would be registered, and 2 may be"):
        await register_documents(database, [document("3")])
    assert len(await list_documents(database)) == 2


async def test_documents_are_removed_by_any_id_or_all(database: Any) -> None:
    await register_documents(database, [document(each, f"id-{each}") for each in "123"])
    assert await remove_documents(database, ["id-1", "2", "unknown"]) == ["1", "2"]
    assert await remove_documents(database, None) == ["3"]
    assert (await records(database))[1:] == [
        ("documents.removed", {"removed": ["1", "2"]}),
        ("documents.removed", {"removed": ["3"]}),
    ]


async def test_they_are_listed_by_the_names_of_their_operations(database: Any) -> None:
    await register_documents(database, [document("1", name="B"), document("2", name="A")])
    assert [each.sha256 for each in await list_documents(database)] == ["2", "1"]
