"""Files in MongoDB, addressed by the SHA-256 digest of their content.

A file never changes, so writing it twice is harmless, and it is invisible until a record refers to
its digest. Files are stored in chunks, because a MongoDB document has at most 16 MB.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping

from storage.mongo import driver
from storage.records.kinds import Document

COLLECTION = "files"
CHUNK_BYTES = 8 << 20
CHUNKS_PER_DELETION = 16
MAX_BYTES_IN_EVENT_LOOP = 1 << 20
"""The digest of more is computed in a thread: this takes up to 3 ms."""


async def write_file(database: driver.Database, content: bytes) -> str:
    digest = (await asyncio.to_thread(hashlib.sha256, content)).hexdigest()
    chunks = [
        {
            "_id": f"{digest}/{number:06}",
            "file": digest,
            "bytes": content[start : start + CHUNK_BYTES],
        }
        for number, start in enumerate(range(0, max(len(content), 1), CHUNK_BYTES))
    ]
    for chunk in chunks:
        # Also a part that is there, and perhaps damaged; MongoDB writes nothing if it is the same.
        await database[COLLECTION].update_one({"_id": chunk["_id"]}, {"$set": chunk}, upsert=True)
    return digest


async def read_file(
    database: driver.Database, digest: str, session: driver.Session | None = None
) -> bytes | None:
    """Return the content of a file, or None if it does not exist or is incomplete.

    Raises UnavailableError.
    """
    with driver.translate_errors():
        return (await read_files(database, [digest], session)).get(digest)


async def read_files(
    database: driver.Database, digests: Iterable[str], session: driver.Session | None = None
) -> dict[str, bytes]:
    """Return the contents of the files that exist and are complete, by digest, in one query.

    A file is incomplete while it is being written or deleted.
    """
    where = _chunks_condition(digests)
    if where is None:
        return {}
    chunks = await driver.find_documents(
        database,
        COLLECTION,
        where,
        {"file": 1, "bytes": 1},
        limit=driver.NO_LIMIT,
        sort={"_id": 1},
        session=session,
    )
    contents: dict[str, bytearray] = {}
    for chunk in chunks:
        contents.setdefault(chunk["file"], bytearray()).extend(chunk["bytes"])
    if sum(map(len, contents.values())) > MAX_BYTES_IN_EVENT_LOOP:
        return await asyncio.to_thread(_select_complete, contents)
    return _select_complete(contents)


def _select_complete(contents: Mapping[str, bytearray]) -> dict[str, bytes]:
    return {
        digest: bytes(content)
        for digest, content in contents.items()
        if hashlib.sha256(content).hexdigest() == digest
    }


async def get_sizes(database: driver.Database, digests: Iterable[str]) -> dict[str, int]:
    """Return how many bytes files have, by digest, in one command that sends none of them."""
    where = _chunks_condition(digests)
    if where is None:
        return {}
    total = {"_id": "$file", "bytes": {"$sum": {"$binarySize": "$bytes"}}}
    groups = await driver.aggregate_documents(
        database, COLLECTION, [{"$match": where}, {"$group": total}]
    )
    return {group["_id"]: group["bytes"] for group in groups}


async def list_whole_files(database: driver.Database) -> set[str]:
    """Return the digests of the files of which no chunk is missing before the last that exists.

    This reads the ids of all chunks and no content.
    """
    numbers: dict[str, set[int]] = {}
    for chunk_id in await _list_chunk_ids(database):
        digest, _, number = chunk_id.partition("/")
        numbers.setdefault(digest, set()).add(int(number))
    return {digest for digest, found in numbers.items() if max(found) + 1 == len(found)}


async def _list_chunk_ids(database: driver.Database) -> list[str]:
    # The hint makes this a scan of the index alone: the chunks themselves are large.
    chunks = await driver.read_all(database[COLLECTION].find({}, {"_id": 1}).hint([("_id", 1)]))
    return [chunk["_id"] for chunk in chunks]


def _chunks_condition(digests: Iterable[str]) -> Document | None:
    # Chunk ids are the digest, "/" and a number; "0" is the character after "/".
    ranges = [{"_id": {"$gte": f"{digest}/", "$lt": f"{digest}0"}} for digest in sorted(digests)]
    return {"$or": ranges} if ranges else None


async def delete_unused_files(
    database: driver.Database,
    used_digests: Iterable[str | None],
    renew_lease: Callable[[driver.Session], Awaitable[object]],
) -> None:
    """Delete all other files. Requires the import lease: a file being imported has no user yet.

    `renew_lease` raises an error in each transaction that deletes, if the lease has been lost.
    """
    digests = set(used_digests)
    chunk_ids = await _list_chunk_ids(database)
    unused = [chunk_id for chunk_id in chunk_ids if chunk_id.partition("/")[0] not in digests]
    for start in range(0, len(unused), CHUNKS_PER_DELETION):
        part = unused[start : start + CHUNKS_PER_DELETION]

        async def delete(session: driver.Session, part: list[str] = part) -> None:
            await renew_lease(session)
            await database[COLLECTION].delete_many({"_id": {"$in": part}}, session=session)

        await driver.run_in_transaction(database.client, delete)
