"""Command analysis: a command line becomes a plan of everything that it may run.

Lives here: the walk over the syntax tree, the table of programs (`programs.py`), and what reads both.
May touch: nothing but what `Surroundings` tells about files and the shell.
Start reading: `analyse`, then `walk.py`, `simple_command.py` and `program.py`.
"""

import re

from toolgate.command.analysis.plan import Assignment, CommandPlan, Kind, Surroundings
from toolgate.command.analysis.scope import FULL, QUICK, Findings, Limits, Scope
from toolgate.command.analysis.simple_command import run
from toolgate.command.analysis.walk import sequence, walk
from toolgate.command.approval_text import request_detail, request_summary
from toolgate.command.words import UNRESOLVED

__all__ = [
    "UNRESOLVED",
    "Assignment",
    "CommandPlan",
    "Kind",
    "Surroundings",
    "analyse",
    "analyse_quickly",
    "request_detail",
    "request_summary",
]

MAX_CODE = 20_000
"""Characters of code, heredocs aside, that a person can be expected to judge."""
MAX_TEXT = 1 << 18
"""Characters that are read at all."""
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def analyse(command: str, around: Surroundings | None = None) -> CommandPlan:
    """What `command` may run in the surroundings `around`. Never raises; what is not understood asks.

    A long command takes up to `FULL.seconds`: a program with an event loop calls `analyse_quickly` first, and this in a
    thread.
    """
    return _found(command, around, FULL).plan()


def analyse_quickly(command: str, around: Surroundings | None = None) -> CommandPlan | None:
    """The same for an ordinary command, in a few milliseconds; None if the command or a script is too long for that."""
    if len(command) > QUICK.characters:
        return None
    found = _found(command, around, QUICK)
    return None if found.exhausted else found.plan()


def _found(command: str, around: Surroundings | None, limits: Limits) -> Findings:
    scope = Scope(around or Surroundings(), run, walk, sequence, limits)
    if not command.isprintable() and (match := _UNPRINTABLE.search(command)):
        scope.found.unclear(f"it contains the character \\x{ord(match.group()):02x}, which is not text")
    if len(command) > MAX_TEXT:
        scope.found.unclear(f"it is longer than {MAX_TEXT} characters")
        scope.found.unresolved["it is too long to be followed"] = None
        return scope.found
    walk(scope, command)
    _check_evaluated(scope)
    if len(command) - scope.found.heredocs > MAX_CODE:
        scope.found.unclear(f"it has more than {MAX_CODE} characters of code")
    return scope.found


def _check_evaluated(scope: Scope) -> None:
    """Bash runs the code in a value like `a[$(rm x)]` where it takes the value for a number or a name."""
    found, around = scope.found, scope.around
    if (found.evaluates and (found.holds_code or around.holds_code())) or (
        found.holds_code and found.assignments and around.evaluates()
    ):
        found.unclear("bash may evaluate text that contains code, as a number or as a name")
