"""Records of calls: decisions, starts and ends."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Verdict = Literal["allow", "ask", "deny"]
Gate = Literal["resolve", "mode", "breaker", "arguments", "prepare", "policy", "permission"]

_FROZEN = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Decision(BaseModel):
    """What a gate, a policy or a person said about a call, and why."""

    model_config = _FROZEN

    decision: Verdict
    gate: Gate
    rule: str = ""
    """The rule that decided; empty where it was the gate's own default."""
    reason: str


class CallRecord(BaseModel):
    """One entry of the record: a decision, the start or the end of a call."""

    model_config = _FROZEN

    kind: Literal["decision", "started", "finished"]
    session_id: str | None
    call_id: str
    tool_name: str
    payload: dict[str, Any] = Field(default_factory=dict)
    """Bounded and redacted: the arguments of a start, the decision, or status and code of an end."""
