"""Files kept in MongoDB under the SHA-256 digest of their content.

A file never changes, so writing one twice is no matter, and one that no record names yet is not
there for anybody. Chunks keep each document below MongoDB's 16 MB.
"""

import hashlib
from collections.abc import Iterable

from storage.mongo import driver

COLLECTION = "files"
CHUNK_BYTES = 8 << 20


async def write_file(database: driver.Database, content: bytes) -> str:
    """Keeps a file; returns its digest."""
    digest = hashlib.sha256(content).hexdigest()
    chunks = [
        {
            "_id": f"{digest}/{number:06}",
            "file": digest,
            "bytes": content[start : start + CHUNK_BYTES],
        }
        for number, start in enumerate(range(0, max(len(content), 1), CHUNK_BYTES))
    ]
    for chunk in chunks:
        await database[COLLECTION].update_one(
            {"_id": chunk["_id"]}, {"$setOnInsert": chunk}, upsert=True
        )
    return digest


async def read_file(
    database: driver.Database, digest: str, session: driver.Session = None
) -> bytes | None:
    """The content of a file; None when it is not there, or being written or swept."""
    return (await read_files(database, [digest], session)).get(digest)


async def read_files(
    database: driver.Database, digests: Iterable[str], session: driver.Session = None
) -> dict[str, bytes]:
    """The contents of those files that are there and whole, by digest: one command for all."""
    ranges = [{"_id": {"$gte": f"{digest}/", "$lt": f"{digest}0"}} for digest in sorted(digests)]
    if not ranges:
        return {}
    found = database[COLLECTION].find({"$or": ranges}, {"file": 1, "bytes": 1}, session=session)
    contents: dict[str, bytearray] = {}
    async for chunk in found.sort("_id", 1):
        contents.setdefault(chunk["file"], bytearray()).extend(chunk["bytes"])
    return {
        digest: bytes(content)
        for digest, content in contents.items()
        if hashlib.sha256(content).hexdigest() == digest
    }


async def delete_unused_files(
    database: driver.Database, used_digests: Iterable[str | None]
) -> None:
    """Deletes every file but those. Only for the holder of the turn to import, who alone writes."""
    digests = set(used_digests)
    # The hint keeps MongoDB to the index: the chunks themselves are large.
    chunks = await database[COLLECTION].find({}, {"_id": 1}).hint([("_id", 1)]).to_list(None)
    gone = [chunk["_id"] for chunk in chunks if chunk["_id"].partition("/")[0] not in digests]
    await database[COLLECTION].delete_many({"_id": {"$in": gone}})
