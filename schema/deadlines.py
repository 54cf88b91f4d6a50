"""How long operations may take."""

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from resolvers.request.context import Context
from resolvers.request.deadlines import limit_read, limit_write
from schema.operations import Operation

T = TypeVar("T")

LONG_QUERY_SECONDS = 120.0
"""Deadline of a query that parses a drawing, which waits for a process and has its own bounds."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds that operations may take."""

    operation_seconds: float = 10.0
    long_query_seconds: float = LONG_QUERY_SECONDS

    def limit(
        self, operation: Operation, context: Context, work: Coroutine[Any, Any, T]
    ) -> Coroutine[Any, Any, T]:
        """Return the work of an operation, ended at its deadline if it is a query.

        Of a mutation, no other field begins after it. A write that has begun is never cancelled, so
        its response tells whether it was made: MongoDB ends its commands in time. Imports and the
        processing of maps have no deadline: they are all or nothing, however long they take.
        """
        seconds = self.operation_seconds
        if not operation.is_query:
            return work if operation.is_long else limit_write(work, seconds)
        if operation.is_long and operation.is_allowed(context.caller):
            seconds = max(seconds, self.long_query_seconds)
        return limit_read(work, context, seconds)
