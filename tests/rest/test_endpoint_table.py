"""The table of endpoints: paths, and the operations of further paths."""

import re
from collections import defaultdict

import pytest

from rest.endpoint_table import ENDPOINTS, Endpoint
from storage.assets import ASSETS
from storage.maps import MAPS
from storage.units import UNITS


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


def test_ids_that_a_path_of_the_table_shadows_cannot_be_imported() -> None:
    paths = [path.split("/") for path in {row.path for row in ENDPOINTS}]
    reserved = {
        "assets": ASSETS.reserved_ids,
        "units": UNITS.reserved_ids,
        "maps": MAPS.reserved_ids,
    }
    shadowed = defaultdict(set)
    for path in paths:
        collection, name = path[2], path[3] if len(path) > 3 else "{}"
        if not name.startswith("{"):
            shadowed[collection].add(name)
    assert reserved == shadowed


def test_a_body_is_sent_to_every_writing_endpoint_alone() -> None:
    assert {row.method for row in ENDPOINTS if row.body is None} == {"GET"}
    assert {row.method for row in ENDPOINTS if row.body is not None} == {"POST", "PUT"}
