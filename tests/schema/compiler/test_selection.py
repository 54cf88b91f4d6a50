"""The fields of an operation: fragments are flattened, conditions applied, repetitions merged."""

from typing import Any

import pytest
from graphql import parse
from graphql.language import OperationDefinitionNode

from schema.compiler import selection
from schema.compiler.selection import (
    FieldCollector,
    SelectedField,
    Selection,
    UnsupportedQueryError,
    fragments_by_name,
)
from schema.root import GRAPHQL_SCHEMA


def collect(text: str, **conditions: bool) -> Selection:
    document = parse(text)
    node = document.definitions[0]
    assert isinstance(node, OperationDefinitionNode)
    assert GRAPHQL_SCHEMA.query_type is not None
    collector = FieldCollector(GRAPHQL_SCHEMA, fragments_by_name(document), conditions)
    return collector.collect_fields([node.selection_set], GRAPHQL_SCHEMA.query_type)


def tree(fields: Selection) -> dict[str, Any]:
    """Return response keys, with those inside of them."""
    return {
        field.response_key: tree(field.children) if isinstance(field, SelectedField) else "typename"
        for field in fields
    }


def test_fields_have_their_response_keys_in_order_of_first_appearance() -> None:
    fields = collect("{ b: units { data { id } } a: assets { data { name } } }")
    assert tree(fields) == {"b": {"data": {"id": {}}}, "a": {"data": {"name": {}}}}
    assert [*tree(fields)] == ["b", "a"]


def test_repeated_fields_are_merged() -> None:
    fields = collect("{ units { data { id } } units { data { name } paging { next } } }")
    assert tree(fields) == {"units": {"data": {"id": {}, "name": {}}, "paging": {"next": {}}}}


def test_fragments_are_flattened() -> None:
    text = """{ unit(id: "u") { ...A ... on Unit { floor { id } } ... on Asset { market } } }
        fragment A on Unit { id ...B } fragment B on Unit { floor { name } }"""
    assert tree(collect(text)) == {"unit": {"id": {}, "floor": {"name": {}, "id": {}}}}


@pytest.mark.parametrize(
    ("condition", "is_included"),
    [
        ("@skip(if: $yes)", False),
        ("@skip(if: $no)", True),
        ("@include(if: $yes)", True),
        ("@include(if: $no)", False),
        ("@include(if: false)", False),
        ("@skip(if: $no) @include(if: $no)", False),
    ],
)
def test_conditions_apply_to_fields_and_fragments(condition: str, is_included: bool) -> None:
    text = "{ assets { paging { next } } %s } fragment A on Query { units { data { id } } }"
    for conditional in (f"units {condition} {{ data {{ id }} }}", f"...A {condition}"):
        fields = collect(text % conditional, yes=True, no=False)
        assert ("units" in tree(fields)) is is_included


def test_a_field_knows_whether_resolvers_are_called_inside() -> None:
    units, names = collect("{ units { data { floor { id } } } assets { data { name } } }")
    assert isinstance(units, SelectedField) and isinstance(names, SelectedField)
    assert units.is_resolved_per_level and units.has_nested_resolvers
    assert names.is_resolved_per_level and not names.has_nested_resolvers
    assert units.is_object and str(units.output_type) == "UnitPage"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{ __schema { queryType { name } } }", "introspection by __schema"),
        ("{ units { data { id @skip(if: 1) } } }", "neither a variable nor a boolean"),
    ],
)
def test_what_only_graphql_core_supports_is_an_error(text: str, message: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=message):
        collect(text)


def test_fragments_may_not_multiply_fields_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MAX_FIELDS", 6)
    text = "{ a: units { data { ...A } } b: units { data { ...A } } } fragment A on Unit { id }"
    assert tree(collect(text))
    with pytest.raises(UnsupportedQueryError, match="more than 6 fields"):
        collect(text.replace("{ id }", "{ id name }"))
