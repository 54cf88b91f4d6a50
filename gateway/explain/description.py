"""The explanation of a request as JSON.

A key that is limited to some assets sees of the values in filters only the ids of these assets, and
neither the index that MongoDB chose nor how much it looked at: all that may tell of records that
the key may not see. See docs/decisions/server/explain.md.
"""

import sys
from collections.abc import Iterator, Sequence, Set
from dataclasses import fields
from typing import Any, NamedTuple

from starlette.types import Scope

from gateway.explain.run import ExplainedRun
from gateway.explain.values import shorten
from resolvers.request.errors import LimitExceededError
from schema.execution import Executor, Operation
from schema.operations import locate_requirements
from schema.query_limits import QueryLimits
from schema.query_size import OperationMeasure
from storage.mongo.plans import Plan
from storage.mongo.protocols import RecordedCommand

UNLIMITED = QueryLimits(**{limit.name: sys.maxsize for limit in fields(QueryLimits)})
SHOWN_OPTIONS = frozenset({"filter", "pipeline", "sort", "skip", "limit"})


class ExplainedResponse(NamedTuple):
    """What an explanation has of a response; its body only if it is an error."""

    status: int
    error: dict[str, Any] | None
    bytes: int


def describe(
    scope: Scope,
    run: ExplainedRun,
    response: ExplainedResponse | None,
    plans: Sequence[Plan | None],
    *,
    is_fast: bool,
) -> dict[str, Any]:
    """Return the explanation of a run; `response` is None if nothing was run.

    `is_fast` tells whether the fast path has the response.
    """
    assert run.caller is not None
    own_assets = run.caller.scope.asset_ids
    operation = run.operation
    return {
        # Without the query: it may have the API key, and the variables say what it says.
        "request": {"method": scope["method"], "path": shorten(scope["path"])},
        "operation": operation and _describe_operation(operation, run),
        "requirements": [*_describe_requirements(run)],
        "cost": _describe_cost(run),
        "caches": {
            "response": run.cache_status,
            "fast_path": is_fast,
            "records": run.records and {"hits": run.records.hits, "misses": run.records.misses},
        },
        "commands": [
            _describe_command(item, plan, own_assets)
            for item, plan in zip(run.log.commands, plans, strict=True)
        ],
        "omitted_commands": run.log.omitted,
        "response": response and {**response._asdict(), "milliseconds": round(run.milliseconds, 3)},
    }


def _describe_operation(operation: Operation, run: ExplainedRun) -> dict[str, Any]:
    return {
        "kind": operation.node.operation.value,
        "name": operation.name,
        "document": operation.text,
        "variables": shorten(run.variables),
        "was_run": run.was_run,
    }


def _describe_requirements(run: ExplainedRun) -> Iterator[dict[str, Any]]:
    if run.operation is None or run.caller is None:
        return
    schema, variables = run.original.executor.schema, run.variables or {}
    for where, requirement in locate_requirements(schema, run.operation, variables).items():
        yield {
            "where": where,
            "flag": requirement.flag,
            "permission": requirement.permission,
            "is_met": requirement.is_met(run.caller),
        }


def _describe_cost(run: ExplainedRun) -> dict[str, Any]:
    executor, budget = run.original.executor, run.context and run.context.budget
    # The limit is of operations that clients write; those of REST were written with it in mind.
    operation = run.operation
    is_of_client = run.refused_cost is not None if operation is None else operation.measure
    return {
        "estimated": _estimate_cost(executor, run),
        "limit": executor.limits.cost if is_of_client else None,
        "actual": budget.cost if budget else 0,
        "records_read": budget.records_read if budget else 0,
    }


def _estimate_cost(executor: Executor, run: ExplainedRun) -> int | None:
    operation = run.operation
    if operation is None or run.variables is None:
        return run.refused_cost
    measure = operation.measure or OperationMeasure(
        executor.schema, operation.document, operation.node
    )
    try:
        return measure.check(run.variables, UNLIMITED).cost
    except LimitExceededError:  # a list that is too long
        return None


def _describe_command(
    item: RecordedCommand, plan: Plan | None, own_assets: Set[str] | None
) -> dict[str, Any]:
    """Describe a command to a key for all assets, or to one for `own_assets`."""
    (name, collection), *options = item.command.items()
    is_limited = own_assets is not None
    measured = None if is_limited else plan
    return {
        "command": name,
        "collection": collection,
        **{
            option: shorten(value, None if option == "sort" else own_assets)
            for option, value in options
            if option in SHOWN_OPTIONS
        },
        "plan": measured and [scan._asdict() for scan in measured.scans],
        "considered": plan and [scan._asdict() for scan in plan.candidates],
        "keys_examined": measured and measured.keys_examined,
        "documents_examined": measured and measured.documents_examined,
        "returned": None if is_limited else item.returned,
        "milliseconds": None if item.milliseconds is None else round(item.milliseconds, 3),
        "milliseconds_in_mongodb": measured and measured.milliseconds,
    }
