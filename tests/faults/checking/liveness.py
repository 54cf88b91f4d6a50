"""Find records that could not be written for too long."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tests.faults.checking.history import Operation


def get_record(register: str) -> str:
    """Return what is written together: of the registers of many attributes, the block.

    >>> get_record("extra 3 v7"), get_record("block 3"), get_record("single-1")
    ('extra 3', 'block 3', 'single-1')
    """
    return " ".join(register.split()[:2])


def find_unwritable(
    operations: Iterable[Operation], faults: Sequence[tuple[int, float]]
) -> dict[str, float]:
    """Return for each record how long all writes of it have failed at the longest.

    The time counts from the first one that failed, or from the last fault before the last one that
    its gateway has met: `faults` are gateways and times.

    >>> failed = [Operation("single-1", "write", "a", at) for at in (1, 9)]
    >>> find_unwritable(failed, [(0, 4), (0, 10), (1, 8)])
    {'single-1': 5}
    """
    failed = defaultdict[str, list[float]](list)
    longest = dict[str, float]()
    for each in sorted(operations, key=lambda each: each.invoked):
        record = get_record(each.register)
        if each.is_unknown:
            failed[record].append(each.invoked)
            last_fault = max(
                (at for gateway, at in faults if gateway == each.gateway and at < each.invoked),
                default=0.0,
            )
            seconds = each.invoked - max(failed[record][0], last_fault)
            longest[record] = max(longest.get(record, 0.0), seconds)
        elif each.action != "read":
            failed.pop(record, None)
    return longest
