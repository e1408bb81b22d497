"""Hints that say when the sandbox caused a failure, and which access would have worked.

Lives here: one module per cause. A command that fails for another reason gets no hint; a phrase that also occurs in the
command line is ignored, because the command may only have printed it.
May touch: nothing; it reads how a command ended.
Start reading: `hint` here.
"""

from __future__ import annotations

from collections.abc import Callable

from toolgate.shell.hints.finished_command import FinishedCommand
from toolgate.shell.hints.limits import limit_hint
from toolgate.shell.hints.network import network_hint
from toolgate.shell.hints.paths import path_hint, repository_hint
from toolgate.shell.hints.terminal import input_hint, terminal_hint

__all__ = ["FinishedCommand", "hint"]


def hint(ended: FinishedCommand) -> str:
    """Return a next step for a command that failed; empty if the sandbox was not the cause."""
    if ended.exit_code == 0:
        return network_hint(ended) or repository_hint(ended) or input_hint(ended)
    confined: tuple[Callable[[FinishedCommand], str], ...] = () if ended.layer == "off" else (network_hint, path_hint)
    for look in (limit_hint, *confined, input_hint, terminal_hint):
        found = look(ended)
        if found:
            return found
    return ""
