"""Errors of enums that say what would be right, in place of graphql-core's."""

from typing import Any

from graphql import ConstValueNode, EnumValueNode, GraphQLError, GraphQLSchema, print_ast
from strawberry.schema.schema_converter import CustomGraphQLEnumType

from resolvers.request.errors import MAX_QUOTED_CHARACTERS
from schema.input_errors import quote_json


class ExplainedEnumType(CustomGraphQLEnumType):
    """An enum with errors such as `A TravelMode must be foot or wheelchair, not 'bus'`."""

    def coerce_input_value(self, input_value: Any, hide_suggestions: bool = False) -> Any:
        """Return the member of this name. Raises GraphQLError."""
        if not isinstance(input_value, str) or input_value not in self.values:
            raise GraphQLError(self._explain(quote_json(input_value)))
        return super().coerce_input_value(input_value, hide_suggestions)

    def coerce_input_literal(
        self, value_node: ConstValueNode, hide_suggestions: bool = False
    ) -> Any:
        """Return the member that a document names. Raises GraphQLError."""
        if not isinstance(value_node, EnumValueNode):
            shown = print_ast(value_node)[:MAX_QUOTED_CHARACTERS]
            hint = " without quotation marks," if shown.startswith('"') else ","
            raise GraphQLError(self._explain(shown, hint), value_node)
        if value_node.value not in self.values:
            raise GraphQLError(self._explain(value_node.value[:MAX_QUOTED_CHARACTERS]), value_node)
        return super().coerce_input_literal(value_node, hide_suggestions)

    def _explain(self, shown: str, hint: str = ",") -> str:
        *others, last = self.values
        choice = f"{', '.join(others)} or {last}" if others else last
        return f"A value of {self.name} must be {choice}{hint} not {shown}"


def explain_enums(schema: GraphQLSchema) -> None:
    """Let all enums of a schema that strawberry made explain their errors."""
    for type in schema.type_map.values():
        if isinstance(type, CustomGraphQLEnumType):
            type.__class__ = ExplainedEnumType
