"""From the result of an operation to the body of a response and its link header."""

from typing import Any

import pytest

from rest.envelopes import (
    WARNINGS_HEADER,
    DataList,
    DataResource,
    Envelope,
    LinkPagedList,
    MapParse,
    MatrixData,
    NoContent,
    NullableData,
    PagedList,
    RequestUrl,
    SingleResource,
    UnpagedList,
)
from rest.errors import HttpError

URL = RequestUrl("https://maps.example/v1/units", [("tags", "a b&c")])
UNIT = {"title": "Unit", "type": "object", "properties": {"id": {"type": "string"}}}


def page(number: int, after: str | None) -> dict[str, Any]:
    paging = {"current_page": number, "per_page": 2, "next": after}
    return {"units": {"paging": paging, "data": ["u1", "u2"]}}


@pytest.mark.parametrize(
    ("envelope", "result", "body"),
    [
        (SingleResource("unit"), {"unit": {"id": "u"}}, {"id": "u"}),
        (UnpagedList("groups"), {"groups": {"data": [1]}}, {"data": [1]}),
        (DataResource("map", "reachable"), {"map": {"reachable": {"a": 1}}}, {"data": {"a": 1}}),
        (DataList("map", "nearest"), {"map": {"nearest": [1]}}, {"data": [1]}),
        (NullableData("map", "route"), {"map": {"route": None}}, {"data": None}),
        (NoContent("unassign"), {"unassign": None}, None),
    ],
)
def test_the_resource_is_wrapped(envelope: Envelope, result: dict[str, Any], body: Any) -> None:
    wrapped = envelope.wrap(result, URL)
    assert (wrapped.body, wrapped.headers) == (body, {})


@pytest.mark.parametrize(
    "envelope",
    [SingleResource("map", "unit"), PagedList("map", "units"), NullableData("map", "route")],
)
def test_a_missing_parent_is_not_found(envelope: Envelope) -> None:
    with pytest.raises(HttpError) as caught:
        envelope.wrap({"map": None}, URL)
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
    wrapped = PagedList("units").wrap(page(number, after), URL)
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
    for envelope in (PagedList("units"), LinkPagedList("units")):
        wrapped = envelope.wrap(page(2, "k"), RequestUrl("/v1", []))
        following, previous = "</v1?per-page=2&page=3&after=k>", "</v1?per-page=2&page=1>"
        assert wrapped.headers == {"Link": f'{following}; rel="next", {previous}; rel="prev"'}
    assert wrapped.body == {"data": ["u1", "u2"]}


def test_a_count_is_a_header() -> None:
    for envelope in (PagedList("units"), LinkPagedList("units")):
        counted = {"units": {**page(1, None)["units"], "totalCount": 0}}
        wrapped = envelope.wrap(counted, URL)
        assert wrapped.headers == {"Floorgate-Total-Count": "0"}
        assert wrapped.body == envelope.wrap(page(1, None), URL).body


def test_waypoints_without_id_and_name_lack_these_members() -> None:
    named, unnamed = {"id": "a", "name": "A", "x": 1}, {"id": None, "name": None, "x": None}
    matrix = {"sources": [{**unnamed, "targets": [named, unnamed]}]}
    wrapped = MatrixData("matrix").wrap({"matrix": matrix}, URL)
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
    headers = MapParse("parsedUnitMap", "map").wrap(result, URL).headers
    assert headers.get(WARNINGS_HEADER) == header


def test_the_header_of_warnings_is_short() -> None:
    result = {"parsedUnitMap": {"map": {}, "warnings": [warning("text", name="a" * 40)] * 500}}
    header = MapParse("parsedUnitMap", "map").wrap(result, URL).headers[WARNINGS_HEADER]
    assert 1_900 < len(header) <= 2_000
