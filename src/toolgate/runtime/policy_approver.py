"""`PolicyApprover`: answers approval requests by rules, and passes the rest on to another approver."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from typing import Literal

from pydantic import ConfigDict, Field

from toolgate.declared import Declared
from toolgate.protocol.approval import Approval, ApprovalRequest, Risk
from toolgate.protocol.ports import Approver, Unattended
from toolgate.tools.approver import AnyApprover, approver_of

_RANK: dict[Risk, int] = {"low": 0, "medium": 1, "high": 2}


class ApprovalRule(Declared):
    """Answers requests that fit it. What it leaves out fits everything."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    decision: Literal["allow", "ask", "deny"]
    """`ask` passes the request on to the next approver."""
    tool: str = Field(default="*", min_length=1)
    """The tool's name; `*` stands for any characters."""
    max_risk: Risk = "high"
    """The highest risk that it is about."""
    agent: str | None = None
    """The sub-agent that asks (`*` as in `tool`); the empty text is the main agent, None is any."""
    message: str = ""
    """Reaches the model when the answer is no."""

    def fits(self, request: ApprovalRequest) -> bool:
        """Whether the rule is about a request."""
        if not fnmatch.fnmatchcase(request.tool_name, self.tool):
            return False
        if self.agent is not None and not fnmatch.fnmatchcase(request.agent, self.agent):
            return False
        return _RANK[request.risk] <= _RANK[self.max_risk]


class PolicyApprover:
    """Answers by the first rule that fits. A request that no rule is about, or that asks, goes to `otherwise`.

    Without `otherwise` it is denied. A policy (`policy=`) decides before anybody is asked; these rules answer what is
    asked about nevertheless. They never have anything remembered.
    """

    def __init__(self, rules: Sequence[ApprovalRule], otherwise: AnyApprover | None = None) -> None:
        for number, rule in enumerate(rules, start=1):
            if not isinstance(rule, ApprovalRule):
                raise TypeError(
                    f"rule {number} is a {type(rule).__name__}, not a toolgate.ApprovalRule: "
                    'write ApprovalRule(decision="allow", tool="write_file", max_risk="low")'
                )
        self._rules = tuple(rules)
        self._otherwise: Approver | None = approver_of(otherwise)

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Answer by a rule, or pass the request on."""
        rule = self._rule(request)
        if rule is not None and rule.decision != "ask":
            allowed = rule.decision == "allow"
            return Approval(
                allowed=allowed, message="" if allowed else rule.message or "a rule of the program denies it"
            )
        if self._otherwise is None:
            return Approval(allowed=False, message="it needs permission and nobody can be asked here")
        return await self._otherwise.decide(request)

    def advise(self, request: ApprovalRequest, rules: Callable[[], str | None]) -> bool:
        """Whether nobody has looked at a denied request: no rule denies it, and there is nobody to ask."""
        rule = self._rule(request)
        if rule is not None and rule.decision != "ask":
            return False
        if isinstance(self._otherwise, Unattended):
            return self._otherwise.advise(request, rules)
        return self._otherwise is None

    def _rule(self, request: ApprovalRequest) -> ApprovalRule | None:
        return next((rule for rule in self._rules if rule.fits(request)), None)
