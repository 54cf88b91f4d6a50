"""The OpenAPI 3.1 description, made from the table of endpoints and the GraphQL schema."""

from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final

import yaml
from graphql import GraphQLSchema

from rest.envelopes import JsonSchema
from rest.openapi import examples, inputs, parsed_maps, responses
from rest.openapi.json_schemas import MissingDescriptionError, ResultSchemaReader, hoist_titled
from rest.openapi.overview import DESCRIPTION, LICENSE, TAG_DESCRIPTIONS
from rest.table import ENDPOINTS, Endpoint
from schema.execution import Executor, Operation

RELEASE_DATE: Final = "20261121"
"""When this version of the API was released: YYYYMMDD."""

OpenApiObject = dict[str, Any]


def build_description(
    source: Executor | GraphQLSchema, base_url: str | None = None
) -> OpenApiObject:
    """The description of every endpoint, to be read only.

    `base_url` is the address that clients use; without it, the one they read this from.
    """
    schema = source.schema if isinstance(source, Executor) else source
    described = _describe_all(schema)
    return {**described, "servers": [{"url": base_url or "/"}]}


def to_yaml(description: OpenApiObject) -> str:
    """The description as YAML, its keys in the order of the description."""
    return yaml.dump(
        description, Dumper=_YamlDumper, sort_keys=False, allow_unicode=True, width=100
    )


class _YamlDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.Node:
        style = "|" if "\n" in text else None
        node: yaml.Node = self.represent_scalar("tag:yaml.org,2002:str", text, style)
        return node


_YamlDumper.add_representer(str, _YamlDumper.represent_text)


@lru_cache(maxsize=4)
def _describe_all(schema: GraphQLSchema) -> OpenApiObject:
    return describe_endpoints(schema, ENDPOINTS)


def describe_endpoints(schema: GraphQLSchema, endpoints: Iterable[Endpoint]) -> OpenApiObject:
    """The description of some endpoints, without servers. Raises Undescribed."""
    writer = _DescriptionBuilder(schema)
    for row in endpoints:
        writer.add_endpoint(row)
    return writer.build()


class _DescriptionBuilder:
    def __init__(self, schema: GraphQLSchema) -> None:
        self.executor = Executor(schema)
        self.paths: dict[str, OpenApiObject] = {}
        self.schemas: dict[str, JsonSchema] = {}
        self.tags: set[str] = set()
        self.statuses: set[int] = set()
        self.operation_ids: set[str] = set()

    def add_endpoint(self, endpoint: Endpoint) -> None:
        """Describes one endpoint."""
        operation = self.executor.prepare(endpoint.document)
        selected = ResultSchemaReader(self.executor.schema, operation)
        self.tags.add(endpoint.tag)
        described = {
            "operationId": self._operation_id(endpoint, operation),
            "summary": endpoint.summary,
            "description": _endpoint_description(endpoint, operation, selected),
            "tags": [endpoint.tag],
            **_permission_extension(operation),
            **({} if endpoint.number.startswith("E") else {"x-extension": True}),
            "parameters": inputs.describe_parameters(endpoint, _required_flags(operation)),
            **inputs.describe_body(endpoint.body, self.schemas),
            "responses": self._describe_responses(endpoint, operation, selected),
        }
        self.paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = described

    def build(self) -> OpenApiObject:
        """Everything that was added."""
        if unknown := self.tags - {*TAG_DESCRIPTIONS}:
            raise MissingDescriptionError(
                f"rest.openapi.overview.TAG_DESCRIPTIONS does not describe {', '.join(unknown)}"
            )
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
                for name, text in TAG_DESCRIPTIONS.items()
                if name in self.tags
            ],
            "paths": self.paths,
            "components": {
                "schemas": self._schemas(),
                "responses": responses.response_components(self.statuses),
                "parameters": inputs.HEADER_PARAMETERS,
                "headers": responses.HEADER_COMPONENTS,
                "securitySchemes": inputs.SECURITY_SCHEMES,
            },
        }

    def _schemas(self) -> dict[str, JsonSchema]:
        elements = parsed_maps.COMPONENT_SCHEMAS if "ParsedMap" in self.schemas else {}
        return {**dict(sorted(self.schemas.items())), **elements, **responses.ERROR_SCHEMAS}

    def _operation_id(self, endpoint: Endpoint, operation: Operation) -> str:
        """The GraphQL operation's name; a second path of the same operation gets a longer one."""
        name = operation.name or endpoint.number
        identifier = name[0].lower() + name[1:]
        if identifier in self.operation_ids:
            identifier += "Of" + endpoint.path.split("/")[2].capitalize()
        self.operation_ids.add(identifier)
        return identifier

    def _describe_responses(
        self, row: Endpoint, operation: Operation, selected: ResultSchemaReader
    ) -> OpenApiObject:
        statuses = sorted(_error_statuses(row, operation))
        self.statuses.update(statuses)
        return {
            str(row.success_status): self._describe_success(row, selected),
            **{str(status): responses.response_reference(status) for status in statuses},
        }

    def _describe_success(self, row: Endpoint, selected: ResultSchemaReader) -> OpenApiObject:
        caching = ("Cache-Control", "Vary")
        if row.success_status == HTTPStatus.NO_CONTENT:
            return {
                "description": f"{row.summary}.",
                "headers": responses.header_references(*caching),
            }
        picked = selected.read_schema(row.envelope.result_path)
        shaped = examples.build_example_response(row.envelope, picked, row.path)
        tags = ("ETag",) if row.method == "GET" else ()
        links = ("Link",) if shaped.link_header else ()
        schema = hoist_titled(row.envelope.json_schema(picked), self.schemas)
        return {
            "description": f"{row.summary}.",
            "headers": responses.header_references(*links, *tags, *caching),
            "content": {row.media_type: {"schema": schema, "example": shaped.body}},
        }


def _error_statuses(endpoint: Endpoint, operation: Operation) -> set[int]:
    failures = {*responses.COMMON_STATUSES}
    if endpoint.method == "GET":
        failures.add(304)
    if "{" in endpoint.path:
        failures.add(404)
    if _required_flags(operation):
        failures.add(400)
    if endpoint.body is not None:
        failures |= {400, 413, 415}
    return failures


def _required_flags(operation: Operation) -> list[str]:
    return sorted({demand.flag for demand in operation.requirements if demand.flag})


def _permission_extension(operation: Operation) -> OpenApiObject:
    # Roles of an API key belong into `security` (OpenAPI 3.1, 4.8.30), where linters refuse them.
    needed = sorted({demand.permission for demand in operation.requirements if demand.permission})
    return {"x-permission": ", ".join(needed)} if needed else {}


def _endpoint_description(
    endpoint: Endpoint, operation: Operation, result_schema: ResultSchemaReader
) -> str:
    field, _ = result_schema.find_field(endpoint.envelope.result_path)
    sentences = [endpoint.description or field.description or f"{endpoint.summary}."]
    if needed := _permission_extension(operation):
        sentences.append(f"The key needs the permission `{needed['x-permission']}`.")
    if flags := _required_flags(operation):
        sentences.append(
            f"Experimental: the header `Experimental-Flags` must include `{flags[0]}`."
        )
    return "\n\n".join(sentences)
