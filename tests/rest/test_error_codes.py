"""The codes of errors: in the docs, on the page that explains them, and in use."""

import httpx
import pytest

from rest.error_codes import ERROR_CODES, render_errors_page
from tests.doc_pages import page, rows, section
from tests.fixtures import BASE_URL
from tests.rest.error_bodies import read_error

pytestmark = pytest.mark.anyio


def test_the_docs_have_the_table_of_codes() -> None:
    documented = [row for row in rows(section(page("rest.md"), "## Errors")) if len(row) == 4]
    assert documented[1:] == [
        [str(entry.status), code, entry.when.replace("`", ""), entry.retry.replace("`", "")]
        for code, entry in ERROR_CODES.items()
    ]


async def test_an_error_leads_to_the_page_that_explains_it(anonymous: httpx.AsyncClient) -> None:
    error = (await anonymous.get("/v1/units")).json()
    assert error["docs"] == f"{BASE_URL}/v1/errors#UNAUTHENTICATED"
    shown = await anonymous.get(error["docs"])
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert 'id="UNAUTHENTICATED"' in shown.text
    assert "default-src 'none'" in shown.headers["content-security-policy"]


async def test_an_error_has_the_request_id_of_its_response(anonymous: httpx.AsyncClient) -> None:
    response = await anonymous.get("/v1/units", headers={"X-Request-Id": "mine-1"})
    assert response.headers["x-request-id"] == response.json()["request_id"] == "mine-1"
    assert read_error(response)["code"] == "UNAUTHENTICATED"


def test_the_page_has_an_anchor_for_every_code() -> None:
    html = render_errors_page()
    for code, entry in ERROR_CODES.items():
        assert f'<dt id="{code}">' in html
        assert f"</a> {entry.status}<dd>" in html
