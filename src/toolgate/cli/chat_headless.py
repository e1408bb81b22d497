"""Answers to questions where nobody can be asked: no, with the rule that would allow it; or yes, within bounds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolgate.protocol.approval import Approval, ApprovalRequest

if TYPE_CHECKING:
    from pathlib import Path

CONFINED = frozenset({"Bash", "write_file", "edit_file"})
"""Tools that the sandbox or the workspace confines, whatever they are asked to do, unless access is full."""
_DENIED = "nobody can be asked here"


class Headless:
    """The approver of `--print`: denies, or with `yes` allows what stays in the sandbox or the project."""

    def __init__(self, *, yes: bool, told: Callable[[str], None], policy_file: Path | None) -> None:
        """`told` gets the hint about every question that is answered with no."""
        self._yes = yes
        self._tell = told
        self._policy_file = policy_file
        self.arguments: dict[str, Any] = {}
        """Arguments of the calls so far, by id."""

    async def decide(self, request: ApprovalRequest) -> Approval:
        """The answer, at once."""
        if self._yes and is_confined(request):
            return Approval(allowed=True, message="allowed by --yes")
        self._tell(self.hint(request))
        return Approval(allowed=False, message=_DENIED)

    def hint(self, request: ApprovalRequest) -> str:
        """What a person can do about it."""
        said = f"{request.tool_name} was denied because nobody can be asked: {request.summary}"
        if is_full(request):
            return f"{said}. Full access is always asked about: use toolgate chat at a terminal"
        place = self._policy_file or "your policy file (TOOLGATE_POLICY_FILE)"
        return f"{said}. To allow it, add to {place}: {rule_for(request, self.arguments.get(request.call_id))}"


def is_full(request: ApprovalRequest) -> bool:
    """Whether it reaches beyond the sandbox; a command that only says so counts, for that is the safe side."""
    return "access: full" in request.detail


def is_confined(request: ApprovalRequest) -> bool:
    """Whether the sandbox or the workspace bounds what it can do."""
    return request.tool_name in CONFINED and not is_full(request)


def rule_for(request: ApprovalRequest, arguments: Any) -> str:
    """The policy rule that would allow a call, in one line."""
    given = arguments if isinstance(arguments, dict) else {}
    if request.tool_name == "Bash":
        about = f"words = {json.dumps(_words(str(given.get('command', '')) or request.detail))}, "
    elif "path" in given:
        about = f"args = {{ path = {json.dumps(str(given['path']))} }}, "
    else:
        about = ""
    return f'[[rule]] with tool = {json.dumps(request.tool_name)}, {about}decision = "allow"'


def _words(command: str) -> list[str]:
    """The program, and its sub-command where it looks like one."""
    import shlex

    first = command.strip().partition("\n")[0]
    try:
        words = shlex.split(first)
    except ValueError:
        words = first.split()
    return [word for position, word in enumerate(words[:2]) if position == 0 or word.isalpha()]
