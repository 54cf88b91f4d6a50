"""The query parameter `fields`: which members of resources a response has.

It is not in the OpenAPI description, where it would make every member of every resource optional:
docs/decisions/rest/requests-and-responses.md.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

from graphql import GraphQLArgument, GraphQLList, GraphQLNonNull, GraphQLSchema, GraphQLString

from rest.bodies import DATA
from rest.endpoint_table import Endpoint
from rest.envelopes import DocumentResource, Envelope
from rest.openapi.json_schemas import ResultSchemaReader
from schema.execution import Operation
from schema.operation_inputs import Input, InputDefinition, InputViolation, JsonSchema

FIELDS: Final = "fields"


def build_fields_input(
    schema: GraphQLSchema, endpoint: Endpoint, operation: Operation
) -> Input | None:
    """Return the input `fields` of an endpoint; None if it does not return resources to a GET."""
    if endpoint.method != "GET" or isinstance(endpoint.envelope, DocumentResource):
        return None
    resource = ResultSchemaReader(schema, operation).read_schema(endpoint.envelope.result_path)
    names = _list_members(endpoint.envelope, resource)

    def check(chosen: Sequence[str]) -> list[InputViolation]:
        unknown = next((name for name in chosen if name not in names), None)
        if unknown is None:
            return []
        return [InputViolation("", f"must be among {', '.join(names)}, not {unknown[:100]!r}")]

    type = GraphQLList(GraphQLNonNull(GraphQLString))
    return Input(FIELDS, type, GraphQLArgument(type), InputDefinition(), check)


def select_fields(body: Any, names: Collection[str]) -> Any:
    """Return a body with only these members of its resources, which are in `data` if it has that.

    >>> select_fields({"id": "u1", "name": "101"}, ["id"])
    {'id': 'u1'}
    """
    if DATA in body:
        return {**body, DATA: _select(body[DATA], names)}
    return _select(body, names)


def _select(value: Any, names: Collection[str]) -> Any:
    if isinstance(value, list):
        return [_select(item, names) for item in value]
    if value is None:
        return None
    return {name: member for name, member in value.items() if name in names}


def _list_members(envelope: Envelope, resource: JsonSchema) -> list[str]:
    """Return the members of an endpoint's resources."""
    body = envelope.json_schema(resource)
    body = body["properties"].get(DATA, body)
    if "oneOf" in body:  # or null
        body = body["oneOf"][0]
    return [*body.get("items", body)["properties"]]
