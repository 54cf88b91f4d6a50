"""Collections are read as BSON in order, in batches of bounded size."""

from typing import Any

import bson
import pytest
from bson.raw_bson import RawBSONDocument

from storage.errors import BackupError
from storage.mongo import raw_documents

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("batch_bytes", [1, 5_000, 1 << 20])
async def test_batches_hold_all_documents_in_order(
    database: Any, batch_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_documents, "_QUERY_DOCUMENTS", 300)
    documents = [{"_id": f"{number:04}", "text": "a" * 50} for number in range(1000)]
    await database["any"].insert_many(documents[::-1])
    batches = [
        batch async for batch in raw_documents.iter_raw_batches(database["any"], batch_bytes)
    ]
    found = [document for batch in batches for document in bson.decode_all(batch.content)]
    assert found == documents
    assert [batch.documents for batch in batches] == [
        raw_documents.count_documents(batch.content) for batch in batches
    ]
    assert all(len(batch.content) >= batch_bytes for batch in batches[:-1])


async def test_an_empty_collection_has_no_batches(database: Any) -> None:
    assert [each async for each in raw_documents.iter_raw_batches(database["none"], 1)] == []


async def test_a_collection_that_has_been_renamed_is_left_alone(database: Any) -> None:
    await database["new"].insert_one({"_id": 1})
    await database["old"].insert_one({"_id": 2})
    for _ in range(2):
        await raw_documents.rename_collection(database, "new", "old")
        assert await database["old"].find().to_list(None) == [{"_id": 1}]


async def test_an_error_says_which_document_mongodb_rejects(database: Any) -> None:
    documents = [RawBSONDocument(bson.encode({"_id": "unit-1"}))] * 2
    with pytest.raises(BackupError, match=r"of the archive: E11000 .*unit-1"):
        await raw_documents.insert_raw(database["any"], documents)
