"""Pictures and drawings of a map: which level, in which format, shape by shape, for whom."""

import io
from typing import Any

import httpx
import pytest
from PIL import Image

from parsing.errors import DocumentRejectedError
from parsing.svg.unit_map import parse_unit_map
from resolvers.drawings import picture_files, shapes
from resolvers.drawings.picture_files import NoSuchPartError, PictureRequest, make_picture
from tests.fixtures import ALL_FLAGS, HIDDEN_MAP, MAP, OTHER_MAP, UNIT, data_of, post_graphql
from tests.rest.error_bodies import read_message

PATH = "/v1/maps/plan%2Fone/picture"
SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20">
  <g data-type="Level" id="attic"><rect width="1" height="1"/></g>
  <g data-type="Level" data-tags="floor=f2"><g data-type="UnitLayer">
    <rect id="both" width="4" height="4"/><rect id="upper" width="4" height="4"/>
  </g></g>
  <g data-type="Level" data-tags="floor=f1"><g data-type="UnitLayer">
    <rect id="both" width="4" height="4" fill="#0000ff"/>
  </g></g>
</svg>"""
DRAWING = parse_unit_map(SVG).json


def ask(**members: Any) -> PictureRequest:
    names = {"f1": "First", "f2": "Second"}
    return PictureRequest(names, "Plates", None, None, None, False, 80)._replace(**members)


@pytest.mark.parametrize(
    ("members", "floor"),
    [
        ({}, "f1"),  # the lowest, though it is drawn last
        ({"level": "f2"}, "f2"),
        ({"level": "attic"}, None),
        ({"unit_id": "both"}, "f1"),
        ({"unit_id": "upper"}, "f2"),
        ({"unit_id": "both", "level": "f2"}, "f2"),
        ({"route": picture_files.RouteOnFloors({}, "f2")}, "f2"),
    ],
)
def test_the_level_is_chosen(members: dict[str, Any], floor: str | None) -> None:
    shown = make_picture(DRAWING, ask(**members)).shown
    assert shown is not None
    assert shown.floor_id == floor


@pytest.mark.parametrize(
    ("members", "name"),
    [
        ({"level": "f3"}, "level"),
        ({"unit_id": "none"}, "unit"),
        ({"unit_id": "upper", "level": "f1"}, "unit"),
    ],
)
def test_what_is_not_drawn_is_an_error(members: dict[str, Any], name: str) -> None:
    with pytest.raises(NoSuchPartError) as error:
        make_picture(DRAWING, ask(**members))
    assert error.value.args[0] == name


def test_a_png_has_the_pixels_of_the_drawing() -> None:
    made = make_picture(DRAWING, ask(is_png=True))
    image = Image.open(io.BytesIO(made.content)).convert("RGB")
    assert image.size == (made.width, made.height) == (80, 40)
    assert (image.getpixel((4, 4)), image.getpixel((70, 30))) == ((0, 0, 255), (255, 255, 255))


def test_a_high_picture_is_made_smaller_and_a_large_drawing_has_no_png(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(picture_files, "MAX_PICTURE_HEIGHT", 10)
    made = make_picture(DRAWING, ask())
    assert (made.width, made.height) == (20, 10)
    monkeypatch.setattr(picture_files, "MAX_PNG_SHAPES", 3)
    with pytest.raises(DocumentRejectedError, match="over 3 shapes"):
        make_picture(DRAWING, ask(is_png=True))


async def test_rest_and_graphql_have_the_same_picture(client: httpx.AsyncClient) -> None:
    response = await client.get(PATH, params={"unit": "unit-1", "width": 64})
    assert response.headers["content-type"] == "image/svg+xml"
    assert response.headers["content-security-policy"] == "default-src 'none'; sandbox"
    arguments = 'unit: "unit-1", width: 64'
    query = f'{{ map(id: "{MAP}") {{ picture({arguments}) {{ format width height content }} }} }}'
    picture = (await data_of(client, query))["map"]["picture"]
    assert picture == {"format": "svg", "width": 64, "height": 64, "content": response.text}
    tag = {"If-None-Match": response.headers["etag"]}
    again = await client.get(PATH, params={"unit": "unit-1", "width": 64}, headers=tag)
    assert again.status_code == 304


async def test_png_is_a_parameter(client: httpx.AsyncClient) -> None:
    response = await client.get(PATH, params={"format": "png", "width": 16})
    assert response.headers["content-type"] == "image/png"
    assert Image.open(io.BytesIO(response.content)).size == (16, 16)
    head = await client.head(PATH, params={"format": "png", "width": 16})
    assert head.headers["content-length"] == str(len(response.content))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("from=a", "to: must be given too, as from is"),
        ("to=a", "from: must be given too, as to is"),
        ("width=2049", "width: must be from 16 to 2048, not 2049"),
        ("level=none", "level: 'none' is neither a floor that the drawing shows nor one of its"),
        ("unit=none", "unit: 'none' is not drawn there"),
    ],
)
async def test_wrong_inputs_are_named(client: httpx.AsyncClient, query: str, message: str) -> None:
    response = await client.get(f"{PATH}?{query}", headers=ALL_FLAGS)
    assert response.status_code == 422
    assert read_message(response).startswith(message)


@pytest.mark.parametrize("map", [HIDDEN_MAP, OTHER_MAP, "none"])
async def test_a_map_without_drawing_has_none(restricted: httpx.AsyncClient, map: str) -> None:
    assert (await restricted.get(f"/v1/maps/{map}/picture")).status_code == 404


QUERY = """
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
    data = await data_of(restricted, QUERY, {"map": MAP})
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
    data = await data_of(client, QUERY, {"map": MAP, **variables})
    assert len(data["map"]["drawing"]["shapes"]["data"]) == count


async def test_a_wrong_part_is_invalid_input(client: httpx.AsyncClient) -> None:
    body = await post_graphql(client, QUERY, {"map": MAP, "part": "door"})
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
