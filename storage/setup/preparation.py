"""Collections, validators and indexes: made when missing, left alone when right."""

from typing import Any

from pymongo import IndexModel
from pymongo.errors import CollectionInvalid, OperationFailure

from storage import keys
from storage.catalog import KINDS
from storage.mongo import driver
from storage.records.kinds import Document, Kind
from storage.setup.validators import build_validator

NAMESPACE_EXISTS_CODE = 48


KEY_INDEXES = [IndexModel([("digest", 1)], unique=True)]


async def prepare_database(database: driver.Database) -> None:
    """Makes the database ready to serve.

    Idempotent, and safe while other gateways do the same: MongoDB makes each collection and index
    once, whoever asks first, and a validator is only set when it differs.
    """
    with driver.translate_errors():
        existing = {info["name"]: info for info in await _list_collections(database)}
        for kind in KINDS:
            await _prepare_collection(database, kind, existing.get(kind.name))
        await database[keys.KEYS_COLLECTION].create_indexes(KEY_INDEXES)


async def _list_collections(database: driver.Database) -> list[Any]:
    reply = await database.command("listCollections")
    batch: list[Any] = reply["cursor"]["firstBatch"]
    return batch


async def _prepare_collection(
    database: driver.Database, kind: Kind[Any], existing: Document | None
) -> None:
    rule = build_validator(kind)
    if existing is None:
        await _create_collection(database, kind, rule)
    elif existing["options"].get("validator") != rule:
        await database.command("collMod", kind.name, validator=rule)
    if kind.indexes:
        await database[kind.name].create_indexes(
            [IndexModel([(field, 1) for field in index]) for index in kind.indexes]
        )


async def _create_collection(database: driver.Database, kind: Kind[Any], rule: Document) -> None:
    try:
        await database.create_collection(kind.name, validator=rule)
    except CollectionInvalid:
        pass  # another gateway was faster
    except OperationFailure as error:
        if error.code != NAMESPACE_EXISTS_CODE:
            raise
