"""Trusted documents: the GraphQL documents that an operator has registered.

A document is found by any of its ids: the SHA-256 of its text, and those that tools gave it, such
as an MD5. See docs/decisions/graphql/persisted-queries.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from storage.administration import audit
from storage.administration.audit import AuditEntry
from storage.errors import DocumentsError
from storage.mongo import driver
from storage.records.kinds import Document, current_timestamp

DOCUMENTS_COLLECTION = "trusted_documents"
DOCUMENT_INDEXES = [driver.IndexModel([("ids", 1)], unique=True)]
MAX_TRUSTED_DOCUMENTS = 10_000


class TrustedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A registered document. Its `ids` begin with the SHA-256 of its text."""

    ids: list[str]
    operations: list[str] = []
    text: str
    registered_at: str = ""

    @property
    def sha256(self) -> str:
        """The digest of the text, which is the key of the stored document."""
        return self.ids[0]


class Registration(NamedTuple):
    """The numbers of documents that were new, had new ids, or were registered already."""

    added: int
    changed: int
    unchanged: int


async def register_documents(
    database: driver.Database, documents: Iterable[TrustedDocument]
) -> Registration:
    """Register documents, and the further ids of those that are registered; all or none.

    Raises DocumentsError if an id is that of another document, or if there are too many;
    UnavailableError.
    """
    wanted = {document.sha256: document for document in documents}

    async def register(session: driver.Session) -> tuple[Registration, AuditEntry]:
        collection = database[DOCUMENTS_COLLECTION]
        ids = [id for document in wanted.values() for id in document.ids]
        found = await driver.read_all(collection.find({"ids": {"$in": ids}}, session=session))
        stored = {each.sha256: each for each in msgspec.convert(found, list[TrustedDocument])}
        _check_ids(stored, wanted)
        added = [wanted[key] for key in wanted.keys() - stored.keys()]
        changed = [
            (stored[key], wanted[key])
            for key in stored
            if key in wanted and not {*wanted[key].ids} <= {*stored[key].ids}
        ]
        now = current_timestamp()
        if inserted := [
            {"_id": each.sha256, **msgspec.to_builtins(each), "registered_at": now}
            for each in added
        ]:
            await collection.insert_many(inserted, session=session)
        for before, after in changed:
            ids = [*dict.fromkeys([*before.ids, *after.ids])]
            await collection.update_one(
                {"_id": after.sha256}, {"$set": {"ids": ids}}, session=session
            )
        # After the insertion, so that two commands at a time cannot pass the limit together.
        counted = await driver.aggregate_documents(
            database, DOCUMENTS_COLLECTION, [{"$count": "count"}], session=session
        )
        if added and counted[0]["count"] > MAX_TRUSTED_DOCUMENTS:
            raise DocumentsError(
                f"{counted[0]['count']:,} documents would be registered, and"
                f" {MAX_TRUSTED_DOCUMENTS:,} may be: remove those that no client uses any longer"
            )
        registration = Registration(
            len(added), len(changed), len(wanted) - len(added) - len(changed)
        )
        return registration, audit.build_entry(
            "documents.registered",
            DOCUMENTS_COLLECTION,
            {
                "inserted": [each.sha256 for each in added],
                "updated": [each.sha256 for each, _ in changed],
            },
        )

    return await audit.run_audited(database, None, register)


async def remove_documents(database: driver.Database, ids: Sequence[str] | None) -> list[str]:
    """Remove the documents with these ids, or all of them; return the digests of those removed.

    Raises UnavailableError.
    """
    where: Document = {} if ids is None else {"ids": {"$in": [*ids]}}

    async def remove(session: driver.Session) -> tuple[list[str], AuditEntry]:
        collection = database[DOCUMENTS_COLLECTION]
        keys = sorted(await collection.distinct("_id", where, session=session))
        await collection.delete_many({"_id": {"$in": keys}}, session=session)
        return keys, audit.build_entry("documents.removed", DOCUMENTS_COLLECTION, {"removed": keys})

    return await audit.run_audited(database, None, remove)


async def list_documents(database: driver.Database) -> list[TrustedDocument]:
    """Return all documents, by the names of their operations. Raises UnavailableError."""
    with driver.translate_errors():
        stored = await driver.read_all(database[DOCUMENTS_COLLECTION].find())
    found = msgspec.convert(stored, list[TrustedDocument])
    return sorted(found, key=lambda each: (each.operations, each.sha256))


async def find_document(database: driver.Database, id: str) -> TrustedDocument | None:
    """Return the document with this id. Raises UnavailableError."""
    with driver.translate_errors():
        stored = await database[DOCUMENTS_COLLECTION].find_one({"ids": {"$eq": id}})
    return msgspec.convert(stored, TrustedDocument | None)


def _check_ids(
    stored: Mapping[str, TrustedDocument], wanted: Mapping[str, TrustedDocument]
) -> None:
    """Raise DocumentsError if two documents have the same id."""
    owners: dict[str, str] = {}
    for key, document in [*stored.items(), *wanted.items()]:
        for id in document.ids:
            if owners.setdefault(id, key) != key:
                names = " and ".join(
                    sorted((wanted.get(each) or stored[each]).sha256 for each in (owners[id], key))
                )
                raise DocumentsError(
                    f"the id {id!r} would be that of two documents, {names}: give the new one"
                    f" another id, or remove the old one with floorgate documents remove {id}"
                )
