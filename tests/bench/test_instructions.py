"""Python instructions are counted, by function, whatever else the machine does."""

from pathlib import Path

import pytest

from bench.data.workloads import LoadRequest
from bench.instructions import Application, Counts, count_instructions, count_requests
from bench.load.servers import CHECKOUT
from gateway.app import Gateway
from tests.fixtures import UNIT, World


def add(count: int) -> int:
    total = 0
    for number in range(count):
        total += number
    return total


def count_adding(count: int) -> int:
    by_function = Counts()
    with count_instructions(by_function):
        add(count)
    return by_function[add.__code__]


def test_counts_are_the_same_each_time_and_grow_with_the_work() -> None:
    ten, twenty, thirty = map(count_adding, (10, 20, 30))
    assert count_adding(10) == ten > 10
    assert twenty - ten == thirty - twenty > 0


@pytest.mark.anyio
async def test_requests_run_in_the_application(gateway: Gateway, world: World) -> None:
    application = Application(gateway, world.keys.full)
    count = await count_requests(application, [LoadRequest(f"/v1/units/{UNIT}")])
    assert "gateway/authentication.py" in {
        str(Path(code.co_filename).relative_to(CHECKOUT))
        for code in count
        if Path(code.co_filename).is_relative_to(CHECKOUT)
    }
    with pytest.raises(RuntimeError, match="404"):
        await application.send(LoadRequest("/v1/units/none"))
