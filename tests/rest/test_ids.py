"""Ids in paths: any character, compared exactly, decoded once."""

from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rest.path_routing import PathRoute, decode_segment, split_path
from tests.fixtures import HIDDEN, ODD_IDS, SEEN
from tests.rest.error_bodies import read_error

pytestmark = pytest.mark.anyio


def fully_encoded(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


@pytest.mark.parametrize("id", ODD_IDS, ids=lambda id: ascii(id)[1:30])
@pytest.mark.parametrize("encode", [lambda id: quote(id, safe=""), fully_encoded])
async def test_a_unit_is_found_by_its_id(
    client: httpx.AsyncClient, id: str, encode: object
) -> None:
    assert callable(encode)
    response = await client.get(f"/v1/units/{encode(id)}")
    assert response.status_code == 200
    assert response.json()["id"] == id


@pytest.mark.parametrize(
    "path",
    [
        "/v1/units/",  # empty
        "/v1/units/Unit-1",  # another case
        "/v1/units/unit-1%20",
        "/v1/units/%20unit-1",
        "/v1/units/a/b",  # two segments
        "/v1/units/a%252Fb",  # decoded once only
        "/v1/units/50%",  # a broken escape
        "/v1/units/50%2",
        "/v1/units/50%zz",
        "/v1/units/%ff",  # no UTF-8
        "/v1/units/%c0%af",  # an overlong /
        "/v1/units/%ed%a0%80",  # half a surrogate pair
        "/v1/units/unit-1%00",
        "/v1/units/%00",
        "/v1/units/" + "u" * 256,
        "/v1/units/u%CC%88ni%CC%88code",  # decomposed
        "/v1/units/unit-1/",
        "/v1//units/unit-1",
        "//v1/units/unit-1",
        "/V1/units/unit-1",
        "/v1/unit/unit-1",
        "/v1/assets/north/floors/s-1",
    ],
)
async def test_what_names_nothing_is_not_found(client: httpx.AsyncClient, path: str) -> None:
    response = await client.send(raw(client, path))
    assert response.status_code == 404
    assert read_error(response) == {"message": "Not found", "code": "NOT_FOUND"}


def raw(client: httpx.AsyncClient, path: str) -> httpx.Request:
    """A request with a path that is sent unchanged; httpx would normalize it."""
    request = client.build_request("GET", "/")
    request.url = RawUrl(request.url, path.encode())
    return request


class RawUrl(httpx.URL):
    """An address with a path that no client library would send."""

    def __init__(self, url: httpx.URL, path: bytes) -> None:
        super().__init__(url)
        self._raw = path

    @property
    def raw_path(self) -> bytes:
        return self._raw


async def test_every_segment_is_decoded_by_itself(client: httpx.AsyncClient) -> None:
    asset = fully_encoded(HIDDEN)
    page = (await client.get(f"/v1/assets/{asset}/floors")).json()
    assert [floor["id"] for floor in page["data"]] == ["s-1"]


async def test_an_encoded_literal_is_the_literal(client: httpx.AsyncClient) -> None:
    response = await client.send(raw(client, "/v1/%61ssets/north/fl%6Fors"))
    assert {floor["asset_id"] for floor in response.json()["data"]} == {SEEN}


@given(st.text(min_size=1, max_size=255).filter(lambda text: "\0" not in text))
def test_any_text_comes_back_from_its_encoding(text: str) -> None:
    if any(0xD800 <= ord(letter) < 0xE000 for letter in text):
        return
    assert decode_segment(quote(text, safe="").encode()) == text


@given(st.binary(max_size=40))
def test_any_bytes_are_an_id_or_nothing(raw: bytes) -> None:
    path = b"/v1/units/" + raw.replace(b"/", b"")
    members = PathRoute("/v1/units/{unit}", {}).build_scope(split_path({"raw_path": path}))
    text = members["path_params"]["unit"]
    assert text is None or (len(text) <= 255 and "\0" not in text)
