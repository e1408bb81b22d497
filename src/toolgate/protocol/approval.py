"""Asking a person."""

from pydantic import BaseModel, ConfigDict, StrictBool

_FROZEN = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ApprovalRequest(BaseModel):
    """One question, bound by its fingerprint to exactly one plan."""

    model_config = _FROZEN

    id: str
    tool_name: str
    call_id: str
    session_id: str | None = None
    agent: str = ""
    """The sub-agent that asks; empty for the main one."""
    summary: str
    detail: str
    fingerprint: str
    reason: str = ""
    """Why a person is asked: the rule, or what is dangerous about it."""
    rule: str = ""
    """What `remember` would allow from now on."""
    deadline: float | None = None
    """When it counts as answered with no, in seconds since the epoch; None: it waits."""


class Approval(BaseModel):
    """The answer."""

    model_config = _FROZEN

    allowed: StrictBool
    message: str = ""
    """Reaches the model when the answer is no."""
    remember: StrictBool = False
    """Allow this exact rule for the rest of the session."""
