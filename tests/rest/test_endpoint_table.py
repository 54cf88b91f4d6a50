"""The table of endpoints: paths, and the operations of further paths."""

import re

import pytest

from rest.endpoint_table import ENDPOINTS, Endpoint


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.path)
def test_path_parameters_are_in_the_path(endpoint: Endpoint) -> None:
    assert endpoint.path.startswith("/v1/")
    assert len(set(endpoint.path_parameters)) == endpoint.path.count("{")


def test_a_further_path_has_the_same_operation_under_another_name() -> None:
    first, other = (row for row in ENDPOINTS if row.spec_id == "E17")
    assert (first.path.split("/")[2], other.path.split("/")[2]) == ("unitmaps", "maps")
    name = re.compile(r"\Aquery \w+")
    assert name.match(first.document) and name.match(other.document)
    assert name.sub("", first.document) == name.sub("", other.document)
    assert first.document != other.document
    assert other.summary == f"{first.summary}, as at /v1/unitmaps"


def test_a_body_is_sent_to_every_writing_endpoint_alone() -> None:
    assert {row.method for row in ENDPOINTS if row.body is None} == {"GET"}
    assert {row.method for row in ENDPOINTS if row.body is not None} == {"POST", "PUT"}
