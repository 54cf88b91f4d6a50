"""The documents of the endpoints suit the schema of the peer that executes them."""

import pytest
from graphql import parse, validate

from bench.peers import strawberry_stock
from rest import graphql_documents


@pytest.mark.parametrize(
    "document",
    [
        strawberry_stock._LIST_UNITS,
        strawberry_stock._LIST_LEVEL_TAGS,
        strawberry_stock._LIST_LOCATIONS,
        graphql_documents.GET_UNIT,
    ],
)
def test_the_stock_schema_has_what_a_document_asks_for(document: str) -> None:
    assert validate(strawberry_stock.SCHEMA._schema, parse(document)) == []
