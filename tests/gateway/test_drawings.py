"""The drawing of a map over GraphQL, shape by shape."""

import httpx
import pytest

from resolvers.drawings import shapes
from tests.fixtures import HIDDEN_MAP, MAP, OTHER_MAP, UNIT, data_of, post_graphql

pytestmark = pytest.mark.anyio

DRAWING = """
query ($map: ID!, $part: ShapePart, $level: ID, $perPage: Int, $page: Int, $after: String) {
  map(id: $map) {
    drawing {
      width height levels { levelId tags { key value } }
      shapes(part: $part, level: $level, perPage: $perPage, page: $page, after: $after) {
        paging { hasNext next }
        data { part unitId levelId type d fill box { x y width height centerX centerY } }
      }
    }
  }
}"""
SHAPE = "query ($id: ID!, $map: ID!) { unit(id: $id) { shape(map: $map) { unitId d fill } } }"
OUTLINE = {
    "part": "unit",
    "unitId": UNIT,
    "levelId": None,
    "type": "Rect",
    "d": "M0 0h4v8h-4z",
    "fill": "red",
    "box": {"x": 0, "y": 0, "width": 4, "height": 8, "centerX": 2, "centerY": 4},
}


async def test_a_drawing_has_its_size_and_its_shapes(restricted: httpx.AsyncClient) -> None:
    data = await data_of(restricted, DRAWING, {"map": MAP})
    assert data["map"]["drawing"] == {
        "width": 8,
        "height": 8,
        "levels": [],
        "shapes": {"paging": {"hasNext": False, "next": None}, "data": [OUTLINE]},
    }


@pytest.mark.parametrize(
    ("variables", "count"),
    [({"part": "unit"}, 1), ({"part": "background"}, 0), ({"level": "no"}, 0), ({"page": 2}, 0)],
)
async def test_shapes_are_filtered_and_paged(
    client: httpx.AsyncClient, variables: dict[str, object], count: int
) -> None:
    data = await data_of(client, DRAWING, {"map": MAP, **variables})
    assert len(data["map"]["drawing"]["shapes"]["data"]) == count


async def test_a_wrong_part_is_invalid_input(client: httpx.AsyncClient) -> None:
    body = await post_graphql(client, DRAWING, {"map": MAP, "part": "door"})
    assert body["errors"][0]["extensions"]["code"] == "INVALID_INPUT"


async def test_a_unit_has_its_outline_on_a_map_that_the_key_sees(
    client: httpx.AsyncClient, restricted: httpx.AsyncClient
) -> None:
    shown = {"unit": {"shape": {"unitId": UNIT, "d": "M0 0h4v8h-4z", "fill": "red"}}}
    assert await data_of(restricted, SHAPE, {"id": UNIT, "map": MAP}) == shown
    for reader, map_id in ((restricted, HIDDEN_MAP), (client, HIDDEN_MAP), (client, OTHER_MAP)):
        nothing = await data_of(reader, SHAPE, {"id": UNIT, "map": map_id})
        assert nothing == {"unit": {"shape": None}}, map_id
    assert await data_of(client, SHAPE, {"id": "unit-2", "map": MAP}) == {"unit": {"shape": None}}


async def test_a_large_drawing_is_refused_before_it_is_read(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shapes, "MAX_DRAWING_BYTES", 10)
    monkeypatch.setattr(shapes._read_drawings, "get", lambda digest: None)
    body = await post_graphql(client, f'{{ map(id: "{MAP}") {{ drawing {{ width height }} }} }}')
    [error] = body["errors"]
    assert error["extensions"]["code"] == "LIMIT_EXCEEDED"
    assert "ask for parsed instead" in error["message"]
