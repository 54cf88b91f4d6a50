"""Find queries of one record and one list of it: a single command reads both.

See docs/decisions/storage/read-connections.md.
"""

from graphql import GraphQLObjectType

from resolvers.request.listing import first_page_of
from schema.compiler.selection import SelectedField, Selection
from schema.permissions import Requirement, requirement_of


def find_joined_list(
    selection: Selection, query_type: GraphQLObjectType | None
) -> tuple[SelectedField, SelectedField] | None:
    """Return the only field of a query, and the list that is read with the record that it gets.

    None unless the record has just one field with a resolver, and that lists records without
    counting them.
    """
    if len(selection) != 1 or not isinstance(root := selection[0], SelectedField):
        return None
    resolved = [each for each in root.nested_fields if each.field.base_resolver is not None]
    if root.parent is not query_type or root.children_by_type is not None or len(resolved) != 1:
        return None
    [listed] = resolved
    resolver = listed.field.base_resolver
    assert resolver is not None
    is_counted = any(each.is_resolved_per_level for each in listed.nested_fields)
    if first_page_of(resolver.wrapped_func) is None or is_counted:
        return None
    return (root, listed) if requirement_of(listed.definition) == Requirement() else None
