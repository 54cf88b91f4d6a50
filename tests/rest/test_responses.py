"""From the result of an operation to the bytes of a response and its link header."""

import asyncio
from typing import Any

import orjson
import pytest
from starlette.datastructures import Headers

from resolvers.request.errors import PreconditionFailedError
from rest import responses
from rest.errors import HttpError
from rest.responses import (
    ENCODINGS,
    WARNINGS_HEADER,
    DataForm,
    DrawingForm,
    Form,
    LinkedListForm,
    ListForm,
    MatrixForm,
    NoBodyForm,
    ObjectForm,
    PageForm,
    Precondition,
    RequestUrl,
    compute_etag,
    etag_for_encoding,
    etag_matches,
    write_json,
)

URL = RequestUrl("https://maps.example/v1/units", [("tags", "a b&c")])
UNIT = {"title": "Unit", "type": "object", "properties": {"id": {"type": "string"}}}


def page(number: int, after: str | None) -> dict[str, Any]:
    paging = {"current_page": number, "per_page": 2, "next": after}
    return {"units": {"paging": paging, "data": ["u1", "u2"]}}


@pytest.mark.parametrize(
    ("form", "result", "body"),
    [
        (ObjectForm("unit"), {"unit": {"id": "u"}}, {"id": "u"}),
        (ListForm("groups"), {"groups": {"data": [1]}}, {"data": [1]}),
        (DataForm("map", "reachable"), {"map": {"reachable": {"a": 1}}}, {"data": {"a": 1}}),
        (ListForm("map", "nearest"), {"map": {"nearest": [1]}}, {"data": [1]}),
        (DataForm("map", "route"), {"map": {"route": None}}, {"data": None}),
        (NoBodyForm("unassign"), {"unassign": None}, None),
    ],
)
def test_the_resource_is_wrapped(form: Form, result: dict[str, Any], body: Any) -> None:
    wrapped = form.wrap(result, URL)
    assert (wrapped.body, wrapped.headers) == (body, {})


@pytest.mark.parametrize(
    "form",
    [ObjectForm("map", "unit"), PageForm("map", "units"), DataForm("map", "route")],
)
def test_a_missing_parent_is_not_found(form: Form) -> None:
    with pytest.raises(HttpError) as caught:
        form.wrap({"map": None}, URL)
    assert caught.value.status == 404


@pytest.mark.parametrize(
    ("number", "after", "previous_url", "next_url"),
    [
        (1, None, None, None),
        (1, "k", None, f"{URL.url}?per-page=2&page=2&tags=a%20b%26c&after=k"),
        (2, None, f"{URL.url}?per-page=2&page=1&tags=a%20b%26c", None),
    ],
)
def test_a_page_has_the_urls_of_its_neighbours(
    number: int, after: str | None, previous_url: str | None, next_url: str | None
) -> None:
    wrapped = PageForm("units").wrap(page(number, after), URL)
    assert wrapped.body == {
        "paging": {
            "per_page": 2,
            "current_page": number,
            "prev_url": previous_url,
            "next_url": next_url,
        },
        "data": ["u1", "u2"],
    }


def test_the_link_header_names_both_neighbours() -> None:
    for form in (PageForm("units"), LinkedListForm("units")):
        wrapped = form.wrap(page(2, "k"), RequestUrl("/v1", []))
        following, previous = "</v1?per-page=2&page=3&after=k>", "</v1?per-page=2&page=1>"
        assert wrapped.headers == {"Link": f'{following}; rel="next", {previous}; rel="prev"'}
    assert wrapped.body == {"data": ["u1", "u2"]}


def test_a_page_that_cannot_be_turned_has_no_neighbours() -> None:
    whole = PageForm("units", variables=()).wrap(page(1, "k"), URL)
    assert (whole.body["paging"]["next_url"], whole.headers) == (None, {})
    [url] = (
        PageForm("units", variables=["page"])
        .wrap(page(1, "k"), RequestUrl("/v1", []))
        .headers.values()
    )
    assert url == '</v1?page=2>; rel="next"'


def test_a_count_is_a_header() -> None:
    for form in (PageForm("units"), LinkedListForm("units")):
        counted = {"units": {**page(1, None)["units"], "total_count": 0}}
        wrapped = form.wrap(counted, URL)
        assert wrapped.headers == {"Floorgate-Total-Count": "0"}
        assert wrapped.body == form.wrap(page(1, None), URL).body


def test_waypoints_without_id_and_name_lack_these_members() -> None:
    named, unnamed = {"id": "a", "name": "A", "x": 1}, {"id": None, "name": None, "x": None}
    matrix = {"sources": [{**unnamed, "targets": [named, unnamed]}]}
    wrapped = MatrixForm("matrix").wrap({"matrix": matrix}, URL)
    assert wrapped.body == {"data": {"sources": [{"x": None, "targets": [named, {"x": None}]}]}}


def warning(code: str, *, is_note: bool = False, **place: Any) -> dict[str, Any]:
    places = [{"line": 0, "name": "", "x": None, "y": None, **place}]
    return {"code": code, "is_note": is_note, "count": 2, "places": places}


@pytest.mark.parametrize(
    ("warnings", "header"),
    [
        ([], None),
        ([warning("read-as", is_note=True)], None),
        ([warning("no-level")], "no-level;count=2"),
        (
            [warning("text", line=4, name='a"\\'), warning("image", line=9)],
            r'text;count=2;line=4;name="a\"\\", image;count=2;line=9',
        ),
        ([warning("use", x=-0.25, y=12.0)], "use;count=2;x=-0.25;y=12"),
        ([warning("use", x=1e15, y=-1e15)], "use;count=2;x=999999999999;y=-999999999999"),
        # Only ASCII is safe in a header, and only what is short is of use.
        ([warning("text", name="\N{BULLET}\r\n")], "text;count=2"),
        ([warning("text", name="a" * 41)], "text;count=2"),
    ],
)
def test_warnings_are_a_structured_header(
    warnings: list[dict[str, Any]], header: str | None
) -> None:
    result = {"parsedUnitMap": {"map": {}, "warnings": warnings}}
    headers = DrawingForm("parsedUnitMap", "map").wrap(result, URL).headers
    assert headers.get(WARNINGS_HEADER) == header


def test_the_header_of_warnings_is_short() -> None:
    result = {"parsedUnitMap": {"map": {}, "warnings": [warning("text", name="a" * 40)] * 500}}
    header = DrawingForm("parsedUnitMap", "map").wrap(result, URL).headers[WARNINGS_HEADER]
    assert 1_900 < len(header) <= 2_000


# Long responses are written in parts, and are the same JSON.

FLOOR = {"tags": ["x" * 40] * 50}
"""A long value that may be there twice."""


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"data": [{"id": str(n), "tags": [n, None, "\u00e9"]} for n in range(300)]},
        [[["x" * 90] * 50] * 3, {"a": {}, "b": []}],
        {"data": orjson.Fragment(b"[1,2]"), "long": ["x" * 500]},
        {"data": [{"floor": FLOOR}, {"floor": FLOOR}], "a": FLOOR, "b": FLOOR["tags"]},
    ],
)
@pytest.mark.anyio
async def test_parts_join_to_the_same_json(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "BYTES_IN_PART", 100)
    expected = orjson.dumps(value)
    assert await write_json(value) == expected


@pytest.mark.anyio
async def test_others_run_between_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "BYTES_IN_PART", 100)
    monkeypatch.setattr("storage.store.MAX_SLICE_SECONDS", 0)
    turns: list[int] = []

    async def count_turns() -> None:
        while True:
            await asyncio.sleep(0)
            turns.append(1)

    counting = asyncio.create_task(count_turns())
    await write_json(["x" * 40] * 100)
    counting.cancel()
    assert len(turns) >= 30


@pytest.mark.anyio
async def test_writing_ends_when_the_size_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "BYTES_IN_PART", 100)
    seen: list[int] = []

    def check(size: int) -> None:
        seen.append(size)
        if size > 500:
            raise OverflowError

    with pytest.raises(OverflowError):
        await write_json(["x" * 40] * 1000, check)
    assert seen[-1] < 1000


# Entity tags: equal for equal bodies, and compared as RFC 9110 says.


def test_tags_depend_on_the_headers_that_change_with_the_data() -> None:
    headers = [[], [(b"link", b"<a>")], [(b"link", b"<b>")], [(b"floorgate-total-count", b"<b>")]]
    assert len({compute_etag(b"body", each) for each in headers}) == len(headers)
    assert compute_etag(b"other") != compute_etag(b"body")
    assert compute_etag(b"body", [(b"x-request-id", b"1")]) == compute_etag(b"body")


def test_every_coding_has_its_own_tag() -> None:
    tag = compute_etag(b"body")
    tags = {etag_for_encoding(tag, encoding) for encoding in ENCODINGS}
    assert len(tags) == len(ENCODINGS)
    assert all(each.startswith('"') and each.endswith('"') for each in tags)


@pytest.mark.parametrize(
    ("header", "answer"),
    [
        (None, False),
        (b"", False),
        (b'"a"', True),
        (b' "a" ', True),
        (b'W/"a"', True),  # weak comparison
        (b"*", True),
        (b'"b", "a"', True),
        (b'"x,y", W/"a"', True),
        (b'"b"', False),
        (b'"A"', False),
        (b'"x", *', False),
        (b'"b\xe9", "a"', True),
    ],
)
def test_if_none_match_is_compared_weakly(header: bytes | None, answer: bool) -> None:
    assert etag_matches(header, '"a"') is answer


def test_a_tag_of_one_coding_does_not_match_another() -> None:
    tag = compute_etag(b"body")
    assert not etag_matches(tag.encode(), etag_for_encoding(tag, "gzip"))


@pytest.mark.parametrize(
    ("headers", "holds"),
    [
        ([("If-Match", '"a"')], True),
        ([("If-Match", '"a-gzip"')], True),  # the same list, compressed
        ([("If-Match", '"b", "a-zstd"')], True),
        ([("If-Match", '"b"'), ("If-Match", '"a"')], True),
        ([("If-Match", "*")], True),
        ([("If-Match", '"b"')], False),
        ([("If-Match", 'W/"a"')], False),  # strong comparison
        ([("If-Match", "a")], False),
        ([("If-None-Match", "*")], False),
        ([("If-None-Match", '"a"')], False),
        ([("If-None-Match", 'W/"a-gzip"')], False),  # weak comparison
        ([("If-None-Match", '"b"')], True),
        ([("If-Match", '"a"'), ("If-None-Match", '"a"')], False),
    ],
)
def test_a_precondition_holds_or_not(headers: list[tuple[str, str]], holds: bool) -> None:
    raw = [(name.lower().encode(), value.encode()) for name, value in headers]
    precondition = Precondition.from_headers(Headers(raw=raw))
    assert precondition is not None
    if holds:
        precondition.check('"a"')
    else:
        with pytest.raises(PreconditionFailedError, match=headers[-1][0]):
            precondition.check('"a"')


def test_a_request_without_these_headers_has_no_precondition() -> None:
    assert Precondition.from_headers(Headers({"If-Modified-Since": "now"})) is None
