"""Answers to questions where nobody can be asked: no, with the rule that would allow it; or yes, within bounds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolgate.protocol.approval import Approval, ApprovalRequest

if TYPE_CHECKING:
    from pathlib import Path

CONFINED = frozenset({"Bash", "write_file", "edit_file"})
"""Tools that the sandbox or the workspace confines, whatever they are asked to do, unless access is full."""
_DENIED = "nobody can be asked here"


class Headless:
    """The approver of `--print`: denies, or with `yes` allows what stays in the sandbox or the project."""

    def __init__(self, *, yes: bool, policy_file: Path | None) -> None:
        self._yes = yes
        self._policy_file = policy_file

    async def decide(self, request: ApprovalRequest) -> Approval:
        """The answer, at once."""
        if self._yes and is_confined(request):
            return Approval(allowed=True, message="allowed by --yes")
        return Approval(allowed=False, message=_DENIED)

    def advise(self, request: ApprovalRequest, rules: Callable[[], str | None]) -> None:
        """Say what a person can do about it."""
        said = f"{request.tool_name} was denied because nobody can be asked: {request.summary}"
        allowing = rules()
        if allowing is None:
            why = "Full access is always asked about" if is_full(request) else "No policy rule can allow it"
            complain(f"{said}. {why}: use toolgate chat at a terminal")
        else:
            place = self._policy_file or "your policy file (TOOLGATE_POLICY_FILE)"
            complain(f"{said}. To allow it, add to {place}:", allowing)


def is_full(request: ApprovalRequest) -> bool:
    """Whether it reaches beyond the sandbox; a command that only says so counts, for that is the safe side."""
    return "access: full" in request.detail


def is_confined(request: ApprovalRequest) -> bool:
    """Whether the sandbox or the workspace bounds what it can do."""
    return request.tool_name in CONFINED and not is_full(request)


def complain(line: str, rules: str = "") -> None:
    """Say on stderr what went wrong: one line, and the rules that would have helped."""
    from toolgate.cli.visible import visible  # it brings the analysis of commands, which nobody else needs so soon

    sys.stderr.write(f"toolgate chat: {visible(line, keep='')}\n" + (f"{visible(rules)}\n" if rules else ""))
    sys.stderr.flush()
