"""Decides approvals when nobody can be asked: denies and shows a rule that would allow it, or allows within limits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolgate.protocol.approval import Approval, ApprovalRequest

if TYPE_CHECKING:
    from pathlib import Path

_DENIED = "nobody can be asked here"
_PLAN = "nobody can accept a plan here; give the whole plan as your answer and end"


class HeadlessApprover:
    """The approver of `--print`. It denies; with `yes` it allows what the sandbox or the project confines."""

    def __init__(self, *, yes: bool, policy_file: Path | None) -> None:
        self._yes = yes
        self._policy_file = policy_file

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Decide at once."""
        if self._yes and is_confined(request):
            return Approval(allowed=True, message="allowed by --yes")
        if request.tool_name == "propose_plan":
            return Approval(allowed=False, message=_PLAN)
        return Approval(allowed=False, message=_DENIED)

    def advise(self, request: ApprovalRequest, rules: Callable[[], str | None]) -> bool:
        """Print what a person can do about a denial. The model is not told: it cannot change the policy."""
        if request.tool_name == "propose_plan":
            return True  # the model gives the plan as its answer
        said = f"{request.tool_name} was denied because nobody can be asked: {request.summary}"
        allowing = rules()
        if allowing is None:
            why = "Full access always needs approval" if is_full(request) else "No policy rule can allow it"
            print_error(f"{said}. {why}: use toolgate chat at a terminal")
        else:
            place = self._policy_file or "your policy file (TOOLGATE_POLICY_FILE)"
            print_error(f"{said}. To allow it, add to {place}:", allowing)
        return False


def is_full(request: ApprovalRequest) -> bool:
    """Whether the call has full access. A command that only contains the words counts too, to be safe."""
    return "access: full" in request.detail


def is_confined(request: ApprovalRequest) -> bool:
    """Whether the sandbox or the workspace confines the call."""
    from toolgate.runtime.policy.builtin import WRITERS
    from toolgate.runtime.policy.rules import SHELL, TERMINAL

    return request.tool_name in (SHELL, TERMINAL, *WRITERS) and not is_full(request)


def print_error(line: str, rules: str = "") -> None:
    """Print one line on stderr, and the rules that would allow the call."""
    from toolgate.cli.visible import visible  # imports the command analysis, which the start does not need

    sys.stderr.write(f"toolgate chat: {visible(line, keep='')}\n" + (f"{visible(rules)}\n" if rules else ""))
    sys.stderr.flush()
