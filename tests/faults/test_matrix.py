"""A fixed tenth of the fault matrix, and that it finds each class of fault.

`make fault-matrix` tries all cells. What fails here is a promise of docs/reliability.md.
"""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gateway.server.admission import Permit
from rest.endpoint_files import built_in_endpoints
from schema.root import GRAPHQL_SCHEMA
from storage.cache.cache import Cache
from storage.changes.hub import ChangeHub, Tail
from storage.mongo import topology
from tests.faults.matrix import OPERATIONS, Matrix, Verdict, parse_cell
from tests.faults.matrix_run import is_quick, open_matrix

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("matrix")]
NO_DEADLINE_SECONDS = 300
"""A busy machine breaks the short one; commands of these cells do not wait for it."""
QUICK = [name for name, each in OPERATIONS.items() if not (each.is_command or each.is_work)]


def test_every_endpoint_and_every_mutation_is_in_the_matrix() -> None:
    mutation = GRAPHQL_SCHEMA.mutation_type
    assert mutation is not None
    assert mutation.fields.keys() <= OPERATIONS.keys()
    endpoints = [
        f"{each.method} {each.name[0].lower()}{each.name[1:]}" for each in built_in_endpoints()
    ]
    assert {*endpoints} <= OPERATIONS.keys()


@pytest.fixture(scope="module")
async def matrix(
    tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[Matrix]:
    async with open_matrix(tmp_path_factory.mktemp("matrix"), NO_DEADLINE_SECONDS) as matrix:
        yield matrix


@pytest.mark.parametrize("name", QUICK)
async def test_commands_fail_and_every_promise_holds(matrix: Matrix, name: str) -> None:
    cells = filter(is_quick, await matrix.list_cells(OPERATIONS[name]))
    verdicts = [await matrix.try_cell(cell) for cell in cells]
    assert [each for each in verdicts if each.problems] == []


async def try_one(matrix: Matrix, name: str) -> Verdict:
    """Return what comes of a cell; a busy machine may need several tries."""
    while (verdict := await matrix.try_cell(parse_cell(name))).answer == "not met":
        pass
    return verdict


@pytest.fixture
async def own_matrix(tmp_path: Any) -> AsyncIterator[Matrix]:
    """One that may be left broken."""
    async with open_matrix(tmp_path) as matrix:
        yield matrix


async def test_a_transaction_that_is_not_ended_is_found(
    own_matrix: Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def end_session(client: Any, session: Any) -> None:
        await session.end_session()

    monkeypatch.setattr(topology, "_end", end_session)
    monkeypatch.setattr(topology, "LIST_IDLE", {"ping": 1})
    verdict = await try_one(own_matrix, "assignUnitAttributes/held/commitTransaction")
    # One that was left before, at the deadline, keeps this one from its record.
    signs = re.compile(r"still open: \d transactions|the same request is still answered 503 WRITE")
    assert any(map(signs.match, verdict.problems)), verdict.problems


async def test_a_cache_entry_that_survives_is_found(
    own_matrix: Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cache, "_revalidate", lambda *_: True)
    verdict = await try_one(own_matrix, "assignUnitAttributes/closed/commitTransaction")
    assert any("is answered 200" in each for each in verdict.problems)


async def test_an_event_that_is_lost_at_resume_is_found(
    own_matrix: Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = Tail._connect

    def start_anew(tail: Tail) -> None:
        tail._position = None
        connect(tail)

    async def skip(hub: ChangeHub, position: Any) -> Any:
        return [], hub._kept.first

    monkeypatch.setattr(Tail, "_connect", start_anew)
    monkeypatch.setattr(ChangeHub, "_catch_up", skip)
    verdict = await try_one(
        own_matrix, "work of the gateway/closed-again/getMore the change stream"
    )
    assert any("Follower got" in each for each in verdict.problems)


async def test_a_permit_that_is_not_released_is_found(
    own_matrix: Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, forgotten = Permit.release, list[Permit]()

    def forget_one(permit: Permit) -> None:
        if permit.admission is own_matrix.service.gateway.admission and not forgotten:
            forgotten.append(permit)
        if permit not in forgotten:
            release(permit)

    await try_one(own_matrix, "GET getUnit/late/find units")
    monkeypatch.setattr(Permit, "release", forget_one)
    verdict = await try_one(own_matrix, "GET getUnit/late/find units")
    assert "still open: 1 permits" in verdict.problems
