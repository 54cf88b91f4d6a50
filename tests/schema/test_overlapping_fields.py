"""Fields that conflict are found as by graphql-core, in one look at each."""

import pytest
from graphql import FieldNode, parse, validate
from graphql.validation import OverlappingFieldsCanBeMergedRule

from schema import validation
from schema.root import GRAPHQL_SCHEMA
from schema.validation import OverlappingFieldsRule

SAME = [
    "{ units { data { id } } units { data { name } } }",
    "{ a: units(page: 1) { data { id } } a: units(page: 1) { paging { next } } }",
    "query ($n: Int) { units(page: $n) { data { id } } ...F } "
    "fragment F on Query { units(page: $n) { data { x: name } } }",
    "{ units { data { ...F ...F ... { id } } } } fragment F on Unit { id floor { ...G } } "
    "fragment G on Floor { id asset { id } }",
    # What one object has in each fragment never meets.
    '{ node(id: "") { ... on Asset { a: name units(page: 1) { data { x: id } } }'
    " ... on Floor { a: shortLabel units(page: 2) { data { x: assetId } } } } }",
    '{ node(id: "") { nodeId ... on Node { nodeId } ... on Asset { nodeId id } } }',
    "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A units { data { id } } }",
]
CONFLICTING = [
    "{ units { data { id id: name } } }",
    "{ units(page: 1) { data { id } } units(page: 2) { data { id } } }",
    "{ units { data { id } } units(page: 2) { data { id } } }",
    "{ units { data { x: id } } ...F } fragment F on Query { units { data { x: name } } }",
    "{ units { data { floor { x: id } ...F } } } fragment F on Unit { floor { ...G } } "
    "fragment G on Floor { x: name }",
    '{ node(id: "") { ... on Asset { name: market } ... on Node { ... on Asset { name } } } }',
    '{ node(id: "") { x: nodeId ... on Asset { x: name } } }',
    '{ node(id: "") { ... on Asset { x: id } ... on Floor { x: sort } } }',
    '{ node(id: "") { ... on Asset { x: units { data { y: id } } }'
    " ... on Floor { x: units { data { y: name } } } } }",
    '{ node(id: "") { ... on Unit { attributes { data { id } } }'
    " ... on AttributeGroup { attributes { id } } } }",
    'query A { unit(id: "a") { id } } query B { unit(id: "a") { x: id x: name } }',
    "query ($n: Int, $m: Int) { units(page: $n) { data { id } } units(page: $m) { data { id } } }",
]


def conflicts(rule: type, text: str) -> int:
    return len(validate(GRAPHQL_SCHEMA, parse(text), [rule]))


@pytest.mark.parametrize("text", SAME + CONFLICTING)
def test_the_rule_agrees_with_that_of_graphql_core(text: str) -> None:
    expected = conflicts(OverlappingFieldsCanBeMergedRule, text)
    assert bool(expected) is (text in CONFLICTING)
    assert conflicts(OverlappingFieldsRule, text) == expected


def test_the_message_names_both_fields() -> None:
    [error] = validate(GRAPHQL_SCHEMA, parse(CONFLICTING[0]), [OverlappingFieldsRule])
    assert error.message.startswith("Fields 'id' conflict because 'id' and 'name' are different")
    assert [place.column for place in error.locations or []] == [18, 21]


def test_work_grows_with_the_number_of_fields_and_not_of_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    described = []
    describe = validation._describe_arguments

    def count(field: FieldNode) -> dict[str, str]:
        described.append(field)
        return describe(field)

    monkeypatch.setattr(validation, "_describe_arguments", count)
    fields = "units { data { " + "floor { id } " * 20 + "} } "
    assert conflicts(OverlappingFieldsRule, "{ " + fields * 20 + "}") == 0
    assert len(described) <= 20 * (2 + 20 * 2)


def test_nested_fragments_end_at_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "MAX_COMPARED_FIELDS", 50)
    chain = "".join(
        f"fragment F{n} on Unit {{ a{n}: floor {{ id }} ...F{n + 1} }} " for n in range(60)
    )
    text = f"{{ units {{ data {{ ...F0 }} }} }} {chain} fragment F60 on Unit {{ id }}"
    [error] = validate(GRAPHQL_SCHEMA, parse(text), [OverlappingFieldsRule])
    assert error.message == "Fragments select too many fields"
