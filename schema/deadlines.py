"""How long operations may take."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass

from resolvers.request.context import Context
from resolvers.request.deadlines import limit_read, limit_write
from schema.operations import Operation

LONG_QUERY_SECONDS = 120.0
"""Deadline of a query that parses a drawing, which waits for a process and has its own bounds."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds that operations may take."""

    operation_seconds: float = 10.0
    long_query_seconds: float = LONG_QUERY_SECONDS


@asynccontextmanager
async def limit_operation(
    operation: Operation, context: Context, deadlines: Deadlines
) -> AsyncIterator[None]:
    """End a query at its deadline, and begin no write of a mutation after it.

    A write that has begun is never cancelled, so its response tells whether it was made: MongoDB
    ends its commands in time. Imports and the processing of maps have no deadline: they are all or
    nothing, however long they take. Raises DeadlineExceededError.
    """
    if operation.is_query:
        seconds = deadlines.operation_seconds
        if operation.is_long and operation.is_allowed(context.caller):
            seconds = max(seconds, deadlines.long_query_seconds)
        async with limit_read(context, seconds):
            yield
    else:
        seconds = deadlines.operation_seconds
        with nullcontext() if operation.is_long else limit_write(seconds):
            yield
