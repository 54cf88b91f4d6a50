"""Databases of workers of pytest, and the drivers to read them by."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pymongo import MongoClient

from storage.mongo import driver
from storage.setup.preparation import prepare_database

Documents = Mapping[str, Sequence[dict[str, Any]]]
"""The documents of collections, by name."""
Catalog = Mapping[str, tuple[dict[str, Any], dict[str, dict[str, Any]]]]
"""The options and indexes of collections, by name."""


class ReusedDatabase:
    """A prepared database, of which the collections and indexes stay between tests."""

    def __init__(self, mongo_url: str) -> None:
        self._client = MongoClient[dict[str, Any]](mongo_url)
        self._url = mongo_url
        self.name = uuid.uuid4().hex
        self._prepare()
        self._catalog = read_catalog(self._client, self.name)
        self._prepared = read_documents(self._client, self.name)

    def refill(self, documents: Documents | None = None) -> None:
        """Leave `documents` in the database, by default what a prepared one has.

        What a test did to collections, validators and indexes is undone.
        """
        database, found = self._client[self.name], read_catalog(self._client, self.name)
        for name, each in found.items():
            if self._catalog.get(name) == each:
                database[name].delete_many({})
            else:
                database.drop_collection(name)
        if read_catalog(self._client, self.name) != self._catalog:
            self._prepare()
        for name, content in (self._prepared if documents is None else documents).items():
            database[name].delete_many({})
            if content:
                database[name].insert_many(content)

    def close(self) -> None:
        """Drop the database."""
        self._client.drop_database(self.name)
        self._client.close()

    def _prepare(self) -> None:
        asyncio.run(_prepare_database(self._url, self.name))


def read_catalog(client: MongoClient[dict[str, Any]], database: str) -> Catalog:
    """Return the options and indexes of each collection."""
    pipeline: list[dict[str, Any]] = [{"$listCatalog": {}}, {"$match": {"db": database}}]
    catalog = {}
    for found in client.admin.aggregate(pipeline):
        options = {k: v for k, v in found["md"]["options"].items() if k != "uuid"}
        specs = [index["spec"] for index in found["md"]["indexes"]]
        catalog[found["name"]] = options, {spec["name"]: spec for spec in specs}
    return catalog


def read_documents(client: MongoClient[dict[str, Any]], database: str) -> Documents:
    """Return all documents of a database."""
    names = client[database].list_collection_names()
    return {name: list(client[database][name].find()) for name in names}


async def _prepare_database(mongo_url: str, name: str) -> None:
    client = driver.connect(mongo_url, timeout_seconds=30)
    await prepare_database(client[name])
    await driver.close(client)


EACH_DRIVER = ["motor", pytest.param("pymongo", marks=pytest.mark.slow)]
"""The fast tests use the default driver."""
