"""Which lists are read with the record that they are of, and that all else is as without it."""

from types import SimpleNamespace
from typing import Any

import pytest
from graphql.execution.values import VariableValues

from resolvers.request.listing import MAX_JOINED_RECORDS
from schema.compiler.field_resolvers import FieldResolvers
from schema.compiler.runtime import RunInfo
from schema.compiler.selection import SelectedField
from schema.root import GRAPHQL_SCHEMA
from storage.records.paging import Order
from tests.fixtures import HIDDEN, HIDDEN_MAP, MAP, SEEN
from tests.schema.compiler.test_selection import collect
from tests.schema.executor_comparison import CALLERS, STORES, ExecutorComparison
from tests.schema.operations import DrawnOperation

ID = "{ data { id } }"


def find_page(text: str) -> Any:
    """Return the page that is read with the record of a query, or None."""
    resolvers, selection = FieldResolvers(GRAPHQL_SCHEMA), collect(text)
    resolvers.join_list(selection)
    root = selection[0]
    assert isinstance(root, SelectedField)
    listed = resolvers.get(root).joined_list
    if listed is None:
        return None
    context: Any = SimpleNamespace(with_first_page=lambda page: page)
    run = RunInfo(context, VariableValues({}, {}))
    joined = listed.read_with_record(run)
    return None if joined is run else joined.context


@pytest.mark.parametrize(
    ("text", "kind", "order", "size"),
    [
        (f"{{ asset(id: 1) {{ floors {ID} }} }}", "floors", Order("sort"), 100),
        (f"{{ asset(id: 1) {{ name units(first: 7) {ID} }} }}", "units", Order(), 7),
        (f"{{ floor(id: 1) {{ units(orderBy: name_desc, page: 1) {ID} __typename }} }}", "units",
         Order("name", True), 100),
        (f"{{ map(id: 1) {{ backgrounds(perPage: 100) {ID} }} }}", "backgrounds", Order(), 100),
        ("{ map(id: 1) { levelTags(perPage: 9000) { data { key } } } }", "level_tags", Order(),
         9000),
        ("{ floor(id: 1) { units { data { asset { name } } } } }", "units", Order(), 100),
    ],
)  # fmt: skip
def test_a_record_and_its_only_list_are_read_together(
    text: str, kind: str, order: Order, size: int
) -> None:
    page = find_page(text)
    assert page.relation.kind.name == kind
    assert (page.request.order, page.request.per_page) == (order, size)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{ asset(id: 1) { id } }", "there is no list"),
        (f"{{ asset(id: 1) {{ floors {ID} units {ID} }} }}", "there are two"),
        (f"{{ a: asset(id: 1) {{ floors {ID} }} b: asset(id: 2) {{ floors {ID} }} }}",
         "all assets are read with one command, and all floors with another"),
        (f"{{ assets {{ data {{ floors {ID} }} }} }}", "there are many assets"),
        (f'{{ node(id: "x") {{ ... on Asset {{ floors {ID} }} }} }}', "it may be of any type"),
        ("{ asset(id: 1) { floors { totalCount } } }", "the list is counted"),
        (f"{{ asset(id: 1) {{ units(page: 2) {ID} }} }}", "a bookmark may save the skipping"),
        (f'{{ asset(id: 1) {{ units(after: "x") {ID} }} }}', "two ranges may be read"),
        (f"{{ asset(id: 1) {{ units(ids: [1]) {ID} }} }}", "there is a filter"),
        (f'{{ asset(id: 1) {{ units(search: "a") {ID} }} }}', "words are counted first"),
        (f"{{ asset(id: 1) {{ units(perPage: {MAX_JOINED_RECORDS + 1}) {ID} }} }}",
         "MongoDB reads long lists faster alone"),
        (f"{{ asset(id: 1) {{ units(perPage: 0) {ID} }} }}", "it is an error"),
        (f"{{ map(id: 1) {{ units {ID} }} }}", "the condition needs the asset of the map"),
        (f"{{ map(id: 1) {{ locations {ID} }} }}", "it needs a flag"),
    ],
)  # fmt: skip
def test_everything_else_is_read_one_after_the_other(text: str, reason: str) -> None:
    assert find_page(text) is None, reason


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("caller", CALLERS[:2])
def test_answers_are_those_of_separate_reads(
    comparison: ExecutorComparison, caller: str, store: str
) -> None:
    """Also of records that are damaged, hidden, or absent, and of lists that are."""
    fields = "{ paging { next } data { id name createdAt } }"
    texts = [
        f'{{ asset(id: "{asset}") {{ id market {name}(perPage: 2) {fields} }} }}'
        for asset in (SEEN, HIDDEN, "none")
        for name in ("floors", "units", "maps")
    ]
    texts += [
        f'query ($a: ID = "unit-1") {{ asset(id: "{SEEN}") {{ units(ids: [$a]) {ID} }} }}',
        f'{{ map(id: "{MAP}") {{ style levelTags {{ data {{ key values {{ name }} }} }} }} }}',
        f'{{ map(id: "{HIDDEN_MAP}") {{ backgrounds {{ edges {{ node {{ id }} }} }} }} }}',
        '{ floor(id: "n-2") { sort units { data { id name floor { sort } } } } }',
    ]
    for text in texts:
        comparison.check(DrawnOperation(text, {}), caller, store)
    assert comparison.answered > comparison.invalid == 0
