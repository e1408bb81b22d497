"""Runs checkers before and after a change, and reports the problems that are new."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from toolgate.errors import ToolError
from toolgate.log import logger
from toolgate.tools.context import ToolContext

if TYPE_CHECKING:
    from toolgate.diagnostics.diagnostics import DiagnosticsReport

T = TypeVar("T")
MAX_SHOWN = 20
"""New problems that an answer lists."""


async def checked_change(
    context: ToolContext, paths: Sequence[str], change: Callable[[], Awaitable[T]]
) -> tuple[T, dict[str, Any], str]:
    """Make a change, and return what it returns, what to add to `data`, and what to add to the text.

    Without diagnostics in the settings this is only the change. A checker that fails never makes the change fail.
    """
    diagnostics = context.diagnostics
    if diagnostics is None:
        return await change(), {}, ""
    before = await diagnostics.check(paths)
    made = await change()
    try:
        report = await diagnostics.compare(paths, before)
    except (ToolError, OSError) as error:  # the change was made, so a failing checker must not make the call fail
        logger("diagnostics").warning("diagnostics_failed", error=type(error).__name__)
        return made, {}, "\nThe checkers could not be run."
    return made, {"diagnostics": _data(report)}, _text(report)


def _data(report: DiagnosticsReport) -> list[dict[str, Any]]:
    found = [
        {"path": path, "line": problem.line, "checker": problem.checker, "message": problem.message}
        for path, problems in report.problems.items()
        for problem in problems
    ]
    return found[:MAX_SHOWN]


def _text(report: DiagnosticsReport) -> str:
    lines = [
        f"{path}:{problem.line}: {problem.message} ({problem.checker})"
        for path, problems in report.problems.items()
        for problem in problems
    ]
    text = ""
    if lines:
        more = f"\n… and {len(lines) - MAX_SHOWN} more" if len(lines) > MAX_SHOWN else ""
        count = f"{len(lines)} new {'problem' if len(lines) == 1 else 'problems'}"
        text = f"\nThe change causes {count}:\n" + "\n".join(lines[:MAX_SHOWN]) + more
    return text + "".join(f"\n{note}" for note in report.notes)
