"""Build the OpenAPI 3.1 description from the endpoints and the GraphQL schema."""

import json
from collections.abc import Iterable
from functools import cache, lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import yaml
from graphql import GraphQLSchema, get_named_type

from rest.endpoint_files import Endpoint, built_in_endpoints
from rest.openapi import map_schemas, responses
from rest.openapi.api_index import required_flags, required_permissions
from rest.openapi.example_values import make_example
from rest.openapi.json_schemas import MissingDescriptionError, ResultSchemaReader, hoist_titled
from rest.openapi.map_schemas import OpenApiObject
from rest.openapi.requests import (
    HEADER_PARAMETERS,
    SECURITY_SCHEMES,
    describe_body,
    describe_parameters,
)
from rest.openapi.sdk_methods import SDK_METHODS
from rest.parameters import EndpointInputs
from rest.responses import (
    LINK_HEADER,
    TOTAL_COUNT_HEADER,
    WARNINGS_HEADER,
    DrawingForm,
    PageForm,
    PictureForm,
)
from schema.definitions import EXPLAIN_PERMISSION, FLAGS, meaning_of
from schema.execution import Executor, Operation
from schema.operation_inputs import MAX_ID_CHARACTERS, JsonSchema

DESCRIPTION: Final = f"""\
Properties, their floors and units, and the interactive maps that show them. The same directory is
a graph at `/graphql`.

**Keys.** Every request needs an API key in the header `API-Key`, or in the query parameter
`api-key`, which browser histories and logs may keep. A key sees its assets and what
belongs to them; anything else returns 404 or is left out of lists. Some operations also need a
permission.

**Ids** are opaque strings of 1 to {MAX_ID_CHARACTERS} characters, compared exactly. In paths they
are percent-encoded and may hold any character, `/` included.

**Libraries** for Python and TypeScript are installed [from the service](/clients/); the samples use
them.

**Lists** come in pages, ordered by id. `paging.next_url` and `paging.prev_url`, and the header
`Link`, lead to the next and the previous page with the same filters. A page past the end is empty.

**Caching.** Every response to GET has a strong `ETag`. Send it in `If-None-Match`: the response for
an unchanged resource is 304 without a body. With `If-Match`, that for a changed one is 412.
Responses are compressed for clients that accept zstd or gzip.

**Methods.** HEAD works wherever GET does, OPTIONS everywhere, with `Allow`. Any other method is
405, with `Allow`. An unknown path is 404.

**Errors** have a `message` for people, a `code` that does not change, the `request_id` that is also
in the service's log, and `docs`, the address of [a page](/v1/errors) that explains the code. Those
of invalid inputs have `fields`, from the name of an input to its errors. Unknown query parameters
are ignored; a repeated known one is an error.

**Experimental** operations may change without notice. They need the header `Experimental-Flags`, a
list of flags separated by commas: {", ".join(f"`{flag}`" for flag in FLAGS)}.

**Explanations.** With the header `Floorgate-Explain: true`, the response to any request is how the
service carries it out: the GraphQL operation, requirements, cost, MongoDB commands with their
indexes, and what the caches have. The key needs the permission `{EXPLAIN_PERMISSION}`. Only reads
are run.

**Versions.** Resources, optional parameters and properties may be added, and properties reordered,
at any time; any other change makes a new version, with a prefix other than `/v1`.
"""

TAG_DESCRIPTIONS: Final = {
    "Assets": "Properties.",
    "Floors": "The storeys of an asset.",
    "Units": "Apartments, shops, offices.",
    "Maps": "Interactive floor plans with their backgrounds, level tags and units.",
    "References": "Ids of assets and units in third-party systems.",
    "Unit attributes": "Attributes of units, in groups, and which unit holds which.",
    "Locations": "Places on a map: units, amenities, points of interest.",
    "Changes": "What was created, updated and removed.",
    "Distances": "Distances and routes between the locations of a map.",
}
"""Descriptions of the groups of operations, in their order in the description."""

LICENSE: Final = {"name": "MIT License", "identifier": "MIT"}
"""The licence of the service, as in `LICENSE` and pyproject.toml (SPDX identifier)."""
EXAMPLES_FILE: Final = Path(__file__).with_name("examples.json")
"""Examples of responses by operation id, as the demo property has sent them: `make examples`."""
CONTACT: Final = {"name": "The operator of this service"}
SERVER: Final = {"description": "This service.", "x-internal": False}
"""`x-internal` is how linters know for whom a server is."""
RELEASE_DATE: Final = "20261121"
"""When this version of the API was released: YYYYMMDD."""


def build_description(schema: GraphQLSchema, base_url: str | None = None) -> OpenApiObject:
    """Return the description of every endpoint. Do not change it: most of it is cached.

    `base_url` is the URL of the service; by default, the one that serves the description.
    """
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
    return describe_endpoints(schema, built_in_endpoints())


def describe_endpoints(schema: GraphQLSchema, endpoints: Iterable[Endpoint]) -> OpenApiObject:
    """Return the description of some endpoints, without servers.

    Raises MissingDescriptionError.
    """
    builder = DescriptionBuilder(schema)
    for endpoint in endpoints:
        builder.add_endpoint(endpoint)
    return builder.build()


class DescriptionBuilder:
    """Describes endpoints, and collects the components that their descriptions refer to."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self.executor = Executor(schema, compile_queries=False)
        self.paths: dict[str, OpenApiObject] = {}
        self.schemas: dict[str, JsonSchema] = {}
        self.parameters: dict[str, OpenApiObject] = dict(HEADER_PARAMETERS)
        self.tags: set[str] = set()
        self.statuses: set[int] = set()

    def add_endpoint(self, endpoint: Endpoint) -> None:
        self.tags.add(endpoint.tag)
        self.paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = self.describe(endpoint)

    def describe(self, endpoint: Endpoint) -> OpenApiObject:
        """Return the OpenAPI object of an endpoint's operation.

        That of an operator's endpoint has its schemas in it, and examples made from them.
        """
        is_own = bool(endpoint.source)
        operation = self.executor.prepare(endpoint.document)
        inputs = EndpointInputs.read(self.executor.schema, endpoint, operation)
        results = ResultSchemaReader(self.executor.schema, operation)
        method = SDK_METHODS.get(_operation_id(endpoint))
        return {
            "operationId": _operation_id(endpoint),
            "summary": endpoint.summary,
            "description": _endpoint_description(endpoint, operation, results),
            "tags": [endpoint.tag],
            **({"deprecated": True} if endpoint.deprecation else {}),
            **_permission_extension(operation),
            **({} if endpoint.number.startswith("E") else {"x-extension": True}),
            **({"x-sdk-method": method} if method else {}),
            **({"x-stability": "experimental"} if required_flags(operation) else {}),
            "parameters": describe_parameters(
                endpoint, inputs, required_flags(operation), None if is_own else self.parameters
            ),
            **describe_body(endpoint.body, inputs, None if is_own else self.schemas),
            "responses": self._describe_responses(endpoint, results),
        }

    def build(self) -> OpenApiObject:
        if unknown := self.tags - {*TAG_DESCRIPTIONS}:
            raise MissingDescriptionError(
                f"rest.openapi.description.TAG_DESCRIPTIONS does not describe {', '.join(unknown)}"
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
                "schemas": {
                    **dict(sorted(self.schemas.items())),
                    **(map_schemas.COMPONENT_SCHEMAS if "ParsedMap" in self.schemas else {}),
                    **responses.ERROR_SCHEMAS,
                },
                "responses": responses.response_components(self.statuses),
                "parameters": self.parameters,
                "headers": responses.HEADER_COMPONENTS,
                "securitySchemes": SECURITY_SCHEMES,
            },
        }

    def _describe_responses(self, endpoint: Endpoint, results: ResultSchemaReader) -> OpenApiObject:
        statuses = sorted(_error_statuses(endpoint, results))
        self.statuses.update(statuses)
        return {
            str(endpoint.form.status): self._describe_success(endpoint, results),
            **{str(status): responses.response_reference(status) for status in statuses},
        }

    def _describe_success(self, endpoint: Endpoint, results: ResultSchemaReader) -> OpenApiObject:
        form, names = endpoint.form, ["Cache-Control", "Vary"]
        content: OpenApiObject = {}
        if endpoint.method == "GET":
            names.insert(0, "ETag")
        if isinstance(form, PageForm):
            names = [LINK_HEADER, TOTAL_COUNT_HEADER, *names]
        elif isinstance(form, DrawingForm):
            names.insert(0, WARNINGS_HEADER)
        if isinstance(form, PictureForm):
            schema: JsonSchema = {"type": "string", "format": "binary"}
            content = {media_type: {"schema": schema} for media_type in form.media_types.values()}
        elif form.status != HTTPStatus.NO_CONTENT:
            whole = form.json_schema(results.read_schema(form.result_path))
            schema = hoist_titled(whole, None if endpoint.source else self.schemas)
            example = (
                make_example(whole)
                if endpoint.source
                else _read_examples().get(_operation_id(endpoint))
            )
            shown = {} if example is None else {"example": example}
            content = {form.media_type: {"schema": schema, **shown}}
        more = responses.DEPRECATION_HEADERS if endpoint.deprecation else {}
        return {
            "description": f"{endpoint.summary.removesuffix('.')}.",
            "headers": responses.header_references(*names) | more,
            **({"content": content} if content else {}),
        }


def _operation_id(endpoint: Endpoint) -> str:
    """Return the GraphQL operation's name in camelCase."""
    return endpoint.name[0].lower() + endpoint.name[1:]


@cache
def _read_examples() -> dict[str, Any]:
    examples: dict[str, Any] = json.loads(EXAMPLES_FILE.read_bytes())
    return examples


def _error_statuses(endpoint: Endpoint, results: ResultSchemaReader) -> set[int]:
    statuses = {*responses.COMMON_STATUSES}
    if endpoint.method == "GET":
        statuses.add(304)
    if "{" in endpoint.path:
        statuses.add(404)
    if endpoint.body is not None:
        statuses |= {413, 415}
    field = results.find_field(endpoint.form.result_path)
    if get_named_type(field.type).name == "ChangeBatch":
        statuses.add(410)
    if endpoint.changes:
        statuses.add(412)
    return statuses


def _permission_extension(operation: Operation) -> OpenApiObject:
    # OpenAPI 3.1 (4.8.30) wants the roles of an API key in `security`; linters reject them there.
    permissions = required_permissions(operation)
    return {"x-permission": ", ".join(permissions)} if permissions else {}


def _endpoint_description(
    endpoint: Endpoint, operation: Operation, result_schema: ResultSchemaReader
) -> str:
    field = result_schema.find_field(endpoint.form.result_path)
    of_field = "" if endpoint.source else meaning_of(field)  # which may say more than it has
    sentences = [endpoint.description or of_field or f"{endpoint.summary.removesuffix('.')}."]
    if permission := _permission_extension(operation):
        sentences.append(f"The key needs the permission `{permission['x-permission']}`.")
    if flags := required_flags(operation):
        names = " and ".join(f"`{flag}`" for flag in flags)
        sentences.append(f"Experimental: the header `Experimental-Flags` must include {names}.")
    if endpoint.deprecation is not None:
        sentences.append(endpoint.deprecation.sentence)
    return "\n\n".join(sentences)
