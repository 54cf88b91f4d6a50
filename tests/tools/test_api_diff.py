"""`make api-diff FROM=<ref>`: what a release changes in both APIs, and what breaks clients."""

from typing import Any

import pytest
from click.testing import CliRunner

from tools.api_diff import ROOT, Mark, main, openapi_changes, sdl_changes

in_a_clone = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the git repository")
UNIT = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


def described(
    *,
    parameters: tuple[dict[str, Any], ...] = (),
    body: dict[str, Any] | None = None,
    answer: dict[str, Any] = UNIT,
    path: str = "/v1/units",
    permission: str | None = None,
) -> dict[str, Any]:
    """A description of one endpoint."""
    operation: dict[str, Any] = {"x-permission": permission} if permission else {}
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Unit"}}}
    if body is not None:
        operation["requestBody"] = {"content": {"application/json": {"schema": body}}}
    return {
        "paths": {
            path: {
                "get": {
                    "parameters": list(parameters),
                    "responses": {"200": {"content": content}},
                    **operation,
                }
            }
        },
        "components": {"schemas": {"Unit": answer}},
    }


def parameter(name: str, *, required: bool = False, **schema: Any) -> dict[str, Any]:
    return {"in": "query", "name": name, "required": required, "schema": schema}


def unit(required: tuple[str, ...] = ("id",), **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def lines(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[Mark, str]]:
    prefix = "GET /v1/units: "
    return [(mark, text.removeprefix(prefix)) for mark, text in openapi_changes(before, after)]


NONE = described()
PAGE, MUST = (described(parameters=(parameter("page", required=r),)) for r in (False, True))
NAME: dict[str, Any] = {"id": {"type": "string"}, "name": {"type": "string"}}


def test_a_description_does_not_differ_from_itself() -> None:
    assert lines(described(), described()) == []


@pytest.mark.parametrize(
    ("before", "after", "mark", "text"),
    [
        (NONE, PAGE, Mark.SAFE, "query page added"),
        (NONE, MUST, Mark.BREAKING, "query page added as required"),
        (PAGE, NONE, Mark.BREAKING, "query page removed"),
        (PAGE, MUST, Mark.BREAKING, "query page is required now"),
        (MUST, PAGE, Mark.SAFE, "query page is optional now"),
        (
            described(body=unit(id={"type": "string"})),
            described(body=unit(("id", "name"), **NAME)),
            Mark.BREAKING,
            "body application/json .name added as required",
        ),
        # A response may gain members at any time, but not lose them.
        (
            NONE,
            described(answer=unit(**NAME)),
            Mark.SAFE,
            "200 application/json .name added",
        ),
        (
            NONE,
            described(answer=unit(())),
            Mark.BREAKING,
            "200 application/json .id removed",
        ),
        (
            NONE,
            described(answer=unit((), id={"type": "string"})),
            Mark.BREAKING,
            "200 application/json .id is optional now",
        ),
        (
            NONE,
            described(answer=unit(id={"type": ["string", "null"]})),
            Mark.BREAKING,
            '200 application/json .id type: "string" -> ["string", "null"]',
        ),
        (
            NONE,
            described(permission="service.units.read"),
            Mark.BREAKING,
            "permission service.units.read added as required",
        ),
    ],
)
def test_each_change_of_an_endpoint_is_one_line(
    before: dict[str, Any], after: dict[str, Any], mark: Mark, text: str
) -> None:
    assert lines(before, after) == [(mark, text)]


def test_endpoints_come_and_go() -> None:
    moved = described(path="/v1/flats")
    assert openapi_changes(described(), moved) == [
        (Mark.SAFE, "GET /v1/flats: added"),
        (Mark.BREAKING, "GET /v1/units: removed"),
    ]


def test_texts_for_people_are_not_compared() -> None:
    noted = unit(id={"type": "string", "description": "Opaque.", "examples": ["u1"]})
    assert lines(described(), described(answer=noted)) == []


def test_a_recursive_type_is_followed_once() -> None:
    tree = unit(id={"type": "string"}, inner={"$ref": "#/components/schemas/Unit"})
    assert lines(described(), described(answer=tree)) == []


def test_graphql_changes_are_judged_by_graphql_core() -> None:
    before = "type Query { unit(id: ID): String, floor: String }"
    after = "type Query { unit(id: ID, asset: ID): String, asset: String }"
    assert sdl_changes(before, after) == [
        (Mark.BREAKING, "Field Query.floor was removed."),
        (Mark.SAFE, "Field Query.asset was added."),
        (Mark.DANGEROUS, "An optional argument Query.unit(asset:) was added."),
    ]


@pytest.mark.slow
@in_a_clone
def test_the_command_compares_with_a_commit() -> None:
    result = CliRunner().invoke(main, ["HEAD"])
    assert result.exit_code == 0, result.output
    assert "## GraphQL" in result.output and "## REST" in result.output


@in_a_clone
def test_an_unknown_ref_is_named() -> None:
    result = CliRunner().invoke(main, ["no-such-release"])
    assert result.exit_code == 1
    assert "no-such-release" in result.output
