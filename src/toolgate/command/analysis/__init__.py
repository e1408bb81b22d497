"""Command analysis: a command line becomes a plan of everything that it may run.

Lives here: the walk over the syntax tree, the table of programs (`programs.py`), and what reads both.
May touch: nothing but what `Surroundings` tells about files and the shell.
Start reading: `analyse`, then `walk.py`, `simple_command.py` and `program.py`.
"""

import re

from toolgate.command.analysis.plan import Assignment, CommandPlan, Kind, Surroundings
from toolgate.command.analysis.scope import FULL, QUICK, Findings, Limits, Scope
from toolgate.command.analysis.simple_command import analyse_simple
from toolgate.command.analysis.walk import walk, walk_sequence
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
"""Maximum characters of a command line that is analysed."""
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def analyse(command: str, surroundings: Surroundings | None = None) -> CommandPlan:
    """Return what `command` may run. It never raises: a command that is not understood needs approval.

    A long command takes up to `FULL.seconds`. A program with an event loop calls `analyse_quickly` first, and this
    function in a thread.
    """
    return _analyse(command, surroundings, FULL).plan()


def analyse_quickly(command: str, surroundings: Surroundings | None = None) -> CommandPlan | None:
    """Return the same as `analyse` within a few milliseconds; None if the command or a script is too long for that."""
    if len(command) > QUICK.characters:
        return None
    findings = _analyse(command, surroundings, QUICK)
    return None if findings.exhausted else findings.plan()


def _analyse(command: str, surroundings: Surroundings | None, limits: Limits) -> Findings:
    scope = Scope(surroundings or Surroundings(), analyse_simple, walk, walk_sequence, limits)
    if not command.isprintable() and (match := _UNPRINTABLE.search(command)):
        scope.findings.add_unclear(f"it contains the character \\x{ord(match.group()):02x}, which is not text")
    if len(command) > MAX_TEXT:
        scope.findings.add_unclear(f"it is longer than {MAX_TEXT} characters")
        scope.findings.unresolved["it is too long to be followed"] = None
        return scope.findings
    walk(scope, command)
    _check_evaluated(scope)
    if len(command) - scope.findings.heredocs > MAX_CODE:
        scope.findings.add_unclear(f"it has more than {MAX_CODE} characters of code")
    return scope.findings


def _check_evaluated(scope: Scope) -> None:
    """Ask if bash may run code in a value: it does so in `a[$(rm x)]` where it expects a number or a name."""
    findings, surroundings = scope.findings, scope.surroundings
    if (findings.evaluates and (findings.holds_code or surroundings.holds_code())) or (
        findings.holds_code and findings.assignments and surroundings.evaluates()
    ):
        findings.add_unclear("bash may evaluate text that contains code, as a number or as a name")
