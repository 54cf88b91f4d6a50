"""A response is judged by what was written, and answered, before its request was sent."""

import math

import orjson
import pytest

from bench.data.portfolio_requests import (
    ASSET_KINDS,
    Address,
    Assigned,
    ResponseKind,
)
from bench.data.requests import LoadRequest
from bench.load.assignment_history import AssignmentHistory, Place, ResponseJudge

PLACE = Place("finishes", "u")
KINDS = {kind.name: kind for kind in ASSET_KINDS}


def write(history: AssignmentHistory, attribute: str, answered_at: float) -> None:
    history.begin(Assigned(*PLACE, attribute)).answered_at = answered_at


@pytest.mark.parametrize(
    ("shown", "sent_at", "delay"),
    [
        ("oak", 0.5, 0.0),  # sent before the first answer
        ("oak", 1.5, 0.5),
        ("oak", 9.0, 8.0),  # since the first that it does not show, not since the newest
        ("stone", 1.5, 0.0),
        ("stone", 2.5, 0.5),
        ("tile", 2.5, 0.0),
        ("cork", 2.5, 0.0),  # has been sent, and may show before it is answered
        ("glass", 2.5, math.inf),  # never written
    ],
)
def test_a_read_has_to_show_what_was_answered_before_it_was_sent(
    shown: str, sent_at: float, delay: float
) -> None:
    history = AssignmentHistory("oak")
    write(history, "stone", 1.0)
    write(history, "tile", 2.0)
    history.begin(Assigned(*PLACE, "cork"))
    assert history.compute_delay(Assigned(*PLACE, shown), sent_at) == delay


def test_an_attribute_that_was_written_again_is_the_newer_one() -> None:
    history = AssignmentHistory("oak")
    write(history, "stone", 1.0)
    write(history, "oak", 2.0)
    assert history.compute_delay(Assigned(*PLACE, "oak"), 9.0) == 0.0
    assert history.current(PLACE) == "oak"


def test_other_places_have_what_they_had_first() -> None:
    history = AssignmentHistory("oak")
    write(history, "stone", 1.0)
    assert history.compute_delay(Assigned("views", "u", "oak"), 9.0) == 0.0
    assert history.compute_delay(Assigned("views", "u", "stone"), 9.0) == math.inf


def address(kind: ResponseKind, asset: int = 0) -> Address:
    return Address(kind, asset, LoadRequest("/", headers={"API-Key": "k"}))


def test_a_response_without_assignments_never_changes() -> None:
    judge = ResponseJudge(AssignmentHistory("oak"))
    unit = KINDS["unit"]
    assert judge.compute_delay(address(unit), b"first", 1.0) == 0.0
    assert judge.compute_delay(address(unit, asset=1), b"other", 1.0) == 0.0
    assert judge.compute_delay(address(unit), b"first", 2.0) == 0.0
    assert judge.compute_delay(address(unit), b"other", 3.0) == math.inf


def test_the_oldest_assignment_of_a_response_counts() -> None:
    history = AssignmentHistory("oak")
    judge = ResponseJudge(history)
    kind = KINDS["assignments"]._replace(shown=2)
    history.begin(Assigned("finishes", "v", "stone")).answered_at = 1.0
    rows = [{"group_id": "finishes", "unit_id": unit, "attribute_id": "oak"} for unit in "uv"]
    assert judge.compute_delay(address(kind), orjson.dumps({"data": rows}), 3.0) == 2.0


def test_a_response_that_lacks_an_assignment_is_wrong() -> None:
    judge = ResponseJudge(AssignmentHistory("oak"))
    kind = KINDS["assignments"]._replace(shown=2)
    row = {"group_id": "finishes", "unit_id": "u", "attribute_id": "oak"}
    assert judge.compute_delay(address(kind), orjson.dumps({"data": [row]}), 1.0) == math.inf
    assert judge.compute_delay(address(kind), orjson.dumps({"data": [row, row]}), 1.0) == math.inf
