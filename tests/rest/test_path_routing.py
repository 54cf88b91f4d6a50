"""Finding the route of a path as it was sent."""

import pytest
from starlette.applications import Starlette

from rest.path_routing import PathRoute, PathRouter, split_path
from rest.scope_members import SCOPE_ROUTE

PATHS = (
    "/v1/units",
    "/v1/units/{unit}",
    "/v1/units/references",
    "/v1/maps/{map}/units/{unit}",
    "/v1/maps/parse",
)
ROUTES = PathRouter([PathRoute(path, {}) for path in PATHS], Starlette())


def found(raw_path: bytes) -> tuple[str, dict[str, str | None]] | None:
    segments = split_path({"type": "http", "raw_path": raw_path, "path": ""})
    route = ROUTES.find(segments)
    if route is None:
        return None
    members = route.build_scope(segments)
    return members[SCOPE_ROUTE], members["path_params"]


@pytest.mark.parametrize(
    ("raw_path", "path", "parameters"),
    [
        (b"/v1/units", "/v1/units", {}),
        (b"/v1/units/u1", "/v1/units/{unit}", {"unit": "u1"}),
        (b"/v1/units/a%2Fb", "/v1/units/{unit}", {"unit": "a/b"}),
        (b"/v1/units/%E2%82%AC", "/v1/units/{unit}", {"unit": "\u20ac"}),
        (b"/v1/units/", "/v1/units/{unit}", {"unit": ""}),
        (b"/v1/units/%zz", "/v1/units/{unit}", {"unit": None}),
        (b"/v1/units/\xff", "/v1/units/{unit}", {"unit": None}),
        (b"/v1/units/" + 256 * b"x", "/v1/units/{unit}", {"unit": None}),
        (b"/v1/units/a%00b", "/v1/units/{unit}", {"unit": None}),
        (b"/v1/maps/m/units/u", "/v1/maps/{map}/units/{unit}", {"map": "m", "unit": "u"}),
    ],
)
def test_a_path_is_split_before_it_is_decoded(
    raw_path: bytes, path: str, parameters: dict[str, str | None]
) -> None:
    assert found(raw_path) == (path, parameters)


@pytest.mark.parametrize("raw_path", [b"/v1/units/references", b"/v1/units/%72eferences"])
def test_a_segment_that_is_named_goes_before_any(raw_path: bytes) -> None:
    assert found(raw_path) == ("/v1/units/references", {})


@pytest.mark.parametrize("end", ["", "/x"])
def test_a_segment_that_is_named_sooner_goes_before_one_that_is_named_later(end: str) -> None:
    paths = (f"/{{kind}}/latest{end}", f"/units/{{unit}}{end}")
    routes = PathRouter([PathRoute(path, {}) for path in paths], Starlette())
    route = routes.find(["", "units", "latest", *end.split("/")[1:]])
    assert route is not None and route.path == paths[1]


def test_a_named_segment_that_leads_nowhere_is_taken_as_any() -> None:
    assert found(b"/v1/maps/parse/units/u") == (
        "/v1/maps/{map}/units/{unit}",
        {"map": "parse", "unit": "u"},
    )


@pytest.mark.parametrize(
    "raw_path", [b"", b"/", b"/v1", b"/v1/units/a/b", b"/v2/units", b"v1/units"]
)
def test_other_paths_have_no_route(raw_path: bytes) -> None:
    assert found(raw_path) is None
