"""Build the OpenAPI 3.1 description from the table of endpoints and the GraphQL schema."""

from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final

import yaml
from graphql import GraphQLSchema

from rest.endpoint_table import ENDPOINTS, Endpoint
from rest.envelopes import (
    LINK_HEADER,
    TOTAL_COUNT_HEADER,
    WARNINGS_HEADER,
    MapParse,
    PagedList,
    PictureResource,
)
from rest.graphql_documents import LIST_CHANGES
from rest.openapi import examples, parsed_maps, responses
from rest.openapi.json_schemas import MissingDescriptionError, ResultSchemaReader, hoist_titled
from rest.openapi.objects import OpenApiObject
from rest.openapi.overview import DESCRIPTION, LICENSE, TAG_DESCRIPTIONS
from rest.openapi.request_descriptions import (
    HEADER_PARAMETERS,
    SECURITY_SCHEMES,
    describe_body,
    describe_parameters,
)
from rest.openapi.requirements import required_flags, required_permissions
from rest.parameters import EndpointInputs
from schema.definitions import meaning_of
from schema.execution import Executor, Operation
from schema.operation_inputs import JsonSchema

CONTACT: Final = {"name": "The operator of this service"}
SERVER: Final = {"description": "This service.", "x-internal": False}
"""`x-internal` is how linters know for whom a server is."""
RELEASE_DATE: Final = "20261121"
"""When this version of the API was released: YYYYMMDD."""


def build_description(
    source: Executor | GraphQLSchema, base_url: str | None = None
) -> OpenApiObject:
    """Return the description of every endpoint. Do not change it: most of it is cached.

    `base_url` is the URL of the service; by default, the one that serves the description.
    """
    schema = source.schema if isinstance(source, Executor) else source
    described = _describe_all(schema)
    # A contact's URL is absolute (OpenAPI 3.1, 4.8.3).
    contact = {**CONTACT, **({"url": f"{base_url.rstrip('/')}/v1/openapi"} if base_url else {})}
    info = {**described["info"], "contact": contact}
    return {**described, "info": info, "servers": [{"url": base_url or "/", **SERVER}]}


def to_yaml(description: OpenApiObject) -> str:
    """Return the description as YAML, with its keys in the same order."""
    return yaml.dump(
        description, Dumper=_YamlDumper, sort_keys=False, allow_unicode=True, width=100
    )


class _YamlDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    # PyYAML would write an object that occurs twice as an anchor and an alias.
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
    """Return the description of some endpoints, without servers.

    Raises MissingDescriptionError.
    """
    builder = _DescriptionBuilder(schema)
    for endpoint in endpoints:
        builder.add_endpoint(endpoint)
    return builder.build()


class _DescriptionBuilder:
    def __init__(self, schema: GraphQLSchema) -> None:
        self.executor = Executor(schema)
        self.paths: dict[str, OpenApiObject] = {}
        self.schemas: dict[str, JsonSchema] = {}
        self.parameters: dict[str, OpenApiObject] = dict(HEADER_PARAMETERS)
        self.tags: set[str] = set()
        self.statuses: set[int] = set()

    def add_endpoint(self, endpoint: Endpoint) -> None:
        """Add an endpoint."""
        operation = self.executor.prepare(endpoint.document)
        inputs = EndpointInputs.read(self.executor.schema, endpoint, operation)
        results = ResultSchemaReader(self.executor.schema, operation)
        self.tags.add(endpoint.tag)
        described = {
            "operationId": self._operation_id(endpoint, operation),
            "summary": endpoint.summary,
            "description": _endpoint_description(endpoint, operation, results),
            "tags": [endpoint.tag],
            **_deprecation_members(endpoint),
            **_permission_extension(operation),
            **({} if endpoint.spec_id.startswith("E") else {"x-extension": True}),
            **({"x-stability": "experimental"} if required_flags(operation) else {}),
            "parameters": describe_parameters(
                endpoint, inputs, required_flags(operation), self.parameters
            ),
            **describe_body(endpoint.body, inputs, self.schemas),
            "responses": self._describe_responses(endpoint, inputs, results),
        }
        self.paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = described

    def build(self) -> OpenApiObject:
        """Return the description of everything added."""
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
                "contact": CONTACT,
                "license": LICENSE,
            },
            "servers": [],
            "security": [{name: []} for name in SECURITY_SCHEMES],
            "tags": [
                {"name": name, "description": text}
                for name, text in TAG_DESCRIPTIONS.items()
                if name in self.tags
            ],
            "paths": self.paths,
            "components": {
                "schemas": self._schemas(),
                "responses": responses.response_components(self.statuses),
                "parameters": self.parameters,
                "headers": responses.HEADER_COMPONENTS,
                "securitySchemes": SECURITY_SCHEMES,
            },
        }

    def _schemas(self) -> dict[str, JsonSchema]:
        elements = parsed_maps.COMPONENT_SCHEMAS if "ParsedMap" in self.schemas else {}
        return {**dict(sorted(self.schemas.items())), **elements, **responses.ERROR_SCHEMAS}

    @staticmethod
    def _operation_id(endpoint: Endpoint, operation: Operation) -> str:
        """Return the GraphQL operation's name in camelCase."""
        name = operation.name or endpoint.spec_id
        return name[0].lower() + name[1:]

    def _describe_responses(
        self,
        endpoint: Endpoint,
        inputs: EndpointInputs,
        results: ResultSchemaReader,
    ) -> OpenApiObject:
        statuses = sorted(_error_statuses(endpoint))
        self.statuses.update(statuses)
        return {
            str(endpoint.envelope.status): self._describe_success(endpoint, inputs, results),
            **{str(status): responses.response_reference(status) for status in statuses},
        }

    def _describe_success(
        self, endpoint: Endpoint, inputs: EndpointInputs, results: ResultSchemaReader
    ) -> OpenApiObject:
        caching = ("Cache-Control", "Vary")
        more = responses.DEPRECATION_HEADERS if endpoint.deprecation else {}
        if endpoint.envelope.status == HTTPStatus.NO_CONTENT:
            return {
                "description": f"{endpoint.summary}.",
                "headers": responses.header_references(*caching) | more,
            }
        if isinstance(endpoint.envelope, PictureResource):
            return {
                "description": f"{endpoint.summary}.",
                "headers": responses.header_references("ETag", *caching),
                "content": {
                    name: {"schema": {"type": "string", "format": "binary"}}
                    for name in endpoint.envelope.media_types.values()
                },
            }
        resource = results.read_schema(endpoint.envelope.result_path)
        path = endpoint.path.format_map(
            {name: source.definition.example for name, source in inputs.path.items()}
        )
        example = examples.build_example_response(endpoint.envelope, resource, path)
        tags = ("ETag",) if endpoint.method == "GET" else ()
        own: tuple[str, ...] = ()
        if isinstance(endpoint.envelope, PagedList):
            own = (LINK_HEADER, TOTAL_COUNT_HEADER)
        elif isinstance(endpoint.envelope, MapParse):
            own = (WARNINGS_HEADER,)
        schema = hoist_titled(endpoint.envelope.json_schema(resource), self.schemas)
        return {
            "description": f"{endpoint.summary}.",
            "headers": responses.header_references(*own, *tags, *caching) | more,
            "content": {endpoint.envelope.media_type: {"schema": schema, "example": example.body}},
        }


def _error_statuses(endpoint: Endpoint) -> set[int]:
    statuses = {*responses.COMMON_STATUSES}
    if endpoint.method == "GET":
        statuses.add(304)
    if "{" in endpoint.path:
        statuses.add(404)
    if endpoint.body is not None:
        statuses |= {413, 415}
    if endpoint.document == LIST_CHANGES:
        statuses.add(410)
    if endpoint.changes:
        statuses.add(412)
    return statuses


def _deprecation_members(endpoint: Endpoint) -> OpenApiObject:
    if endpoint.deprecation is None:
        return {}
    link = endpoint.deprecation.link
    return {"deprecated": True, **({"externalDocs": {"url": link}} if link else {})}


def _permission_extension(operation: Operation) -> OpenApiObject:
    # OpenAPI 3.1 (4.8.30) wants the roles of an API key in `security`; linters reject them there.
    permissions = required_permissions(operation)
    return {"x-permission": ", ".join(permissions)} if permissions else {}


def _endpoint_description(
    endpoint: Endpoint, operation: Operation, result_schema: ResultSchemaReader
) -> str:
    field, _ = result_schema.find_field(endpoint.envelope.result_path)
    sentences = [meaning_of(field) or f"{endpoint.summary}."]
    if permission := _permission_extension(operation):
        sentences.append(f"The key needs the permission `{permission['x-permission']}`.")
    if flags := required_flags(operation):
        sentences.append(
            f"Experimental: the header `Experimental-Flags` must include `{flags[0]}`."
        )
    if endpoint.deprecation is not None:
        sentences.append(endpoint.deprecation.sentence)
    return "\n\n".join(sentences)
