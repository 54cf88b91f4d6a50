"""What bounds the value of a field in a response, as keywords of JSON Schema."""

from typing import Final

from graphql import GraphQLField, GraphQLObjectType

from resolvers.request.input_rules import InputDefinition, Range
from resolvers.request.record_limits import get_record_limits
from schema.definitions import PAGE_DATA_FIELD, definition_of, is_page, strawberry_field_of
from schema.operation_inputs import JsonSchema
from schema.paging import MAX_PER_PAGE

LIMIT_ARGUMENT: Final = "limit"


def get_output_limits(parent: GraphQLObjectType, field: GraphQLField) -> JsonSchema:
    """Return the limits of a field: of its record, its own rules, its page or its `limit`."""
    definition = strawberry_field_of(field)
    if definition is None:
        return {}
    limits: JsonSchema = {}
    if is_page(parent) and definition.python_name == PAGE_DATA_FIELD:
        limits["maxItems"] = MAX_PER_PAGE
    if (argument := field.args.get(LIMIT_ARGUMENT)) is not None:
        for rule in definition_of(argument).rules:
            limits |= {"maxItems": rule.maximum} if isinstance(rule, Range) else {}
    limits |= get_record_limits().get(parent.name, {}).get(definition.python_name, {})
    for rule in InputDefinition.from_metadata(definition.metadata).rules:
        limits |= rule.json_schema()
    return limits
