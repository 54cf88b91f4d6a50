"""Cursors of pages: each continues one list, and shows its caller nothing more."""

from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rest.errors import HttpError
from rest.graphql_documents import LIST_UNITS
from rest.parameters import QueryParameter, parse_query
from schema.execution import Executor
from schema.operation_inputs import OperationInputs
from schema.root import GRAPHQL_SCHEMA
from tests.fixtures import MAP, UNIT_IDS
from tests.rest.page_walks import EVERY_UNIT, ids, query_of, walk

pytestmark = pytest.mark.anyio

PAGE_PARAMETERS = [
    QueryParameter(source)
    for source in OperationInputs(
        GRAPHQL_SCHEMA, Executor(GRAPHQL_SCHEMA).prepare(LIST_UNITS)
    ).by_variable.values()
]


async def test_a_cursor_of_another_key_shows_nothing_more(
    client: httpx.AsyncClient, restricted: httpx.AsyncClient
) -> None:
    # The first page of everything ends with a unit that the restricted key may not see.
    page = (await client.get("/v1/units?per-page=1")).json()
    assert ids([page]) == ["!unit-s"]
    assert ids(await walk(restricted, page["paging"]["next_url"])) == UNIT_IDS


async def cursor_of(client: httpx.AsyncClient, address: str) -> str:
    return query_of((await client.get(address)).json()["paging"]["next_url"])["after"]


async def test_a_cursor_alone_continues(client: httpx.AsyncClient) -> None:
    first = (await client.get("/v1/units?per-page=2")).json()
    next_url = first["paging"]["next_url"]
    after = query_of(next_url)["after"]
    followed = (await client.get(next_url)).json()
    for query in ("", "&page=2", "&per-page=2"):
        alone = await client.get(f"/v1/units?after={after}{query}")
        assert alone.json() == followed
    assert followed["paging"]["current_page"] == 2


async def test_a_loop_that_passes_only_cursors_ends(client: httpx.AsyncClient) -> None:
    found, address = [], "/v1/units?per-page=3"
    while address:
        page = (await client.get(address)).json()
        found.append(page)
        next_url = page["paging"]["next_url"]
        address = f"/v1/units?after={query_of(next_url)['after']}" if next_url else ""
    assert ids(found) == EVERY_UNIT


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("per-page=2&page=3", "continues with page 2, not 3: leave out the page"),
        ("per-page=3&page=2", "continues with pages of 2, not 3: leave out the page size"),
    ],
)
async def test_a_cursor_that_contradicts_the_page_is_an_error(
    client: httpx.AsyncClient, query: str, message: str
) -> None:
    after = await cursor_of(client, "/v1/units?per-page=2")
    response = await client.get(f"/v1/units?{query}&after={after}")
    assert response.status_code == 422
    assert response.json()["fields"] == {"after": [message]}


@pytest.mark.parametrize(
    "path",
    [
        "/v1/assets?",
        "/v1/maps?",
        "/v1/assets/north/floors?",
        f"/v1/maps/{quote(MAP, safe='')}/units?",
        "/v1/maps?tags=mls&",
    ],
)
async def test_a_cursor_of_another_list_is_an_error(client: httpx.AsyncClient, path: str) -> None:
    after = await cursor_of(client, "/v1/units?per-page=2")
    response = await client.get(f"{path}after={after}")
    assert response.status_code == 422
    [message] = response.json()["fields"]["after"]
    assert message.startswith("is of another list")


async def test_a_cursor_is_of_one_filter(client: httpx.AsyncClient) -> None:
    after = await cursor_of(client, "/v1/maps?per-page=1")
    assert (await client.get(f"/v1/maps?after={after}")).status_code == 200
    assert (await client.get(f"/v1/maps?asset=north&after={after}")).status_code == 422


@given(text=st.text(max_size=60) | st.binary(max_size=60).map(lambda raw: quote(raw)))
def test_any_text_as_cursor_gives_a_page_or_an_error(text: str) -> None:
    try:
        variables, _ = parse_query(PAGE_PARAMETERS, [("after", text)])
    except HttpError as error:
        assert error.status == 422
        assert "after" in (error.fields or {})
    else:
        assert variables == {"after": text}


async def test_a_cursor_with_a_changed_bit_gives_a_page_or_an_error(
    client: httpx.AsyncClient,
) -> None:
    after = query_of((await client.get("/v1/units?per-page=2")).json()["paging"]["next_url"])[
        "after"
    ]
    for position in range(len(after)):
        changed = (
            f"{after[:position]}{'A' if after[position] != 'A' else 'B'}{after[position + 1 :]}"
        )
        response = await client.get(
            "/v1/units", params={"per-page": "2", "page": "2", "after": changed}
        )
        assert response.status_code in (200, 422)
        assert response.status_code == 422 or set(ids([response.json()])) <= set(EVERY_UNIT)
