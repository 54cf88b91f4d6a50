"""The GraphQL documents in the files that the builds of clients make.

| file | content |
|---|---|
| `.graphql`, `.gql` | one document |
| manifest of Apollo | `{"format": "apollo-persisted-query-manifest", "operations": [{id, body}]}` |
| Relay's persisted queries, `persisted-documents.json` of graphql-codegen | `{id: document}` |
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import graphql
import msgspec
from graphql import DocumentNode, GraphQLError, OperationDefinitionNode

from gateway.graphql.request import hash_document, split_document_id
from schema.root import GRAPHQL_SCHEMA
from schema.validation import RULES
from storage.administration.trusted_documents import TrustedDocument
from storage.errors import DocumentsError

MAX_LISTED_ERRORS = 100
MAX_MANIFEST_BYTES = 64_000_000
TEXT_SUFFIXES = (".graphql", ".gql")
SUFFIXES = (*TEXT_SUFFIXES, ".json")
_APOLLO_FORMAT = "apollo-persisted-query-manifest"


class _ApolloOperation(msgspec.Struct):
    id: str
    body: str


class _ApolloManifest(msgspec.Struct):
    format: Annotated[str, msgspec.Meta(pattern=f"^{_APOLLO_FORMAT}$")]
    operations: list[_ApolloOperation]


class FileDocument(NamedTuple):
    """A document, where it was found, and the id that it has there."""

    place: str
    text: str
    id: str | None = None


def read_documents(paths: Iterable[Path]) -> list[TrustedDocument]:
    """Return the documents in files and directories. Raises DocumentsError that names every error,
    up to MAX_LISTED_ERRORS.
    """
    documents: dict[str, TrustedDocument] = {}
    errors: list[str] = []
    for path in _list_files(paths):
        try:
            found = _read_file(path)
        except DocumentsError as error:
            errors.append(str(error))
            continue
        for each in found:
            try:
                document = _build_document(each)
            except DocumentsError as error:
                errors += str(error).splitlines()
                continue
            same = documents.get(document.sha256, document)
            ids = [*dict.fromkeys([*same.ids, *document.ids])]
            documents[document.sha256] = msgspec.structs.replace(document, ids=ids)
    if not documents and not errors:
        raise DocumentsError(f"there are no documents: no file ends in {', '.join(SUFFIXES)}")
    if errors:
        more = len(errors) - MAX_LISTED_ERRORS
        rest = [f"... and {more:,} more"] if more > 0 else []
        raise DocumentsError("\n".join([*errors[:MAX_LISTED_ERRORS], *rest]))
    return [*documents.values()]


def _list_files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES)
        else:
            yield path


def _read_file(path: Path) -> Sequence[FileDocument]:
    if path.stat().st_size > MAX_MANIFEST_BYTES:
        raise DocumentsError(f"{path}: has over {MAX_MANIFEST_BYTES:,} bytes")
    content = path.read_bytes()
    if path.suffix != ".json":
        try:
            return [FileDocument(str(path), content.decode())]
        except UnicodeDecodeError as error:
            raise DocumentsError(f"{path}: is not text in UTF-8") from error
    try:
        apollo = msgspec.json.decode(content, type=_ApolloManifest)
        pairs = [(each.id, each.body) for each in apollo.operations]
    except msgspec.ValidationError:
        try:
            pairs = [*msgspec.json.decode(content, type=dict[str, str]).items()]
        except msgspec.ValidationError as error:
            raise DocumentsError(
                f"{path}: is neither a manifest of Apollo nor an object of ids and documents,"
                f" as Relay and graphql-codegen write: {error}"
            ) from error
    except msgspec.DecodeError as error:
        raise DocumentsError(f"{path}: is not JSON: {error}") from error
    return [FileDocument(f"{path}: {id}", text, id) for id, text in pairs]


def _build_document(found: FileDocument) -> TrustedDocument:
    """Return a document to register. Raises DocumentsError, with one error a line."""
    try:
        document = graphql.parse(found.text)
        errors = graphql.validate(GRAPHQL_SCHEMA, document, RULES)
    except GraphQLError as error:
        errors = [error]
    if errors:
        raise DocumentsError("\n".join(_describe(found, error) for error in errors))
    operations = [
        definition.name.value if definition.name else ""
        for definition in document.definitions
        if isinstance(definition, OperationDefinitionNode)
    ]
    if not operations:
        raise DocumentsError(
            f"{found.place}: has no operation: register the manifest that the client's build"
            " makes, in which operations have their fragments"
        )
    ids = [hash_document(found.text), *_list_further_ids(found, document)]
    return TrustedDocument(
        ids=[*dict.fromkeys(ids)], operations=[*filter(None, operations)], text=found.text
    )


def _list_further_ids(found: FileDocument, document: DocumentNode) -> list[str]:
    if found.id is None:
        # Clients send documents without space around them, or as graphql-js prints them.
        return [hash_document(found.text.strip()), hash_document(graphql.print_ast(document))]
    try:
        digest, name = split_document_id(found.id)
    except ValueError as error:
        raise DocumentsError(f"{found.place}: the id {error}") from error
    if digest is not None and digest != hash_document(found.text):
        raise DocumentsError(
            f"{found.place}: the id looks like a SHA-256, but that of the document is"
            f" {hash_document(found.text)}: build the manifest again"
        )
    return [name] if name else []


def _describe(found: FileDocument, error: GraphQLError) -> str:
    location = error.locations[0] if error.locations else None
    where = f":{location.line}:{location.column}" if location else ""
    return f"{found.place}{where}: " + " ".join(error.message.splitlines())
