"""Command analysis: a command line becomes a plan of everything that it may run."""

from toolgate.shell.analysis.around import surroundings
from toolgate.shell.analysis.plan import Assignment, CommandPlan, Kind, Redirection, Surroundings
from toolgate.shell.analysis.scope import Scope
from toolgate.shell.analysis.simple import run
from toolgate.shell.analysis.syntax import MAX_CODE
from toolgate.shell.analysis.visible import request_detail, squeezed, visible
from toolgate.shell.analysis.walk import walk
from toolgate.shell.words import UNRESOLVED

__all__ = [
    "UNRESOLVED",
    "Assignment",
    "CommandPlan",
    "Kind",
    "Redirection",
    "Surroundings",
    "analyse",
    "request_detail",
    "squeezed",
    "surroundings",
    "visible",
]


def analyse(command: str, around: Surroundings | None = None) -> CommandPlan:
    """What `command` may run in the surroundings `around`. Never raises; what is not understood asks."""
    scope = Scope(around or Surroundings(), run, walk)
    walk(scope, command)
    if len(command) - sum(map(len, scope.found.heredocs)) > MAX_CODE:
        scope.found.unclear(f"it is longer than {MAX_CODE} characters")
    return scope.found.plan(command)
