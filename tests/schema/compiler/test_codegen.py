"""The code that is generated for an operation."""

from graphql import parse
from graphql.language import OperationDefinitionNode

from schema.compiler.codegen import CodeWriter
from schema.compiler.field_resolvers import FieldResolvers
from schema.compiler.selection import FieldCollector, fragments_by_name
from schema.root import GRAPHQL_SCHEMA


def generate(text: str) -> str:
    document = parse(text)
    node = document.definitions[0]
    assert isinstance(node, OperationDefinitionNode)
    assert GRAPHQL_SCHEMA.query_type is not None
    collector = FieldCollector(GRAPHQL_SCHEMA, fragments_by_name(document), {})
    selection = collector.collect_fields([node.selection_set], GRAPHQL_SCHEMA.query_type)
    return CodeWriter(FieldResolvers(GRAPHQL_SCHEMA)).write_operation(selection)


def test_a_resolver_is_called_once_for_a_level_and_plain_fields_are_read_in_place() -> None:
    code = generate("{ units { data { n: name floor { name } } } }")
    assert code.count("async def field_") == 2  # Query.units and Unit.floor
    assert "'n': (v if type(v := " in code
    assert code.count("await run.resolve(") == 2


def test_values_of_the_query_are_bound_and_not_written() -> None:
    code = generate("{ unit(id: \"__import__('os')\") { id } }")
    assert "__import__" not in code
