"""Files are addressed by their digest and invisible while incomplete."""

from typing import Any

import pytest

from storage.errors import LeaseLostError, UnavailableError
from storage.mongo import driver, files


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 3)


@pytest.mark.parametrize(("content", "chunks"), [(b"", 1), (b"abc", 1), (b"abcdefg", 3)])
async def test_a_file_is_read_as_it_was_written(database: Any, content: bytes, chunks: int) -> None:
    digest = await files.write_file(database, content)
    assert await files.write_file(database, content) == digest
    assert await database["files"].count_documents({}) == chunks
    assert await files.read_file(database, digest) == content


async def test_missing_and_incomplete_files_are_not_read(database: Any) -> None:
    whole = await files.write_file(database, b"whole")
    part = await files.write_file(database, b"a part")
    await database["files"].delete_one({"_id": f"{part}/000001"})
    assert await files.read_files(database, [whole, part, "0" * 64]) == {whole: b"whole"}
    assert await files.read_files(database, []) == {}


async def test_a_read_without_mongodb_is_unavailable() -> None:
    client = driver.connect("mongodb://127.0.0.1:9", timeout_seconds=0.05)
    with pytest.raises(UnavailableError):
        await files.read_file(client["none"], "0" * 64)
    await driver.close(client)


async def renew_lease(session: driver.Session) -> None:
    """Renew none: these tests hold none."""


async def test_unused_files_are_deleted(database: Any) -> None:
    used = await files.write_file(database, b"used")
    unused = await files.write_file(database, b"unused")
    await files.delete_unused_files(database, [used, None], renew_lease)
    assert await files.read_files(database, [used, unused]) == {used: b"used"}


async def test_a_process_that_has_lost_its_lease_deletes_nothing(database: Any) -> None:
    async def find_it_lost(session: driver.Session) -> None:
        raise LeaseLostError

    unused = await files.write_file(database, b"unused")
    with pytest.raises(LeaseLostError):
        await files.delete_unused_files(database, [], find_it_lost)
    assert await files.read_files(database, [unused]) == {unused: b"unused"}
