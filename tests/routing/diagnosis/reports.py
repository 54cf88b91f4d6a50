"""Report on plans drawn in ASCII, as short as a test needs."""

from routing.issues import ProblemGroup
from routing.plan import Plan
from routing.processing import process_plan
from tests.routing.ascii_plans import draw_plan


def groups_of(plan: Plan) -> dict[str, ProblemGroup]:
    """Return the groups of a plan's problems by cause, in the report's order."""
    return {group.cause.value: group for group in process_plan(plan).report.groups}


def groups_drawn(*storeys: str) -> dict[str, ProblemGroup]:
    return groups_of(draw_plan(*storeys))


def messages(group: ProblemGroup) -> list[str]:
    return [problem.message for problem in group.problems]
