"""Registered documents: by digest and by other ids, with a record of each change."""

from typing import Any

import pytest

from storage.administration import trusted_documents
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

pytestmark = pytest.mark.anyio


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
