"""Work in threads: every API key has its turn, however much another one asks for."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar

import pytest

from resolvers.request.threads import FairThreads, owner

pytestmark = pytest.mark.anyio

VARIABLE: ContextVar[str] = ContextVar("variable")


class Work:
    """Calls on behalf of owners, and the order in which they ran; the first one waits."""

    def __init__(self) -> None:
        self.threads = FairThreads("test", max_threads=1)
        self.ran: list[str] = []
        self.begun, self.may_end = threading.Event(), threading.Event()

    def begin(self, name: str, key_id: str) -> asyncio.Task[None]:
        owner.set(key_id)  # the task copies the context
        return asyncio.create_task(self.threads.run(self._run, name))

    def _run(self, name: str) -> None:
        self.begun.set()
        assert self.may_end.wait(60)
        self.ran.append(name)


@pytest.fixture
def work() -> Work:
    return Work()


async def test_another_key_waits_for_one_call_and_not_for_all(work: Work) -> None:
    first = work.begin("a1", "a")
    await asyncio.to_thread(work.begun.wait, 60)
    calls = [work.begin(name, "a") for name in ("a2", "a3")]
    calls.append(work.begin("b1", "b"))
    await asyncio.sleep(0)
    work.may_end.set()
    await asyncio.gather(first, *calls)
    assert work.ran == ["a1", "b1", "a2", "a3"]
    assert not [*work.threads._turns]


async def test_a_call_that_is_cancelled_while_it_waits_never_runs(work: Work) -> None:
    first = work.begin("a1", "a")
    await asyncio.to_thread(work.begun.wait, 60)
    second, third = work.begin("a2", "a"), work.begin("a3", "a")
    await asyncio.sleep(0)
    second.cancel()
    work.may_end.set()
    await asyncio.gather(first, third)
    assert work.ran == ["a1", "a3"]


async def test_a_call_has_the_context_of_its_caller(work: Work) -> None:
    VARIABLE.set("seen")
    read: Callable[[], str] = VARIABLE.get
    assert await work.threads.run(read) == "seen"
