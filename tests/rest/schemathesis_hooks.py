"""What schemathesis cannot read in the description: drawings, which records exist, whole sizes."""

from typing import Any
from urllib.parse import quote, urlencode

import schemathesis
from hypothesis import strategies as st

from resolvers.distances import MAX_PAIRS
from resolvers.request.inputs import ID
from rest.scope_members import MAX_HEADER_BYTES, MAX_URL_BYTES

DRAWINGS = st.builds(
    lambda width, x, fill: (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 100">'
        '<g data-type="Level" data-tags="floor=1"><g data-type="UnitLayer">'
        f'<rect id="101" x="{x}" y="0" width="10" height="5" fill="{fill}"/></g></g></svg>'
    ).encode(),
    st.integers(1, 10_000),
    st.integers(-10_000, 10_000),
    st.sampled_from(["red", "#abc", "none", "transparent", "url(#x)", "rgb(1 2 3)"]),
)
"""Stranger ones are tests of the parser."""
schemathesis.openapi.media_type("application/vnd.map+xml", DRAWINGS)

ADDED_HEADERS_BYTES = 1_000
"""For the key and the headers that schemathesis adds."""


@schemathesis.hook
def filter_case(context: schemathesis.HookContext, case: schemathesis.Case[Any]) -> bool:
    """Whether a request is one that the description can judge.

    As a whole it is within limits: not all of its inputs may be long. It has no cursor, which
    belongs to the list that it is from. A route on a picture has both ends.
    """
    url = f"{quote(case.formatted_path)}?{urlencode(case.query or {}, doseq=True)}"
    headers = "".join(f"{name}: {value}\r\n" for name, value in (case.headers or {}).items())
    sources, targets = (_waypoints(case, name) for name in ("sources", "targets"))
    return (
        len(url) <= MAX_URL_BYTES
        and "after" not in (case.query or {})
        and not (url.partition("?")[0].endswith("/picture") and _has_one_end(case.query or {}))
        and len(sources) * len(targets) <= MAX_PAIRS
        and len(headers.encode(errors="replace")) + ADDED_HEADERS_BYTES <= MAX_HEADER_BYTES
    )


def _has_one_end(query: dict[str, Any]) -> bool:
    """Whether a query has the start of a route or its end, but not both."""
    return ("from" in query) != ("to" in query)


WAYPOINT = {
    "id": "lzl55okmqg6",
    "unit_id": "ugwo2tfiznm",
    "floor_id": "alder-court-floor-1",
    "floorId": "alder-court-floor-1",
}
"""A location of the demo property, its unit, and its floor."""


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]
) -> None:
    """Let the ids in waypoints be those of a location and a floor of the map."""
    for waypoint in _waypoints(case, "sources") + _waypoints(case, "targets"):
        if isinstance(waypoint, dict):
            waypoint |= {name: WAYPOINT[name] for name in WAYPOINT if _is_id(waypoint, name)}


def _waypoints(case: schemathesis.Case[Any], name: str) -> list[Any]:
    """The waypoints in a body; none if it has another shape."""
    data = case.body.get("data") if isinstance(case.body, dict) else None
    waypoints = data.get(name) if isinstance(data, dict) else None
    return waypoints if isinstance(waypoints, list) else []


def _is_id(waypoint: dict[str, Any], name: str) -> bool:
    """Whether the value is valid, apart from what it names."""
    value = waypoint.get(name)
    return isinstance(value, str) and ID.check(value) is None
