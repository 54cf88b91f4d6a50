"""Which endpoints cannot stand together."""

import random
import time

import pytest

from rest.endpoint_files import Address, find_clashes
from tests.endpoints import ENDPOINTS

BUILT_IN = [endpoint.address for endpoint in ENDPOINTS]


def test_the_built_in_endpoints_stand_together() -> None:
    assert find_clashes(BUILT_IN) == {}


@pytest.mark.parametrize(
    ("name", "method", "path", "clash"),
    [
        ("listUnits", "GET", "/v1/x/a", "The name ListUnits is taken, by GET /v1/units"),
        ("list_units", "GET", "/v1/x/a", "The name ListUnits is taken, by GET /v1/units"),
        ("List_Units", "GET", "/v1/x/a", "The name ListUnits is taken, by GET /v1/units"),
        (
            "A",
            "GET",
            "/v1/units/{unit}",
            "GET /v1/units/{unit} collides with GET /v1/units/{unit} of GetUnit",
        ),
        (
            "A",
            "PUT",
            "/v1/units/{id}",
            "PUT /v1/units/{id} collides with GET /v1/units/{unit} of GetUnit",
        ),
        (
            "A",
            "GET",
            "/v1/{a}/attribute-groups",
            "GET /v1/{a}/attribute-groups collides with GET /v1/assets/{asset} of GetAsset",
        ),
    ],
)
def test_an_endpoint_cannot_stand_beside_another(
    name: str, method: str, path: str, clash: str
) -> None:
    clashes = find_clashes([*BUILT_IN, Address(name, method, path)])
    assert clash in clashes[name][0]


def test_other_methods_and_more_specific_paths_stand_together() -> None:
    paths = ("/v1/x/{a}", "/v1/x/{a}/{b}", "/v1/x/a/{b}", "/v1/x/a/b", "/v1/x/a/b/{c}", "/v1/x/a/c")
    both = [
        Address(f"{method}{number}", method, path)
        for method in ("GET", "PUT")
        for number, path in enumerate(paths)
    ]
    assert find_clashes([*BUILT_IN, *both]) == {}


@pytest.mark.parametrize(
    ("changes", "path", "clash"),
    [
        ("ListUnits", "/v1/x/a", None),
        ("GetUnit", "/v1/x/{unit}", None),
        ("Nothing", "/v1/x/a", "must name an endpoint; there is no Nothing"),
        ("SetClosures", "/v1/x/a", "must name a GET, and SetClosures is a PUT"),
        ("GetUnit", "/v1/x/{id}", "the path must have {unit}, as /v1/units/{unit} does"),
    ],
)
def test_what_an_endpoint_changes_is_a_get_at_the_same_parameters(
    changes: str, path: str, clash: str | None
) -> None:
    clashes = find_clashes([*BUILT_IN, Address("Change", "PUT", path, changes)])
    assert [*clashes] == ([] if clash is None else ["Change"])
    assert clash is None or clash in clashes["Change"][0]


def test_two_thousand_endpoints_are_compared_quickly() -> None:
    drawn = random.Random(1)
    paths = {
        "/v1/x/" + "/".join(drawn.choice(("{p}", "a", "b", str(number))) for _ in range(5))
        for number in range(2_000)
    }
    many = [Address(f"A{number}", "GET", path) for number, path in enumerate(sorted(paths))]
    begin = time.thread_time()
    assert find_clashes([*BUILT_IN, *many])
    assert time.thread_time() - begin < 2
