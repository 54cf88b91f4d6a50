"""The OpenAPI 3.1 description, made from the table of endpoints and the GraphQL schema."""

from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final

import yaml
from graphql import GraphQLSchema

from rest import examples, inputs, parsed_maps, responses
from rest.json_schemas import Selected, Undescribed, hoisted
from rest.overview import DESCRIPTION, LICENSE, TAGS
from rest.shapes import JsonSchema
from rest.table import ROWS, Row
from schema.execution import Executor, Operation

RELEASE_DATE: Final = "20261121"
"""When this version of the API was released: YYYYMMDD."""

Described = dict[str, Any]


def describe(source: Executor | GraphQLSchema, base_url: str | None = None) -> Described:
    """The description of every endpoint, to be read only.

    `base_url` is the address that clients use; without it, the one they read this from.
    """
    schema = source.schema if isinstance(source, Executor) else source
    described = _of_table(schema)
    return {**described, "servers": [{"url": base_url or "/"}]}


def to_yaml(description: Described) -> str:
    """The description as YAML, its keys in the order of the description."""
    return yaml.dump(description, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.Node:
        style = "|" if "\n" in text else None
        node: yaml.Node = self.represent_scalar("tag:yaml.org,2002:str", text, style)
        return node


_Dumper.add_representer(str, _Dumper.represent_text)


@lru_cache(maxsize=4)
def _of_table(schema: GraphQLSchema) -> Described:
    return describe_rows(schema, ROWS)


def describe_rows(schema: GraphQLSchema, rows: Iterable[Row]) -> Described:
    """The description of some endpoints, without servers. Raises Undescribed."""
    writer = _Writer(schema)
    for row in rows:
        writer.add(row)
    return writer.description()


class _Writer:
    def __init__(self, schema: GraphQLSchema) -> None:
        self.executor = Executor(schema)
        self.paths: dict[str, Described] = {}
        self.schemas: dict[str, JsonSchema] = {}
        self.tags: set[str] = set()
        self.statuses: set[int] = set()
        self.operation_ids: set[str] = set()

    def add(self, row: Row) -> None:
        """Describes one endpoint."""
        operation = self.executor.prepare(row.document)
        selected = Selected(self.executor.schema, operation)
        self.tags.add(row.tag)
        described = {
            "operationId": self._operation_id(row, operation),
            "summary": row.summary,
            "description": _description(row, operation, selected),
            "tags": [row.tag],
            **_permission(operation),
            **({} if row.number.startswith("E") else {"x-extension": True}),
            "parameters": inputs.parameters(row, _flags(operation)),
            **inputs.body(row.body, self.schemas),
            "responses": self._responses(row, operation, selected),
        }
        self.paths.setdefault(row.path, {})[row.method.lower()] = described

    def description(self) -> Described:
        """Everything that was added."""
        if unknown := self.tags - {*TAGS}:
            raise Undescribed(f"rest.overview.TAGS does not describe {', '.join(unknown)}")
        return {
            "openapi": "3.1.0",
            "info": {
                "title": "Floorgate",
                "version": f"v1.{RELEASE_DATE}",
                "summary": "An indoor-map and unit-directory service.",
                "description": DESCRIPTION,
                "contact": {"name": "The operator of this service"},
                "license": LICENSE,
            },
            "servers": [],
            "security": [{name: []} for name in inputs.SECURITY_SCHEMES],
            "tags": [
                {"name": name, "description": text}
                for name, text in TAGS.items()
                if name in self.tags
            ],
            "paths": self.paths,
            "components": {
                "schemas": self._schemas(),
                "responses": responses.components(self.statuses),
                "parameters": inputs.HEADER_PARAMETERS,
                "headers": responses.HEADER_COMPONENTS,
                "securitySchemes": inputs.SECURITY_SCHEMES,
            },
        }

    def _schemas(self) -> dict[str, JsonSchema]:
        elements = parsed_maps.COMPONENTS if "ParsedMap" in self.schemas else {}
        return {**dict(sorted(self.schemas.items())), **elements, **responses.SCHEMAS}

    def _operation_id(self, row: Row, operation: Operation) -> str:
        """The GraphQL operation's name; a second path of the same operation gets a longer one."""
        name = operation.name or row.number
        identifier = name[0].lower() + name[1:]
        if identifier in self.operation_ids:
            identifier += "Of" + row.path.split("/")[2].capitalize()
        self.operation_ids.add(identifier)
        return identifier

    def _responses(self, row: Row, operation: Operation, selected: Selected) -> Described:
        statuses = sorted(_failures(row, operation))
        self.statuses.update(statuses)
        return {
            str(row.status): self._success(row, selected),
            **{str(status): responses.reference(status) for status in statuses},
        }

    def _success(self, row: Row, selected: Selected) -> Described:
        caching = ("Cache-Control", "Vary")
        if row.status == HTTPStatus.NO_CONTENT:
            return {"description": f"{row.summary}.", "headers": responses.headers(*caching)}
        picked = selected.json_schema(row.shape.path)
        shaped = examples.response(row.shape, picked, row.path)
        tags = ("ETag",) if row.method == "GET" else ()
        links = ("Link",) if shaped.link else ()
        schema = hoisted(row.shape.described(picked), self.schemas)
        return {
            "description": f"{row.summary}.",
            "headers": responses.headers(*links, *tags, *caching),
            "content": {row.media_type: {"schema": schema, "example": shaped.body}},
        }


def _failures(row: Row, operation: Operation) -> set[int]:
    failures = {*responses.ALWAYS}
    if row.method == "GET":
        failures.add(304)
    if "{" in row.path:
        failures.add(404)
    if _flags(operation):
        failures.add(400)
    if row.body is not None:
        failures |= {400, 413, 415}
    return failures


def _flags(operation: Operation) -> list[str]:
    return sorted({demand.flag for demand in operation.demands if demand.flag})


def _permission(operation: Operation) -> Described:
    # Roles of an API key belong into `security` (OpenAPI 3.1, 4.8.30), where linters refuse them.
    needed = sorted({demand.permission for demand in operation.demands if demand.permission})
    return {"x-permission": ", ".join(needed)} if needed else {}


def _description(row: Row, operation: Operation, selected: Selected) -> str:
    field, _ = selected.field(row.shape.path)
    sentences = [row.description or field.description or f"{row.summary}."]
    if needed := _permission(operation):
        sentences.append(f"The key needs the permission `{needed['x-permission']}`.")
    if flags := _flags(operation):
        sentences.append(
            f"Experimental: the header `Experimental-Flags` must include `{flags[0]}`."
        )
    return "\n\n".join(sentences)
