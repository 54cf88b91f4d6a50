"""The building of networks as a process runs it.

`resolvers.processing.network_build` imports all that takes, a fifth of what a gateway imports
otherwise. Only the process does.
"""

from resolvers.processing.build_task import BuildTask, BuiltNetwork
from resolvers.processing.task_process import report_progress
from routing.values import ProcessingProgress


def build_network(task: BuildTask, progress: ProcessingProgress = report_progress) -> BuiltNetwork:
    """Read the plan and build its network. Raises ParsingError, RoutingError, InvalidInputError."""
    from resolvers.processing import network_build

    return network_build.build_network(task, progress)
