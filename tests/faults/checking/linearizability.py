"""Is there an order of all operations of a register in which every read is right?

The order must keep the operations within their times: what returned before another was invoked
comes first. This is the algorithm of Wing and Gong with Lowe's memoisation, as in porcupine
(https://github.com/anishathalye/porcupine). Registers are independent, so each is checked alone.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.faults.checking.history import ANY, Operation

MAX_STATES = 50_000
"""Orders that are tried of a register; ordinary histories take one for each operation."""


class UndecidedError(Exception):
    """There are too many orders to try."""


@dataclass(slots=True)
class _Event:
    """The beginning or the end of an operation, in a doubly linked list."""

    number: int
    """Of the operation."""
    end: "_Event | None" = None
    """Of a beginning whose operation has returned."""
    is_end: bool = False
    previous: "_Event | None" = None
    next: "_Event | None" = None


def find_violation(operations: Sequence[Operation], initial: str | None = None) -> Operation | None:
    """Return None if the operations of a register are linearizable.

    Otherwise return the earliest operation such that the history up to its return is not
    linearizable. Raises UndecidedError.
    """
    if _has_order(operations, initial):
        return None
    ends = sorted(
        (each for each in operations if not each.is_unknown), key=lambda each: each.returned
    )
    return ends[
        bisect_left(ends, True, key=lambda end: not _has_order(_cut(operations, end), initial))
    ]


def _cut(operations: Sequence[Operation], end: Operation) -> list[Operation]:
    """Return what was known when an operation returned."""
    return [
        each if each.returned <= end.returned else replace(each, returned=math.inf)
        for each in operations
        if each.invoked <= end.returned
    ]


def _has_order(operations: Sequence[Operation], initial: str | None) -> bool:
    operations = _drop_unobserved(operations)
    head = _link_events(operations)
    state, done, seen = initial, 0, set[tuple[int, str | None]]()
    undo: list[tuple[_Event, str | None]] = []
    open_count = sum(not operation.is_unknown for operation in operations)
    values = _Values(operations)
    event = head.next
    while open_count:
        assert event is not None  # the end of an operation that has returned comes before
        operation = operations[event.number]
        if event.is_end:
            while True:
                if not undo:
                    return False
                event, state = undo.pop()
                undone = operations[event.number]
                done &= ~(1 << event.number)
                open_count += not undone.is_unknown
                values.count(undone, 1)
                _insert(event)
                # A matching read changes nothing, so delaying it cannot help: go back further.
                if undone.action != "read":
                    break
            event = event.next
            continue
        follows, after = _apply(operation, state)
        # What is unknown need not happen, so it is only tried where it changes something.
        is_useful = values.may_end(state) if after != state else not operation.is_unknown
        if follows and is_useful:
            memo = done | 1 << event.number, after
            if memo not in seen:
                if len(seen) == MAX_STATES:
                    raise UndecidedError
                seen.add(memo)
                undo.append((event, state))
                done, state = memo
                open_count -= not operation.is_unknown
                values.count(operation, -1)
                _remove(event)
                event = head.next
                continue
        event = event.next
    return True


class _Values:
    """How often each value is still to be read and to be written."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.reads = Counter(each.value for each in operations if each.action == "read")
        self.writes = Counter(each.value for each in operations if each.action == "write")

    def may_end(self, value: str | None) -> bool:
        """Return whether all that read a value have done so, or it can come back."""
        return value is None or not self.reads[value] or self.writes[value] > 0

    def count(self, operation: Operation, change: int) -> None:
        """Add 1 for an operation that is still to come, -1 for one that was put in the order."""
        if operation.action == "read":
            self.reads[operation.value] += change
        elif operation.action == "write":
            self.writes[operation.value] += change


def _apply(operation: Operation, state: str | None) -> tuple[bool, str | None]:
    if operation.action == "write":
        return operation.replaces in (ANY, state), operation.value
    if operation.action == "remove":
        return True, None if state == operation.value else state
    return state == operation.value, state


def _drop_unobserved(operations: Sequence[Operation]) -> list[Operation]:
    """Bound what is unknown by what was read: it makes the search short.

    An unknown write of a value that is written once and never read or removed changes no result.
    One that was read has happened when the first of its reads returned.
    """
    operations = [each for each in operations if each.action != "read" or not each.is_unknown]
    writes = Counter(each.value for each in operations if each.action == "write")
    first_read: dict[str | None, float] = {}
    for each in operations:
        if each.action == "read":
            first_read[each.value] = min(first_read.get(each.value, math.inf), each.returned)
    removed = {each.value for each in operations if each.action == "remove"}
    kept = []
    for each in operations:
        if each.action == "write" and each.is_unknown and writes[each.value] == 1:
            if each.value in first_read:
                kept.append(replace(each, returned=first_read[each.value]))
                continue
            if each.value not in removed:
                continue
        kept.append(each)
    return kept


def _link_events(operations: Sequence[Operation]) -> _Event:
    """Return the head of the list of all events in the order of time; equal times overlap."""
    events: list[tuple[float, int, _Event]] = []
    for number, operation in enumerate(operations):
        begin = _Event(number)
        events.append((operation.invoked, 0, begin))
        if not operation.is_unknown:
            begin.end = _Event(number, is_end=True)
            events.append((operation.returned, 1, begin.end))
    events.sort(key=lambda each: each[:2])
    head = last = _Event(-1)
    for _, _, event in events:
        last.next, event.previous = event, last
        last = event
    return head


def _remove(event: _Event) -> None:
    for each in (event, event.end):
        if each is not None:
            assert each.previous is not None
            each.previous.next = each.next
            if each.next is not None:
                each.next.previous = each.previous


def _insert(event: _Event) -> None:
    for each in (event.end, event):
        if each is not None:
            assert each.previous is not None
            each.previous.next = each
            if each.next is not None:
                each.next.previous = each
