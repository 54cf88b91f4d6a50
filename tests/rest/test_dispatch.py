"""Paths as they are sent: each leads to one route, and its ids are compared exactly."""

import asyncio
import contextlib
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rest import dispatch
from rest.dispatch import PathRoute, RouteTree, decode_segment, run_while_connected, split_path
from rest.scope_members import ClientDisconnectedError
from tests.fixtures import HIDDEN, ODD_IDS
from tests.rest.error_bodies import read_error, read_message

PATHS = (
    "/v1/units",
    "/v1/units/{unit}",
    "/v1/units/references",
    "/v1/maps/{map}/units/{unit}",
    "/v1/maps/parse",
)
ROUTES = RouteTree(PathRoute(path, {}) for path in PATHS)


def found(raw_path: bytes) -> tuple[str, dict[str, str | None]] | None:
    segments = split_path({"type": "http", "raw_path": raw_path, "path": ""})
    route = ROUTES.find(segments)
    if route is None:
        return None
    return route.path, route.read_parameters(segments)


@pytest.mark.parametrize(
    ("raw_path", "path", "parameters"),
    [
        (b"/v1/units", "/v1/units", {}),
        (b"/v1/units/u1", "/v1/units/{unit}", {"unit": "u1"}),
        (b"/v1/units/a%2Fb", "/v1/units/{unit}", {"unit": "a/b"}),
        (b"/v1/units/%E2%82%AC", "/v1/units/{unit}", {"unit": "\u20ac"}),
        (b"/v1/units/%zz", "/v1/units/{unit}", {"unit": None}),
        (b"/v1/units/" + 255 * b"x", "/v1/units/{unit}", {"unit": 255 * "x"}),
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
    routes = RouteTree(PathRoute(path, {}) for path in paths)
    route = routes.find(["", "units", "latest", *end.split("/")[1:]])
    assert route is not None and route.path == paths[1]


def test_paths_with_parameters_in_many_places_take_no_more_memory_than_they_have_segments() -> None:
    forms = ("/a{}/{{b}}/{{c}}/x", "/{{a}}/b{}/{{c}}/y", "/{{a}}/{{b}}/c{}/z")
    paths = [form.format(number) for form in forms for number in range(500)]
    routes = RouteTree(PathRoute(path, {}) for path in paths)
    for end, path in zip("xyz", paths[7::500], strict=True):
        route = routes.find(["", "a7", "b7", "c7", end])
        assert route is not None and route.path == path


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


# Ids in paths


def fully_encoded(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


@pytest.mark.anyio
@pytest.mark.parametrize("id", ODD_IDS, ids=lambda id: ascii(id)[1:30])
@pytest.mark.parametrize("encode", [lambda id: quote(id, safe=""), fully_encoded])
async def test_a_unit_is_found_by_its_id(
    client: httpx.AsyncClient, id: str, encode: object
) -> None:
    assert callable(encode)
    response = await client.get(f"/v1/units/{encode(id)}")
    assert response.status_code == 200
    assert response.json()["id"] == id


@pytest.mark.anyio
@pytest.mark.parametrize(
    "path",
    [
        "/v1/maps//units/unit-1",  # empty
        "/v1/units/Unit-1",  # another case
        "/v1/units/unit-1%20",
        "/v1/units/a/b",  # two segments
        "/v1/units/a%252Fb",  # decoded once only
        "/v1/units/50%zz",  # a broken escape
        "/v1/units/%ff",  # no UTF-8
        "/v1/units/unit-1%00",
        "/v1/units/" + "u" * 256,
        "/v1/units/u%CC%88ni%CC%88code",  # decomposed
        "//v1/units/unit-1",
        "/V1/units/unit-1",
        "//",
        "/clients//",
        "/v1/assets/north/floors/s-1",
    ],
)
async def test_what_names_nothing_is_not_found(client: httpx.AsyncClient, path: str) -> None:
    response = await client.send(raw(client, path))
    assert response.status_code == 404
    assert read_error(response) == {"message": "Not found", "code": "NOT_FOUND"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/v1/units/", "/v1/units"),
        ("/v1/units/none/", "/v1/units/{unit}"),
        ("/v1/units/references/", "/v1/units/references"),
        ("/v1/", "/v1"),
        ("/graphql/", "/graphql"),
        ("/health/live/", "/health/live"),
    ],
)
async def test_a_slash_too_many_is_named(client: httpx.AsyncClient, path: str, meant: str) -> None:
    for method in ("GET", "POST"):
        response = await client.request(method, path)
        assert response.status_code == 404
        assert read_message(response) == f"Not found: {meant} has no slash at its end"


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


@pytest.mark.anyio
async def test_every_segment_is_decoded_by_itself(client: httpx.AsyncClient) -> None:
    asset = fully_encoded(HIDDEN)
    page = (await client.get(f"/v1/assets/{asset}/floors")).json()
    assert [floor["id"] for floor in page["data"]] == ["s-1"]


@given(st.text(min_size=1, max_size=255).filter(lambda text: "\0" not in text))
def test_any_text_comes_back_from_its_encoding(text: str) -> None:
    if any(0xD800 <= ord(letter) < 0xE000 for letter in text):
        return
    assert decode_segment(quote(text, safe="").encode()) == text


@given(st.binary(max_size=40))
def test_any_bytes_are_an_id_or_nothing(raw: bytes) -> None:
    path = b"/v1/units/" + raw.replace(b"/", b"")
    route = PathRoute("/v1/units/{unit}", {})
    text = route.read_parameters(split_path({"raw_path": path}))["unit"]
    assert text is None or (len(text) <= 255 and "\0" not in text)


# Work for clients that have gone is cancelled.


pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _watch_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "WATCH_AFTER_SECONDS", 0.0)


async def test_work_ends_when_its_client_leaves() -> None:
    messages = asyncio.Queue[dict[str, Any]]()
    messages.put_nowait({"type": "http.request", "body": b""})
    ended = asyncio.Event()

    async def work() -> None:
        messages.put_nowait({"type": "http.disconnect"})
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(ClientDisconnectedError):
        await run_while_connected(work(), messages.get)
    assert ended.is_set()


async def test_work_that_is_done_is_returned_and_nothing_waits_any_more() -> None:
    waiting = asyncio.Event()

    async def receive() -> Any:
        waiting.set()
        await asyncio.Event().wait()

    async def work() -> str:
        await waiting.wait()
        return "done"

    before = asyncio.all_tasks()
    assert await run_while_connected(work(), receive) == "done"
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_another_cancellation_is_not_taken_for_a_disconnection() -> None:
    async def receive() -> Any:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await run_while_connected(asyncio.sleep(60), receive)


async def test_a_disconnection_is_told_in_a_task_that_was_cancelled_before() -> None:
    async def leave() -> Any:
        return {"type": "http.disconnect"}

    async def run() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        with pytest.raises(ClientDisconnectedError):
            await run_while_connected(asyncio.sleep(60), leave)

    await asyncio.create_task(run())
